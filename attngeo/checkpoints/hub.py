"""A repository on the Hugging Face Hub, with the token, endpoint, offline mode and cache of huggingface_hub.

Byte ranges that were read are stored in the assets folder of huggingface_hub, by repository, commit and file.
"""

import errno
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from huggingface_hub import constants, errors, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from attngeo.checkpoints.repository_base import Repository
from attngeo.checkpoints.tensorfiles import SafetensorsFile, TensorFile, read_range
from attngeo.checkpoints.torch_archives import NoArchive, TorchArchive
from attngeo.errors import CheckpointError
from attngeo.files.atomic import atomic_path

logger = logging.getLogger(__name__)
T = TypeVar("T")
PIECE = 8 * 2**20  # bytes per request
IN_FLIGHT = 8  # pieces fetched at the same time, over all files
ATTEMPTS = 6  # at each piece; each wait is twice as long as the one before
FIRST_WAIT = 0.5  # seconds
PASSING = {None, 408, 425, 429, 500, 502, 503, 504}  # status codes, or no answer, after which we try again
_POOL = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="attngeo-range")  # starts with the first piece
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}


def cache_folder() -> Path:
    """The folder in which byte ranges are stored, one file per range, below repository, commit and file."""
    return Path(constants.HF_ASSETS_CACHE) / "attngeo"


