"""How the heads of every layer add up, recorded for real weights: ``python -m chapters.why.coherence``.

data/coherence/layers.csv    a row per layer of every model under ATTNGEO_WEIGHTS
               record.json   SHA-256 of the weights, versions, date
"""

import sys
from pathlib import Path

import pandas as pd

from attngeo.bilinear.coherence import EXACT_HEADS, TOSSES
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.errors import AttngeoError
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import coherence_row, write_provenance
from attngeo.files.atomic import write_text
from attngeo.files.checkout import data
from attngeo.files.provenance import sha256


def record(folder: Path) -> None:
    """Measure every layer of every model under ATTNGEO_WEIGHTS, and write the record.

    Raises:
        CheckpointError: no weights are there, or they cannot be read.
    """
    rows: list[dict] = []
    files: dict[str, dict[str, str]] = {}
    for model, path in local_weights(needed=True).items():
        rows += [{"model": model} | coherence_row(layer) for layer in open_checkpoint(path)]
        files[model] = {file.name: sha256(file) for file in sorted(Path(path).glob("*.safetensors"))}
        print(model, flush=True)
    write_text(folder / "layers.csv", pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))
    write_provenance(folder, sha256=files, tosses={"exact up to heads": EXACT_HEADS, "else drawn": TOSSES})


def recorded() -> pd.DataFrame:
    """The recorded rows; layers count from 0."""
    return pd.read_csv(data("coherence", "layers.csv"))


if __name__ == "__main__":
    try:
        record(data("coherence"))
    except AttngeoError as error:
        sys.exit(f"{error}")
