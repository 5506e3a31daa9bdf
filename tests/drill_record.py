"""What a drill found, in one file of ``data/drills`` with what it was made with."""

import json
from datetime import datetime, timezone
from pathlib import Path

from attngeo.files.atomic import write_text
from attngeo.files.provenance import commit, device, versions

ROOT = Path(__file__).parents[1]
PACKAGES = ("torch", "transformers", "safetensors", "tokenizers", "numpy", "pyarrow", "jupyter-book", "sphinx")


def write_record(file: str | Path, **found) -> None:
    """Write a record in one step, a line for each thing found."""
    made = {"date": f"{datetime.now(timezone.utc):%Y-%m-%d}", "commit": commit(ROOT), "device": device()}
    values = made | {"versions": versions(PACKAGES)} | found
    write_text(
        file, "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in values.items()) + "\n}\n"
    )


def _lines(value: object) -> str:
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items()) + "\n}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in value) + "\n]"
    return json.dumps(value)
