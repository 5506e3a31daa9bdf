"""What a drill found, in one file of ``data/drills`` with what it was made with."""

import json
from datetime import datetime, timezone
from pathlib import Path

from attngeo.records.atomic import write_text
from attngeo.records.provenance import commit, device, versions

ROOT = Path(__file__).parents[1]
PACKAGES = ("torch", "transformers", "safetensors", "tokenizers", "numpy", "pyarrow", "jupyter-book", "sphinx")


def write_record(file: str | Path, **found) -> None:
    """Write a record in one step."""
    made = {"date": f"{datetime.now(timezone.utc):%Y-%m-%d}", "commit": commit(ROOT), "device": device()}
    write_text(file, json.dumps(made | {"versions": versions(PACKAGES)} | found, indent=1) + "\n")
