"""Byte ranges of a remote file: several in flight, resumed where they broke off, in the memory that they fill."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from huggingface_hub import constants
from huggingface_hub.errors import HTTPError
from huggingface_hub.utils import build_hf_headers, get_session

from attngeo.checkpoints.tensorfiles import empty
from attngeo.errors import CheckpointError

PIECE = 8 * 2**20  # bytes asked for at once
BLOCK = 2**14  # bytes taken off the wire at once, where the library has to be told
IN_FLIGHT = 8  # pieces fetched at the same time, over all files
ATTEMPTS = 6  # failures in a row, without a byte of progress, before giving up
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds; each wait is twice the one before, unless the server asks for another
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
REFUSED = {400, 401, 403, 404, 410}  # what the storage answers when a signed location has expired
NETWORK_ERRORS = (OSError, HTTPError)


class Place(NamedTuple):
    """Where a file's bytes are now, and how many there are."""

    location: str
    size: int


class Trouble(Exception):
    """A failure that another attempt may mend, and the seconds that the server asks to wait."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class RemoteBytes:
    """A file behind HTTP, read by ranges.

    Args:
        name: the file, for messages.
        place: where its bytes are.
        find: looks up that place again when it has expired; None where the file is gone.

    Raises:
        CheckpointError: on reading: the server keeps failing, refuses, or has no ranges.
    """

    def __init__(self, name: str, place: Place, find: Callable[[], Place | None]) -> None:
        self.name, self.size = name, place.size
        self._place, self._find = place, find
        self._lock = threading.Lock()
        self._coming: dict[tuple[int, int], _Transfer] = {}

    def prefetch(self, start: int, stop: int) -> None:
        """Begin to fetch bytes [start, stop), which `read` will ask for."""
        if (start, stop) not in self._coming:
            self._coming[start, stop] = _Transfer(self._fill, start, stop)

    def read(self, start: int, stop: int) -> memoryview:
        """Bytes [start, stop)."""
        self.prefetch(start, stop)
        return self._coming.pop((start, stop)).result()

    def forget(self) -> None:
        """Stop fetching what was not read."""
        while self._coming:
            self._coming.popitem()[1].give_up()

    def _fill(self, piece: "_Piece") -> None:
        """Fetch one piece, with patience."""
        failures = 0
        while piece.missing and not piece.given_up.is_set():
            before, place = piece.done, self._place
            try:
                self._fetch(piece, place)
                continue
            except Trouble as error:
                trouble = error
            except NETWORK_ERRORS as error:
                trouble = Trouble(f"the connection failed ({type(error).__name__})")
            failures = 1 if piece.done > before else failures + 1
            if failures == ATTEMPTS:
                raise CheckpointError(
                    f"{self.name} cannot be read from {_host(place.location)}: {trouble}, {ATTEMPTS} times in a row;"
                    f" run again later."
                )
            wait = FIRST_WAIT * 2 ** (failures - 1) if trouble.wait is None else trouble.wait
            piece.given_up.wait(min(wait, LONGEST_WAIT))

    def _fetch(self, piece: "_Piece", place: Place) -> None:
        """One request for what is missing of a piece."""
        start, stop = piece.start + piece.done, piece.start + len(piece.view)
        with _get(place.location, {"Range": f"bytes={start}-{stop - 1}"}) as (status, headers, blocks):
            if status in TRANSIENT:
                raise Trouble(f"it answered {status}", _seconds(headers.get("Retry-After")))
            if status in REFUSED:
                if piece.refused:
                    raise CheckpointError(
                        f"{self.name} cannot be read: {_host(place.location)} answered {status} at a location the Hub"
                        f" has just given; check the token and the network, then run again."
                    )
                piece.refused = True
                self._find_again(place)
                raise Trouble(f"it answered {status}", wait=0.0)
            if status == 200 and (start, stop) != (0, self.size):
                raise CheckpointError(
                    f"{_host(place.location)} gives {self.name} whole and not by byte ranges; download the repository"
                    f" (hf download) and give the folder."
                )
            if status not in (200, 206):
                raise CheckpointError(
                    f"{self.name} cannot be read: {_host(place.location)} answered {status}; run again later."
                )
            if status == 206 and not _is_range(headers.get("Content-Range"), start, stop, self.size):
                raise Trouble("it sent other bytes than those asked for")
            piece.take(blocks)

    def _find_again(self, stale: Place) -> None:
        with self._lock:
            if self._place is stale:  # else another piece has done it
                place = self._find()
                if place is None or place.size != self.size:
                    raise CheckpointError(f"{self.name} changed on the server while it was read; run again.")
                self._place = place


class _Transfer:
    """Bytes [start, stop) on their way, in pieces."""

    def __init__(self, fill: Callable[["_Piece"], None], start: int, stop: int) -> None:
        self._data, self._given_up = empty(stop - start), threading.Event()
        pieces = [
            _Piece(self._data[a - start : a - start + PIECE], a, self._given_up) for a in range(start, stop, PIECE)
        ]
        self._futures = [_pool().submit(fill, piece) for piece in pieces]

    def result(self) -> memoryview:
        """The bytes, when all have come."""
        try:
            for future in self._futures:
                future.result()
        except BaseException:
            self.give_up()
            raise
        return self._data

    def give_up(self) -> None:
        self._given_up.set()
        for future in self._futures:
            future.cancel()


class _Piece:
    """A stretch of the file and how much of it has come."""

    def __init__(self, view: memoryview, start: int, given_up: threading.Event) -> None:
        self.view, self.start, self.given_up = view, start, given_up
        self.done = 0
        self.refused = False

    @property
    def missing(self) -> int:
        return len(self.view) - self.done

    def take(self, blocks: Iterator[bytes]) -> None:
        """Bytes off the wire; they count as they come, unless more come than were asked for."""
        before = self.done
        for block in blocks:
            if self.given_up.is_set():
                return
            if len(block) > self.missing:
                self.done = before
                raise Trouble("it sent more bytes than those asked for")
            self.view[self.done : self.done + len(block)] = block
            self.done += len(block)
        if self.missing:
            raise Trouble("it closed the connection early")


@contextmanager
def _get(url: str, headers: Mapping[str, str]) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
    """Status, headers and body of a GET through huggingface_hub's own session; the token goes to the Hub alone."""
    sent = {**build_hf_headers(), "Accept-Encoding": "identity", **headers}
    if _host(url) != _host(constants.ENDPOINT):
        sent.pop("authorization", None)
    session, timeout = get_session(), constants.HF_HUB_DOWNLOAD_TIMEOUT
    if callable(getattr(session, "stream", None)):
        with session.stream("GET", url, headers=sent, timeout=timeout, follow_redirects=True) as response:
            yield response.status_code, response.headers, response.iter_raw()
    else:  # huggingface_hub before 1.0, on requests
        with session.get(url, headers=sent, timeout=timeout, stream=True) as response:
            yield response.status_code, response.headers, response.iter_content(BLOCK)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="attngeo-range")


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _is_range(header: str | None, start: int, stop: int, size: int) -> bool:
    return header in (f"bytes {start}-{stop - 1}/{size}", f"bytes {start}-{stop - 1}/*")


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds; a date there is left to our own waits."""
    return float(header) if header and header.isdigit() else None
