"""Execute one chapter with other parameters and write it as a page or a notebook, for ``attngeo run``."""

from pathlib import Path
from typing import Any

import nbformat
from execute import ROOT, execute, profile_values, update
from livingpaper.display.plain_notebook import plain_notebook
from nbformat import NotebookNode
from parameters import defaults

from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import summaries


def execute_and_write(chapter: str, profile: str, values: dict[str, Any], output: Path, watched: bool = False) -> None:
    """Execute a chapter with these (checked) values, take its other parameters from a profile, and write the result.

    Args:
        chapter: name of the chapter.
        profile: sets the parameters that are not in ``values``.
        values: values by parameter.
        output: the file to write; a page if its name ends in ``.html``, otherwise a notebook.
        watched: whether to show a progress bar on stderr, and to save the notebook after each cell.

    Raises:
        ChapterFailed: a cell raised an error; the notebook up to this cell is kept beside ``output``.
        PageError: the chapter was executed, but its page could not be made.
        ParameterError: the profile cannot be used.
    """
    from_profile = profile_values(profile).get(chapter, {})
    with atomic_path(output) as temporary:  # refuses a path that cannot be written before executing
        if chapter in summaries(ROOT):
            update(profile)
        partial = output.with_suffix(".partial.ipynb")
        run = execute(chapter, profile, from_profile | values, partial, watched)
        if values:
            name_changes(run, values)
        if output.suffix == ".html":
            from single_page import single_page  # imports Sphinx, which is slow

            text = single_page(chapter, run)
        else:
            text = nbformat.writes(plain_notebook(run, ROOT))
        temporary.write_text(f"{text}\n", encoding="utf-8")


def name_changes(run: NotebookNode, values: dict[str, Any]) -> None:
    """Add a line below the title with the parameters that were changed."""
    usual = defaults(run)
    changes = [f"`{name} = {value!r}` instead of `{usual[name]!r}`" for name, value in values.items()]
    title, _, text = run.cells[0].source.partition("\n")
    run.cells[0].source = f"{title}\n\n*This page was run again with {', '.join(changes)}.*\n{text}"
