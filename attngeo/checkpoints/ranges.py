"""Byte ranges of a remote file: several in flight, resumed where they broke off, in the memory that they fill."""

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
BLOCK = 2**14  # bytes taken off the wire at once, where the library has to be told
IN_FLIGHT = 8  # pieces fetched at the same time, over all files
ATTEMPTS = 6  # failures in a row, without a byte of progress, before giving up
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds; each wait is twice the one before, unless the server asks for another
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
EXPIRED = {400, 401, 403, 404, 410}  # what the storage answers when a signed location has expired
NETWORK_ERRORS = (OSError, HTTPError)
_POOL = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="attngeo-range")  # its threads start with the first piece


class Place(NamedTuple):
    """Where a file's bytes are now, and how many there are."""

    location: str
    size: int


class Failure(Exception):
    """What another attempt may mend, and the seconds that the server asks to wait."""

    def __init__(self, what: str, retry_after: str | None = None) -> None:
        super().__init__(what)
        self.wait = float(retry_after) if retry_after and retry_after.isdigit() else None  # a date is left aside


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
        """Fetch the bytes from ``start`` on that fill a view, with patience: each request is for what is missing."""
        failures, found_again = 0, False
        while len(view) and not given_up.is_set():
            place = self._place
            try:
                with _get(place, start, start + len(view)) as (status, headers, blocks):
                    if status in EXPIRED and not found_again:
                        found_again = True
                        self._find_again(place)
                        continue
                    self._check(place, status, headers, start, start + len(view))
                    for block in blocks:
                        if given_up.is_set():
                            return
                        if len(block) > len(view):
                            raise Failure("it sent more bytes than those asked for")
                        view[: len(block)] = block
                        view, start, failures = view[len(block) :], start + len(block), 0
                if len(view):
                    raise Failure("it closed the connection early")
            except (Failure, *NETWORK_ERRORS) as error:
                failure = error if isinstance(error, Failure) else Failure(f"no answer ({type(error).__name__})")
                failures += 1
                if failures == ATTEMPTS:
                    raise CheckpointError(
                        f"{self.name} cannot be read from {_host(place)}: {failure}, {ATTEMPTS} times in a row;"
                        f" run again later."
                    ) from error
                wait = FIRST_WAIT * 2 ** (failures - 1) if failure.wait is None else failure.wait
                given_up.wait(min(wait, LONGEST_WAIT))

    def _check(self, place: Place, status: int, headers: Mapping[str, str], start: int, stop: int) -> None:
        """Refuse an answer that does not begin with the bytes [start, stop) and end there."""
        if status in TRANSIENT:
            raise Failure(f"it answered {status}", headers.get("Retry-After"))
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
        of_length = headers.get("Content-Length") in (None, str(stop - start))
        if not of_length or (status == 206 and headers.get("Content-Range") not in spans):
            raise Failure("it sent other bytes than those asked for")

    def _find_again(self, stale: Place) -> None:
        with self._lock:
            if self._place is stale:  # else another piece has done it
                place = self._find()
                if place is None or place.size != self.size:
                    raise CheckpointError(f"{self.name} changed on the server while it was read; run again.")
                self._place = place


@contextmanager
def _get(place: Place, start: int, stop: int) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
    """Status, headers and body of a GET through huggingface_hub's own session; the token goes to the Hub alone."""
    headers = {**build_hf_headers(), "Accept-Encoding": "identity", "Range": f"bytes={start}-{stop - 1}"}
    if _host(place) != urlsplit(constants.ENDPOINT).netloc:
        headers.pop("authorization", None)
    session: Any = get_session()  # of httpx, or of requests in the releases before 1.0
    options = {"headers": headers, "timeout": constants.HF_HUB_DOWNLOAD_TIMEOUT}
    if callable(getattr(session, "stream", None)):
        with session.stream("GET", place.location, follow_redirects=True, **options) as response:
            yield response.status_code, response.headers, response.iter_raw()
    else:
        with session.get(place.location, stream=True, **options) as response:
            yield response.status_code, response.headers, response.iter_content(BLOCK)


def _host(place: Place) -> str:
    return urlsplit(place.location).netloc
