"""A process that has imported what chapters import, and becomes a kernel as often as it is asked to, by forking.

So the smoke book is built in three quarters of the time. What a page draws without a seed is the same in every kernel.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from threading import Lock

PACKAGES = ("ipykernel.kernelapp", "torch", "pandas", "pyarrow.parquet", "seaborn", "scipy.stats")


class Forked:
    """A kernel, as `jupyter_client` expects a `subprocess.Popen`, which it signals by its group."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def send_signal(self, number: int) -> bool:
        """A signal, if the process lives: whether it does."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
            return True
        return False

    def kill(self) -> None:
        """End it now."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """None while it lives."""
        return None if self.send_signal(0) else 0

    wait = poll  # it is called when the process has ended


class WarmProcess:
    """The process, and how to ask it; it ends with the one that started it, and with it the kernels."""

    def __init__(self, environment: dict[str, str]) -> None:
        call = "import sys; sys.path[:] = filter(None, sys.path)"  # nothing of the folder that it is started in
        command = [sys.executable, "-c", f"{call}; from attngeo.book.warm import serve; serve()"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
        self.turn = Lock()

    def kernel(self, arguments: list[str], folder: str) -> Forked:
        """A new kernel with these arguments of ``ipykernel_launcher``, in a folder.

        Raises:
            RuntimeError: the process has ended.
        """
        with self.turn:
            try:
                print(json.dumps([arguments, folder]), file=self.process.stdin, flush=True)
                return Forked(int(self.process.stdout.readline()))
            except (OSError, ValueError) as error:
                raise RuntimeError("the process that kernels are forked from has ended") from error


def _reap(*_: object) -> None:
    """Take note of kernels that have ended, and of what time they took."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve() -> None:
    """Fork for every line on stdin, ``[arguments, folder]``, and answer with the child's number."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # read when ipykernel is imported: a kernel ends with its parent
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # as ipykernel does, but too late
    for name in PACKAGES:
        import_module(name)
    gc.freeze()  # what is there stays shared
    signal.signal(signal.SIGCHLD, _reap)
    for line in sys.stdin:
        arguments, folder = json.loads(line)
        if child := os.fork():
            print(child, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.chdir(folder)
        for descriptor, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, 2)):
            os.dup2(target, descriptor)
        sys.argv = ["ipykernel_launcher", *arguments]
        sys.exit(import_module("ipykernel.kernelapp").launch_new_instance())
