import math

import pytest
import torch
from planting import drawn, supported, supported_with
from torch import nn

from attngeo.chapters.symmetric_initialisation import printed_speed_ups as speed_ups
from attngeo.chapters.symmetric_initialisation import recipe
from attngeo.paper import Verdict


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "check",
    [
        recipe.symmetric_recipe,
        recipe.skew_recipe,
        recipe.scale_of_the_released_recipe,
    ],
    ids=lambda c: c.__name__,
)
def test_recipe(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


def _indefinite(wq):
    signs = torch.ones(wq.shape[-1], dtype=wq.dtype)
    signs[1::2] = -1
    return wq * signs


def _bert(d):
    linear = nn.Linear(d, d)
    nn.init.normal_(linear.weight, std=0.02)
    nn.init.zeros_(linear.bias)
    return linear


PLANTED = {
    "symmetric but indefinite": (recipe.symmetric_recipe, "tied_keys", _indefinite),
    "not tied": (recipe.symmetric_recipe, "tied_keys", torch.rand_like),
    "tied with a minus": (recipe.symmetric_recipe, "tied_keys", lambda wq: -wq),
    "plus for minus": (recipe.skew_recipe, "mixer", lambda a: a + a.mT),
    "half of it": (recipe.skew_recipe, "mixer", lambda a: (a - a.mT) / 2),
    "scale of normal weights": (recipe.scale_of_the_released_recipe, "scale_factor", lambda d: 1 / d / 0.02**2),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_recipe_is_refused(name):
    assert not supported_with(*PLANTED[name])


def test_berts_own_start_is_not_that_of_the_released_code():
    assert not recipe.scale_of_the_released_recipe.of({d: (_bert(d), _bert(d)) for d in (64, 128)}).supported


def test_the_scale_depends_on_the_width_alone():
    assert recipe.scale_factor(256) == pytest.approx(3.2552, abs=1e-4)
    assert recipe.scale_factor(833) > 1 > recipe.scale_factor(834)


TABLES = [
    speed_ups.table_1_follows_from_the_released_curves,
    speed_ups.table_1_counts_the_first_touch,
    speed_ups.decoders_in_the_released_curves,
    speed_ups.web_table_repeats_table_1,
]


@pytest.mark.parametrize("check", [*TABLES, speed_ups.most_of_the_models], ids=lambda c: c.__name__)
def test_tables(check):
    assert supported(check)


@pytest.mark.parametrize("check", TABLES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("column", ["loss_symmetric", "first_crossing_percent", "persistent_percent"])
def test_other_curves_are_refused_where_they_are_used(check, column):
    uses = {
        speed_ups.table_1_follows_from_the_released_curves: ("loss_symmetric", "first_crossing_percent"),
        speed_ups.table_1_counts_the_first_touch: ("first_crossing_percent", "persistent_percent"),
        speed_ups.decoders_in_the_released_curves: ("persistent_percent",),
        speed_ups.web_table_repeats_table_1: ("loss_symmetric", "first_crossing_percent"),
    }
    sample = drawn(check)
    curves = sample.curves.copy()
    # the other measure's value, a loss of another run, a decoder that gains nothing
    curves[column] = {
        "loss_symmetric": curves["loss_base"],
        "first_crossing_percent": curves["first_crossing_percent"] - 2,
        "persistent_percent": (curves["first_crossing_percent"] + 1).where(curves["part"] == "encoder", 0.0),
    }[column]
    assert check.of(sample._replace(curves=curves)).supported == (column not in uses[check])


def test_losses_of_the_two_starts_exchanged_are_refused():
    sample = drawn(speed_ups.most_of_the_models)
    exchanged = sample.table.assign(symmetric_init=~sample.table["symmetric_init"])
    assert not speed_ups.most_of_the_models.of(sample._replace(table=exchanged)).supported


def test_the_words_quote_the_curves():
    result = speed_ups.table_1_counts_the_first_touch()
    assert "14 %" in result.corrected and "12 layers, Jigsaw never" in result.corrected
    assert result.verdict is Verdict.ASSUMPTION
    assert "28 % on Jigsaw, 64 % on Wikipedia" in speed_ups.decoders_in_the_released_curves().remark


@pytest.mark.parametrize("check", [speed_ups.sentences_of_section_4_2, speed_ups.sentences_of_the_web_page])
def test_sentences(check):
    assert supported(check)
    sample = drawn(check)
    in_table = {75: 69, 44: 34} if check is speed_ups.sentences_of_the_web_page else {75: 73}
    for percent in (sample.in_text["speed_up_percent"].replace(in_table), math.nan):
        assert not check.of(sample._replace(in_text=sample.in_text.assign(speed_up_percent=percent))).supported
