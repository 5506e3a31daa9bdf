"""``attngeo run``: execute one chapter of the book with different parameters, and write a page or a notebook."""

import os
import sys
import time
from pathlib import Path

import click

from attngeo.cli.options import once
from attngeo.cli.terminal import say, screen
from attngeo.errors import ParameterError, needs
from attngeo.files.checkout import chapters, current_profile, root


@click.command
@click.argument("chapter", required=False)
@click.option(
    "-p",
    "--parameter",
    "given",
    type=(str, str),
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter (repeatable).",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Use this profile: smoke, cpu or gpu. The default is the value of the variable ATTNGEO_PROFILE, or cpu if"
    " this variable is not set.",
)
@click.option(
    "-o",
    "--output",
    **once,
    help="Write the result to this file, as a page (.html) or as a notebook (.ipynb). The default is CHAPTER.ipynb.",
)
@click.option("--open", "opened", is_flag=True, help="Open the result in the system's default program.")
@click.option("--list", "listing", is_flag=True, help="List the chapters and their parameters.")
def command(chapter, given, profile, output, opened, listing) -> None:
    """Run a chapter with your parameters and write the result as a page or a notebook.

    All numbers, captions and figures are computed with your parameters. A page is a single file that contains all
    figures and formulas and opens offline. A notebook can be edited and run again. The text of the notebook is plain
    Markdown and contains the numbers computed with your parameters. An existing notebook is overwritten only if you
    name it with -o.

    If a parameter is a list, separate its values by commas, for example -p models gpt2,bert.

    Without CHAPTER, the command lists all chapters and their parameters. The command needs a checkout of the repository
    and the packages that attngeo[book] installs.
    """
    sys.path[:0] = [str(root() / "book"), str(root() / "notebooks")]
    with needs("book", "attngeo run"):
        import execute
        import parameters
        import rerun

    if chapter is None or listing:
        if given or output or opened or profile:
            raise ParameterError("-p, -o, --profile and --open need a chapter: attngeo run CHAPTER.")
        listed = [chapter] if chapter else list(chapters(root()))
        click.echo("\n\n".join(_description(name, execute.notebook(name)) for name in listed))
        return

    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(
                f"Parameter {name} is given more than once; for a list, separate the values by commas: -p {name} a,b."
            )
    values = parameters.checked(chapter, execute.notebook(chapter), dict(given))
    if output is None:
        output = Path(f"{chapter}.ipynb")
        if os.path.lexists(output):
            raise ParameterError(
                f"{output} already exists and may have been changed; give it, or another file, with -o."
            )
    if output.suffix not in (".html", ".ipynb"):
        raise ParameterError(f"the name {output} must end in .html for a page or in .ipynb for a notebook.")
    started = time.monotonic()
    rerun.execute_and_write(chapter, profile or current_profile(), values, output, watched=not screen().quiet)
    say(f"{output} written after {time.monotonic() - started:.0f} s")
    if opened and click.launch(str(output)):
        click.echo(f"No program was found that opens {output}.", err=True)


def _description(chapter: str, notebook) -> str:
    import papermill

    title = notebook.cells[0].source.partition("\n")[0].strip("# ")
    lines = [f"{chapter}: {title}"]
    for name, found in papermill.inspect_notebook(notebook).items():
        meaning = f": {found['help']}" if found["help"] else ""
        lines.append(f"  {name} ({found['inferred_type_name']}, default {found['default']}){meaning}")
    return "\n".join(lines)
