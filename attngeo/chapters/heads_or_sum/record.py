"""What is recorded of every checkpoint under ATTNGEO_WEIGHTS: ``python -m attngeo.chapters.heads_or_sum.record``.

    data/heads_or_sum/removals.parquet   a row per layer and part that is taken from it: the sums behind `parts`
                      pairs.parquet      a row per layer and pair of heads g <= h: both inner products
                      spectra.parquet    a row per layer (head -1) and head: `spectrum`
                      record.json        SHA-256 of the weights, versions, date

Layers of one head are left out: their sum adds nothing.
"""

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch

from attngeo.chapters.heads_or_sum.overlaps import Overlaps, overlaps
from attngeo.chapters.heads_or_sum.removals import NOTHING, removals
from attngeo.chapters.heads_or_sum.spectrum import spectrum
from attngeo.checkpoints.layers import AttentionLayer, open_checkpoint
from attngeo.errors import AttngeoError, CheckpointError
from attngeo.forms.scores import SUM
from attngeo.records.atomic import atomic_path, write_text
from attngeo.records.checkout import CheckoutError, data
from attngeo.records.provenance import sha256, versions
from attngeo.survey.models import local_weights

LAYER = ["model", "part", "layer"]


class Recorded(NamedTuple):
    """The three tables; models are named as in the registry."""

    removals: pd.DataFrame
    pairs: pd.DataFrame
    spectra: pd.DataFrame


def recorded() -> Recorded:
    """What is recorded.

    Raises:
        CheckoutError: a table is missing or damaged.
    """
    tables = []
    for name in Recorded._fields:
        path = data("heads_or_sum", f"{name}.parquet")
        try:
            tables.append(pd.read_parquet(path))
        except (OSError, ValueError) as error:
            raise CheckoutError(f"{path} cannot be read ({error}); restore it from the repository.") from error
    return Recorded(*tables)


def measure(model: str, layer: AttentionLayer) -> Recorded:
    """The rows of one layer."""
    form, place = layer.form.to(torch.float64), dict(zip(LAYER, (model, layer.part, layer.layer), strict=True))
    shape = {"heads": form.n_heads, "d_model": form.d_model, "rank": form.n_kv_heads * form.d_head}
    without = removals(form, seed=layer.layer)
    square = float(without[NOTHING, False].products.sum())
    sums = [
        place | shape | {"removed": name, "at_random": drawn} | {k: float(v) / square for k, v in left.sums().items()}
        for (name, drawn), left in without.items()
    ]
    factors = [form.merged(), *zip(*form.per_head(), strict=True)]
    spectra = [place | {"head": head} | spectrum(*pair) for head, pair in enumerate(factors, SUM)]
    pairs = [place | row for row in pair_rows(without[NOTHING, False])]
    return Recorded(*map(pd.DataFrame, (sums, pairs, spectra)))


def pair_rows(found: Overlaps) -> Iterator[dict]:
    """Rows of all pairs g <= h: both inner products over the layer's ``||M||^2``."""
    square = float(found.products.sum())
    for g, h in torch.triu_indices(*found.traces.shape).T.tolist():
        numbers = {"trace": found.traces[g, h] / square, "product": found.products[g, h] / square}
        yield {"g": g, "h": h} | {name: float(value) for name, value in numbers.items()}


def verified(model: str, pairs: pd.DataFrame) -> float | None:
    """Largest difference of a model's recorded pairs from its weights; None where these are not at hand."""
    if model not in (folders := local_weights()):
        return None
    again = [
        pd.DataFrame(pair_rows(overlaps(layer.form))).assign(model=model, part=layer.part, layer=layer.layer)
        for layer in open_checkpoint(folders[model])
        if layer.form.n_heads > 1
    ]
    both = pairs[pairs["model"] == model].merge(pd.concat(again), on=[*LAYER, "g", "h"], how="outer")
    return float(max((both[f"{name}_x"] - both[f"{name}_y"]).abs().max(skipna=False) for name in ("trace", "product")))


def record(folder: Path) -> None:
    """Measure every checkpoint under ATTNGEO_WEIGHTS and write the tables.

    Raises:
        CheckpointError: there is none, or one cannot be read.
    """
    if not (folders := local_weights()):
        raise CheckpointError("ATTNGEO_WEIGHTS names no folder that holds models of the register; name one.")
    rows, files = [], {}
    for model, path in folders.items():
        rows += [measure(model, layer) for layer in open_checkpoint(path) if layer.form.n_heads > 1]
        files[model] = {file.name: sha256(file) for file in sorted(Path(path).glob("*.safetensors"))}
        print(model, flush=True)
    for name, tables in zip(Recorded._fields, zip(*rows, strict=True), strict=True):
        with atomic_path(folder / f"{name}.parquet") as file:
            pd.concat(tables, ignore_index=True).to_parquet(file, index=False)
    made = {"sha256": files, "versions": versions(), "date": datetime.now(timezone.utc).date().isoformat()}
    write_text(folder / "record.json", json.dumps(made, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    try:
        record(data("heads_or_sum"))
    except AttngeoError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
