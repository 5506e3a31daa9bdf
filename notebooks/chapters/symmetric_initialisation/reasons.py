"""Why a symmetric initialisation may help: two planned experiments, with other initial weights and other positions.

`SELF_ATTENTION` separates the symmetry of W_qk from self-attraction, which is the stronger attention of tokens to
themselves and to tokens with similar embeddings. `ROTARY` repeats the comparison with rotary positional encodings. Their plans, ``data/runs/EXPERIMENT/experiment.yml``, contain the rules.
"""

from enum import Enum
from functools import cache

from chapters.symmetric_initialisation.speed_ups import speed_up, speed_up_of
from chapters.symmetric_initialisation.starts import BAND, BASELINE, Outcome, Setting
from livingpaper.claims.results import Verdict
from attngeo.choices import Initialisation
from attngeo.errors import AttngeoError
from attngeo.experiments.runs.arms import LOSS, Contrast, whole_arms
from attngeo.experiments.runs.estimates import NEVER, Estimate, difference_of_means
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, number, with_interval
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


def narrow(indefinite: Setting) -> bool:
    """Whether the conclusion that self-attraction helps rests on less than the negligible difference, `BAND`."""
    return reason(indefinite) is Reason.SELF_ATTRACTION and differences(indefinite)[1].low < BAND


def reason_in_short(indefinite: Setting) -> str:
    """The conclusion of `SELF_ATTENTION` in one sentence. A narrow margin counts as no conclusion."""
    unclear = (
        "A further planned experiment did not clarify whether this gain comes from symmetry itself or from the stronger"
        " attention of tokens to themselves and to similar tokens."
    )
    if narrow(indefinite):
        return unclear
    return {
        Reason.SYMMETRY: "A further planned experiment suggests that this gain comes from symmetry itself.",
        Reason.SELF_ATTRACTION: "A further planned experiment suggests that this gain comes from the stronger attention of tokens"
        " to themselves and to similar tokens, and not from symmetry itself.",
        Reason.UNDECIDED: unclear,
    }[reason(indefinite)]


def reason_told(indefinite: Setting) -> str:
    """The conclusion of `SELF_ATTENTION` by its plan, with the numbers that decide it and how far they can be trusted."""
    of_random, of_symmetric = differences(indefinite)
    gain = indefinite.minus("symmetric").difference()
    conclusions = {
        Reason.SYMMETRY: "symmetry helps",
        Reason.SELF_ATTRACTION: "self-attraction helps",
        Reason.UNDECIDED: "the experiment is inconclusive",
    }
    doubts = []
    if narrow(indefinite):
        doubts.append(f"the last interval begins only {number(of_symmetric.low, 4)} nats above 0")
    if of_random.low < gain.value < 0 and reason(indefinite) is not Reason.SYMMETRY:
        doubts.append(
            f"the interval for `{INDEFINITE}` initialisation includes a gain as large as that of `symmetric` initialisation"
        )
    doubt = f" However, we do not consider the question settled: {', and '.join(doubts)}." if doubts else ""
    return (
        f"Relative to random initialisation, `symmetric` initialisation changes the final loss by"
        f" {with_interval(gain, as_nats)} nats, and `{INDEFINITE}` initialisation changes it by"
        f" {with_interval(of_random, as_nats)} nats. The final loss with `{INDEFINITE}` initialisation minus the final loss with"
        f" `symmetric` initialisation is {with_interval(of_symmetric, as_nats)} nats. By the criteria of the plan, the"
        f" conclusion would be that *{conclusions[reason(indefinite)]}*.{doubt}"
    )


def earlier_version_told(indefinite: Setting, repeated: Setting) -> str:
    """What the first version of `SELF_ATTENTION` would have concluded, which named the recorded runs of another plan."""
    arm = indefinite.arms[INDEFINITE]
    compared = [Contrast(arm, repeated.arms[other]).difference() for other in (BASELINE, "symmetric")]
    conclusion = reason_by_plan(*compared)
    outcome = "the same" if conclusion is reason(indefinite) else "different"
    if conclusion is Reason.UNDECIDED is not reason(indefinite):
        outcome = "inconclusive"
    return (
        f"If we instead compare the encoders with `{INDEFINITE}` initialisation with the recorded runs named in the first version"
        f" of the plan, their final loss minus that of the encoders with `symmetric` initialisation is"
        f" {with_interval(compared[1], as_nats)} nats. Under that version, the outcome would have been {outcome}."
    )


