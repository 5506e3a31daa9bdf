"""Files that are either the old version or the new one, never half of it."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from attngeo.errors import AttngeoError
from attngeo.inputs import cause

_OF_THE_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP, errno.EINVAL}


@contextmanager
def atomic_path(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success rename it there, on failure remove it.

    A link stays, and the file it leads to is replaced; a file keeps its mode. What is no file, such as a pipe or a
    device, is yielded itself.

    Args:
        target: the file to write. Its folder is made when missing.

    Raises:
        AttngeoError: no file can have that name.
        OSError: the folder cannot be written, or the disk is full; ``target``, which it names, is then as it was.
    """
    target = Path(target)
    if os.path.exists(target) and not (os.path.isfile(target) or os.path.isdir(target)):
        yield target
        return
    try:
        former = target.stat().st_mode if target.exists() else 0
        place = Path(os.path.realpath(target)) if target.is_symlink() else target
        temporary = place.with_name(f".{target.stem}-{uuid4().hex}{target.suffix}")
        _create(temporary, place, former)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in _OF_THE_NAME:
            raise _named(error, target) from error
        raise AttngeoError(f"{target} cannot be written ({cause(error)}); name another file.") from error
    try:
        yield temporary
        try:
            if stat.S_ISREG(former):
                temporary.chmod(stat.S_IMODE(former))
            os.replace(temporary, place)
        except OSError as error:
            raise _named(error, target) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike, text: str) -> None:
    """Write ``text`` to ``target`` in one step (UTF-8)."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _create(temporary: Path, place: Path, former: int) -> None:
    """Make a new file, which nobody can read who could not read the former one."""
    if place.is_symlink():  # what a link in a circle resolves to
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    temporary.parent.mkdir(parents=True, exist_ok=True)
    mode = former & 0o777 | stat.S_IRUSR | stat.S_IWUSR if stat.S_ISREG(former) else 0o666
    temporary.touch(mode, exist_ok=False)


def _named(error: OSError, target: Path) -> OSError:
    """The same error about the file that was asked for, and not about a temporary one."""
    return OSError(error.errno, error.strerror, str(target))
