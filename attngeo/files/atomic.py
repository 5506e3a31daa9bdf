"""Atomic writing: a file or folder contains either the old version or the new one, and never a part of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4


@contextmanager
def atomic_path(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path next to ``target``, which is renamed to ``target`` on success and removed on failure.

    If ``target`` is a link, the file to which it leads is replaced. The mode of the file is kept. If ``target`` is not
    a regular file but a pipe or a device, it is yielded itself.

    Args:
        target: the file to write. Its folder is created if it does not exist.

    Raises:
        OSError: the file cannot be written. The error names ``target``, which is then unchanged.
    """
    place = Path(os.path.realpath(target))  # for a pipe behind /dev/stdout, this is a path that does not exist
    former = os.path.isfile(target)
    if os.path.exists(target) and not (former or place.is_dir()):
        yield Path(target)
        return
    temporary = place.with_name(f".{place.stem}-{uuid4().hex}{place.suffix}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(place.stat().st_mode | 0o600 if former else 0o666)  # with the permissions of the former file
        yield temporary
        if former:
            shutil.copymode(place, temporary)
        os.replace(temporary, place)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename, error.filename2 = str(target), None
        raise
    finally:
        if os.path.exists(temporary):
            temporary.unlink()


def write_text(target: str | os.PathLike, text: str) -> None:
    """Write ``text`` to ``target`` in one step (UTF-8)."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``, which replaces ``target`` on success and is removed on failure.

    A process that is killed leaves a hidden folder next to ``target``, which can be deleted.

    Args:
        target: the folder to write. Its former content is deleted.

    Raises:
        OSError: the folder cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
        new = Path(beside, "new")
        new.mkdir()
        yield new
        if target.exists():
            target.rename(Path(beside, "former"))  # a folder cannot be renamed to one that contains files
        new.rename(target)
