"""Four models from equal weights, W_qk pictured as they train (``notebooks/positions.py``).

``python -m chapters.positions_pictures`` writes data/runs/positions_pictures/kernels.npz, P W_qk P^T of the
models with a table at each recorded step, from the checkpoints of these runs, which are not kept.
"""

import numpy as np
from safetensors.torch import load_file

from livingpaper.display.interactive import Interactive, packed
from attngeo.plot.mirror_clouds import mirror_clouds
from attngeo.plot.style import CaptionedFigure
from attngeo.files.checkout import data
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.experiments.runs.record import Run, read_run
from attngeo.experiments.training.config import configure

LAYER = 0
SIDE = 64  # rows and columns shown: all of them would not fit on the page
EXPERIMENT, KERNELS = "positions_pictures", "kernels.npz"
MODELS = ("encoder", "decoder")
RUNS = {"table": MODELS, "rotary": ("rotary-encoder", "rotary-decoder")}  # by kind of positions


def pictured() -> Interactive:
    """Pictures of W_qk over training steps, m_ij against m_ji, both scores and, with a table, P W_qk P^T."""
    folder = data("runs", EXPERIMENT)
    runs = {name: read_run(folder / name) for pair in RUNS.values() for name in pair}
    kernels = np.load(folder / KERNELS)
    steps = sorted(step for layer, step in runs["encoder"].pictures if layer == LAYER)
    shown = {
        kind: {model: _recorded(runs[name], steps) for model, name in zip(MODELS, pair, strict=True)}
        for kind, pair in RUNS.items()
    }
    for model in MODELS:
        shown["table"][model]["kernel"] = packed(kernels[model])
    places = kernels["encoder"].shape[-1]
    titles = {name: f"{model}, {kind}" for kind, pair in RUNS.items() for model, name in zip(MODELS, pair, strict=True)}
    pictures = {title: runs[name].pictures[LAYER, steps[-1]][:SIDE, :SIDE] for name, title in titles.items()}
    figure = mirror_clouds(pictures, width=9)
    s = {title: number(runs[name].by_layer("symmetry")[LAYER].iloc[-1], 2) for name, title in titles.items()}
    words = "; ".join(f"{title} {score}" for title, score in s.items())
    caption = f"""$W_{{qk}}$ of the first layer of four models of width {runs["encoder"].config["d_model"]} that start from
    the same weights, after {steps[-1]:,} steps. The squares show the first {SIDE} rows and columns (red is positive, blue
    is negative), and the clouds show each entry $m_{{ij}}$ against its mirror image $m_{{ji}}$. Symmetry $s$: {words}.
    Colours and axes end at the 99.5th percentile of the magnitudes in a picture."""
    alt = f"Matrices and clouds of four models. Symmetry: {words}. With s near 1, the cloud is close to a line."
    still = CaptionedFigure(figure, "fig-positions-pictures", caption, alt)
    return Interactive("positions", {"steps": steps, "side": SIDE, "places": places, "kinds": shown}, still)


def _recorded(run: Run, steps: list[int]) -> dict:
    pictures = np.stack([run.pictures[LAYER, step][:SIDE, :SIDE] for step in steps])
    s, d = (run.by_layer(name)[LAYER].loc[steps].round(4).tolist() for name in ("symmetry", "directionality"))
    return {"levels": packed(np.rint(pictures * 127).astype(np.int8)), "s": s, "d": d}


def record() -> None:
    """Write the kernels, each as levels of its largest magnitude: (steps, places, places)."""
    from attngeo.experiments.training.bert import build_model  # seconds that the page, which reads them, can spare
    from attngeo.experiments.training.read_out import position_forms

    folder = data("runs", EXPERIMENT)
    plan = {run.name: run for run in read_experiment(folder).runs}
    levels = {}
    for name in RUNS["table"]:
        config, run = configure(dict(plan[name].settings)), read_run(folder / name)
        shape = config.shape(run.about["tokenizer"]["size"])
        model = build_model(shape, config.objective != "mlm", config.init, config.seed, "eager").eval()
        kernels = []
        for step in sorted(step for layer, step in run.pictures if layer == LAYER):
            if step:  # 0: as built
                where = "model" if step == config.steps else f"checkpoints/checkpoint-{step}"
                model.load_state_dict(load_file(folder / name / where / "model.safetensors"), strict=False)
            kernels.append(position_forms(model, config.block_size)[LAYER].numpy())
        kernels = np.stack(kernels)
        levels[name] = np.rint(127 * kernels / np.abs(kernels).max((1, 2), keepdims=True)).astype(np.int8)
    np.savez_compressed(folder / KERNELS, **levels)


if __name__ == "__main__":
    record()
