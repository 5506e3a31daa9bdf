"""Stopping a run from outside without losing it."""

import signal
import threading
from types import TracebackType
from typing import Any

from attngeo.recording import Recorder


class GracefulInterrupt:
    """Within it, a first Ctrl-C or SIGTERM lets the step finish and leaves a checkpoint; a second one ends at once."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "GracefulInterrupt":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: Any) -> None:
        self.recorder.interrupt()
        for known, handler in self._before.items():
            signal.signal(known, handler)
