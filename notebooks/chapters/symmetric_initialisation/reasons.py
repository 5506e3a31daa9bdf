"""Why a symmetric initialisation may help: two planned experiments, with other initial weights and other positions.

`SELF_ATTENTION` separates the symmetry of W_qk from the stronger attention of tokens to themselves. `ROTARY` repeats the
comparison with rotary positional encodings. Their plans, ``data/runs/EXPERIMENT/experiment.yml``, contain the rules.
"""

from enum import Enum
from functools import cache

from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.starts import BASELINE, Outcome, Setting
from attngeo.choices import Initialisation
from attngeo.errors import AttngeoError
from attngeo.experiments.runs.arms import whole_arms
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, number, spelled, with_interval
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


def reason(indefinite: Setting) -> Reason:
    """The conclusion of the plan `SELF_ATTENTION`."""
    return reason_by_plan(*(indefinite.minus(INDEFINITE, other).difference() for other in (BASELINE, "symmetric")))


def reason_told(indefinite: Setting) -> str:
    """The conclusion of `SELF_ATTENTION`, with the numbers that decide it."""
    minus_random, minus_symmetric, repeated = (
        with_interval(indefinite.minus(*pair).difference(), as_nats)
        for pair in ((INDEFINITE, BASELINE), (INDEFINITE, "symmetric"), ("symmetric", BASELINE))
    )
    sentences = {
        Reason.SYMMETRY: "Symmetry helps in these encoders even if tokens do not attend more strongly to themselves.",
        Reason.DIAGONAL: "Symmetry alone does not help in these encoders. The gain comes from the stronger attention of"
        " tokens to themselves.",
        Reason.UNDECIDED: "The experiment does not show which of the two effects is responsible for the gain.",
    }
    return (
        f"{sentences[reason(indefinite)]} The final loss with `{INDEFINITE}` minus the final loss with random initialisation is"
        f" {minus_random} nats (mean over {spelled(len(indefinite.primary))} seeds with its 95 % confidence interval), and"
        f" the difference from `symmetric` is {minus_symmetric} nats. For comparison, `symmetric` minus random is"
        f" {repeated} nats in the same experiment."
    )


def rotary_told(rotary: Setting) -> str:
    """The outcome of `ROTARY`, with the numbers that decide it."""
    difference = with_interval(rotary.primary.difference(), as_nats)
    sentences = {
        Outcome.SAME: "makes no difference",
        Outcome.MUCH_FASTER: "helps as well",
        Outcome.FASTER: "helps as well",
        Outcome.SLOWER: "raises the final loss",
        Outcome.UNDECIDED: "has no clear effect",
    }
    return (
        f"In encoders with rotary positions, symmetric initialisation {sentences[rotary.outcome]}: the final loss changes by"
        f" {difference} nats ({spelled(len(rotary.primary))} seeds)."
    )


def rotary_expected(rotary: Setting) -> str:
    """Whether the outcome is the one that our explanation by the table of positions predicts."""
    if rotary.outcome is Outcome.SAME:
        return "This is what our explanation predicts."
    if rotary.outcome is Outcome.UNDECIDED:
        return "This result neither supports nor contradicts our explanation."
    return "Our explanation does not account for this difference."


def steps_told(learned: Setting, rotary: Setting) -> str:
    """Shares of training steps that a symmetric start saves, with a table of positions and with rotary positions."""
    saved = [speed_up_of(setting.minus("symmetric")) for setting in (learned, rotary)]
    shares = [with_interval(share, as_percent) for share in saved]
    losses = [number(setting.arms[BASELINE].mean("held_out_loss"), 2) for setting in (learned, rotary)]
    return (
        f"By our measure, symmetric initialisation saves {shares[0]} of the training steps with learned position embeddings"
        f" and {shares[1]} with rotary positions. With random initialisation, the final loss is {losses[0]} nats with"
        f" learned position embeddings and {losses[1]} nats with rotary positions."
    )
