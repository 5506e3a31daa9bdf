"""The words of figures: numbers filled in, and one entry for each figure that is drawn."""

import re
from pathlib import Path

import pytest
import yaml

import attngeo
from attngeo.display.captions import captioned
from attngeo.display.style import new_figure
from attngeo.errors import ParameterError
from attngeo.paper.wording import WordingError

PACKAGE = Path(attngeo.__file__).parent
FILES = sorted(PACKAGE.rglob("figures.yml"))


def test_numbers_and_lists_fill_a_caption():
    words = captioned(
        new_figure()[0], "attngeo.display", "fig-scores", "fig-other", model="m", counts="1", parts=["a", "b"]
    )
    assert words.name == "fig-other" and words.caption.startswith("m: ")
    assert "for a, b, with" in words.alt


def test_words_that_are_not_there_or_not_given_are_refused():
    with pytest.raises(ParameterError, match="fig-unheard"):
        captioned(new_figure()[0], "attngeo.display", "fig-unheard")
    with pytest.raises(WordingError, match=r"fig-scores.*'model'"):
        captioned(new_figure()[0], "attngeo.display", "fig-scores", counts="1", parts=[])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_figure_has_words_and_all_words_a_figure(file):
    code = "".join(path.read_text("utf-8") for path in file.parent.glob("*.py"))
    drawn = set(re.findall(r'__package__,\s+"(fig-[\w-]+)"', code))
    assert drawn == set(yaml.safe_load(file.read_text("utf-8")))
