"""``attngeo run``: one chapter of the book again, with other parameters, as a page or a notebook."""

import os
import sys
import time
from pathlib import Path

import click

from attngeo.cli.options import FILE
from attngeo.cli.terminal import say
from attngeo.errors import ParameterError, needs
from attngeo.files.atomic import atomic_path, write_text
from attngeo.files.checkout import root


@click.command
@click.argument("chapter", required=False)
@click.option(
    "-p", "--parameter", "words", type=(str, str), multiple=True, metavar="NAME VALUE", help="Set a parameter."
)
@click.option("--profile", metavar="NAME", help="smoke, cpu or gpu. Default: ATTNGEO_PROFILE, else cpu.")
@click.option("-o", "--output", type=FILE, help="A page (.html) or a notebook (.ipynb). Default: CHAPTER.ipynb here.")
@click.option("--open", "opened", is_flag=True, help="Open the result with the program that the system has for it.")
@click.option("--list", "listing", is_flag=True, help="List the chapters and their parameters.")
def command(chapter, words, profile, output, opened, listing) -> None:
    """Execute a chapter and write it, its numbers, captions and figures following the parameters.

    A page is one file that needs no network and nothing beside it: figures, formulas and what is interactive are
    inside. A notebook can be run on from there; its text is plain Markdown with the numbers of the run. It replaces
    another only with -o.

    A parameter that is a list is given as -p models '[gpt2, bert]', or by the option again for each item.

    Without a chapter, list the chapters and their parameters. It needs a checkout, and the extra book.
    """
    root()  # without the book's sources, packages would not help
    with needs("book", "attngeo run"):
        from attngeo.book.notebooks import current_profile, find_book
    book = find_book()
    if chapter is None or listing:
        if words or output or opened or profile:
            raise ParameterError("-p, -o, --profile and --open need a chapter: attngeo run CHAPTER.")
        chapters = [book.chapter(chapter)] if chapter else book.chapters()
        click.echo("\n\n".join(_description(c) for c in chapters))
        return
    chosen = book.chapter(chapter)
    names = dict.fromkeys(name for name, _ in words)  # one comes again where it takes a list
    values = {name: chosen.parameter(name).read([word for n, word in words if n == name]) for name in names}
    if output is None and os.path.lexists(output := Path(f"{chosen.name}.ipynb")):  # one that may have been worked on
        raise ParameterError(f"{output} is there already and may hold changes; name it, or another file, with -o.")
    if output.suffix not in (".html", ".ipynb"):
        raise ParameterError(f"{output} must end in .html, for a page, or in .ipynb, for a notebook.")
    _run(book, chosen, profile or current_profile(), values, output)
    if opened and click.launch(str(output)):
        click.echo(f"No program was found that opens {output}.", err=True)


def _run(book, chapter, profile: str, values: dict, output: Path) -> None:
    import nbformat

    from attngeo.book.build import run_alone
    from attngeo.book.execution import RECORD, ChapterFailed
    from attngeo.book.single_page import single_page
    from attngeo.display.plain_notebook import plain_notebook

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
        if output.suffix == ".html":
            text = single_page(book, chapter, run)
        else:
            text = nbformat.writes(plain_notebook(run, book.root))
        temporary.write_text(f"{text}\n", encoding="utf-8")
    say(f"{output} written after {time.monotonic() - started:.0f} s on {run.metadata[RECORD]['device']}")


def _description(chapter) -> str:
    lines = [f"{chapter.name}: {chapter.title}"]
    for p in chapter.parameters.values():
        kind = f"list of {p.type}" if p.many else p.type
        limit = f"one of {', '.join(p.choices)}" if p.choices else f"in {p.interval}" if p.interval else ""
        notes = "; ".join(note for note in (p.description, limit) if note)
        lines.append(f"  {p.name} ({kind}, default {p.default}){': ' if notes else ''}{notes}")
    return "\n".join(lines)
