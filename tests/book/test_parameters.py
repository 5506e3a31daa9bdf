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
seed = 0
"""
P = parse(CELL)


def test_types_defaults_and_descriptions_are_read():
    assert list(P) == ["d", "gamma", "objective", "models", "widths", "exact", "seed"]
    assert [p.type for p in P.values()] == ["int", "float", "str", "str", "int", "bool", "int"]
    assert [n for n, p in P.items() if p.many] == ["models", "widths"]
    assert P["d"].description == "width of the embedding" and P["d"].interval == "[2, 4096]"
    assert P["gamma"].description == "threshold, in standard deviations"
    assert P["models"].description == "names; those of the registry" and not P["models"].interval
    assert P["objective"].choices == ("mlm", "clm")
    assert P["seed"].default == 0 and P["seed"].description == ""


@given(st.integers(2, 4096))
def test_whole_numbers_in_range_are_read_back(n):
    assert P["d"].read([str(n)]) == n


@given(st.integers().filter(lambda n: not 2 <= n <= 4096))
def test_whole_numbers_out_of_range_are_refused(n):
    with pytest.raises(ParameterError, match=rf"\bd\b.*\[2, 4096\].* '{n}'"):
        P["d"].read([str(n)])


@given(st.floats(0, 10, exclude_min=True))
def test_numbers_are_read_back(x):
    assert P["gamma"].read([repr(x)]) == x


@given(st.lists(st.integers(2, 64)))
def test_a_list_is_the_same_in_brackets_and_repeated(items):
    assert P["widths"].read([str(items)]) == items
    if items:
        assert P["widths"].read([str(i) for i in items]) == items


@given(st.text())
def test_any_word_is_read_or_refused_in_a_sentence(word):
    for name, p in P.items():
        try:
            value = p.read([word])
        except ParameterError as error:
            assert f" {name} " in str(error) and str(error).endswith(".")
        else:
            assert p.check(value) == value


@pytest.mark.parametrize(
    "name, words, cause",
    [
        ("d", ["x"], "'x'"),
        ("d", ["2.5"], r"'2\.5'"),
        ("d", ["3", "4"], "2"),
        ("gamma", ["0"], r"\(0, 10\].*'0'"),
        ("gamma", ["nan"], r"\(0, 10\].*'nan'"),
        ("objective", ["MLM"], "mlm, clm.*'MLM'"),
        ("exact", ["maybe"], "true.*false.*'maybe'"),
        ("widths", ["[8, 1]"], r"\[2, 64\].*'8', '1'\]"),
    ],
)
def test_refusals_name_thing_and_cause(name, words, cause):
    with pytest.raises(ParameterError, match=rf"^[A-Z][^\n]*\b{name}\b.*{cause}\.$"):
        P[name].read(words)


def test_lists_and_booleans_in_words():
    assert P["models"].read(["[gpt2, 'bert']"]) == ["gpt2", "bert"]
    assert P["models"].read(["gpt2", "bert"]) == ["gpt2", "bert"]
    assert P["models"].read(["[]"]) == []
    assert P["exact"].read(["True"]) is True


def test_values_of_a_profile_keep_their_type():
    assert P["gamma"].check(3) == 3.0 and isinstance(P["gamma"].check(3), float)
    with pytest.raises(ParameterError):
        P["d"].check(True)
    with pytest.raises(ParameterError):
        P["models"].check("gpt2")


@pytest.mark.parametrize(
    "cell",
    [
        "d: int = 1  # width; in [2, 3]",
        "x: dict = {}",
        's: str = "a"  # s; in [0, 1]',
        'o: str = "a"  # o; one of b | c',
    ],
)
def test_a_cell_that_contradicts_itself_is_refused(cell):
    with pytest.raises(ParameterError):
        parse(cell)