def course_told(indefinite: Setting, step: int = 1000) -> str:
    """When during training the gain of the symmetric start appears."""
    contrast = indefinite.minus("symmetric")
    early = contrast.difference(lambda run: float(run.curve(LOSS).loc[step]))
    if early.high < 0:
        return f"The gain is already there at step {step:,}."
    return (
        f"The gain appears late in training. At step {step:,}, there is no clear difference yet: the loss with `symmetric`"
        f" initialisation minus the loss with random initialisation is {with_interval(early, as_nats)} nats."
    )


ROTARY_VERDICTS = {  # on the statement that there is no gain
    Outcome.SAME: Verdict.HOLDS,
    Outcome.MUCH_FASTER: Verdict.CHANGES,
    Outcome.FASTER: Verdict.CHANGES,
    Outcome.SLOWER: Verdict.CHANGES,
    Outcome.UNDECIDED: Verdict.UNDECIDED,
}


def rotary_told(rotary: Setting) -> str:
    """The outcome of `ROTARY` by its plan."""
    conclusions = {
        Outcome.SAME: "there is *no difference*, as this explanation predicts",
        Outcome.MUCH_FASTER: "symmetric initialisation is *faster*, which this explanation does not predict",
        Outcome.FASTER: "symmetric initialisation is *faster*, which this explanation does not predict",
        Outcome.SLOWER: "symmetric initialisation is *slower*, which this explanation does not predict",
        Outcome.UNDECIDED: "the result is *inconclusive*, because the interval includes 0 but does not lie within the"
        f" ±{BAND:g} nats that the plan requires for *no difference*",
    }
    return (
        "In encoders with rotary positions, `symmetric` initialisation changes the final loss by"
        f" {with_interval(rotary.primary.difference(), as_nats)} nats relative to random initialisation. By the criteria of the plan,"
        f" {conclusions[rotary.outcome]}."
    )


def gains_compared(learned: Setting, rotary: Setting) -> Estimate:
    """Gain with learned positions minus gain with rotary positions, whose seeds differ, so that nothing is paired."""
    return difference_of_means(rotary.minus("symmetric").differences(), learned.minus("symmetric").differences())


def steps_on_plateau(setting: Setting) -> float:
    """The first recorded step with a held-out loss below the plateau, for the random start; mean over seeds."""
    losses = setting.arms[BASELINE].curves(LOSS)
    return float((losses < PLATEAU_OF_CHARACTERS).idxmax().mean())


def steps_told(learned: Setting, rotary: Setting) -> str:
    """The shares of training steps that symmetric initialisation saves, and those that rotary positions save."""
    with_table, with_rotary = (speed_up_of(setting.minus("symmetric")) for setting in (learned, rotary))
    share = as_percent(with_rotary.value)
    if with_rotary.low == NEVER:
        share = f"{share} (upper end of the interval: {as_percent(with_rotary.high)})"
    steps, *losses = (
        learned.arms[BASELINE].curves(LOSS).index.to_numpy(),
        *(setting.arms[BASELINE].curves(LOSS).to_numpy().T for setting in (rotary, learned)),
    )
    saved = speed_up(steps, *losses)
    ends = [number(setting.arms[BASELINE].mean(LOSS), 2) for setting in (learned, rotary)]
    return (
        f"Symmetric initialisation saves {with_interval(with_table, as_percent)} of the training steps for encoders with"
        f" learned position embeddings and {share} for encoders with rotary positions. The type of positional encoding matters"
        " far more than the initialisation. With random initialisation, encoders with rotary positions reach the final loss"
        f" of encoders with learned position embeddings ({ends[0]} nats) in {as_percent(saved.value)} fewer training steps, and"
        f" they go on to reach {ends[1]} nats."
    )


def contrasts(learned: Setting, rotary: Setting) -> dict[str, Contrast]:
    """What the two plans compare, with the label of each comparison."""
    compared = {pair.name: found for pair, found in learned.contrasts().items()}
    return compared | {f"{rotary.pairs[0].name}, rotary positions": rotary.primary}
