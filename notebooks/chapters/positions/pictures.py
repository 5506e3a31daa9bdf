"""Four models from equal weights, W_qk pictured as they train (``notebooks/positions.py``).

``python -m chapters.positions.pictures`` writes data/runs/positions_pictures/kernels.npz, P W_qk P^T of the
models with a table at each recorded step, from the checkpoints of these runs, which are not kept.
``python -m chapters.positions.pictures FOLDER`` writes scale.csv there, from a repetition of these runs in FOLDER: the
largest magnitude of P W_qk P^T, the share of the squared norm of W_qk in the directions of the positions, and s of W_qk.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file

from attngeo.bilinear.positions import position_space, split_score
from attngeo.bilinear.scores import symmetry_score

from livingpaper.display.interactive import Interactive, packed
from attngeo.plot.mirror_clouds import mirror_clouds
from attngeo.plot.style import CaptionedFigure
from attngeo.files.checkout import data
from attngeo.experiments.tables import write_rows
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.experiments.runs.record import Run, read_run
from attngeo.experiments.training.config import configure

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LAYER = 0
SIDE = 64  # rows and columns shown: all of them would not fit on the page
EXPERIMENT, KERNELS, SCALE = "positions_pictures", "kernels.npz", "scale.csv"
MODELS = ("encoder", "decoder")
RUNS = {"table": MODELS, "rotary": ("rotary-encoder", "rotary-decoder")}  # by kind of positions


def recorded_pictures(side: int) -> dict:
    """What a script draws the four models from: steps, and by positions and model their pictures and scores.

    Args:
        side: rows and columns of W_qk that are shown.
    """
    folder = data("runs", EXPERIMENT)
    runs = {name: read_run(folder / name) for pair in RUNS.values() for name in pair}
    kernels = np.load(folder / KERNELS)
    steps = sorted(step for layer, step in runs["encoder"].pictures if layer == LAYER)
    shown = {
        kind: {model: _recorded(runs[name], steps, side) for model, name in zip(MODELS, pair, strict=True)}
        for kind, pair in RUNS.items()
    }
    for model in MODELS:
        shown["table"][model]["kernel"] = packed(kernels[model])
    return {"steps": steps, "side": side, "places": kernels["encoder"].shape[-1], "kinds": shown}


class Repetition(NamedTuple):
    """What a repetition of the runs with learned positions tells of the first layer, by model, after the last step."""

    gap: float  # the largest difference of s from the recorded runs, at any step
    largest: dict[str, float]  # magnitude of P W_qk P^T
    share: dict[str, float]  # of the squared norm of W_qk in the directions of the positions


def repetition() -> Repetition:
    """From what `record_scale` wrote."""
    folder = data("runs", EXPERIMENT)
    rows = pd.read_csv(folder / SCALE)
    recorded = pd.concat(
        read_run(folder / name).by_layer("symmetry")[LAYER].rename("recorded").reset_index().assign(model=name)
        for name in RUNS["table"]
    )
    joined = rows.merge(recorded, on=["model", "step"], validate="1:1")
    last = rows[rows["step"] == rows["step"].max()].set_index("model")
    gap = float((joined["symmetry"] - joined["recorded"]).abs().max())
    return Repetition(gap, last["largest"].to_dict(), last["share"].to_dict())


def pictured() -> Interactive:
    """Pictures of W_qk over training steps, m_ij against m_ji, both scores and, with a table, P W_qk P^T."""
    folder = data("runs", EXPERIMENT)
    runs = {name: read_run(folder / name) for pair in RUNS.values() for name in pair}
    shown = recorded_pictures(SIDE)
    steps = shown["steps"]
    positions = {"table": "learned", "rotary": "rotary"}
    titles = {
        name: f"{model}, {positions[kind]}"
        for kind, pair in RUNS.items()
        for model, name in zip(MODELS, pair, strict=True)
    }
    pictures = {title: runs[name].pictures[LAYER, steps[-1]][:SIDE, :SIDE] for name, title in titles.items()}
    figure = mirror_clouds(pictures, width=9)
    s = {title: number(runs[name].by_layer("symmetry")[LAYER].iloc[-1], 2) for name, title in titles.items()}
    words = "; ".join(f"{title} {score}" for title, score in s.items())
    caption = f"""$W_{{qk}}$ of the first layer of four models of width {runs["encoder"].config["d_model"]} that were
    trained from the same initial weights with learned or rotary positions, after {steps[-1]:,} steps. The squares with {SIDE}
    rows and columns show a part of the matrix, and the clouds show each of these entries $m_{{ij}}$ against its mirror image
    $m_{{ji}}$. The symmetry scores $s$ are as follows: {words}. In each picture, the colour scale and the axes
    end at the 99.5th percentile of the absolute values of the entries."""
    alt = f"Matrices and clouds of four models. Symmetry: {words}. With s near 1, the cloud is close to a line."
    still = CaptionedFigure(figure, "fig-positions-pictures", caption, alt)
    return Interactive("positions", shown, still)


def _recorded(run: Run, steps: list[int], side: int) -> dict:
    pictures = np.stack([run.pictures[LAYER, step][:side, :side] for step in steps])
    s, d = (run.by_layer(name)[LAYER].loc[steps].round(4).tolist() for name in ("symmetry", "directionality"))
    median = run.by_layer("symmetry").loc[steps].median(axis=1).round(4).tolist()
    return {"levels": packed(np.rint(pictures * 127).astype(np.int8)), "s": s, "d": d, "median": median}


def _checkpoints(name: str, folder: Path) -> Iterator[tuple[int, "PreTrainedModel", int]]:
    """The model of a run at each recorded step, from the checkpoints in its folder, and how many places it reads."""
    from attngeo.experiments.training.bert import build_model  # seconds that the page, which reads them, can spare

    plan = {run.name: run for run in read_experiment(folder).runs}
    config, run = configure(dict(plan[name].settings)), read_run(folder / name)
    shape = config.shape(run.about["tokenizer"]["size"])
    model = build_model(shape, config.objective != "mlm", config.init, config.seed, "eager").eval()
    for step in sorted(step for layer, step in run.pictures if layer == LAYER):
        if step:  # 0: as built
            where = "model" if step == config.steps else f"checkpoints/checkpoint-{step}"
            model.load_state_dict(load_file(folder / name / where / "model.safetensors"), strict=False)
        yield step, model, config.block_size


def record() -> None:
    """Write the kernels, each as levels of its largest magnitude: (steps, places, places)."""
    from attngeo.experiments.training.read_out import position_forms

    folder = data("runs", EXPERIMENT)
    levels = {}
    for name in RUNS["table"]:
        kernels = np.stack([position_forms(m, places)[LAYER].numpy() for _, m, places in _checkpoints(name, folder)])
        levels[name] = np.rint(127 * kernels / np.abs(kernels).max((1, 2), keepdims=True)).astype(np.int8)
    np.savez_compressed(folder / KERNELS, **levels)


def record_scale(repetition: Path) -> None:
    """Write what the kernels have lost, from a folder in which the same runs were made again and left checkpoints."""
    from attngeo.experiments.training.bert import forms
    from attngeo.experiments.training.read_out import position_forms

    rows = []
    for name in RUNS["table"]:
        for step, model, places in _checkpoints(name, repetition):
            table = model.bert.embeddings.position_embeddings.weight[:places].detach().double()
            form = forms(model)[LAYER].to(torch.float64)
            with torch.no_grad():
                largest = float(position_forms(model, places)[LAYER].abs().max())
                share = float(split_score(form, position_space(table)).share)
            rows.append((name, step, largest, share, symmetry_score(form)))
    columns = ["model", "step", "largest", "share", "symmetry"]
    write_rows(data("runs", EXPERIMENT, SCALE), pd.DataFrame(rows, columns=columns), digits=5)


if __name__ == "__main__":
    if sys.argv[1:]:
        record_scale(Path(sys.argv[1]))
    else:
        record()
