import numpy as np
import pytest
from chapters.symmetric_initialisation.speed_ups import first_crossing, seeds_needed, speed_up
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attngeo.experiments.runs.estimates import LEAST_SEEDS, NEVER, Estimate

STEPS = np.arange(0, 3001, 50)
SEEDS = st.integers(0, 2**31 - 1)


def curve(slowness=1.0, seeds=3, noise=0.0, seed=0):
    """Loss that falls without end, stretched in time by ``slowness``; (seeds, steps)."""
    draw = np.random.default_rng(seed)
    return 5 / (1 + STEPS / 300 / slowness) + noise * draw.standard_normal((seeds, len(STEPS)))


@given(factor=st.floats(0.2, 0.95), window=st.sampled_from([1, 5]), shift=st.floats(-3, 3))
def test_a_planted_speed_up_is_measured(factor, window, shift):
    """An arm that runs through the same curve in a share of the time is faster by the rest, smoothed or not."""
    arm, base = curve(factor) + shift, curve() + shift
    # one measurement of 50 steps; a window adds what the curve bends within it, less than a second one
    assert abs(speed_up(STEPS, arm, base, window).value - (1 - factor)) <= (1 if window == 1 else 2) * 50 / 2900 + 1e-9
    assert speed_up(STEPS, base, arm).value == NEVER


@given(seeds=st.integers(3, 7), noise=st.floats(0, 0.5), seed=SEEDS)
def test_an_arm_reaches_its_own_end(seeds, noise, seed):
    arm = curve(seeds=seeds, noise=noise, seed=seed)
    share = speed_up(STEPS, arm, arm)
    assert 0 <= share.value < 1 and share.low >= 0


@given(seed=SEEDS)
def test_a_lucky_measurement_is_a_first_touch_and_no_crossing_for_good(seed):
    draw = np.random.default_rng(seed)
    base, arm = curve(), curve(1.3)
    arm[:, draw.integers(5, 50)] = 0.0  # one dip far below the baseline's end
    assert first_crossing(STEPS, arm[0], base[0]) > 0 and speed_up(STEPS, arm, base).value == NEVER
    # a curve that is flat but for noise is late
    noise, steps, flat = draw.standard_normal((1, 400)), np.arange(400), np.zeros((1, 400))
    assert first_crossing(steps, noise[0], flat[0]) > 0.9 and speed_up(steps, noise, flat).value < 0.25


@pytest.mark.parametrize("worst", [np.inf, np.nan])
def test_a_loss_that_is_no_number_is_never_below(worst):
    arm = curve(0.5)
    arm[:, 20] = worst
    assert speed_up(STEPS, arm, curve() + 1, 1).value == 1 - STEPS[21] / STEPS[-1]
    arm[:, -1] = worst
    assert speed_up(STEPS, arm, curve()).value == NEVER


def test_seeds_are_resampled_in_pairs_and_three_give_the_range_of_their_resamples():
    arm = np.stack([curve(f)[0] for f in (0.3, 0.5, 0.7)])
    share = speed_up(STEPS, arm, curve(), window=1)
    single = [speed_up(STEPS, a[None], curve(seeds=1), window=1).value for a in arm]
    assert (share.low, share.high) == (min(single), max(single)) and share.low < share.value < share.high
    # each arm is 10 % faster than its own baseline; the baselines differ widely
    speeds = (0.5, 1.0, 2.0)
    base, arm = (np.stack([curve(share * f)[0] for f in speeds]) for share in (1, 0.9))
    paired, crossed = (speed_up(STEPS, a, base) for a in (arm, arm[[1, 2, 0]]))
    assert 0.05 < paired.low and paired.high < 0.2 and crossed.high - crossed.low > 3 * (paired.high - paired.low)
    assert not speed_up(STEPS, arm[:2], base[:2]).has_interval
    many = curve(0.6, seeds=8, noise=0.3), curve(seeds=8, noise=0.3, seed=1)
    assert speed_up(STEPS, *many) == speed_up(STEPS, *many)  # drawn with a seed


def test_never_is_not_averaged_away():
    share = speed_up(STEPS, np.stack([curve(f)[0] for f in (0.3, 0.3, 4.0)]), curve())
    assert share.low == NEVER and share.high > 0.5
    slower = speed_up(STEPS, curve(2.0), curve())
    assert slower == Estimate(NEVER, NEVER, NEVER) and slower.has_interval


@given(sd=st.floats(0.01, 1), half_width=st.floats(0.1, 1))
def test_the_seeds_needed_are_just_enough(sd, half_width):
    n = seeds_needed(sd, half_width)
    half = [stats.t.ppf(0.975, m - 1) * sd / m**0.5 for m in (n, max(2, n - 1))]
    assert half[0] <= half_width * (1 + 1e-9) and (n == LEAST_SEEDS or half[1] > half_width)
