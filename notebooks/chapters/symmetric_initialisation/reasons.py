"""Why a symmetric initialisation may help: two planned experiments, with other initial weights and other positions.

`SELF_ATTENTION` separates the symmetry of W_qk from the stronger attention of tokens to themselves. `ROTARY` repeats the
comparison with rotary positional encodings. Their plans, ``data/runs/EXPERIMENT/experiment.yml``, contain the rules.
"""

from enum import Enum
from functools import cache

from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.starts import BAND, BASELINE, FOUND, Outcome, Setting
from livingpaper.claims.results import Verdict
from attngeo.choices import Initialisation
from attngeo.errors import AttngeoError
from attngeo.experiments.runs.arms import LOSS, Contrast, whole_arms
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, number, with_interval
from attngeo.files.checkout import data

SELF_ATTENTION, ROTARY = "positions_start_indefinite", "positions_start_rotary"
INDEFINITE = Initialisation.SYMMETRIC_INDEFINITE.value


class Reason(Enum):
    """What the plan `SELF_ATTENTION` concludes, in its words."""

    SYMMETRY = "symmetry helps"
    DIAGONAL = "it is self-attraction"
    UNDECIDED = "undecided"


def reason_by_plan(minus_random: Estimate, minus_symmetric: Estimate) -> Reason:
    """The conclusion from the final loss of the indefinite start minus that of two others; random is judged first."""
    if minus_random.high < 0:
        return Reason.SYMMETRY
    return Reason.DIAGONAL if minus_symmetric.low > 0 else Reason.UNDECIDED


@cache
def experiment(name: str) -> Setting:
    """The runs of one of the two plans. They are compared only if all of them are recorded.

    Raises:
        AttngeoError: a planned run is missing.
    """
    plan = read_experiment(data("runs", name))
    arms = whole_arms(plan)
    if missing := {run.arm for run in plan.runs} - set(arms):
        raise AttngeoError(
            f"The arm {min(missing)} of {name} is not complete; make its runs with attngeo experiment {name}."
        )
    return Setting(arms, plan.contrasts, name)


def differences(indefinite: Setting) -> tuple[Estimate, Estimate]:
    """Final loss with the indefinite start minus that with the random and that with the symmetric start."""
    return tuple(indefinite.minus(INDEFINITE, other).difference() for other in (BASELINE, "symmetric"))


def reason(indefinite: Setting) -> Reason:
    """The conclusion of the plan `SELF_ATTENTION`."""
    return reason_by_plan(*differences(indefinite))


def reason_in_short(indefinite: Setting) -> str:
    """The conclusion of `SELF_ATTENTION` in one sentence."""
    weakly = "weakly " if margin_told(indefinite) else ""
    return {
        Reason.SYMMETRY: "A further planned experiment suggests that the gain comes from symmetry and not from the stronger"
        " attention of tokens to themselves.",
        Reason.DIAGONAL: f"A further planned experiment {weakly}suggests that the gain does not come from symmetry but from"
        " the stronger attention of tokens to themselves.",
        Reason.UNDECIDED: "A further planned experiment does not show whether the gain comes from symmetry or from the"
        " stronger attention of tokens to themselves.",
    }[reason(indefinite)]


def reason_told(indefinite: Setting) -> str:
    """The conclusion of `SELF_ATTENTION` by its plan, with the numbers that decide it."""
    of_random, of_symmetric = (with_interval(difference, as_nats) for difference in differences(indefinite))
    repeated = indefinite.minus("symmetric").difference()
    again = "As" if repeated.high < 0 else "Unlike"
    conclusions = {
        Reason.SYMMETRY: "symmetry helps",
        Reason.DIAGONAL: "it is self-attraction that helps",
        Reason.UNDECIDED: "the result is inconclusive",
    }
    told = (
        f"{again} in `{FOUND}`, symmetric initialisation clearly lowers the final loss: symmetric minus random is"
        f" {with_interval(repeated, as_nats)} nats. With `{INDEFINITE}`, the final loss differs by {of_random} nats from the"
        f" final loss with random initialisation, and by {of_symmetric} nats from the final loss with `symmetric`. Under the"
        f" criteria of the plan, *{conclusions[reason(indefinite)]}*. {margin_told(indefinite)}"
    )
    return told.strip()


def margin_told(indefinite: Setting) -> str:
    """A warning if the conclusion that self-attraction helps depends on a narrow margin."""
    _, of_symmetric = differences(indefinite)
    if reason(indefinite) is not Reason.DIAGONAL or of_symmetric.low >= BAND:
        return ""
    return (
        f"However, the interval of the difference from `symmetric` begins only {number(of_symmetric.low, 4)} nats above 0, so"
        " the result could easily have been inconclusive with other seeds."
    )


ROTARY_VERDICTS = {  # on the statement that there is no gain
    Outcome.SAME: Verdict.HOLDS,
    Outcome.MUCH_FASTER: Verdict.CHANGES,
    Outcome.FASTER: Verdict.CHANGES,
    Outcome.SLOWER: Verdict.CHANGES,
    Outcome.UNDECIDED: Verdict.UNDECIDED,
}


def rotary_told(learned: Setting, rotary: Setting) -> str:
    """The outcome of `ROTARY` by its plan, and whether it excludes the gain with learned positions."""
    difference, gain = (setting.minus("symmetric").difference() for setting in (rotary, learned))
    conclusions = {
        Outcome.SAME: "there is *no difference*, as this explanation predicts",
        Outcome.MUCH_FASTER: "symmetric initialisation is *faster*, which this explanation does not predict",
        Outcome.FASTER: "symmetric initialisation is *faster*, which this explanation does not predict",
        Outcome.SLOWER: "symmetric initialisation is *slower*, which this explanation does not predict",
        Outcome.UNDECIDED: f"the result is *undecided*, because the interval does not lie within ±{BAND:g} nats",
    }
    told = (
        f"With rotary positions, symmetric initialisation changes the final loss by {with_interval(difference, as_nats)} nats."
        f" Under the criteria of the plan, {conclusions[rotary.outcome]}."
    )
    if gain.value < difference.low:
        told += " The interval excludes a gain as large as the one that we measured with learned position embeddings."
    return told


def steps_told(learned: Setting, rotary: Setting) -> str:
    """The shares of training steps that symmetric initialisation saves, and the losses, for both types of positions."""
    saved = [with_interval(speed_up_of(setting.minus("symmetric")), as_percent) for setting in (learned, rotary)]
    losses = [number(setting.arms[BASELINE].mean(LOSS), 2) for setting in (learned, rotary)]
    return (
        f"By our measure, symmetric initialisation saves {saved[0]} of the training steps with learned position embeddings"
        f" and {saved[1]} with rotary positions. Rotary positions themselves matter far more: with random initialisation,"
        f" the final loss is {losses[1]} nats with rotary positions and {losses[0]} nats with learned position embeddings"
        " (means over different seeds)."
    )


def contrasts(learned: Setting, rotary: Setting) -> dict[str, Contrast]:
    """What the two plans compare, with the label of each comparison."""
    compared = {pair.name: found for pair, found in learned.contrasts().items()}
    return compared | {f"{rotary.pairs[0].name}, rotary positions": rotary.primary}
