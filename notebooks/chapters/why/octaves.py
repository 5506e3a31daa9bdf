"""The symmetry of real weights on the waves of their position tables, recorded: ``python -m chapters.why.octaves``.

data/positions/octaves.csv           a row per layer or head and octave of its model's table
               offsets.csv           a row per layer or head: the offset that it attends to by positions
               exceptions.csv        a row per layer of `EXCEPTIONS` and octave: s without the heads that make it skew
               octaves_record.json   SHA-256 of the weights and of the tables, what has no table and why, versions, date
"""

import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.offsets import Peak, kernel, peak, symmetry_from_kernel, transfer
from attngeo.bilinear.scores import SUM
from attngeo.bilinear.waves import octave_scores
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.checkpoints.position_tables import TABLE_APART
from attngeo.errors import CheckpointError
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import write_provenance
from attngeo.files.checkout import data
from attngeo.experiments.tables import as_command, weights_read, write_rows

SEEDS = 8  # random weights of the same shape on the same table
RANDOM_COLUMNS = ("random_mean", "random_sd")
EXCEPTIONS = (  # model, layer, and the heads that make it skew on some waves, which attend to a single side
    ("BERT base radiology", 2, (0, 9)),
    ("BERT base radiology", 11, (3,)),
)


def octave_rows(form: BilinearForm, rows: Float[Tensor, "n d"]) -> Iterator[dict]:
    """Rows of octaves.csv for the sum over heads (head -1) and for every head.

    ``symmetry`` and ``share`` are those of `octave_scores`, ``from_kernel`` the symmetry that the kernel predicts, and
    ``from_offset`` that of a head which attends to the single offset at which its kernel peaks, where the peak
    dominates (`attngeo.bilinear.offsets.peak`).
    """
    for head, of in _sum_and_heads(form):
        scores = octave_scores(of, rows)
        transferred = transfer(of, rows)
        found = peak(kernel(of, rows))
        by_kernel = symmetry_from_kernel(transferred, len(rows))
        by_offset = symmetry_from_kernel(transferred, len(rows), found.offset)
        for period, (symmetry, share) in scores.items():
            yield {
                "head": head,
                "octave": period,
                "symmetry": float(symmetry),
                "share": float(share),
                "from_kernel": float(by_kernel[period]),
                "from_offset": float(by_offset[period]) if found.dominates else math.nan,
            }


def offset_rows(form: BilinearForm, rows: Float[Tensor, "n d"]) -> Iterator[dict]:
    """Rows of offsets.csv for the sum over heads (head -1) and for every head: `peak`, and the share of the kernel.

    ``kernel_share`` is the share of the squared norm of P W_qk P^T that depends on the offset alone.
    """
    n = len(rows)
    pairs = n - torch.arange(-(n - 1), n).abs()
    for head, of in _sum_and_heads(form):
        g = kernel(of, rows)
        found: Peak = peak(g)
        yield {
            "head": head,
            "positions": n,
            "offset": found.offset,
            "width": found.width,
            "rest": found.rest,
            "dominates": found.dominates,
            "kernel_share": float((pairs * g.square()).sum() / _squared_norm(of, rows)),
        }


def at_random(shape: BilinearForm, rows: Float[Tensor, "n d"]) -> dict[tuple[bool, int], tuple[float, float]]:
    """Mean and standard deviation of s by octave for random weights of the same shape on the same rows.

    Returns:
        (whether of single heads, octave) -> mean and standard deviation, over `SEEDS` draws or all their heads.
    """
    found: dict[tuple[bool, int], list[float]] = {}
    for seed in range(SEEDS):
        draw = torch.Generator().manual_seed(seed)
        q, k = (torch.randn(factor.shape, generator=draw, dtype=torch.float64) for factor in (shape.wq, shape.wk))
        for per_head in (False, True):
            for period, (symmetry, _) in octave_scores(BilinearForm(q, k), rows, per_head).items():
                found.setdefault((per_head, period), []).extend(symmetry.flatten().tolist())
    summaries = {}
    for key, values in found.items():
        drawn = torch.tensor(values, dtype=torch.float64)
        summaries[key] = (float(drawn.mean()), float(drawn.std()))
    return summaries


