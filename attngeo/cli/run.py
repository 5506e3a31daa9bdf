"""``attngeo run``: execute one chapter of the book with other parameters, as a page or a notebook."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from attngeo.cli.options import FILE
from attngeo.cli.terminal import say, screen
from attngeo.errors import ParameterError, needs
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import chapters, current_profile, root, summaries


@click.command
@click.argument("chapter", required=False)
@click.option(
    "-p", "--parameter", "given", type=(str, str), multiple=True, metavar="NAME VALUE", help="Set a parameter."
)
@click.option("--profile", metavar="NAME", help="smoke, cpu or gpu. Default: ATTNGEO_PROFILE, else cpu.")
@click.option("-o", "--output", type=FILE, help="A page (.html) or a notebook (.ipynb). Default: CHAPTER.ipynb here.")
@click.option("--open", "opened", is_flag=True, help="Open the result with the program that the system has for it.")
@click.option("--list", "listing", is_flag=True, help="List the chapters and their parameters.")
def command(chapter, given, profile, output, opened, listing) -> None:
    """Execute a chapter and write it; its numbers, captions and figures follow from the parameters.

    A page is one file that needs no network and no other file: figures, formulas and interactive figures are inside. A
    notebook can be changed and executed again; its text is plain Markdown with the numbers of the run. An existing
    notebook is replaced only if -o names it.

    The value of a parameter that is a list has commas, as in -p models gpt2,bert.

    Without a chapter, the chapters and their parameters are listed. The command needs a checkout and the extra book.
    """
    sys.path.insert(0, str(root() / "book"))
    with needs("book", "attngeo run"):
        import execute
        import parameters

    if chapter is None or listing:
        if given or output or opened or profile:
            raise ParameterError("-p, -o, --profile and --open need a chapter: attngeo run CHAPTER.")
        listed = [chapter] if chapter else list(chapters(root()))
        click.echo("\n\n".join(_description(name, execute.notebook(name)) for name in listed))
        return

    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"Parameter {name} is given more than once; a list has commas: -p {name} a,b.")
    values = parameters.checked(chapter, execute.notebook(chapter), dict(given))
    if output is None:
        output = Path(f"{chapter}.ipynb")
        if os.path.lexists(output):
            raise ParameterError(f"{output} exists and may have been changed; name it, or another file, with -o.")
    if output.suffix not in (".html", ".ipynb"):
        raise ParameterError(f"{output} must end in .html, for a page, or in .ipynb, for a notebook.")
    execute_and_write(chapter, profile or current_profile(), values, output)
    if opened and click.launch(str(output)):
        click.echo(f"No program was found that opens {output}.", err=True)


def execute_and_write(chapter: str, profile: str, values: dict[str, Any], output: Path) -> None:
    """Execute a chapter and write it as a page or a notebook. The (checked) values come before those of the profile.

    Raises:
        ChapterFailed: a cell raised an error; the notebook up to there is kept beside ``output``.
        PageError: the chapter was executed, but its page could not be made.
        ParameterError: the profile cannot be used.
    """
    import execute
    import nbformat
    import parameters

    from attngeo.display.plain_notebook import plain_notebook

    started = time.monotonic()
    from_profile = execute.profile_values(profile).get(chapter, {})
    with atomic_path(output) as temporary:  # an output that cannot be written is refused before the chapter is executed
        if chapter in summaries(root()):
            execute.update(profile, say)
        partial = output.with_suffix(".partial.ipynb")
        run = execute.execute(chapter, profile, from_profile | values, partial, progress_bar=not screen().quiet)
        if values:
            _name_changes(run, values, parameters.defaults(run))
        if output.suffix == ".html":
            from single_page import single_page  # Sphinx comes with it

            text = single_page(chapter, run)
        else:
            text = nbformat.writes(plain_notebook(run, root()))
        temporary.write_text(f"{text}\n", encoding="utf-8")
    say(f"{output} written after {time.monotonic() - started:.0f} s")


def _name_changes(run, values: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Say below the title which parameters were changed."""
    changes = [f"`{name} = {value!r}` in place of `{defaults[name]!r}`" for name, value in values.items()]
    title, _, text = run.cells[0].source.partition("\n")
    run.cells[0].source = f"{title}\n\n*Run again with {', '.join(changes)}.*\n{text}"


def _description(chapter: str, notebook) -> str:
    import papermill

    title = notebook.cells[0].source.partition("\n")[0].strip("# ")
    lines = [f"{chapter}: {title}"]
    for name, found in papermill.inspect_notebook(notebook).items():
        meaning = f": {found['help']}" if found["help"] else ""
        lines.append(f"  {name} ({found['inferred_type_name']}, default {found['default']}){meaning}")
    return "\n".join(lines)
