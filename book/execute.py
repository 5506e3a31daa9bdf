"""Execute the chapters of the book with papermill: ``python book/execute.py [PROFILE]``.

A chapter is a jupytext file in notebooks/. Its executed notebook is kept as book/_build/runs/PROFILE/CHAPTER.ipynb and
reused until its key changes. The key is a hash of the chapter, its parameters, the package, the data and the versions
of the libraries. A chapter whose header contains ``after: all`` shows the checks of the other chapters, so it is
executed after them.

A header may also declare variants, such as ``variants: {gamma: [1, 3]}``, or with a name for each value,
``variants: {objective: {masked: masked words}}``. A variant is the chapter with another value of one
parameter. Its run is kept in the folder ``variants`` of the profile, where no summary counts it.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import nbformat
import papermill
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from parameters import checked, defaults

from attngeo.errors import AttngeoError, ParameterError
from attngeo.files.atomic import write_text
from attngeo.files.checkout import chapters, current_profile, runs, summaries
from attngeo.files.provenance import commit, versions
from attngeo.inputs import read_yaml

ROOT = Path(__file__).resolve().parents[1]
# the files that chapters import and read; a change in one of them makes every run stale
SOURCES = ("attngeo", "book/livingpaper", "notebooks/chapters", "data", "book/references.bib", "CITATION.cff")
AT_A_TIME = 2  # how many chapters are executed in parallel
TELL_DEVICE = (
    "from attngeo.files.provenance import device\nprint(device())"  # only the kernel knows which device it used
)
# Otherwise, collecting garbage takes a seventh of the time in which a kernel imports torch and seaborn.
SELDOM_COLLECT = "__import__('gc').set_threshold(20_000, 20, 20)"
RECORD = "attngeo_run"  # key in the metadata of an executed notebook: how it was made


class Variant(NamedTuple):
    """A chapter with another value of one parameter."""

    chapter: str
    parameter: str
    value: Any  # of the type that the chapter declares

    @property
    def suffix(self) -> str:
        """What distinguishes its files from those of the chapter: ``gamma-1.5``."""
        return f"{self.parameter}-{shown(self.value)}"

    def run_file(self, profile: str) -> Path:
        """Where its executed notebook is kept."""
        return runs(ROOT, profile) / "variants" / f"{self.chapter}-{self.suffix}.ipynb"


class Choices(NamedTuple):
    """The values of one parameter for which a chapter has pages."""

    chapter: str
    parameter: str
    meaning: str  # the comment beside the parameter
    own: Any  # the value of the chapter's own page
    names: dict[Any, str]  # what the page calls each value

    @property
    def variants(self) -> list[Variant]:
        """The chapter with each of the other values."""
        return [Variant(self.chapter, self.parameter, value) for value in self.names if value != self.own]


class ChapterFailed(AttngeoError):
    """A cell raised an error, or the kernel died. Papermill's error, which has the traceback, is its ``__cause__``."""


def notebook(chapter: str) -> NotebookNode:
    """A chapter that has not been executed.

    Raises:
        ParameterError: there is no such chapter.
    """
    texts = chapters(ROOT)
    if chapter not in texts:
        raise ParameterError(f"There is no chapter {chapter!r}; the chapters are {', '.join(texts)}.")
    return jupytext.reads(texts[chapter], fmt="py:percent")


def profile_values(profile: str) -> dict[str, dict[str, Any]]:
    """The parameters that a profile sets, by chapter.

    Raises:
        ParameterError: there is no such profile, its file is not of the form ``chapter: {parameter: value}``, or it has
            an unknown chapter, an unknown parameter or a wrong value.
    """
    path = ROOT / "notebooks" / "profiles" / f"{profile}.yml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yml")))
        raise ParameterError(f"There is no profile {profile!r}; the profiles are {known}.")

    def refuse(why: str) -> ParameterError:
        return ParameterError(f"The profile {path} must have the form 'chapter: {{parameter: value}}' ({why}).")

    given = read_yaml(path, dict[str, dict[str, Any]], refuse)
    return {chapter: checked(chapter, notebook(chapter), values) for chapter, values in given.items()}


def shown(value: Any) -> str:
    """A value as pages and file names show it: a float without a trailing zero."""
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def choices(profile: str) -> list[Choices]:
    """The variants that chapters declare. The profile smoke has only the first one of each chapter.

    Raises:
        ParameterError: a header names an unknown parameter or a value of the wrong type, or the profile cannot be used.
    """
    given, found = profile_values(profile), []
    for chapter, text in chapters(ROOT).items():
        if "variants:" not in text.partition("# %%")[0]:
            continue
        source = notebook(chapter)
        parameters = papermill.inspect_notebook(source)
        usual = checked(chapter, source, defaults(source) | given.get(chapter, {}))
        declared = source.metadata["attngeo"]["variants"]
        for parameter in list(declared)[: 1 if profile == "smoke" else None]:
            own, names = usual[parameter], {}
            for value in declared[parameter]:
                converted = checked(chapter, source, {parameter: value})[parameter]
                named = isinstance(declared[parameter], dict)
                names[converted] = declared[parameter][value] if named else shown(converted)
            if own not in names:  # a profile may set a value that the header does not list
                names = {own: shown(own)} | names
            if profile == "smoke":
                for value in [value for value in names if value != own][1:]:
                    del names[value]
            meaning = parameters[parameter]["help"].partition(";")[0].strip()
            found.append(Choices(chapter, parameter, meaning, own, names))
    return found


