"""Files that are either the old version or the new one, never half of it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from attngeo.bounds import cause
from attngeo.errors import AttngeoError

_OF_THE_NAME = {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP, errno.EINVAL}


@contextmanager
def atomic_path(target: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success rename it there, on failure remove it.

    Args:
        target: the file to write. Its folder is made when missing.

    Raises:
        AttngeoError: no file can have that name.
        OSError: the folder cannot be written, or the disk is full; ``target`` is then as it was.
    """
    target = Path(target)
    temporary = target.with_name(f".{target.stem}-{uuid4().hex}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", errno.EINVAL) not in _OF_THE_NAME:
            raise
        raise AttngeoError(f"{target} cannot be written ({cause(error)}); name another file.") from error
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike, text: str) -> None:
    """Write ``text`` to ``target`` in one step (UTF-8)."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
