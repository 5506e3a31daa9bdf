"""Byte ranges of a remote file: several in flight, asked for again where they fail, in the memory that they fill."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from huggingface_hub import constants
from huggingface_hub.errors import HTTPError
from huggingface_hub.utils import build_hf_headers, get_session

from attngeo.checkpoints.byte_sources import Bytes, empty
from attngeo.errors import CheckpointError

PIECE = 8 * 2**20  # bytes asked for at once
IN_FLIGHT = 8  # pieces fetched at the same time, over all files
ATTEMPTS = 6  # at a piece, before giving up
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds; each wait is twice the one before
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
EXPIRED = {400, 401, 403, 404, 410}  # what the storage answers when a signed location has expired
NETWORK_ERRORS = (OSError, HTTPError)
_POOL = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="attngeo-range")  # its threads start with the first piece


class Place(NamedTuple):
    """Where a file's bytes are now, and how many there are."""

    location: str
    size: int


class Transfer(NamedTuple):
    """Bytes on their way, in pieces."""

    data: memoryview
    pieces: list[Future]
    given_up: threading.Event

    def give_up(self) -> None:
        """Stop fetching, and waiting to try again."""
        self.given_up.set()
        for piece in self.pieces:
            piece.cancel()


class RemoteBytes(Bytes):
    """A file behind HTTP, read by ranges; ``find`` looks its place up again when that has expired.

    Raises:
        CheckpointError: on reading: the server keeps failing, refuses, or has no ranges.
    """

    def __init__(self, name: str, place: Place, find: Callable[[], Place | None]) -> None:
        self.name, self.size = name, place.size
        self._place, self._find = place, find
        self._lock = threading.Lock()
        self._coming: dict[tuple[int, int], Transfer] = {}

    def prefetch(self, start: int, stop: int) -> None:
        """Begin to fetch bytes [start, stop), which `read` will ask for."""
        if (start, stop) not in self._coming:
            data, given_up = empty(stop - start), threading.Event()
            views = ((data[at - start : at - start + PIECE], at) for at in range(start, stop, PIECE))
            pieces = [_POOL.submit(self._fill, view, at, given_up) for view, at in views]
            self._coming[start, stop] = Transfer(data, pieces, given_up)

    def read(self, start: int, stop: int) -> memoryview:
        """Bytes [start, stop)."""
        self.prefetch(start, stop)
        transfer = self._coming.pop((start, stop))
        try:
            for piece in transfer.pieces:
                piece.result()
        except BaseException:
            transfer.give_up()
            raise
        return transfer.data

    def forget(self) -> None:
        """Stop fetching what was not read."""
        while self._coming:
            self._coming.popitem()[1].give_up()

    def _fill(self, view: memoryview, start: int, given_up: threading.Event) -> None:
        """Fetch the bytes from ``start`` on that fill a view, with patience."""
        stop, why, found_again = start + len(view), "", False
        for attempt in range(ATTEMPTS):
            if given_up.wait(min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT) if why else 0):
                return
            place = self._place
            try:
                with _get(place, start, stop) as (status, headers, content):
                    if status in EXPIRED and not found_again:
                        found_again = True
                        self._find_again(place)
                    elif status in TRANSIENT:
                        why = f"it answered {status}"
                    elif self._sends(place, status, headers, start, stop) and len(data := content()) == len(view):
                        view[:] = data
                        return
                    else:
                        why = "it sent other bytes than those asked for"
            except NETWORK_ERRORS as error:
                why = f"no answer ({type(error).__name__})"
        raise CheckpointError(
            f"{self.name} cannot be read from {_host(place)}: {why}, {ATTEMPTS} times in a row; run again later."
        )

    def _sends(self, place: Place, status: int, headers: Mapping[str, str], start: int, stop: int) -> bool:
        """Whether an answer has the bytes [start, stop)."""
        if status == 200 and (start, stop) != (0, self.size):
            raise CheckpointError(
                f"{_host(place)} gives {self.name} whole and not by byte ranges; download the repository (hf download)"
                f" and give the folder."
            )
        if status not in (200, 206):
            raise CheckpointError(
                f"{self.name} cannot be read: {_host(place)} answered {status}; check the token and the network, then"
                f" run again."
            )
        spans = {f"bytes {start}-{stop - 1}/{size}" for size in (self.size, "*")}
        return status == 200 or headers.get("Content-Range") in spans

    def _find_again(self, stale: Place) -> None:
        with self._lock:
            if self._place is stale:  # else another piece has done it
                place = self._find()
                if place is None or place.size != self.size:
                    raise CheckpointError(f"{self.name} changed on the server while it was read; run again.")
                self._place = place


@contextmanager
def _get(place: Place, start: int, stop: int) -> Iterator[tuple[int, Mapping[str, str], Callable[[], bytes]]]:
    """Status, headers and body of a GET through huggingface_hub's own session; the token goes to the Hub alone."""
    headers = {**build_hf_headers(), "Accept-Encoding": "identity", "Range": f"bytes={start}-{stop - 1}"}
    if _host(place) != urlsplit(constants.ENDPOINT).netloc:
        headers.pop("authorization", None)
    session: Any = get_session()  # of httpx, or of requests in the releases before 1.0
    options = {"headers": headers, "timeout": constants.HF_HUB_DOWNLOAD_TIMEOUT}
    if callable(getattr(session, "stream", None)):
        with session.stream("GET", place.location, follow_redirects=True, **options) as response:
            yield response.status_code, response.headers, response.read
    else:
        with session.get(place.location, stream=True, **options) as response:
            yield response.status_code, response.headers, lambda: response.content


def _host(place: Place) -> str:
    return urlsplit(place.location).netloc
