"""Files and folders that hold either the old version or the new one, and never half of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4


@contextmanager
def atomic_path(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success rename it there, on failure remove it.

    A link stays, and the file it leads to is replaced; a file keeps its mode. What is no file, such as a pipe or a
    device, is yielded itself.

    Args:
        target: the file to write. Its folder is made when missing.

    Raises:
        OSError: it cannot be written; ``target``, which the error names, is then as it was.
    """
    place = Path(os.path.realpath(target))  # of a pipe behind /dev/stdout a path that is not there
    former = os.path.isfile(target)
    if os.path.exists(target) and not (former or place.is_dir()):
        yield Path(target)
        return
    temporary = place.with_name(f".{place.stem}-{uuid4().hex}{place.suffix}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(place.stat().st_mode | 0o600 if former else 0o666)  # no more readers than the former one's
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
    """Yield an empty folder beside ``target``; on success put it in the place of ``target``, on failure remove it.

    A process that is killed leaves a hidden folder beside ``target``, which may be deleted.

    Args:
        target: the folder to write. What it held before is deleted.

    Raises:
        OSError: it cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
        new = Path(beside, "new")
        new.mkdir()
        yield new
        if target.exists():
            target.rename(Path(beside, "former"))  # a folder cannot be renamed onto one that holds files
        new.rename(target)
