"""The text of the pages before it is built."""

from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "notebooks").glob("*.py")),
    *sorted((ROOT / "book").glob("*.md")),
    *sorted((ROOT / "book" / "use").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_prose_is_taken_for_a_comment(page):
    """MyST drops a line of Markdown that begins with a percent sign, and ends the paragraph before it."""
    cells = jupytext.read(page).cells
    lines = [line for cell in cells if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    assert lines
    assert not [line for line in lines if line.lstrip().startswith("%")]
