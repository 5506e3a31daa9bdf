"""A repository on the Hugging Face Hub; token, endpoint, offline mode and cache are those of huggingface_hub."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import constants, hf_hub_download
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

from attngeo.errors import CheckpointError
from attngeo.repositories import open_tensors
from attngeo.tensorfiles import TensorFile


class HubRepository:
    """One model repository at one revision.

    Args:
        name: the repository's id, ``owner/model``.
        revision: branch, tag or commit; the default branch if None.

    Raises:
        CheckpointError: no such repository or revision, a gated one, or no connection and nothing in the cache.
    """

    def __init__(self, name: str, revision: str | None = None) -> None:
        self.name, self.revision = name, revision or "main"
        config = self.fetch("config.json")
        if config is None:
            raise CheckpointError(f"{name} on the Hub has no config.json; it is no transformers model.")
        # cache: models--owner--name/snapshots/<commit>/config.json; the commit pins all further files
        self.revision = config.parent.name

    def has(self, file: str) -> bool:
        """Whether the repository has the file."""
        return self.fetch(file) is not None

    def fetch(self, file: str) -> Path | None:
        """The file's path in the cache, fetched if needed; None where the repository has none."""
        with self._explained(file):
            try:
                return Path(hf_hub_download(self.name, file, revision=self.revision))
            except LocalEntryNotFoundError:
                raise
            except EntryNotFoundError:
                return None

    def open(self, file: str) -> TensorFile | None:
        """A file of tensors, None where there is none."""
        path = self.fetch(file)
        return None if path is None else open_tensors(path)

    def other_weights(self) -> list[str]:
        """None: only the standard names are looked for on the Hub."""
        return []

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
            offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else f"{constants.ENDPOINT} did not answer"
            raise CheckpointError(
                f"there is no file or folder {self.name!r} here, {file} of that Hub repository is not in the cache, and"
                f" {offline}; check the connection or give a local path."
            ) from error
        except HfHubHTTPError as error:
            status = getattr(error.response, "status_code", "an error")
            raise CheckpointError(
                f"{constants.ENDPOINT} answered {status} for {file} of {self.name}; try again later."
            ) from error
