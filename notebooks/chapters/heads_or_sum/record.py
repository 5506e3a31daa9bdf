"""Record pairs of heads and removals for every checkpoint under ATTNGEO_WEIGHTS.

``python -m chapters.heads_or_sum.record`` writes

    data/heads_or_sum/removals.parquet   a row per layer and part that is taken from it: the sums behind `parts`
                      pairs.parquet      a row per layer and pair of heads g <= h: both inner products
                      record.json        SHA-256 of the weights, versions, date

Layers with one head are left out, because their sum adds nothing. Their single head is in the survey's record and counts
as a head. Cross-attention belongs neither to the encoders nor to the decoders. Weights that are recorded twice count once.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch

from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import write_provenance
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from chapters.heads_or_sum.evidence import LAYER, TABLES
from chapters.heads_or_sum.overlaps import Overlaps, overlaps
from chapters.heads_or_sum.removals import NOTHING, removals
from attngeo.experiments.tables import as_command, weights_read


def measure(model: str, layer: AttentionLayer) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of one layer in both of TABLES, in their order."""
    form, place = layer.form.to(torch.float64), dict(zip(LAYER, (model, layer.part, layer.layer), strict=True))
    shape = {"heads": form.n_heads, "d_model": form.d_model, "rank": form.n_kv_heads * form.d_head}
    without = removals(form, seed=layer.layer)
    square = float(without[NOTHING, False].products.sum())
    sums = [
        place | shape | {"removed": name, "at_random": drawn} | {k: float(v) / square for k, v in left.sums().items()}
        for (name, drawn), left in without.items()
    ]
    pairs = [place | row for row in pair_rows(without[NOTHING, False])]
    return pd.DataFrame(sums), pd.DataFrame(pairs)


def pair_rows(of_layer: Overlaps) -> Iterator[dict]:
    """Rows of all pairs g <= h: both inner products over the layer's ``||M||^2``."""
    square = float(of_layer.products.sum())
    for g, h in torch.triu_indices(*of_layer.traces.shape).T.tolist():
        numbers = {"trace": of_layer.traces[g, h] / square, "product": of_layer.products[g, h] / square}
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
    rows, files = [], {}
    for model, path in local_weights(needed=True).items():
        rows += [measure(model, layer) for layer in open_checkpoint(path) if layer.form.n_heads > 1]
        files[model] = weights_read(path)
        print(model, flush=True)
    for name, tables in zip(TABLES, zip(*rows, strict=True), strict=True):
        with atomic_path(folder / f"{name}.parquet") as file:
            pd.concat(tables, ignore_index=True).to_parquet(file, index=False)
    write_provenance(folder, sha256=files)


if __name__ == "__main__":
    as_command(record, data("heads_or_sum"))
