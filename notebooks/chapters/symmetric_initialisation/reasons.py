"""Why a symmetric initialisation may help: two planned experiments, with other initial weights and other positions.

`SELF_ATTENTION` separates the symmetry of W_qk from self-attraction, which is the stronger attention of tokens to
themselves and to tokens with similar embeddings. `ROTARY` repeats the comparison with rotary positional encodings. Their plans, ``data/runs/EXPERIMENT/experiment.yml``, contain the rules.
"""

from enum import Enum
from functools import cache

from chapters.symmetric_initialisation.speed_ups import speed_up
from chapters.symmetric_initialisation.starts import BASELINE, Setting
from attngeo.choices import Initialisation
from attngeo.experiments.runs.arms import LOSS, Contrast, all_arms
from attngeo.experiments.runs.estimates import Estimate, difference_of_means
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.plateaus import PLATEAU_OF_CHARACTERS
from attngeo.files.checkout import data

SELF_ATTENTION, ROTARY = "positions_start_indefinite", "positions_start_rotary"
INDEFINITE = Initialisation.SYMMETRIC_INDEFINITE.value


class Reason(Enum):
    """What the plan `SELF_ATTENTION` concludes, in its words."""

    SYMMETRY = "symmetry helps"
    SELF_ATTRACTION = "it is self-attraction"
    UNDECIDED = "undecided"


def reason_by_plan(minus_random: Estimate, minus_symmetric: Estimate) -> Reason:
    """The conclusion from the final loss of the indefinite start minus that of two others; random is judged first."""
    if minus_random.high < 0:
        return Reason.SYMMETRY
    return Reason.SELF_ATTRACTION if minus_symmetric.low > 0 else Reason.UNDECIDED


@cache
def experiment(name: str) -> Setting:
    """The runs of one of the two plans. They are compared only if all of them are recorded."""
    plan = read_experiment(data("runs", name))
    return Setting(all_arms(plan), plan.contrasts, name)


def differences(indefinite: Setting) -> tuple[Estimate, Estimate]:
    """Final loss with the indefinite start minus that with the random and that with the symmetric start."""
    return tuple(indefinite.minus(INDEFINITE, other).difference() for other in (BASELINE, "symmetric"))


def reason(indefinite: Setting) -> Reason:
    """The conclusion of the plan `SELF_ATTENTION`."""
    return reason_by_plan(*differences(indefinite))


def earlier_version(indefinite: Setting, named: Setting) -> tuple[Estimate, Estimate]:
    """`differences` by the first version of `SELF_ATTENTION`, which named the recorded runs of another plan."""
    arm = indefinite.arms[INDEFINITE]
    return tuple(Contrast(arm, named.arms[other]).difference() for other in (BASELINE, "symmetric"))


def at_step(contrast: Contrast, step: int) -> Estimate:
    """The difference of held-out losses at a step."""
    return contrast.difference(lambda run: float(run.curve(LOSS).loc[step]))


def gains_compared(learned: Setting, rotary: Setting) -> Estimate:
    """Gain with learned positions minus gain with rotary positions, whose seeds differ, so that nothing is paired."""
    return difference_of_means(rotary.minus("symmetric").differences(), learned.minus("symmetric").differences())


def steps_on_plateau(setting: Setting) -> float:
    """The first recorded step with a held-out loss below the plateau, for the random start; mean over seeds."""
    losses = setting.arms[BASELINE].curves(LOSS)
    return float((losses < PLATEAU_OF_CHARACTERS).idxmax().mean())


def steps_saved_by_rotary(learned: Setting, rotary: Setting) -> float:
    """The share of steps that rotary positions save, compared with learned ones, for the random start."""
    losses = [setting.arms[BASELINE].curves(LOSS) for setting in (rotary, learned)]
    return speed_up(losses[0].index.to_numpy(), *(curves.to_numpy().T for curves in losses)).value


def contrasts(learned: Setting, rotary: Setting) -> dict[str, Contrast]:
    """What the two plans compare, with the label of each comparison."""
    compared = {pair.name: found for pair, found in learned.contrasts().items()}
    return compared | {f"{rotary.pairs[0].name}, rotary positions": rotary.primary}
