"""Kernels that are forked from one process, which has imported what the chapters import.

torch, pandas, scipy and seaborn take each new kernel about five seconds. A forked kernel has them at once, and is
otherwise a kernel of its own: nothing that a chapter does is seen by another one. Run as a program, this file is the
process that forks.
"""

import ast
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from nbformat import NotebookNode

CAN_FORK = sys.platform == "linux"  # the libraries of other systems do not survive a fork


class ForkedProcess:
    """What jupyter_client asks of the process of a kernel, which is no child of ours."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while the process exists."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 1
        return None


class KernelServer:
    """The process that imports the modules of these notebooks once and forks a kernel for each of them.

    A context manager, at whose end the process and its kernels end.
    """

    def __init__(self, notebooks: Iterable[NotebookNode]) -> None:
        # The check of CUDA by the driver's list of devices does not initialise CUDA, which would not survive a fork.
        environment = os.environ | {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        self._one_at_a_time = Lock()
        self._send(sorted({line for notebook in notebooks for line in imports(notebook)}))

    def __enter__(self) -> "KernelServer":
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.communicate()

    @contextmanager
    def kernel(self, folder: str) -> Iterator[AsyncKernelManager]:
        """A kernel in this folder, with the environment that this process has now."""
        manager = AsyncKernelManager()
        manager.write_connection_file()
        with self._one_at_a_time:
            self._send([manager.connection_file, folder, dict(os.environ)])
            process = ForkedProcess(int(self._process.stdout.readline()))
        manager.provisioner = LocalProvisioner()
        manager.provisioner.process = process
        try:
            yield manager
        finally:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            manager.cleanup_connection_file()

    def _send(self, message: object) -> None:
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def imports(notebook: NotebookNode) -> set[str]:
    """The import statements of a notebook."""
    found = set()
    for cell in notebook.cells:
        with suppress(SyntaxError):  # a page of documentation may have commands of IPython
            if cell.cell_type == "code":
                found |= {
                    node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Import | ast.ImportFrom)
                }
    return {ast.unparse(node) for node in found}


def serve() -> None:
    """Import what the first line of the input lists, and fork a kernel for each further line."""
    for statement in json.loads(sys.stdin.readline()):
        with suppress(Exception):  # the chapter raises it where it can be seen
            exec(statement, {})
    from ipykernel.kernelapp import IPKernelApp

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the kernels
    gc.freeze()
    while line := sys.stdin.readline():
        file, folder, environment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            break
        print(pid, flush=True)
    else:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ.clear()
    os.environ |= environment | {"JPY_PARENT_PID": str(os.getppid())}  # a kernel whose parent ends, ends
    os.chdir(folder)
    quiet = ("--IPKernelApp.log_level=50", "--HistoryManager.hist_file=:memory:")
    IPKernelApp.launch_instance(argv=["-f", file, *quiet])


if __name__ == "__main__":
    serve()