def exception_rows(model: str, path: str) -> Iterator[dict]:
    """For each layer of a model in `EXCEPTIONS` and each octave: s of the layer, and of the sum of its other heads."""
    checkpoint = open_checkpoint(path)
    for _, layer, heads in (exception for exception in EXCEPTIONS if exception[0] == model):
        plan = checkpoint.plans[layer]
        rows = checkpoint.position_rows(plan)
        form = checkpoint.read(plan).form.to(torch.float64)
        others = [head for head in range(form.n_heads) if head not in heads]
        rest = BilinearForm(form.wq[others], form.wk[others])
        without = octave_scores(rest, rows)
        for period, (symmetry, _) in octave_scores(form, rows).items():
            yield {
                "model": model,
                "part": plan.part,
                "layer": layer,
                "heads": " ".join(map(str, heads)),
                "octave": period,
                "symmetry": float(symmetry),
                "without": float(without[period][0]),
            }


def record(folder: Path) -> None:
    """Measure every model under ATTNGEO_WEIGHTS whose positions are rows that can be read, and write the record.

    Raises:
        CheckpointError: no weights are there, or they cannot be read.
    """
    octaves: list[dict] = []
    offsets: list[dict] = []
    exceptions: list[dict] = []
    files: dict[str, dict[str, str]] = {}
    without: dict[str, str] = {}
    for model, path in local_weights(needed=True).items():
        checkpoint = open_checkpoint(path)
        chance: dict[str, dict] = {}  # scores of random weights, by part
        for plan in checkpoint.plans:
            try:
                rows = checkpoint.position_rows(plan)
            except CheckpointError as error:
                without[f"{model}, {plan.part}"] = str(error)
                continue
            form = checkpoint.read(plan).form.to(torch.float64)
            if plan.part not in chance:
                chance[plan.part] = at_random(form, rows)
            place = {"model": model, "part": plan.part, "layer": plan.layer}
            for row in octave_rows(form, rows):
                random = chance[plan.part][row["head"] != SUM, row["octave"]]
                octaves.append(place | row | dict(zip(RANDOM_COLUMNS, random, strict=True)))
            offsets += [place | row for row in offset_rows(form, rows)]
        if chance:
            files[model] = weights_read(path, TABLE_APART)
        exceptions += exception_rows(model, path)
        print(model, flush=True)
    for name, table in (("octaves", octaves), ("offsets", offsets), ("exceptions", exceptions)):
        write_rows(folder / f"{name}.csv", table, digits=5)
    write_provenance(folder, "octaves_record.json", sha256=files, without=without, seeds=SEEDS)


def recorded() -> pd.DataFrame:
    """The recorded rows of octaves.csv; layers count from 0, and octave 0 stands for all waves."""
    return pd.read_csv(data("positions", "octaves.csv"))


def released_octaves(rows: pd.DataFrame) -> pd.DataFrame:
    """Median s of the layers on each octave of waves of a model's table, a row per model and part."""
    layers = rows[(rows["head"] == -1) & (rows["octave"] > 0)]
    medians = layers.pivot_table("symmetry", ["model", "part"], "octave", "median")
    medians.columns = [f"{octave}" for octave in medians.columns]
    return medians.reset_index().sort_values(["part", "model"], ascending=[False, True], ignore_index=True)


def recorded_offsets() -> pd.DataFrame:
    """The recorded rows of offsets.csv."""
    return pd.read_csv(data("positions", "offsets.csv"))


def recorded_exceptions() -> pd.DataFrame:
    """The recorded rows of exceptions.csv."""
    return pd.read_csv(data("positions", "exceptions.csv"))


def _sum_and_heads(form: BilinearForm) -> Iterator[tuple[int, BilinearForm]]:
    yield SUM, form
    for head in range(form.n_heads):
        yield head, form.alone(head)


def _squared_norm(form: BilinearForm, rows: Tensor) -> Tensor:
    """``||P W_qk P^T||^2``."""
    centred = rows.double() - rows.double().mean(0)
    q, k = (centred @ factor.double() for factor in form.merged())
    return ((q.T @ q) * (k.T @ k)).sum()


if __name__ == "__main__":
    as_command(record, data("positions"))
