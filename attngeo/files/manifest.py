"""Folders that tell when they are damaged: ``manifest.json``, written last, has the SHA-256 of every other file."""

import json
from pathlib import Path

from attngeo.errors import AttngeoError
from attngeo.files.atomic import write_text
from attngeo.files.provenance import sha256
from attngeo.inputs import read_json

MANIFEST = "manifest.json"


def write_manifest(folder: Path) -> None:
    """Write the checksums of all that is below a folder into it; without them it counts as unfinished."""
    write_text(folder / MANIFEST, json.dumps(_checksums(folder), indent=1) + "\n")


def damage(folder: Path) -> str:
    """What a folder holds otherwise than its manifest says; "" where it is whole."""
    try:
        recorded, present = read_json(folder / MANIFEST, dict[str, str], AttngeoError), _checksums(folder)
    except (AttngeoError, OSError) as error:
        return f"{MANIFEST}: {error}"
    return next((f"{name} is altered, missing or new" for name, _ in sorted(recorded.items() ^ present.items())), "")


def _checksums(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and file != folder / MANIFEST)
    return {file.relative_to(folder).as_posix(): sha256(file) for file in sorted(files)}
