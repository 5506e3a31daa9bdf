"""Bring executed chapters up to date: what is stale runs, two at a time; chapters that show the others' checks last."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from nbformat import NotebookNode

from attngeo.book import cache
from attngeo.book.execution import BUILDING, RECORD, ChapterFailed, Kernels, execute
from attngeo.book.notebooks import Book, Chapter, current_profile, find_book
from attngeo.display import METADATA_KEY
from attngeo.errors import AttngeoError


def update(
    book: Book, profile: str, chapters: Sequence[Chapter], tell: Callable[[str], Any] | None = None
) -> dict[str, NotebookNode]:
    """Execute those of the chapters whose kept run no longer counts.

    Args:
        book: that they belong to.
        profile: whose values they get.
        chapters: to bring up to date; if one shows `reported_checks`, so are all chapters of the book before it.
        tell: called with one line as each chapter begins and ends; by default such lines go to stderr.

    Returns:
        The kept run of each of ``chapters``, by name, in their order.

    Raises:
        ChapterFailed: a cell raised. The other chapters have been run and kept.
        ParameterError: the profile gives a chapter what it cannot take.
    """
    tell = tell or (lambda line: sys.stderr.write(f"{line}\n"))
    last = [c for c in chapters if c.comes_last]
    before = {c.name: c for c in [*(book.chapters() if last else []), *chapters] if not c.comes_last}
    kept: dict[str, NotebookNode] = {}
    for these in (before.values(), last):
        reported = reports({name: kept[name] for name in before}) if these is last else None
        keys = {c.name: cache.key(c, book.values(c, profile), book, reported) for c in these}
        kept |= {c.name: run for c in these if (run := cache.load(book, profile, c, keys[c.name]))}
        for chapter, run in _run(book, profile, [c for c in these if c.name not in kept], tell):
            cache.store(book, profile, chapter, run, keys[chapter.name])
            kept[chapter.name] = run
    return {c.name: kept[c.name] for c in chapters}


def reports(kept: dict[str, NotebookNode]) -> list[dict[str, Any]]:
    """The results that executed chapters have shown, each with the chapter's name."""
    return [
        dict(result) | {"chapter": name}
        for name, run in kept.items()
        for cell in run.cells
        for output in cell.get("outputs", [])
        for result in output.get("metadata", {}).get(METADATA_KEY, {}).get("results", [])
    ]


def reported_checks() -> list[dict[str, Any]]:
    """What the chapters' checks found under the current profile: every `Result` they showed, in the order of the book.

    Each is ``Result.to_dict()``, numbers that are not finite as text, with ``chapter`` set to the notebook that showed
    it. A chapter that calls this declares ``attngeo: {after: all}`` in its header. Outside a build, chapters whose last
    run no longer counts are run first.

    Raises:
        ChapterFailed: one of them failed.
        AttngeoError: called in the middle of a build by a chapter that has not declared so.
    """
    book, profile = find_book(), current_profile()
    chapters = [c for c in book.chapters() if not c.comes_last]
    if BUILDING not in os.environ:
        return reports(update(book, profile, chapters))
    kept = {c.name: cache.load(book, profile, c) for c in chapters}
    if missing := [name for name, run in kept.items() if run is None]:
        raise AttngeoError(
            f"Chapter {missing[0]} has not been run yet: a chapter that shows the checks of the others must declare "
            "'attngeo: {after: all}' in its header."
        )
    return reports(kept)


def run_alone(
    book: Book, profile: str, chapter: Chapter, values: dict[str, Any], progress: dict[str, Any] | None
) -> NotebookNode:
    """Execute one chapter with these values, named below its title, over the profile's; the cache stays as it is.

    Raises:
        ChapterFailed: a cell raised.
        ParameterError: the profile gives the chapter what it cannot take.
    """
    if chapter.comes_last:
        update(book, profile, [c for c in book.chapters() if not c.comes_last])
    given = book.values(chapter, profile) | values
    run, _ = execute(chapter, given, Kernels(profile, book.root), progress)
    if values:
        defaults = {name: chapter.parameters[name].default for name in values}
        changes = (f"`{name} = {value!r}` in place of `{defaults[name]!r}`" for name, value in values.items())
        title, _, text = run.cells[0].source.partition("\n")
        run.cells[0].source = f"{title}\n\n*Run again with {', '.join(changes)}.*\n{text}"
    return run


def _run(
    book: Book, profile: str, stale: Sequence[Chapter], tell: Callable[[str], Any]
) -> Iterator[tuple[Chapter, NotebookNode]]:
    kernels = Kernels(profile, book.root, many=len(stale) > 2)

    def one(chapter: Chapter) -> tuple[NotebookNode, str]:
        tell(f"{chapter.name}: executing, profile {profile}")
        return execute(chapter, book.values(chapter, profile), kernels)

    failures = []
    pool = ThreadPoolExecutor(kernels.at_a_time)
    futures = {pool.submit(one, chapter): chapter for chapter in stale}
    try:
        for future in as_completed(futures):
            chapter = futures[future]
            try:
                run, stderr = future.result()
            except ChapterFailed as failure:
                tell(f"{failure}")
                failures.append(failure)
                continue
            tell(f"{chapter.name}: executed in {run.metadata[RECORD]['seconds']} s")
            if stderr.strip():
                tell(f"{chapter.name}: wrote to stderr: {stderr.strip().splitlines()[-1]}")
            yield chapter, run
    except BaseException:
        kernels.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        kernels.close()
    if failures:
        raise failures[0]
