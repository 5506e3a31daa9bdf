"""Numbers of *Scores during training*: the released and recorded ones as they are, the measures on made runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from chapters.positions import crossing
from chapters.training_scores import measures, prose, released, tables
from chapters.training_scores import planned as training_planned
from chapters.training_scores.planned import NOT_TRAINED, difference_table
from made_runs import made_arm, made_large_arm, made_run

from attngeo.experiments.runs.estimates import over_seeds

GOLDEN = {  # layers, text: s of encoder and decoder, d of both, at the end
    (12, "Jigsaw"): (0.38, 0.02, -0.25, -0.20),
    (12, "Red Pajama"): (0.35, -0.03, -0.18, -0.41),
    (12, "Wikipedia"): (0.32, -0.05, -0.16, -0.33),
    (4, "Jigsaw"): (0.66, -0.20, -0.43, -0.39),
    (4, "Red Pajama"): (0.48, -0.54, -0.56, -0.37),
    (4, "Wikipedia"): (0.35, -0.50, -0.42, -0.40),
}
RECORDED = {  # text, score: encoder, decoder, their difference
    ("Wikipedia, subword tokens (vocabulary of 160)", "s"): "+0.31 +0.04 +0.27 [−0.16, +0.71]",
    ("Wikipedia, subword tokens (vocabulary of 160)", "d"): "−0.01 −0.19 +0.18 [−0.64, +1.00]",
    ("Wikipedia, characters, learning rate 0.001", "s"): "+0.51 +0.05 +0.45 [+0.24, +0.67]",
    ("Wikipedia, characters, learning rate 0.001", "d"): "−0.04 −0.27 +0.22 [+0.08, +0.37]",
}


PLANNED = {  # encoder minus decoder with learned and with rotary position embeddings: of the referee's own computation
    "characters (10 seeds)": (
        "+0.53 [+0.50, +0.55] −0.24 [−0.28, −0.21]",
        "+0.22 [+0.13, +0.31] −0.19 [−0.36, −0.02]",
    ),
    "characters, third set of seeds (3 seeds)": (
        "+0.40 [+0.11, +0.69] −0.24 [−0.33, −0.14]",
        "+0.32 [+0.22, +0.42] −0.31 [−0.56, −0.06]",
    ),
    "subword tokens, short (5 seeds)": (
        "the encoders did not learn −0.11 [−0.13, −0.08]",
        "the encoders did not learn −0.16 [−0.37, +0.06]",
    ),
}


def test_the_planned_experiments_stand_beside_each_other_with_both_types_of_positions():
    found = [
        difference_table(score).set_index("experiment").agg(" ".join, axis=1) for score in released.LETTERS.values()
    ]
    for experiment, expected in PLANNED.items():
        assert tuple(rows[experiment] for rows in found) == expected


def test_the_experiments_have_the_same_names_as_on_the_page_that_plans_them():
    assert {name: brief for name, (_, brief) in crossing.READ.items()} == training_planned.EXPERIMENTS
    assert tuple(training_planned.OF_CHARACTERS) == crossing.OF_CHARACTERS


def test_an_experiment_without_a_decoder_is_not_compared(monkeypatch):
    arms = dict(training_planned.planned_arms("positions_characters"))
    del arms["clm-rotary"]
    monkeypatch.setattr(training_planned, "planned_arms", lambda experiment: arms)
    assert training_planned.difference_in_words("positions_characters", "rotary", "symmetry") == NOT_TRAINED
    assert not [kind for _, kind, _ in training_planned.planned_pairs() if kind == "rotary"]


def test_released_medians_at_the_end():
    rows = released.released_pairs().set_index(["layers", "text"])
    medians = rows[["s, encoder", "s, decoder", "d, encoder", "d, decoder"]].round(2)
    assert {key: tuple(row) for key, row in medians.iterrows()} == GOLDEN


def test_recorded_pairs_with_an_interval():
    rows = tables.contrast_table(measures.recorded()).query("seeds >= 3").set_index(["setting", "score"])
    told = rows[["encoder", "decoder", "difference"]].agg(" ".join, axis=1)
    assert told.to_dict() == RECORDED
    assert set(rows["authors' models, 12 layers"]) == {"+0.37", "–"}  # the released d has another formula


def test_the_course_has_its_turning_points():
    course = released.released_course().set_index(["layers", "part", "text"])
    decoder, encoder = course.loc[(12, "decoder", "Wikipedia")], course.loc[(12, "encoder", "Red Pajama")]
    assert (decoder["first step"], decoder["steps"], round(decoder["most"], 2)) == (1000, 200000, -0.23)
    assert (encoder["last step above 0"], encoder["below 0 from"], round(encoder["most"], 2)) == (5000, 10000, 0.19)
    late = course.loc[(4, "encoder", "Jigsaw")]  # below 0, above, and below again
    assert late["first"] < 0 and late["last step above 0"] == 10000 and late["below 0 from"] == 50000


def test_settling_is_timed_from_the_last_step_away_from_the_end():
    run = made_run(s=(0.48, 0.48), d=(0.0, 0.0), noise=0.0)
    late = run.scores["layer"] == 1
    run.scores.loc[late & (run.scores["step"] >= 200), "symmetry"] = 0.48  # last away at step 100
    # on its straight line the other layer is within 0.05 of 0.48 from nine tenths of the way on: last away at step 800
    assert measures.settles_late_less_early(run) == pytest.approx((100 - 800) / 1000)


def test_early_middle_and_late_layers_are_told_apart():
    runs = [
        *made_arm(s=(0.1, 0.2, 0.4, 0.6)),
        *made_arm(objective="clm", s=(0.3, -0.2, -0.2, 0.3), d=(0, 0, -0.5, -0.5)),
    ]
    cases = [one for of in measures.cases_of_layers(runs).values() for one in of.values()]
    values = [case.estimate.value for (case,) in cases]
    # the encoder's late layers go further and stay longer away; its d falls by 0.2 from the early half to the late one
    assert values[0] == pytest.approx(0.35, abs=0.02) and values[1] > 0 and values[2] == pytest.approx(-0.2, abs=0.02)
    assert values[3:] == pytest.approx([-0.2, -0.5, -0.3], abs=0.02)
    assert [case.met for (case,) in cases] == [True, False, True, True, True, True]


def test_noise_falls_from_its_peak_no_more_often_than_an_interval_says():
    """At the peak of the curve itself the interval would lie above 0 in one draw of seven."""
    draw = np.random.default_rng(0)
    curves = [pd.DataFrame(draw.standard_normal((31, 3))) for _ in range(300)]
    falls = [over_seeds(measures.fall_from_peak(c)).low > 0 for c in curves]
    peaks = [over_seeds((c.loc[c.mean(axis=1).idxmax()] - c.iloc[-1]).tolist()).low > 0 for c in curves]
    assert np.mean(falls) < 0.04 < 0.1 < np.mean(peaks)
    (climb,) = measures.climbs(made_arm(peak=0.4))
    assert climb.mean.idxmax() == 500 and climb.fall.low > 0 and climb.growth.low > 0


def test_arms_of_unequal_length_are_compared_where_the_shorter_one_ends():
    whole = made_arm(objective="clm", s=(0.1,) * 4, steps=500)
    short = [replace(run, scores=run.scores[run.scores["step"] <= 500]) for run in whole]
    (pair,) = measures.pairs_of([*made_arm(s=(0.5,) * 4, noise=0.001), *short])
    end, equal = pair.difference("symmetry"), measures.at_equal_steps(pair, "symmetry").estimate
    # halfway on a straight line from 1/128, the encoder has half of the way to 0.5
    assert end.value - equal.value == pytest.approx((0.5 - 1 / 128) / 2, abs=0.01)


def test_runs_of_the_paper_s_size_would_have_to_decide():
    small, large = (measures.in_arms(arm, "mlm", "symmetry", "s") for arm in (made_arm(), made_large_arm()))
    assert not any(comparison.decides for comparison in measures.beside(small))
    assert "is smaller than these models or was" in measures.doubt(small)
    with pytest.raises(AssertionError):
        measures.beside(large)


@pytest.mark.parametrize(
    ("numbers", "name", "planted"),
    [
        (
            prose.ends_of_released_models,
            "released_pairs",
            lambda: released.released_pairs().assign(**{"s, encoder": -1}),
        ),
        (prose.ends_of_released_models, "gap_outcome", lambda gap: tables.LARGER),
        (prose.course_of_released_models, "released_course", lambda: released.released_course().assign(end=0.1)),
        (prose.planned_experiments, "OF_CHARACTERS", {"positions_pieces_longer": "subword tokens"}),
        (prose.growth_of_symmetry, "climb_of", lambda arm: measures.climb_of(planned_encoder("learned"))),
    ],
)
def test_a_number_is_not_shown_where_its_sentence_would_be_wrong(monkeypatch, numbers, name, planted):
    assert numbers()
    monkeypatch.setattr(prose, name, planted)
    with pytest.raises(AssertionError):
        numbers()


def planned_encoder(positions):
    return training_planned.planned_arms("positions_characters")[f"mlm-{positions}"]
