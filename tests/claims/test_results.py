import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from livingpaper.claims.results import Claim, Result, Standing, Verdict, compare, exact, monte_carlo

from attngeo.experiments.runs.estimates import Estimate


def test_a_relation_holds_beyond_or_within_its_tolerance_and_never_for_what_is_no_number():
    for relation, gaps in {"=": [-1, 0, 1], "≠": [-2, 2], "<": [-2], ">": [2]}.items():
        assert [gap for gap in (-2, -1, 0, 1, 2) if compare("q", 5 + gap, relation, 5, 1).holds] == gaps
        for one, other in ((math.nan, 0.0), (0.0, math.nan), (math.inf, math.inf)):
            assert not compare("q", one, relation, other).holds


def test_numbers_of_any_library_become_floats():
    for one in (1, np.float32(1), np.int64(1), torch.tensor(1.0), torch.tensor(1.0).double(), True):
        comparison = compare("q", one, "<", one, one)
        assert {type(comparison.measured), type(comparison.expected), type(comparison.tolerance)} == {float}


def test_a_mean_of_samples_is_held_to_its_standard_error():
    samples = np.random.default_rng(0).normal(3, 2, 50)
    found = monte_carlo("q", samples, 3)
    assert found.measured == pytest.approx(samples.mean())
    assert found.standard_error == pytest.approx(samples.std(ddof=1) / math.sqrt(50))
    assert found.tolerance == 4 * found.standard_error
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


def test_an_interval_decides_a_claimed_sign_only_as_a_whole():
    for ends, above, below in [
        ((0.1, 0.3), Standing.AGREES, Standing.CONTRADICTS),
        ((-0.3, -0.1), Standing.CONTRADICTS, Standing.AGREES),
        ((-0.1, 0.3), Standing.UNDECIDED, Standing.UNDECIDED),
    ]:
        drawn = replace(compare("q", ends[0], "<"), interval=Estimate(0.1, *ends))
        assert replace(drawn, claim=Claim(">", 0.0)).standing is above
        assert replace(drawn, claim=Claim("<", 0.0)).standing is below


def test_what_a_plan_asked_is_told_from_what_holds():
    third, first, none = (replace(compare("lower end", low, ">"), asked=0.2) for low in (0.15, 0.45, -0.05))
    assert [c.standing for c in (third, first, none)] == [Standing.SHORT, Standing.AGREES, Standing.CONTRADICTS]
    assert third.holds and first.holds and not none.holds


def test_a_result_goes_through_json_and_without_comparisons_supports_nothing():
    plain = json.loads(json.dumps(Result("2.1", "", "t", Verdict.CHANGES, (exact("sum", 7, 6),)).to_dict()))
    assert (plain["verdict"], plain["supported"]) == ("conclusion changes", False)
    assert plain["comparisons"][0]["measured"] == 7
    assert not Result("2.1", "", "t", Verdict.HOLDS, ()).supported
