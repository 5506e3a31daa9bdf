import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from attngeo.paper import checks
from attngeo.paper.checks import Check, Interval, Judgement, Standing, check, compare, exact, monte_carlo
from attngeo.paper.wording import Claim, Verdict, WordingError

WORDS = """
checks:
  sums_agree:
    statement: 2.1
    part: Eq. 1
    title: sums agree
    quantities:
      sum: a sum over <<n>> of <<total>>
    printed: six
    place: Eq. 1
    remark: It is <<value:.2f>>.
    verdicts:
      undecided: {}
      conclusion changes: {holds: seven}
"""


@pytest.mark.parametrize("relation, gaps", [("=", (-1, 0, 1)), ("≠", (-2, 2)), ("<", (-2,)), (">", (2,))])
def test_a_relation_holds_beyond_or_within_its_tolerance(relation, gaps):
    held = [gap for gap in (-2, -1, 0, 1, 2) if compare("q", 5 + gap, relation, 5, 1).holds]
    assert held == list(gaps)


@pytest.mark.parametrize("relation", ["=", "≠", "<", ">"])
@pytest.mark.parametrize("sides", [(math.nan, 0.0), (0.0, math.nan), (math.inf, math.inf)])
def test_what_is_not_a_number_holds_in_no_relation(relation, sides):
    assert not compare("q", sides[0], relation, sides[1]).holds


@pytest.mark.parametrize("one", [1, np.float32(1), np.int64(1), torch.tensor(1.0), torch.tensor(1.0).double(), True])
def test_numbers_of_any_library_become_floats(one):
    for comparison in (exact("q", one, one, one), compare("q", one, "<", one, one)):
        assert {type(comparison.measured), type(comparison.expected), type(comparison.tolerance)} == {float}
        assert comparison.measured == comparison.expected == 1


def test_a_mean_of_samples_is_held_to_its_standard_error():
    samples = np.random.default_rng(0).normal(3, 2, 50)
    found = monte_carlo("q", samples, 3, n_errors=2.0)
    assert found.measured == pytest.approx(samples.mean())
    assert found.standard_error == pytest.approx(samples.std(ddof=1) / math.sqrt(50))
    assert found.tolerance == 2 * found.standard_error
    assert found.holds == (abs(samples.mean() - 3) <= found.tolerance)
    assert not monte_carlo("q", samples, 3 + 5 * found.standard_error).holds
    assert monte_carlo("q", samples, 3 + 5 * found.standard_error, "<").holds


@pytest.mark.parametrize(
    "comparison, claim, standing",
    [
        (exact("q", 0.5, 0.5), Claim("=", 0.5), Standing.AGREES),
        (compare("q", 0.7, "<", 1, 0.1), Claim("=", 1.0), Standing.CONTRADICTS),
        (compare("q", 0.7, "≠", 1, 0.1), Claim("=", 1.0), Standing.CONTRADICTS),
        (exact("q", 1e-14, 0.0), Claim(">", 0.0), Standing.CONTRADICTS),  # ours is 0, and it is met
        (compare("q", -2, "<", 0, 1), Claim(">", 0.0), Standing.CONTRADICTS),
        (compare("q", 2, ">", 0, 1), Claim(">", 0.0), Standing.AGREES),
        (exact("q", 0.5, 0.5), None, Standing.AGREES),
        (exact("q", 0.6, 0.5), None, Standing.CONTRADICTS),
    ],
)
def test_a_number_is_set_against_what_the_paper_has_for_it(comparison, claim, standing):
    assert replace(comparison, claim=claim).standing is standing


@pytest.mark.parametrize("ends, above", [((0.1, 0.3), 1), ((-0.3, -0.1), -1), ((-0.1, 0.3), 0)])
def test_an_interval_decides_a_claimed_sign_only_as_a_whole(ends, above):
    found = {1: Standing.AGREES, -1: Standing.CONTRADICTS, 0: Standing.UNDECIDED}
    drawn = replace(compare("q", ends[0], "<"), interval=Interval(0.1, *ends))
    assert replace(drawn, claim=Claim(">", 0.0)).standing is found[above]
    assert replace(drawn, claim=Claim("<", 0.0)).standing is found[-above]


def test_what_the_paper_claims_follows_from_the_verdict_unless_it_is_worded():
    same, other, less = exact("q", 0, 0), compare("q", 2, "≠", 1), compare("q", 1, "<", 2)
    told = [c.told("words", None, Verdict.HOLDS).claim for c in (same, other, less)]
    assert told == [Claim("=", 0.0), Claim("≠", 1.0), Claim("<", 2.0)]
    assert [c.told("words", None, Verdict.MISPRINT).claim for c in (same, other, less)] == [None, Claim("=", 1.0), None]
    assert less.told("words", Claim("=", 3.0), Verdict.MISPRINT).claim == Claim("=", 3.0)
    assert same.told("words", "", Verdict.HOLDS).claim is None


