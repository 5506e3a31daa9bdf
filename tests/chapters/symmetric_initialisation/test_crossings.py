import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attngeo.chapters.symmetric_initialisation import crossings
from attngeo.chapters.symmetric_initialisation.numbers_of_seeds import seeds_needed
from attngeo.errors import ParameterError
from attngeo.runs import estimates as su

STEPS = np.arange(0, 3001, 50)
SEEDS = st.integers(0, 2**31 - 1)


def curve(slowness=1.0, seeds=3, noise=0.0, seed=0):
    """Loss that falls without end, stretched in time by ``slowness``; (seeds, steps)."""
    draw = np.random.default_rng(seed)
    return 5 / (1 + STEPS / 300 / slowness) + noise * draw.standard_normal((seeds, len(STEPS)))


def last_difference(arm, base):
    """Of the last losses, seed by seed."""
    return su.over_seeds(arm[:, -1] - base[:, -1])


@given(shift=st.floats(-3, 3), seed=SEEDS)
def test_a_constant_added_to_both_arms_changes_nothing(shift, seed):
    arm, base = curve(0.5, noise=0.05, seed=seed), curve(noise=0.05, seed=seed + 1)
    assert crossings.speed_up(STEPS, arm + shift, base + shift) == crossings.speed_up(STEPS, arm, base)
    assert last_difference(arm + shift, base + shift).value == pytest.approx(last_difference(arm, base).value)


@given(seeds=st.integers(3, 7), noise=st.floats(0, 0.5), seed=SEEDS)
def test_an_arm_against_itself_is_no_better_and_reaches_its_own_end(seeds, noise, seed):
    arm = curve(seeds=seeds, noise=noise, seed=seed)
    difference = last_difference(arm, arm)
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)
    assert su.outcome(difference) == su.NO_DIFFERENCE
    assert 0 <= crossings.speed_up(STEPS, arm, arm) < 1
    assert crossings.speed_up_estimate(STEPS, arm, arm).low >= 0


@given(factor=st.floats(0.2, 0.95))
def test_between_two_measurements_a_speed_up_is_told_closer_and_is_no_less(factor):
    on_grid, between = (
        crossings.speed_up_estimate(STEPS, curve(factor), curve(), 1, between=between) for between in (False, True)
    )
    assert -1e-12 <= between.value - on_grid.value < 50 / 3000
    assert between.value == pytest.approx(1 - factor, abs=0.1 * 50 / 3000)  # the curve bends within a measurement


@pytest.mark.parametrize("worst", [np.inf, np.nan])
def test_between_a_loss_that_is_no_number_and_the_next_stands_the_next(worst):
    arm = curve(0.5)
    arm[:, 20] = worst
    on_grid, between = (
        crossings.speed_up_estimate(STEPS, arm, curve() + 1, 1, between=between) for between in (False, True)
    )
    assert between.value == on_grid.value == 1 - STEPS[21] / STEPS[-1]


@given(factor=st.floats(0.2, 0.95), window=st.sampled_from([1, 5]))
def test_a_planted_speed_up_is_found(factor, window):
    """An arm that runs through the same curve in a share of the time is faster by the rest, smoothed or not."""
    found = crossings.speed_up(STEPS, curve(factor), curve(), window)
    # one measurement of 50 steps; a window adds what the curve bends within it, less than a second one
    assert abs(found - (1 - factor)) <= (1 if window == 1 else 2) * 50 / 2900 + 1e-9
    assert crossings.speed_up(STEPS, curve(), curve(factor)) == su.NEVER


@given(seed=SEEDS)
def test_a_lucky_measurement_is_no_persistent_crossing(seed):
    draw = np.random.default_rng(seed)
    base, arm = curve(), curve(1.3)
    arm[:, draw.integers(5, 50)] = 0.0  # one dip far below the baseline's end
    assert crossings.first_crossing(STEPS, arm[0], base[0]) > 0
    assert crossings.speed_up(STEPS, arm, base) == su.NEVER


@given(seed=SEEDS)
def test_a_curve_that_is_flat_but_for_noise_is_late(seed):
    """The paper's number of such an arm is large; the persistent one is that of its last few measurements."""
    noise = np.random.default_rng(seed).standard_normal((1, 400))
    steps = np.arange(400)
    base = np.zeros((1, 400))
    assert crossings.first_crossing(steps, noise[0], base[0]) > 0.9
    assert crossings.speed_up(steps, noise, base) < 0.25


@given(seed=SEEDS, shift=st.floats(0.2, 3))
def test_the_interval_of_a_difference_holds_the_planted_one(seed, shift):
    arm, base = curve(seeds=6, noise=0.01, seed=seed), curve(seeds=6, noise=0.01, seed=seed + 1)
    better = last_difference(arm - shift, base)
    assert abs(better.value + shift) < 0.05 and better.high - better.low < 0.1
    assert su.outcome(better) == su.HELPS and su.outcome(last_difference(arm + shift, base)) == su.HURTS


