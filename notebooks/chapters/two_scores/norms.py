"""Norms of the rows and columns of W_qk in trained models, from which directionality follows for every threshold.

``python -m chapters.two_scores.norms`` writes them for every checkpoint under ATTNGEO_WEIGHTS:

    data/norms/norms.parquet    a row per layer: model, part, layer, and the lists row_norms and column_norms
               record.json      SHA-256 of the weights, versions, date
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from attngeo.bilinear.moments import form_moments
from attngeo.bilinear.scores import Convention, directionality_of
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.errors import AttngeoError
from attngeo.experiments.survey.families import distinct, of_families, with_kinds
from attngeo.experiments.survey.measured import named, read_records
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import write_provenance
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from attngeo.files.provenance import sha256

FORMULAS = {  # a column of scores: in words
    "directionality": "sum of the norms (the paper's definition)",
    "directionality_released": "excess of the norms (the authors' code)",
    "directionality_tables": "excess of the logarithms (Table S3)",
}
CONVENTIONS = (Convention.DEFINITION, Convention.RELEASED, Convention.TABLES)
ROUNDING = float(np.finfo(np.float32).eps)  # of the recorded norms
STACK = ["model", "part"]


def record(folder: Path) -> None:
    """Write the norms of every checkpoint under ATTNGEO_WEIGHTS.

    Raises:
        CheckpointError: there is none, or one cannot be read.
    """
    rows, files = [], {}
    for model, path in local_weights(needed=True).items():
        for layer in open_checkpoint(path):
            moments = form_moments(layer.form)
            norms = (side.float().tolist() for side in (moments.row_norms, moments.column_norms))
            rows.append((model, layer.part, layer.layer, *norms))
        files[model] = {file.name: sha256(file) for file in sorted(Path(path).glob("*.safetensors"))}
        print(model, flush=True)
    table = pd.DataFrame(rows, columns=[*STACK, "layer", "row_norms", "column_norms"])
    for side in ("row_norms", "column_norms"):
        table[side] = table[side].map(np.float32)
    with atomic_path(folder / "norms.parquet") as file:
        table.to_parquet(file, index=False)
    write_provenance(folder, sha256=files)


@cache
def recorded_norms() -> pd.DataFrame:
    """A row per layer of every recorded model, each model once."""
    return distinct(named(pd.read_parquet(data("norms") / "norms.parquet")))


@cache
def layer_scores(gamma: float) -> pd.DataFrame:
    """`scored` for every recorded layer."""
    return scored(recorded_norms(), gamma)


def scored(layers: pd.DataFrame, gamma: float) -> pd.DataFrame:
    """Directionality of some rows of `recorded_norms` by each of `FORMULAS`, and how many rows and columns are long.

    Returns:
        Columns model, part, layer, width, the `FORMULAS`, n_rows_over and n_columns_over (by Definition 3.2).
    """
    tables = []
    for width, alike in layers.groupby(layers["row_norms"].map(len)):  # all layers of a width at once
        sides = [np.stack(alike[side].to_list()) for side in ("row_norms", "column_norms")]
        norms = torch.tensor(np.stack(sides), dtype=torch.float64)
        found = [directionality_of(norms, gamma, convention, ROUNDING) for convention in CONVENTIONS]
        values = {name: d.numpy() for name, (d, _) in zip(FORMULAS, found, strict=True)}
        over = dict(zip(("n_rows_over", "n_columns_over"), found[0][1].numpy(), strict=True))
        tables.append(alike[[*STACK, "layer"]].assign(width=width, **values, **over))
    return pd.concat(tables).sort_index(ignore_index=True)


@cache
def stacks(gamma: float) -> pd.DataFrame:
    """Medians over the layers of `layer_scores`, a row per encoder or decoder, with its shape, family and modality.

    Returns:
        The columns of `layer_scores`, n_layers, rank (of a layer's W_qk), and the columns of `with_kinds`.
    """
    layers = layer_scores(gamma).drop(columns="layer").groupby(STACK, sort=False)
    medians = layers.median().assign(n_layers=layers.size()).join(ranks()).reset_index()
    return with_kinds(medians).query("part != 'cross'").reset_index(drop=True)


@cache
def ranks() -> pd.Series:
    """The rank of W_qk in the layers of every model and part of the survey."""
    return named(read_records(data("survey"))).query("head == -1").groupby(STACK)["rank"].first()


def longest_over_mean(model: str, side: str) -> float:
    """The largest norm of the rows or of the columns over their mean norm, median over the layers of a model."""
    norms = recorded_norms()
    norms = norms.loc[norms["model"] == model, side]
    return float((norms.map(np.max) / norms.map(np.mean)).median())


def families(gamma: float, modality: str = "") -> pd.DataFrame:
    """The scores of `stacks` by family, in which every family counts once; of one modality if it is named."""
    chosen = stacks(gamma)
    return of_families(chosen[chosen["modality"] == modality] if modality else chosen, tuple(FORMULAS))


if __name__ == "__main__":
    try:
        record(data("norms"))
    except AttngeoError as error:
        sys.exit(f"{error}")
