"""How the heads of every layer add up, recorded for real weights: ``python -m chapters.why.coherence``.

data/coherence/layers.csv    a row per layer of every model under ATTNGEO_WEIGHTS
               record.json   SHA-256 of the weights, versions, date
"""

from pathlib import Path

import pandas as pd

from attngeo.bilinear.coherence import EXACT_HEADS, TOSSES
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import coherence_row, write_provenance
from attngeo.files.checkout import data
from attngeo.experiments.tables import as_command, weights_read, write_rows
from chapters.why.coins import FEWEST_HEADS

COHERENCE = {
    "symmetry_of_heads": "s of heads",
    "coherence_symmetric": "c_S",
    "coherence_skew": "c_N",
    "symmetry": "s of the layer",
    "coin_median": "s under coin tosses",
    "coin_rank": "rank under coin tosses",
}


def record(folder: Path) -> None:
    """Measure every layer of every model under ATTNGEO_WEIGHTS, and write the record.

    Raises:
        CheckpointError: no weights are there, or they cannot be read.
    """
    rows: list[dict] = []
    files: dict[str, dict[str, str]] = {}
    for model, path in local_weights(needed=True).items():
        rows += [{"model": model} | coherence_row(layer) for layer in open_checkpoint(path)]
        files[model] = weights_read(path)
        print(model, flush=True)
    write_rows(folder / "layers.csv", rows)
    write_provenance(folder, sha256=files, tosses={"exact up to heads": EXACT_HEADS, "else drawn": TOSSES})


def recorded() -> pd.DataFrame:
    """The recorded rows; layers count from 0."""
    return pd.read_csv(data("coherence", "layers.csv"))


def released_coherence(layers: pd.DataFrame) -> pd.DataFrame:
    """How the heads of released models add up: a row per model and part, medians over layers of three heads or more."""
    counted = layers[(layers["n_heads"] >= FEWEST_HEADS) & (layers["part"] != "cross")]
    medians = counted.groupby(["model", "part"], sort=False)[list(COHERENCE)].median()
    return medians.rename(columns=COHERENCE).reset_index().sort_values(["part", "model"], ignore_index=True)


if __name__ == "__main__":
    as_command(record, data("coherence"))
