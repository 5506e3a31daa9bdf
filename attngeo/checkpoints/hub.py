"""A repository on the Hugging Face Hub; token, endpoint, offline mode and cache are those of huggingface_hub."""

import errno
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from attngeo.checkpoints import ranges
from attngeo.checkpoints.kept import KeptBytes, kept_folder
from attngeo.checkpoints.repositories import Repository
from attngeo.checkpoints.tensorfiles import SafetensorsFile, TensorFile
from attngeo.errors import CheckpointError

logger = logging.getLogger(__name__)
T = TypeVar("T")
_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}


class HubRepository(Repository):
    """One model repository at one revision. Safetensors that are not in the cache are read by ranges, which are kept.

    The commit that its ``first`` file is read from is that of all further files, in ``subfolder`` if there is one.

    Raises:
        CheckpointError: no such repository or revision, a gated one, or no connection and nothing in the cache.
    """

    def __init__(self, name: str, revision: str | None = None, first: str = "config.json", subfolder: str = "") -> None:
        self.name, self.revision, self._within = name, revision or "main", f"{subfolder}/" if subfolder else ""
        if not f"{name}{self.revision}".isprintable():
            raise CheckpointError(f"{f'{name} {self.revision}'[:80]!r} is no name of a repository; check the spelling.")
        with self._explained(first):
            self._reach(first)
        found = self._download(first)
        if found is None:
            raise CheckpointError(
                f"{name} has no {self._within}{first} on the Hub; an adapter is scored with its base (--adapter), a"
                f" GGUF file by its path once it is downloaded."
            )
        depth = len(
            Path(self._within + first).parts
        )  # in the cache: models--owner--name/snapshots/<commit>/config.json
        self.revision = found.parents[depth - 1].name

    def fetch(self, file: str) -> Path | None:
        """A path in the cache, fetched there if needed; None where the repository, or offline the cache, has none."""
        cached = self._cached(file)
        return cached if cached is not None or constants.HF_HUB_OFFLINE else self._download(file)

    def open(self, file: str) -> TensorFile | None:
        """A file of tensors: from the cache, or by byte ranges, or, if it has no header to go by, downloaded."""
        if self._cached(file) is not None:
            return super().open(file)
        folder = kept_folder(self.name, self.revision, self._within + file)
        if folder.is_dir():
            return SafetensorsFile(KeptBytes(f"{file} of {self.name}", folder, lambda: self._remote(file)))
        if constants.HF_HUB_OFFLINE:
            return None
        try:
            place = self._find(file)
        except CheckpointError:
            if "-of-" in file or not folder.parent.is_dir():
                raise
            place = None  # an index was read at this commit, and this file would have come first
        if place is None:
            return None
        if file.endswith(".safetensors"):
            return SafetensorsFile(KeptBytes(f"{file} of {self.name}", folder, lambda: self._remote(file, place)))
        logger.warning("%s has no safetensors: %s is downloaded whole (%.2f GB)", self.name, file, place.size / 1e9)
        return super().open(file)

    def _remote(self, file: str, place: ranges.Place | None = None) -> ranges.RemoteBytes:
        place = place or self._find(file)
        if place is None:
            raise self.absent(file)
        return ranges.RemoteBytes(f"{file} of {self.name}", place, lambda: self._find(file))

    def absent(self, files: str) -> CheckpointError:
        """Why none of the files could be opened."""
        if constants.HF_HUB_OFFLINE:
            return CheckpointError(
                f"{self.name} is not in the cache with its weights ({files}), and HF_HUB_OFFLINE is set; unset it or"
                f" give a local path."
            )
        return CheckpointError(
            f"{self.name} on the Hub has no weights that can be read ({files}); convert it with save_pretrained."
        )

    def _reach(self, file: str) -> None:
        """See whether the Hub answers, if the file is not in the cache: a download would try for half a minute."""
        if self._cached(file) is not None:
            return
        url = hf_hub_url(self.name, self._within + file, revision=self.revision)
        for wait in (ranges.FIRST_WAIT, None):
            try:
                _call(get_hf_file_metadata, url, timeout=constants.HF_HUB_ETAG_TIMEOUT)
                return
            except HfHubHTTPError:
                return  # it answers; the download says what is wrong, or tries again
            except ranges.NETWORK_ERRORS as error:
                if wait is None:
                    raise LocalEntryNotFoundError(f"{constants.ENDPOINT} cannot be reached") from error
                time.sleep(wait)

    def _cached(self, file: str) -> Path | None:
        found = try_to_load_from_cache(self.name, self._within + file, revision=self.revision)
        return Path(found) if isinstance(found, str) else None

    def _download(self, file: str) -> Path | None:
        with self._explained(file):
            try:
                return Path(_call(hf_hub_download, self.name, self._within + file, revision=self.revision))
            except LocalEntryNotFoundError:
                raise
            except EntryNotFoundError:
                return None

    def _find(self, file: str) -> ranges.Place | None:
        """Where a file's bytes are; None where the repository has no such file."""
        url, failures = hf_hub_url(self.name, self._within + file, revision=self.revision), 0
        while True:
            try:
                with self._explained(file):
                    found = _call(get_hf_file_metadata, url, timeout=constants.HF_HUB_ETAG_TIMEOUT)
                break
            except EntryNotFoundError:
                return None
            except CheckpointError as error:
                failures += 1
                if _status(error) not in ranges.TRANSIENT or failures == ranges.ATTEMPTS:
                    raise
                time.sleep(min(ranges.FIRST_WAIT * 2 ** (failures - 1), ranges.LONGEST_WAIT))
        if found.size is None:
            raise CheckpointError(
                f"{constants.ENDPOINT} does not say how large {file} of {self.name} is, so that it cannot be read in"
                f" part; download the repository (hf download) and give the folder."
            )
        return ranges.Place(found.location, found.size)

    @contextmanager
    def _explained(self, file: str) -> Iterator[None]:
        """The Hub's errors in one sentence each."""
        page = f"{constants.ENDPOINT}/{self.name}"
        try:
            yield
        except GatedRepoError as error:
            raise CheckpointError(
                f"{self.name} is gated: ask for access at {page}, then set HF_TOKEN to a token of that account."
            ) from error
        except RevisionNotFoundError as error:
            raise CheckpointError(
                f"{self.name} has no revision {self.revision!r}; see its branches and tags at {page}."
            ) from error
        except RepositoryNotFoundError as error:
            raise CheckpointError(
                f"there is no file or folder {self.name!r} here and no public repository of that id at"
                f" {constants.ENDPOINT}; check the spelling, or set HF_TOKEN if it is private."
            ) from error
        except HFValidationError as error:
            raise CheckpointError(
                f"there is no file or folder {self.name!r}, and it is no Hub id (owner/model); check the spelling."
            ) from error
        except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
            raise CheckpointError(
                f"there is no file or folder {self.name!r} here, {file} of that Hub repository is not in the cache, and"
                f" {_why(error)}; check the connection or give a local path."
            ) from error
        except EntryNotFoundError:
            raise
        except (HfHubHTTPError, *ranges.NETWORK_ERRORS) as error:
            if getattr(error, "errno", None) in _OF_THE_DISK:
                raise
            remedy = "check HF_TOKEN" if _status(error) in (401, 403) else "try again later"
            raise CheckpointError(f"{file} of {self.name} cannot be read: {_why(error)}; {remedy}.") from error


def _why(error: Exception) -> str:
    """What kept the Hub from answering."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    status = _status(error)
    return f"{constants.ENDPOINT} answered {status}" if status else f"{constants.ENDPOINT} cannot be reached"


def _status(error: Exception) -> int | None:
    """HTTP status of the answer behind an error."""
    return getattr(getattr(error.__cause__ or error, "response", None), "status_code", None)


def _call(function: Callable[..., T], *arguments, **options) -> T:
    """A call of huggingface_hub, again when another thread's failed connection has closed the client both share."""
    for _ in range(ranges.ATTEMPTS - 1):
        try:
            return function(*arguments, **options)
        except RuntimeError as error:
            if "client has been closed" not in str(error):
                raise
    return function(*arguments, **options)