def execute(
    chapter: str, profile: str, values: Mapping[str, Any], partial: Path, watched: bool = False
) -> NotebookNode:
    """Execute one chapter with these (checked) values of its parameters.

    If a cell fails, the cells up to this one are kept in ``partial``. If the execution is ``watched``, papermill shows
    a progress bar and saves the notebook after each cell, so that ``partial`` also remains if the kernel dies. When the
    book is built, notebooks are not saved so often, because this takes seconds for each long notebook.

    Raises:
        ChapterFailed: a cell raised an error, or the kernel died.
    """
    # Kernels inherit the environment of this process.
    os.environ |= {"ATTNGEO_BOOK": str(ROOT), "ATTNGEO_PROFILE": profile, "PYTHONHASHSEED": "0"}
    os.environ |= {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // AT_A_TIME)))
    # with the packages that chapters import
    folders = [str(ROOT / "book"), str(ROOT / "notebooks"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, folders)))
    partial.unlink(missing_ok=True)  # of an earlier failure
    partial.parent.mkdir(parents=True, exist_ok=True)
    source = notebook(chapter)
    source.cells.append(nbformat.v4.new_code_cell(TELL_DEVICE))
    try:
        run = papermill.execute_notebook(
            source,
            partial,
            dict(values),
            kernel_name="python3",
            request_save_on_cell_execute=watched,
            progress_bar=watched,
            resources={"metadata": {"path": str(ROOT / "notebooks")}},  # cwd= would change the folder of all threads
            extra_arguments=[
                "--IPKernelApp.log_level=50",  # hides warnings about local connections
                f"--IPKernelApp.exec_lines={SELDOM_COLLECT}",
            ],
        )
    except (PapermillExecutionError, RuntimeError) as error:  # a RuntimeError if the kernel died
        raised = str(error)
        if isinstance(error, PapermillExecutionError):
            raised = f"{error.ename}: {error.evalue}"
        reason = " ".join(raised.split()).rstrip(".")
        where = f"To see in which cell, run attngeo run {chapter}."
        if partial.exists():
            where = f"The cells up to the failing one are in {partial}."
        raise ChapterFailed(f"Chapter {chapter} failed: {reason}. {where}") from error
    partial.unlink()
    used_device = run.cells.pop().outputs[-1].text.strip()
    run.metadata[RECORD] = {"profile": profile, "device": used_device, "commit": commit(ROOT), "versions": versions()}
    return run


def update(profile: str, tell: Callable[[str], Any] = print) -> None:
    """Execute the chapters and variants whose run is missing or stale, and keep their runs.

    Raises:
        ChapterFailed: a chapter failed; the other chapters of its group have been executed and kept.
        ParameterError: the profile or a variant cannot be used.
    """
    values = profile_values(profile)
    texts, last = chapters(ROOT), summaries(ROOT)
    shared = [hash_of_sources(), versions(), os.environ.get("ATTNGEO_WEIGHTS")]

    def planned(chapter: str, variant: Variant | None = None, other_keys: Sequence[str] = ()) -> Planned:
        given, kept = dict(values.get(chapter, {})), runs(ROOT, profile) / f"{chapter}.ipynb"
        if variant:
            given[variant.parameter] = variant.value
            kept = variant.run_file(profile)
        return Planned(chapter, given, kept, hash_of(texts[chapter], given, shared, other_keys))

    first = [planned(chapter) for chapter in texts if chapter not in last]
    variants = [planned(variant.chapter, variant) for choice in choices(profile) for variant in choice.variants]
    keys = [run.key for run in first]

    def execute_and_keep(planned: Planned) -> None:
        run = execute(planned.chapter, profile, planned.values, planned.kept.with_suffix(".partial.ipynb"))
        run.metadata[RECORD]["key"] = planned.key
        write_text(planned.kept, nbformat.writes(run))
        tell(f"{planned.kept.stem}: executed in {run.metadata.papermill.duration:.1f} s")

    for group in ([*first, *variants], [planned(chapter, other_keys=keys) for chapter in last]):
        stale = [run for run in group if kept_key(run.kept) != run.key]
        stale.sort(key=lambda run: len(texts[run.chapter]), reverse=True)  # none runs alone at the end
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            waiting = [pool.submit(execute_and_keep, run) for run in stale]
            try:
                for run in waiting:
                    run.result()
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class Planned(NamedTuple):
    """A run that the book needs, of a chapter or a variant."""

    chapter: str
    values: Mapping[str, Any]
    kept: Path
    key: str


def kept_key(run: Path) -> str | None:
    """The key of a kept run, or None if there is none."""
    return json.loads(run.read_text("utf-8"))["metadata"][RECORD]["key"] if run.exists() else None


def hash_of(*parts: object) -> str:
    """A hash of values whose ``repr`` identifies them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def hash_of_sources() -> str:
    """A hash of the names and contents of all files in ``SOURCES``."""
    digest = hashlib.sha256()
    for source in SOURCES:
        place = ROOT / source
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and file.suffix != ".pyc" and not file.name.startswith("."):
                digest.update(f"{file.relative_to(ROOT)}".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def with_traceback(error: AttngeoError) -> str:
    """The message of an error, followed by the traceback in the chapter if a cell raised it."""
    traceback = error.__cause__ if isinstance(error, ChapterFailed) else ""
    return f"{error}\n{traceback}".rstrip()


if __name__ == "__main__":
    try:
        update(sys.argv[1] if len(sys.argv) > 1 else current_profile())
    except AttngeoError as error:
        sys.exit(with_traceback(error))
