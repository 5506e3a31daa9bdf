"""The values that a chapter's parameters can be given."""

import jupytext
import pytest
from parameters import TYPES, checked, defaults
from tiny_book import chapter

from attngeo.errors import ParameterError
from attngeo.files.checkout import chapters, root

CELL = """
d: int = 64  # width of the embedding
gamma: float = 2.0  # threshold
objective: str = "mlm"  # training objective
models: list = ["gpt2"]  # names
widths: list[int] = [8, 16]  # widths
exact: bool = False  # float64 throughout
"""
NOTEBOOK = jupytext.reads(chapter("A", parameters=CELL), fmt="py:percent")


def test_words_and_values_of_a_profile_get_the_declared_type():
    words = {"d": "3", "gamma": "1e-3", "objective": "clm", "models": "gpt2,bert", "widths": "[8, 16]", "exact": "true"}
    values = {"d": 3, "gamma": 1e-3, "objective": "clm", "models": ["gpt2", "bert"], "widths": [8, 16], "exact": True}
    assert checked("a", NOTEBOOK, words) == checked("a", NOTEBOOK, values) == values
    for word, models in {"gpt2": ["gpt2"], "['gpt2']": ["gpt2"], "[]": []}.items():
        assert checked("a", NOTEBOOK, {"models": word}) == {"models": models}
    assert isinstance(checked("a", NOTEBOOK, {"gamma": 3})["gamma"], float)


@pytest.mark.parametrize(
    ("name", "value"),
    [("d", True), ("d", "3.5"), ("d", ""), ("gamma", "x"), ("exact", "yes"), ("widths", "8,x"), ("objective", 3)],
)
def test_a_value_of_another_type_is_refused_in_a_sentence(name, value, as_user):
    with pytest.raises(ParameterError, match=rf"^Parameter {name} of chapter a has the type .*, and") as error:
        checked("a", NOTEBOOK, {name: value})
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_a_value_out_of_the_range_beside_a_parameter_is_refused_in_a_sentence(as_user):
    notebook = jupytext.reads(chapter("A", parameters="gamma: float = 2.0  # threshold; in [0, 4]"), fmt="py:percent")
    assert checked("a", notebook, {"gamma": "4"}) == {"gamma": 4.0}
    for value in (-0.1, "4.5", "nan"):
        with pytest.raises(ParameterError, match=rf"^Parameter gamma of chapter a must be in \[0, 4\], not {value}\.$"):
            checked("a", notebook, {"gamma": value})


def test_every_parameter_of_the_book_has_a_type_that_can_be_checked_a_meaning_and_a_default_of_its_type():
    import papermill

    found = 0
    for name, text in chapters(root()).items():
        notebook = jupytext.reads(text, fmt="py:percent")
        for parameter, declared in papermill.inspect_notebook(notebook).items():
            assert declared["inferred_type_name"] in TYPES and declared["help"], (name, parameter)
            found += 1
        assert checked(name, notebook, defaults(notebook)) == defaults(notebook)
    assert found > 50
