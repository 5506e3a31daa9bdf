"""Parameters of a chapter and what they can be given; listing and refusals in full are in tests/cli/test_run.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attngeo.book.parameters import parse
from attngeo.errors import ParameterError

CELL = """
d: int = 64  # width of the embedding; in [2, 4096]
gamma: float = 2.0  # threshold, in standard deviations; in (0, 10]
objective: str = "mlm"  # training objective; one of mlm | clm
models: list = ["gpt2"]  # names; those of the registry
widths: list[int] = [8, 16]  # widths; in [2, 64]
exact: bool = False  # float64 throughout
"""
P = parse(CELL)


@given(st.text() | st.integers().map(str) | st.floats().map(str) | st.lists(st.integers(2, 64)).map(str))
def test_any_word_is_read_or_refused_in_a_sentence(word):
    for name, p in P.items():
        try:
            value = p.read([word])
        except ParameterError as error:
            assert f" {name} " in str(error) and str(error).endswith(".")
        else:
            assert p.check(value) == value and (name != "d" or 2 <= value <= 4096)


def test_values_keep_their_type_in_words_and_in_profiles():
    assert P["models"].read(["[gpt2, 'bert']"]) == P["models"].read(["gpt2", "bert"]) == ["gpt2", "bert"]
    assert (P["models"].read(["[]"]), P["widths"].read(["8", "16"]), P["exact"].read(["True"])) == ([], [8, 16], True)
    assert isinstance(P["gamma"].check(3), float) and P["gamma"].read(["0.1"]) == 0.1
    for name, value in (("d", True), ("models", "gpt2"), ("gamma", float("nan")), ("gamma", 0), ("objective", "MLM")):
        with pytest.raises(ParameterError, match=rf"\b{name}\b"):
            P[name].check(value)


@pytest.mark.parametrize("cell", ["d: int = 1  # in [2, 3]", "x: dict = {}", 'o: str = "a"  # o; one of b | c'])
def test_a_cell_that_contradicts_itself_is_refused(cell):
    with pytest.raises(ParameterError):
        parse(cell.replace("# in", "# d; in"))
