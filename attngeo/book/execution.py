"""One chapter through papermill: values in, executed notebook out, without what would differ between equal runs."""

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode

from attngeo.book.notebooks import Chapter
from attngeo.book.warm import WarmProcess
from attngeo.errors import AttngeoError

WIDGET = "application/vnd.jupyter.widget-view+json"
_PROBE = "from attngeo.files.provenance import device\nprint(device())"
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ChapterFailed(AttngeoError):
    """A cell raised. The message is one sentence; the traceback and the notebook so far are kept beside it."""

    def __init__(self, sentence: str, traceback: str = "", partial: NotebookNode | None = None):
        super().__init__(sentence)
        self.traceback = traceback
        self.partial = partial


@dataclass(frozen=True)
class Execution:
    """An executed chapter, and what it took."""

    notebook: NotebookNode
    seconds: float
    device: str
    stderr: str  # what the cells wrote there; it is kept out of the notebook


@dataclass
class Kernels:
    """The kernels of one build: the environment they get, and a way to end those still running.

    Where there are many, they are forked from one process that has imported torch and the like once for all.
    """

    environment: Mapping[str, str]
    many: bool = False
    _started: list[AsyncKernelManager] = field(default_factory=list)
    _warm: WarmProcess | None = None
    _lock: Lock = field(default_factory=Lock)

    def manager_class(self) -> type[AsyncKernelManager]:
        """For nbclient, which makes a manager from a class and passes it no environment."""
        kernels = self
        warm = kernels._warm_process() if kernels.many and sys.platform == "linux" else None

        class Manager(AsyncKernelManager):
            async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
                if warm is None:
                    return await super()._async_launch_kernel(kernel_cmd, **options)
                arguments = kernel_cmd[kernel_cmd.index("ipykernel_launcher") + 1 :]
                self.provisioner.process = warm.kernel(arguments, options["cwd"])
                self.provisioner.pid = self.provisioner.pgid = self.provisioner.process.pid

            async def start_kernel(self, **options: Any) -> None:
                await super().start_kernel(env={**os.environ, **kernels.environment}, **options)
                kernels._started.append(self)

        return Manager

    def _warm_process(self) -> WarmProcess:
        with self._lock:
            if self._warm is None:
                self._warm = WarmProcess({**os.environ, **self.environment})
        return self._warm

    def close(self) -> None:
        """End what they were forked from, if it was needed."""
        if self._warm is not None:
            self._warm.close()

    def kill(self) -> None:
        """End them now, as when the user interrupts a build."""
        for manager in self._started:
            process = getattr(manager.provisioner, "process", None)
            if process is not None:
                process.kill()


def processes_and_threads() -> tuple[int, int]:
    """How many chapters to run at a time, two at most, and how many threads each may use.

    The threads are the same however many chapters there are to run: they decide the last digit of a sum, and equal runs
    shall be equal.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processes = min(2, cores)
    return processes, int(os.environ.get("OMP_NUM_THREADS") or max(1, cores // processes))


def environment(threads: int, profile: str, root: Path) -> dict[str, str]:
    """What a chapter's process finds: its share of threads, no progress bars, the book and profile it belongs to."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": "0",
        "TQDM_DISABLE": "1",
        "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm, of the widgets it would need
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "ATTNGEO_PROFILE": profile,
        "ATTNGEO_BOOK": str(root),
    }


def execute(
    chapter: Chapter, values: Mapping[str, Any], kernels: Kernels, progress: Mapping[str, Any] | None = None
) -> Execution:
    """Execute a chapter with these values (checked already).

    Args:
        chapter: to execute.
        values: by parameter name; its own defaults hold for the rest.
        kernels: with what environment.
        progress: settings of the progress bar (see tqdm); None for no bar.

    Raises:
        ChapterFailed: a cell raised, or the kernel died.
    """
    import papermill  # half a second that a build with nothing to do can spare
    from papermill.exceptions import PapermillExecutionError

    notebook = chapter.notebook()
    notebook.cells.append(nbformat.v4.new_code_cell(_PROBE, id="probe"))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, f"{chapter.name}.ipynb")
        try:
            done = _started_again(
                lambda: papermill.execute_notebook(
                    notebook,
                    str(output),
                    dict(values),
                    kernel_name="python3",
                    progress_bar=dict(progress) if progress is not None else False,
                    start_timeout=120,
                    kernel_manager_class=kernels.manager_class(),
                    extra_arguments=["--IPKernelApp.log_level=50"],  # it would warn of local TCP, and of its end
                    resources={"metadata": {"path": str(chapter.path.parent)}},
                )
            )
        except PapermillExecutionError as error:
            partial = clean(nbformat.read(output, as_version=4))
            traceback = _COLOUR.sub("", "\n".join(error.traceback))
            raise ChapterFailed(_sentence(chapter, error), traceback, partial) from None
        except RuntimeError as error:  # the kernel died, or did not answer
            partial = clean(nbformat.read(output, as_version=4)) if output.exists() else None
            raise ChapterFailed(f"Chapter {chapter.name} failed: {error}".rstrip(".") + ".", "", partial) from error
    seconds = time.monotonic() - started
    probe = done.cells.pop()
    stderr = "".join(o.text for c in done.cells for o in c.get("outputs", []) if _is_stderr(o))
    device = "".join(o.text for o in probe.outputs if o.output_type == "stream").strip()
    return Execution(clean(done), seconds, device, stderr)


def _started_again(execution: Callable[[], NotebookNode], attempts: int = 3) -> NotebookNode:
    """Run it, again if its kernel ended before it began: another process may have taken one of its ports meanwhile."""
    try:
        return execution()
    except RuntimeError as error:
        if attempts == 1 or "before replying to kernel_info" not in str(error):
            raise
    return _started_again(execution, attempts - 1)


def clean(notebook: NotebookNode) -> NotebookNode:
    """Strip what differs between equal runs, and progress noise; the cell of injected values stays off the page."""
    notebook.metadata.pop("papermill", None)
    cells = [c for c in notebook.cells if c.get("id") != "probe"]
    for i, cell in enumerate(cells):
        cell.id = f"cell-{i}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata.tags.append("remove-cell")
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if not _is_stderr(o) and WIDGET not in o.get("data", {})]
            for output in cell.outputs:
                if "text/plain" in output.get("data", {}):
                    output.data["text/plain"] = _ADDRESS.sub("at 0x…", output.data["text/plain"])
    notebook.cells = cells
    return notebook


def _is_stderr(output: NotebookNode) -> bool:
    return output.output_type == "stream" and output.name == "stderr"


def _sentence(chapter: Chapter, error: Any) -> str:
    lines = [line.strip() for line in error.source.splitlines() if line.strip() and not line.strip().startswith("#")]
    first = lines[0] if lines else ""
    reason = " ".join(f"{error.ename}: {error.evalue}".split()).rstrip(".: ")
    return f"Chapter {chapter.name} failed in cell [{error.exec_count}], which begins {first!r}: {reason}."
