"""Byte ranges of files on the Hub, kept once read: by repository, commit and file among huggingface_hub's assets."""

import os
import shutil
from pathlib import Path

from huggingface_hub import constants


def cache_folder() -> Path:
    """Where they are kept; ``HF_HOME`` or ``HF_ASSETS_CACHE`` moves it."""
    return Path(constants.HF_ASSETS_CACHE) / "attngeo"


def kept_folder(repository: str, commit: str, file: str) -> Path:
    """The folder with the ranges of one file, named as huggingface_hub names its assets."""
    return cache_folder() / repository.replace("/", "--") / commit / file.replace("/", "--")


def keep(path: Path, data: memoryview) -> None:
    """Write a range, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sizes() -> dict[tuple[str, str], int]:
    """Bytes kept, by repository and commit."""
    totals: dict[tuple[str, str], int] = {}
    for path in sorted(cache_folder().glob("*/*/*/*")):
        place = path.parts[-4].replace("--", "/", 1), path.parts[-3]
        totals[place] = totals.get(place, 0) + path.stat().st_size
    return totals


def clear() -> None:
    """Remove all that is kept."""
    if cache_folder().is_dir():
        shutil.rmtree(cache_folder())