@given(window=st.integers(1, 80))
def test_an_infinite_loss_stays_in_the_windows_that_hold_it(window):
    loss = curve(noise=0.1)
    broken = loss.copy()
    broken[:, 0] = np.inf
    mean, of_broken = crossings.trailing_mean(loss, window), crossings.trailing_mean(broken, window)
    assert np.isinf(of_broken[:, :window]).all() and np.array_equal(of_broken[:, window:], mean[:, window:])
    assert mean[0, min(window, len(STEPS)) - 1] == pytest.approx(loss[0, :window].mean())


def test_the_interval_is_students():
    arm = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 4.5]])
    found = su.over_seeds(arm[:, -1])
    half = 4.302652729911275 * np.std([1.0, 2.0, 4.5], ddof=1) / math.sqrt(3)
    assert (found.value, found.low, found.high) == pytest.approx((2.5, 2.5 - half, 2.5 + half))


def test_intervals_hold_the_truth_as_often_as_they_say():
    draw = np.random.default_rng(0)
    held = []
    for _ in range(2000):
        gaps = draw.standard_normal((3, 1))
        found = su.over_seeds(gaps[:, 0])
        held.append((found.low <= 0 <= found.high, gaps.min() <= 0 <= gaps.max()))
    student, spread = np.mean(held, axis=0)
    assert abs(student - 0.95) < 0.02
    assert abs(spread - crossings.coverage(3)) < 0.04


def test_three_seeds_give_the_range_of_their_resamples():
    arm = np.stack([curve(f)[0] for f in (0.3, 0.5, 0.7)])
    found = crossings.speed_up_estimate(STEPS, arm, curve(), window=1)
    single = [crossings.speed_up(STEPS, a[None], curve(seeds=1), window=1) for a in arm]
    assert (found.low, found.high) == (min(single), max(single))
    assert found.low < found.value < found.high


def test_never_is_not_averaged_away():
    arm = np.stack([curve(f)[0] for f in (0.3, 0.3, 4.0)])
    found = crossings.speed_up_estimate(STEPS, arm, curve())
    assert found.low == su.NEVER and found.high > 0.5
    assert np.mean([0.5, su.NEVER]) == su.NEVER
    slower = crossings.speed_up_estimate(STEPS, curve(2.0), curve())
    assert slower == su.Estimate(su.NEVER, su.NEVER, su.NEVER) and slower.has_interval


def test_seeds_are_resampled_in_pairs():
    """Each arm is 10 % faster than its own baseline; the baselines differ widely."""
    speeds = (0.5, 1.0, 2.0)
    base = np.stack([curve(f)[0] for f in speeds])
    arm = np.stack([curve(0.9 * f)[0] for f in speeds])
    paired = crossings.speed_up_estimate(STEPS, arm, base)
    crossed = crossings.speed_up_estimate(STEPS, arm[[1, 2, 0]], base)
    assert paired.low > 0.05 and paired.high < 0.2
    assert crossed.high - crossed.low > 3 * (paired.high - paired.low)


def test_many_seeds_are_drawn_with_a_seed():
    arm, base = curve(0.6, seeds=8, noise=0.3), curve(seeds=8, noise=0.3, seed=1)
    first, again = (crossings.speed_up_estimate(STEPS, arm, base, seed=3) for _ in range(2))
    assert first == again and first.low <= first.value <= first.high


@given(sd=st.floats(0.01, 1), half_width=st.floats(0.1, 1))
def test_the_seeds_needed_are_just_enough(sd, half_width):
    n = seeds_needed(sd, half_width)

    def reached(n):
        gaps = np.resize([-1.0, 1.0], (n, 1)) if n % 2 == 0 else np.r_[np.resize([-1.0, 1.0], n - 1), 0][:, None]
        gaps *= sd / gaps.std(ddof=1)
        e = su.over_seeds(gaps[:, 0])
        return (e.high - e.low) / 2 <= half_width * (1 + 1e-9)

    assert reached(n) and (n == su.LEAST_SEEDS or not reached(n - 1))


def test_no_seeds_suffice_for_a_point(as_user):
    with pytest.raises(ParameterError, match="above 0"):
        seeds_needed(0.1, 0.0)


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_give_no_interval(seeds):
    arm, base = curve(0.5, seeds=seeds), curve(seeds=seeds)
    assert not crossings.speed_up_estimate(STEPS, arm, base).has_interval
    difference = last_difference(arm, base)
    assert not difference.has_interval and su.outcome(difference) == su.TOO_FEW


def test_a_loss_that_is_no_number_is_never_below():
    arm = curve(0.5)
    arm[:, -1] = np.nan
    assert crossings.speed_up(STEPS, arm, curve()) == su.NEVER


def test_means_trail():
    loss = np.array([4.0, 2.0, 0.0, 6.0])
    assert crossings.trailing_mean(loss, 3).tolist() == pytest.approx([4, 3, 2, 8 / 3])
    assert crossings.trailing_mean(loss, 1).tolist() == pytest.approx(loss.tolist())


def test_what_does_not_belong_together_is_refused(as_user):
    with pytest.raises(ParameterError, match="pair runs"):
        crossings.speed_up(STEPS, curve(seeds=2), curve(seeds=3))
    with pytest.raises(ParameterError, match="holds none"):
        crossings.trailing_mean(curve(), 0)
