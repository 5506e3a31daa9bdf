"""One chapter through papermill: values in, executed notebook out, without what would differ between equal runs."""

import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode

from attngeo.book.notebooks import Chapter
from attngeo.book.warm import WarmProcess
from attngeo.errors import AttngeoError
from attngeo.files import provenance

RECORD = "attngeo_run"  # of the metadata of an executed notebook: what it was given, where it ran, with which versions
BUILDING = "ATTNGEO_BUILDING"  # set in kernels: what a chapter may read is there already
_PROBE = "from attngeo.files.provenance import device\nprint(device())"
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ChapterFailed(AttngeoError):
    """A cell raised. The message is one sentence; the traceback and the notebook so far are kept beside it."""

    def __init__(self, sentence: str, traceback: str = "", partial: NotebookNode | None = None):
        super().__init__(sentence)
        self.traceback = traceback
        self.partial = partial


class Kernels:
    """The kernels of one build: what they find, and a way to end those still running.

    Each has its share of threads, the same however many chapters there are to run: they decide the last digit of a sum,
    and equal runs shall be equal. Where there are many, they are forked from one process, which has imported torch and
    the like once for all.
    """

    def __init__(self, profile: str, root: Path, many: bool = False) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.profile, self.root = profile, root
        self.at_a_time = min(2, cores)
        threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores // self.at_a_time))
        self.started: list[AsyncKernelManager] = []
        self.environment = {
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
            "PYTHONHASHSEED": "0",
            "TQDM_DISABLE": "1",
            "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm, of the widgets it would need
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "ATTNGEO_PROFILE": profile,
            "ATTNGEO_BOOK": str(root),
            BUILDING: "1",
        }
        self.warm = WarmProcess(os.environ | self.environment) if many and sys.platform == "linux" else None

    def manager_class(self) -> type[AsyncKernelManager]:
        """For nbclient, which makes a manager from a class and passes it no environment."""
        kernels = self

        class Manager(AsyncKernelManager):
            async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
                if kernels.warm is None:
                    return await super()._async_launch_kernel(kernel_cmd, **options)
                arguments = kernel_cmd[kernel_cmd.index("ipykernel_launcher") + 1 :]
                self.provisioner.process = kernels.warm.kernel(arguments, options["cwd"])
                self.provisioner.pid = self.provisioner.pgid = self.provisioner.process.pid

            async def start_kernel(self, **options: Any) -> None:
                await super().start_kernel(env=os.environ | kernels.environment, **options)
                kernels.started.append(self)

        return Manager

    def close(self) -> None:
        """End what they were forked from, and with it those that still run."""
        if self.warm is not None:
            self.warm.process.communicate()

    def kill(self) -> None:
        """End them now, as when the user interrupts a build."""
        for manager in self.started:
            if process := getattr(manager.provisioner, "process", None):
                process.kill()


def execute(
    chapter: Chapter, values: Mapping[str, Any], kernels: Kernels, progress: Mapping[str, Any] | None = None
) -> tuple[NotebookNode, str]:
    """Execute a chapter with these values (checked already).

    Args:
        chapter: to execute.
        values: by parameter name; its own defaults hold for the rest.
        kernels: of this build.
        progress: settings of the progress bar (see tqdm); None for no bar.

    Returns:
        The executed chapter with the record of its run, and what its cells wrote to stderr, which is kept out of it.

    Raises:
        ChapterFailed: a cell raised, or the kernel died.
    """
    from papermill.exceptions import PapermillExecutionError  # half a second that a build with nothing to do can spare

    notebook = chapter.notebook()
    notebook.cells.append(nbformat.v4.new_code_cell(_PROBE, id="probe"))
    options = {
        "progress_bar": dict(progress) if progress is not None else False,
        "kernel_manager_class": kernels.manager_class(),
        "request_save_on_cell_execute": kernels.warm is None,  # of a whole build nobody asks for half a chapter
        "resources": {"metadata": {"path": str(chapter.path.parent)}},
    }
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, f"{chapter.name}.ipynb")
        try:
            done = _executed(notebook, str(output), dict(values), **options)
        except (PapermillExecutionError, RuntimeError) as error:  # the latter: the kernel died, or did not answer
            partial = clean(nbformat.read(output, as_version=4)) if output.exists() else None
            traceback = _COLOUR.sub("", "\n".join(getattr(error, "traceback", ())))
            raise ChapterFailed(_sentence(chapter, error), traceback, partial) from error
    seconds = time.monotonic() - started
    probe = done.cells.pop()
    stderr = "".join(o.text for c in done.cells for o in c.get("outputs", []) if _is_stderr(o))
    done.metadata[RECORD] = {
        "chapter": chapter.name,
        "profile": kernels.profile,
        "values": {name: values.get(name, p.default) for name, p in chapter.parameters.items()},
        "seconds": round(seconds, 1),
        "device": "".join(o.text for o in probe.outputs if o.output_type == "stream").strip(),
        "executed": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": provenance.commit(kernels.root),
        "versions": provenance.versions(),
    }
    return clean(done), stderr


def _executed(*notebook: Any, attempts: int = 3, **options: Any) -> NotebookNode:
    """Run it, again if its kernel ended before it began: another process may have taken one of its ports meanwhile."""
    import papermill

    quiet = ["--IPKernelApp.log_level=50"]  # it would warn of local TCP, and of its end
    common = {"kernel_name": "python3", "start_timeout": 120, "extra_arguments": quiet}
    try:
        return papermill.execute_notebook(*notebook, **common, **options)
    except RuntimeError as error:
        if attempts == 1 or "before replying to kernel_info" not in str(error):
            raise
    return _executed(*notebook, attempts=attempts - 1, **options)


def clean(notebook: NotebookNode) -> NotebookNode:
    """Strip what differs between equal runs, and progress noise; the cell of injected values stays off the page."""
    notebook.metadata.pop("papermill", None)
    notebook.cells = [c for c in notebook.cells if c.get("id") != "probe"]
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata.tags.append("remove-cell")
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if not _is_stderr(o)]
            for data in (o.data for o in cell.outputs if "text/plain" in o.get("data", {})):
                data["text/plain"] = _ADDRESS.sub("at 0x…", data["text/plain"])
    return notebook


def _is_stderr(output: NotebookNode) -> bool:
    return output.output_type == "stream" and output.name == "stderr"


def _sentence(chapter: Chapter, error: Any) -> str:
    if isinstance(error, RuntimeError):
        return f"Chapter {chapter.name} failed: {error}".rstrip(".") + "."
    lines = (line.strip() for line in error.source.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    reason = " ".join(f"{error.ename}: {error.evalue}".split()).rstrip(".: ")
    return f"Chapter {chapter.name} failed in cell [{error.exec_count}], which begins {first!r}: {reason}."
