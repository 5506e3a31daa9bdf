"""Every layer's score split by its model's position space, recorded: ``python -m chapters.positions.split [FOLDER]``.

Of an experiment's FOLDER, the models that its runs left: FOLDER/positions.csv, a row per run and layer. Else:

data/positions/layers.csv    a row per layer and variant of the space
               record.json   SHA-256 of the weights and of the tables, what has no table and why, versions, date
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pandas as pd
import torch

from attngeo.bilinear.positions import VARIANCE, position_space, split_score
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.checkpoints.position_tables import TABLE_APART
from attngeo.checkpoints.tensorfiles import open_tensors
from attngeo.errors import CheckpointError
from attngeo.experiments.runs.record import read_about
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import write_provenance
from attngeo.files.checkout import data
from chapters.positions import MAIN
from attngeo.experiments.tables import as_command, weights_read, with_former_runs, write_rows

WIDER, GAIN = "95 %", "90 %, times gain"  # variants of the space, besides MAIN
DRAWS = 10  # random spaces of equal dimension
# gains of the layer normalisation that position rows pass first: on the embedding, or before each layer's attention
NORMS = ("embeddings.LayerNorm.weight", "h.{}.ln_1.weight", "layer.{}.layernorm_before.weight")


def spaces(checkpoint: Checkpoint, plan: LayerPlan, path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """The variants of a layer's position space; that with the gain where the folder has one."""
    rows = checkpoint.position_rows(plan)
    yield MAIN, position_space(rows)
    yield WIDER, position_space(rows, 0.95)
    if (path / TABLE_APART).is_file():
        file = open_tensors(path / TABLE_APART)
        wanted = tuple(f".{name.format(plan.layer)}" for name in NORMS)
        if gains := [name for name in file.shapes if name.endswith(wanted)]:
            yield GAIN, position_space(checkpoint.position_rows(plan, file.read(gains[0]).double()), VARIANCE)


def layer_splits(checkpoint: Checkpoint, plan: LayerPlan, path: Path) -> Iterator[dict]:
    """A row for each variant: `split_score`, and the means and the largest distance from s over random spaces."""
    form = checkpoint.read(plan).form.to(torch.float64)
    for variant, basis in spaces(checkpoint, plan, path):
        d, k = basis.shape
        generator = torch.Generator().manual_seed(plan.layer)
        drawn = [
            split_score(form, torch.linalg.qr(torch.randn(d, k, generator=generator, dtype=torch.float64))[0])
            for _ in range(DRAWS)
        ]
        yield {
            **{"part": plan.part, "layer": plan.layer, "variant": variant, "d_model": d, "dimension": k},
            **{name: float(value) for name, value in vars(split_score(form, basis)).items()},
            "inside_at_random": mean(float(other.inside) for other in drawn),
            "outside_at_random": mean(float(other.outside) for other in drawn),
            "most_moved_at_random": max(abs(float(other.outside - other.symmetry)) for other in drawn),
        }


def record(folder: Path) -> None:
    """Measure every model under ATTNGEO_WEIGHTS whose positions are rows that can be read, and write the record.

    Raises:
        CheckpointError: no weights are there, or they cannot be read.
    """
    rows: list[dict] = []
    files: dict[str, dict[str, str]] = {}
    without: dict[str, str] = {}
    for model, path in local_weights(needed=True).items():
        checkpoint = open_checkpoint(path)
        for plan in checkpoint.plans:
            try:
                rows += [{"model": model} | row for row in layer_splits(checkpoint, plan, Path(path))]
            except CheckpointError as error:
                without[f"{model}, {plan.part}"] = str(error)
        if rows and rows[-1]["model"] == model:
            files[model] = weights_read(path, TABLE_APART)
        print(model, flush=True)
    write_rows(folder / "layers.csv", rows)
    write_provenance(folder, sha256=files, without=without, draws=DRAWS)


def record_runs(experiment: Path) -> None:
    """Measure the trained models below an experiment that add a table of positions; only rows that were trained count.

    What is recorded of runs whose models are gone is kept.

    Raises:
        CheckpointError: no model is there, or one cannot be read.
    """
    rows: list[dict] = []
    for model in sorted(experiment.glob("*/model")):
        config = read_about(model.parent)["config"]
        if config["positions"] != "learned":
            continue
        checkpoint = open_checkpoint(model)
        for plan in checkpoint.plans:
            basis = position_space(checkpoint.position_rows(plan)[: config["block_size"]])
            split = vars(split_score(checkpoint.read(plan).form.to(torch.float64), basis))
            numbers = {"dimension": basis.shape[1]} | {name: float(value) for name, value in split.items()}
            rows.append({"run": model.parent.name, "layer": plan.layer} | numbers)
    if not rows:
        raise CheckpointError(
            f"{experiment} holds no run with its model/ and a table of positions; make its runs first."
        )
    file = experiment / "positions.csv"
    write_rows(file, with_former_runs(file, pd.DataFrame(rows)).sort_values(["run", "layer"]))


if __name__ == "__main__":
    if sys.argv[1:]:
        as_command(record_runs, Path(sys.argv[1]))
    else:
        as_command(record, data("positions"))
