"""What a path or an id stands for: a local folder, or a repository on the Hub."""

import re
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from attngeo.checkpoints.repositories import LocalFolder, Repository
from attngeo.checkpoints.tensorfiles import SUFFIXES
from attngeo.errors import CheckpointError
from attngeo.inputs import local_path

# an id, ID@REVISION, hf://ID, or the address of a page of the Hub
ADDRESS = re.compile(
    r"(?:(?:(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/|hf://)(?P<page>[^@/?#]+(?:/[^@/?#]+)?)"
    r"(?:/(?:tree/(?P<tree>[^/?#]+)(?:/(?P<folder>[^?#]+?))?|(?:blob|resolve)/(?P<blob>[^/?#]+)(?:/(?P<file>[^?#]*))?))?/?(?:[?#].*)?|(?P<id>(?![./~\\])[^@/:]+(?:/[^@/]+)?))(?:@(?P<revision>.+))?"
)


class Named(NamedTuple):
    """What a word says of a repository on the Hub."""

    id: str
    revision: str | None
    subfolder: str


def named_on_the_hub(text: str) -> Named | None:
    """The repository that an id, ID@REVISION or an address stands for; None where it can be none."""
    match = ADDRESS.fullmatch(text.strip())
    if match is None or (match["id"] and Path(text).suffix in SUFFIXES):
        return None
    revision = match["revision"] or match["tree"] or match["blob"]
    folder = match["folder"] or (match["file"] or "").rpartition("/")[0]
    return Named(match["page"] or match["id"], revision, folder)


def open_repository(
    path_or_id: str | PathLike, revision: str | None = None, first: str = "config.json", subfolder: str = ""
) -> Repository:
    """The folder of that name, else the Hub repository of that id, which must have the file ``first``."""
    text = str(path_or_id).strip()
    path = local_path(path_or_id, CheckpointError)
    if text and path.is_dir():
        if revision is not None:
            raise CheckpointError(f"{path} is a local folder, which has no revision {revision!r}; leave it out.")
        return LocalFolder(path)
    named = named_on_the_hub(text)
    if named is None:
        raise CheckpointError(f"there is no file or folder {str(path_or_id)!r}; check the path.")
    if None not in (revision, named.revision) and revision != named.revision:
        raise CheckpointError(f"{text} names the revision {named.revision!r} and not {revision!r}; give one of them.")
    from attngeo.checkpoints.hub import HubRepository

    return HubRepository(named.id, revision or named.revision, first, subfolder or named.subfolder)