class HubRepository(Repository):
    """One model repository at one revision. Weights that are not in the cache are read by ranges, which are stored.

    All files are read from the commit from which the ``first`` file was read, and from ``subfolder`` if it is given.

    Raises:
        CheckpointError: the repository or revision does not exist or is gated, or there is no connection and the files
            are not in the cache.
    """

    def __init__(self, name: str, revision: str | None = None, first: str = "config.json", subfolder: str = "") -> None:
        self.name, self.revision, self._within = name, revision or "main", f"{subfolder}/" if subfolder else ""
        if not f"{name}{self.revision}".isprintable():
            named = f"{name}@{revision}" if revision else name
            raise CheckpointError(f"{named[:80]!r} is not a valid name of a repository; check the spelling.")
        # without a connection, a download would try for half a minute
        there = self._cached(first) is not None or self._size(first) is not None
        path = self._download(first) if there else None
        if path is None:
            way = "give the address of the folder that contains it"
            if first == "config.json":
                way = (
                    "if the model is in a subfolder, use --subfolder; if this is an adapter, give it together with"
                    " its base model (--adapter); if it contains a GGUF file, download this file and score it"
                )
            raise CheckpointError(f"{name} has no {self._within}{first} on the Hub; {way}.")
        # in the cache: models--owner--name/snapshots/<commit>/config.json
        self.revision = path.parents[len(Path(self._within + first).parts) - 1].name

    def fetch(self, file: str) -> Path | None:
        """A path in the cache, downloaded if needed; None if the repository (or, offline, the cache) lacks the file."""
        cached = self._cached(file)
        return cached if cached is not None or constants.HF_HUB_OFFLINE else self._download(file)

    def open(self, file: str) -> TensorFile | None:
        """A file with tensors: from the cache, by byte ranges, or, if it has no header, downloaded as a whole."""
        if self._cached(file) is not None:
            return super().open(file)
        names = (self.name.replace("/", "--"), self.revision, f"{self._within}{file}".replace("/", "--"))
        folder = cache_folder().joinpath(*names)
        size = next((int(path.name.rpartition("-")[2]) for path in folder.glob("[0-9]*-of-*")), None)
        if size is None and not constants.HF_HUB_OFFLINE:
            try:
                size = self._size(file)
            except CheckpointError:
                if "-of-" in file or not folder.parent.is_dir():
                    raise  # else an index was read at this commit, and this file would have come first
        if size is None:
            return None
        named, content = f"{file} of {self.name}", partial(self._range, file, folder, size)
        if file.endswith(".safetensors"):
            return SafetensorsFile(named, size, content, remote=True)
        with suppress(NoArchive):
            return TorchArchive(named, size, content)
        logger.warning(
            "%s cannot be read in parts because of its format, so the whole file is downloaded (%.2f GB)",
            named,
            size / 1e9,
        )
        return super().open(file)

    def absent(self, files: str) -> CheckpointError:
        """Why none of the files could be opened."""
        if constants.HF_HUB_OFFLINE:
            return CheckpointError(
                f"the weights of {self.name} ({files}) are not in the cache, and HF_HUB_OFFLINE is set; unset it or"
                " give a local path."
            )
        return CheckpointError(f"{self.name} has no weights on the Hub ({files}); convert it with save_pretrained.")

    def _range(self, file: str, folder: Path, size: int, start: int, stop: int) -> memoryview:
        """Bytes [start, stop) of a file, from ``folder``, in which each range is a file, or from the Hub."""
        path = folder / f"{start}-{stop}-of-{size}"
        if path.is_file() and path.stat().st_size == stop - start:
            return read_range(path, 0, stop - start)
        data, starts = np.empty(stop - start, np.uint8).data, range(start, stop, PIECE)
        pieces = _POOL.map(lambda at: self._piece(file, at, min(at + PIECE, stop)), starts)
        for at, piece in zip(starts, pieces, strict=True):
            data[at - start : at - start + len(piece)] = piece
        with suppress(OSError), atomic_path(path) as temporary:  # a range that cannot be stored will be read again
            temporary.write_bytes(data)
        return data

    def _piece(self, file: str, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of a file, from the server to which the Hub redirects us."""

        def ask() -> bytes | None:
            session: Any = get_session()  # from httpx, or from requests in releases before 1.0
            span = {"Accept-Encoding": "identity", "Range": f"bytes={start}-{stop - 1}"}
            url, headers = self._url(file), build_hf_headers() | span
            options = {"headers": headers, "timeout": constants.HF_HUB_DOWNLOAD_TIMEOUT}
            of_httpx = callable(getattr(session, "stream", None))
            asked = session.stream("GET", url, **options) if of_httpx else session.get(url, stream=True, **options)
            with asked as answer:
                hf_raise_for_status(answer)
                sent = answer.headers.get("Content-Range", "")
                if answer.status_code != 206 or not sent.startswith(f"bytes {start}-{stop - 1}/"):
                    return None  # without reading the body, which may be the whole file
                return answer.read() if of_httpx else answer.content

        with self._explained(file):
            content = _patiently(ask, ATTEMPTS)
        if content is None or len(content) != stop - start:
            raise CheckpointError(
                f"{constants.ENDPOINT} cannot send parts (byte ranges) of {file} of {self.name}; download the"
                " repository (hf download) and give the folder."
            )
        return content

    def _url(self, file: str) -> str:
        return hf_hub_url(self.name, self._within + file, revision=self.revision)

    def _cached(self, file: str) -> Path | None:
        with self._explained(file):
            path = try_to_load_from_cache(self.name, self._within + file, revision=self.revision)
        return Path(path) if isinstance(path, str) else None

    def _download(self, file: str) -> Path | None:
        return self._unless_absent(
            file, lambda: Path(hf_hub_download(self.name, self._within + file, revision=self.revision))
        )

    def _size(self, file: str) -> int | None:
        """The size of a file in bytes, or None if the repository has no such file."""
        timeout = constants.HF_HUB_ETAG_TIMEOUT
        return self._unless_absent(file, lambda: get_hf_file_metadata(self._url(file), timeout=timeout).size or 0)

    def _unless_absent(self, file: str, ask: Callable[[], T]) -> T | None:
        with self._explained(file):
            try:
                return _patiently(ask, 2)
            except errors.LocalEntryNotFoundError:
                raise
            except errors.EntryNotFoundError:
                return None

    @contextmanager
    def _explained(self, file: str) -> Iterator[None]:
        """Turn each error of the Hub into one sentence."""
        hub = constants.ENDPOINT
        try:
            yield
        except (errors.HTTPError, OSError, errors.HFValidationError) as error:
            if getattr(error, "errno", None) in _OF_THE_DISK:
                raise
            if isinstance(error, errors.GatedRepoError):
                why = f"is gated: ask for access at {hub}/{self.name}, then set HF_TOKEN to a token of that account"
            elif isinstance(error, errors.RevisionNotFoundError):
                why = f"has no revision {self.revision!r}; see its branches and tags at {hub}/{self.name}"
            elif isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
                why = (
                    f"is neither a file or folder here nor a public repository at {hub}; check the name, or set"
                    " HF_TOKEN"
                )
            else:
                status = _status(error)
                why = f"{hub} answered {status}" if status else f"{hub} cannot be reached"
                remedy = "check HF_TOKEN" if status in (401, 403) else "try again later or give a local path"
                if constants.HF_HUB_OFFLINE:
                    why, remedy = "HF_HUB_OFFLINE is set", "unset it or give a local path"
                why = f"is not a file or folder here, and its {file} on the Hub cannot be read: {why}; {remedy}"
            raise CheckpointError(f"{self.name} {why}.") from error


def _patiently(ask: Callable[[], T], attempts: int) -> T:
    """The result of a call of huggingface_hub, which is repeated if it fails in a way that may be temporary."""
    for attempt in range(attempts):
        try:
            return ask()
        except (errors.HTTPError, OSError, RuntimeError) as error:  # RuntimeError: a thread closed the shared client
            unasked = isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled)
            if unasked or _status(error) not in PASSING or attempt == attempts - 1:
                raise
            time.sleep(FIRST_WAIT * 2**attempt)
    raise AssertionError("at least one attempt")


def _status(error: BaseException) -> int | None:
    """The HTTP status of the answer that caused an error."""
    return getattr(getattr(error.__cause__ or error, "response", None), "status_code", None)