@pytest.fixture
def room(tmp_path, monkeypatch, request):
    """The name of a room with the words above."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "checks.yml").write_text(WORDS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(checks, "CHECKS", {})
    return name


def registered(room, judge, sample=lambda n=2, scale=1.0: [scale] * n, name="sums_agree", **defaults):
    judge.__name__, judge.__module__ = name, f"{room}.sums"
    return check(sample, **defaults)(judge)


def judge(sample):
    total = sum(sample)
    verdict = Verdict.CHANGES if total == 7 else Verdict.UNDECIDED
    return Judgement(exact("sum", total, 6, 0, n=len(sample)), verdict=verdict, value=total, total=total)


def test_a_check_draws_with_its_parameters_and_judges(room):
    sums = registered(room, judge, n=6)
    assert checks.CHECKS == {"sums_agree": sums} and sums.room == room
    result = sums()
    assert (result.statement, result.part, result.chapter) == ("2.1", "Eq. 1", room)
    assert result.supported and result.comparisons[0].measured == 6
    assert result.comparisons[0].quantity == "a sum over 6 of 6.0" and result.remark == "It is 6.00."
    assert not sums(scale=2.0).supported and sums(n=12, scale=0.5).supported
    with pytest.raises(TypeError):
        sums(m=1)


def test_parameters_are_told_as_a_caller_would_give_them(room):
    sums = registered(room, judge, lambda kind, n: [1.0] * n, n=6)
    assert sums(kind=Verdict.MISPRINT).parameters == {"n": 6, "kind": "misprint"}
    assert type(sums(kind=Verdict.MISPRINT).parameters["kind"]) is str


def test_a_sample_can_be_judged_again(room):
    drawn = []
    sums = registered(room, judge, lambda: drawn.append(1) or [1.0] * 6)
    sample = sums.sample()
    assert sums.of(sample) == sums.of(sample) and drawn == [1]


def test_a_verdict_that_follows_from_the_numbers_has_its_own_texts(room):
    sums = registered(room, judge)
    undecided, fails = sums(n=6), sums(n=7)
    assert (undecided.verdict, undecided.corrected) == (Verdict.UNDECIDED, "")
    assert (fails.verdict, fails.corrected) == (Verdict.CHANGES, "seven")
    assert (undecided.printed, undecided.place) == (fails.printed, fails.place) == ("six", "Eq. 1")


@pytest.mark.parametrize(
    "found, named",
    [
        (Judgement(exact("sum", 6, 6, n=1), value=1, total=1), "verdict"),
        (Judgement(exact("other", 6, 6), verdict=Verdict.UNDECIDED, value=1), "'other'"),
        (Judgement(exact("sum", 6, 6, n=1), verdict=Verdict.UNDECIDED, total=1), "'value'"),
        (Judgement(exact("sum", 6, 6), verdict=Verdict.UNDECIDED, value=1, total=1), "'n'"),
        (Judgement(exact("sum", 6, 6, n=1), verdict=Verdict.MISPRINT, value=1, total=1), "holds"),
    ],
)
def test_a_judgement_that_its_words_do_not_fit_is_refused(room, found, named):
    with pytest.raises(WordingError, match=rf"sums_agree\b.*{named}"):
        registered(room, lambda sample: found)()


def test_a_check_without_words_and_a_second_of_its_name_are_refused(room):
    with pytest.raises(WordingError, match="unheard_of"):
        registered(room, judge, name="unheard_of")()
    with pytest.raises(ValueError, match="unheard_of"):
        registered(room, judge, name="unheard_of")
    registered(room, judge)()


def test_no_comparison_is_no_support(room):
    nothing = registered(room, lambda sample: Judgement(verdict=Verdict.UNDECIDED, value=1))
    assert isinstance(nothing, Check) and not nothing().supported


def test_a_result_goes_through_json(room):
    result = registered(room, judge)(n=7)
    plain = json.loads(json.dumps(result.to_dict()))
    assert (plain["verdict"], plain["supported"]) == ("conclusion changes", False)
    (comparison,) = plain["comparisons"]
    assert comparison["measured"] == 7 and comparison["holds"] is False and "fields" not in comparison
    assert set(plain) >= {"statement", "part", "title", "printed", "place", "corrected", "remark", "chapter"}
