"""Files that are either the old version or the new one, never half of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def atomic_path(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success rename it there, on failure remove it.

    Args:
        target: the file to write. Its folder is made when missing.

    Raises:
        OSError: the folder cannot be written, or the disk is full; ``target`` is then as it was.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.stem}-{uuid4().hex}{target.suffix}")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike, text: str) -> None:
    """Write ``text`` to ``target`` in one step (UTF-8)."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
