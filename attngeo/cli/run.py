"""``attngeo run``: one chapter of the book again, with other parameters, as an executed notebook."""

import sys
import time
from pathlib import Path

import click

from attngeo.errors import ParameterError, needs
from attngeo.records.atomic import atomic_path, write_text
from attngeo.records.checkout import root


@click.command(name="run", short_help="re-run one chapter of the book with other parameters")
@click.argument("chapter", required=False)
@click.option(
    "-p",
    "--parameter",
    "words",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter. A list: -p models '[gpt2, bert]', or the option again for each item.",
)
@click.option("--profile", metavar="NAME", help="smoke, cpu or gpu. Default: ATTNGEO_PROFILE, else cpu.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Default: CHAPTER.ipynb in this folder."
)
@click.option("--list", "listing", is_flag=True, help="List the chapters and their parameters.")
def command(
    chapter: str | None, words: tuple[tuple[str, str], ...], profile: str | None, output: Path | None, listing: bool
) -> None:
    """Execute a chapter and write it as a notebook, its numbers, captions and figures following the parameters.

    Without a chapter, list the chapters and their parameters.
    """
    root()  # without the book's sources, packages would not help
    with needs("book", "attngeo run"):
        from attngeo.book.notebooks import current_profile, find_book
    book = find_book()
    if chapter is None or listing:
        if words or output:
            raise ParameterError("-p and -o need a chapter: attngeo run CHAPTER.")
        chapters = [book.chapter(chapter)] if chapter else book.all_chapters()
        click.echo("\n\n".join(_description(c) for c in chapters))
        return
    found = book.chapter(chapter)
    profile = profile or current_profile()
    values = book.values(found, profile) | found.values_from_words(words)
    _run(book, found, profile, values, _checked(output or Path(f"{found.name}.ipynb")))


def _run(book, chapter, profile: str, values: dict, output: Path) -> None:
    import nbformat

    from attngeo.book.build import run_alone
    from attngeo.book.execution import ChapterFailed

    progress = {"desc": chapter.name, "unit": "cell", "file": sys.stderr} if sys.stderr.isatty() else None
    started = time.monotonic()
    with atomic_path(output) as temporary:  # opened first: a folder that cannot be written shows before hours of work
        try:
            run = run_alone(book, profile, chapter, values, progress)
        except ChapterFailed as failure:
            if failure.partial is None:
                raise
            partial = output.with_name(f"{output.stem}.failed.ipynb")
            write_text(partial, nbformat.writes(failure.partial) + "\n")
            raise ChapterFailed(f"{failure} The notebook up to there is {partial}.") from failure
        temporary.write_text(nbformat.writes(run.notebook) + "\n", encoding="utf-8")
    click.echo(f"{output} written after {time.monotonic() - started:.0f} s on {run.device}", err=True)


def _checked(output: Path) -> Path:
    if output.is_dir():
        raise ParameterError(f"{output} is a folder; -o needs a file name.")
    if output.suffix != ".ipynb":
        raise ParameterError(f"{output} must end in .ipynb, since the result is a notebook.")
    return output


def _description(chapter) -> str:
    lines = [f"{chapter.name}: {chapter.title}"]
    for p in chapter.parameters.values():
        kind = f"list of {p.type}" if p.many else p.type
        limit = f"one of {', '.join(p.choices)}" if p.choices else f"in {p.interval}" if p.interval else ""
        notes = "; ".join(note for note in (p.description, limit) if note)
        lines.append(f"  {p.name} ({kind}, default {p.default}){': ' if notes else ''}{notes}")
    return "\n".join(lines)
