import pytest
from made_arms import made_arm, made_matrix

from attngeo.chapters.symmetric_initialisation import recorded_runs
from attngeo.paper import Verdict
from attngeo.runs.estimates import NO_DIFFERENCE

ALL = {"random": 0.0, "symmetric": -0.2, "symmetric-indefinite": -0.2, "released": -0.5, "default-linear": -0.1}


CHECKS = [
    recorded_runs.symmetry_at_equal_scale,
    recorded_runs.released_start_on_recorded_runs,
    recorded_runs.symmetrys_part_of_the_gain,
    recorded_runs.figure_s5_on_recorded_runs,
]


def test_a_planted_gain_of_symmetry_holds():
    for check in CHECKS[:3]:
        result = check(runs=made_matrix(shifts=ALL))
        assert result.supported and result.verdict is Verdict.HOLDS and not result.corrected


@pytest.mark.parametrize("check", CHECKS[:3])
@pytest.mark.parametrize("sign", [1, -1])
def test_models_half_as_wide_as_the_papers_decide_nothing_and_are_told(check, sign):
    shifts = {start: sign * shift for start, shift in ALL.items()}
    result = check(runs=made_matrix(shifts=shifts, d_model=128))
    assert result.supported and result.verdict is Verdict.UNDECIDED and not result.corrected
    assert "4 layers of width 128" in result.remark and "(encoder, characters): " in result.remark


def test_a_planted_loss_is_against_it_but_overturns_nothing():
    result = recorded_runs.symmetry_at_equal_scale(
        runs=made_matrix(shifts=ALL | {"symmetric": 0.2, "symmetric-indefinite": 0.1})
    )
    assert result.supported and result.verdict is Verdict.CHANGES
    assert "symmetric less random (encoder, characters): +0.2" in result.corrected
    assert result.corrected.count("higher loss") == 2


def test_a_gain_within_the_noise_decides_nothing():
    result = recorded_runs.symmetry_at_equal_scale(
        runs=made_matrix(shifts=ALL | {"symmetric": 0, "symmetric-indefinite": 0})
    )
    assert result.supported and result.verdict is Verdict.UNDECIDED
    assert result.remark.count(NO_DIFFERENCE) == 2 and "lower loss" not in result.remark


def test_a_gain_that_is_the_scale_s_is_not_symmetry_s():
    runs = made_matrix(5, ALL | {"default-linear": -0.5})
    assert recorded_runs.released_start_on_recorded_runs(runs=runs).verdict is Verdict.HOLDS
    result = recorded_runs.symmetrys_part_of_the_gain(runs=runs)
    assert result.supported and result.verdict is Verdict.UNDECIDED
    tie, part, default = result.remark.split("One by one: ", 1)[1].split(". ")[0].split("; ")
    assert "less default-linear" in tie and NO_DIFFERENCE in tie
    assert "(encoder, characters): −0.499" in part and "the reverse" in part
    assert "less random (encoder, characters): −0.499" in default and "lower loss" in default


@pytest.mark.parametrize(("untied", "verdict"), [(-0.2, Verdict.HOLDS), (-0.6, Verdict.CHANGES)])
def test_what_the_tie_adds_to_the_gain_decides_however_small_a_part_it_is(untied, verdict):
    runs = made_matrix(3, ALL | {"released": -0.4, "default-linear": untied})
    result = recorded_runs.symmetrys_part_of_the_gain(runs=runs)
    assert result.supported and result.verdict is verdict


def test_what_was_not_run_keeps_a_gain_from_holding():
    no_default = {arm: shift for arm, shift in ALL.items() if arm != "default-linear"}
    assert recorded_runs.symmetrys_part_of_the_gain(runs=made_matrix(3, no_default)).verdict is Verdict.UNDECIDED
    too_few = [*made_matrix(3, {"random": 0.0, "symmetric": -0.2}), made_arm("symmetric-indefinite", 0, shift=-0.2)]
    result = recorded_runs.symmetry_at_equal_scale(runs=too_few)
    assert result.supported and result.verdict is Verdict.ASSUMPTION


def test_decoders_and_other_learning_rates_do_not_count():
    hurt = ALL | {"symmetric": 0.5, "symmetric-indefinite": 0.5}
    runs = [*made_matrix(4, ALL), *made_matrix(3, hurt, lr=5e-5), *made_matrix(4, hurt, objective="clm")]
    assert recorded_runs.symmetry_at_equal_scale(runs=runs).verdict is Verdict.HOLDS


def test_every_encoder_counts():
    hurt = ALL | {"symmetric": 0.5, "symmetric-indefinite": 0.5}
    result = recorded_runs.symmetry_at_equal_scale(runs=[*made_matrix(3, ALL), *made_matrix(3, hurt, text="plain")])
    assert result.supported and result.verdict is Verdict.ASSUMPTION
    assert result.corrected.count("lower loss") == result.corrected.count("higher loss") == 2


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("runs", [[], made_matrix(1, ALL), made_matrix(2, ALL)], ids=["none", "one seed", "two seeds"])
def test_without_seeds_nothing_is_decided(check, runs):
    result = check(runs=runs)
    assert result.supported and result.verdict is Verdict.UNDECIDED and result.comparisons[0].expected == 1


def figure_s5(end=0.5, spread=0.02, start=1.0):
    starts = {"random": ((0.0, 0.3), 0.1), "symmetric": ((start, end), spread)}
    return [
        made_arm(init, seed, symmetry=(s[0], s[1] + 0.01 * seed), spread=gap * (1 + 0.1 * seed))
        for init, (s, gap) in starts.items()
        for seed in range(3)
    ]


def test_figure_s5_as_planted():
    result = recorded_runs.figure_s5_on_recorded_runs(runs=figure_s5())
    assert result.supported and result.verdict is Verdict.HOLDS and len(result.comparisons) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"end": 0.1}, "the reverse"),
        ({"spread": 0.3}, "gap between layers of symmetric less random (encoder, characters): +0.4"),
    ],
)
def test_figure_s5_otherwise(change, words):
    result = recorded_runs.figure_s5_on_recorded_runs(runs=figure_s5(**change))
    assert result.supported and result.verdict is Verdict.ASSUMPTION and words in result.corrected
    assert "the reverse" in result.corrected


def test_figure_s5_reversed():
    result = recorded_runs.figure_s5_on_recorded_runs(runs=figure_s5(end=0.1, spread=0.3))
    assert result.supported and result.verdict is Verdict.CHANGES
    assert "symmetric: $s$ at the start less at the end (encoder, characters): +0.8" in result.corrected
