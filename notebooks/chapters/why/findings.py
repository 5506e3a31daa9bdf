"""What each plan on *Why?* asked for, what its runs say, and the outcome in the words of the plan.

Thresholds are read from the plans. The rules are those of the plans; `Outcome` has the words that most of them share.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.numbers_in_words import as_score, number, spelled, with_interval
from attngeo.files.checkout import data
from chapters import why
from attngeo.experiments.runs.measures import lowest_of_layers, median_of_heads, of_layer
from chapters.why import Planned


class Outcome(Enum):
    """The words that most of these plans have for their outcomes."""

    HOLDS = "the lead holds"
    IN_PART = "in part"
    FALLS = "the lead falls"
    UNDECIDED = "undecided"


RULES = "what counts as what"
SIDES = ("n16-q100", "n16-q000")  # arms of the primary contrast of why_sides
MET, NOT_MET, DEPENDS = (
    "the assumption is met early",
    "it is not met",
    "it depends on the type of positional encoding",
)
UNLEARNED = "; these models hardly learned anything"
REFUTED, STAGES_HOLD = "the two stages are refuted", "the two stages hold here"
# the outcomes that the plans had, from what speaks most against our explanations to what speaks for them
PLAIN = {
    REFUTED: "refuted",
    Outcome.FALLS.value: "refuted",
    NOT_MET: "not met",
    Outcome.IN_PART.value: "partly confirmed",
    Outcome.UNDECIDED.value: "undecided",
    STAGES_HOLD: "confirmed",
}


@dataclass(frozen=True)
class Finding:
    """A planned experiment in three sentences and an outcome."""

    question: str  # what was changed, and what should follow
    asked: str
    found: str
    outcome: str  # in the words of the plan
    learned: bool = True  # False: a kind of model that the plan compares hardly learned anything, so it is no evidence
    about_the_paper: bool = False  # whether the plan tests an assumption of the paper, not an explanation of ours


def threshold(experiment: str, rule: str = Outcome.HOLDS.value) -> float:
    """The first number with a decimal point in a rule of a plan, such as -0.5 in "the interval lies below -0.5"."""
    plan: dict[str, Any] = msgspec.yaml.decode((data("runs", experiment) / "experiment.yml").read_text("utf-8"))
    rules = plan.get(RULES) or plan["primary contrast"][RULES]
    return float(re.findall(r"-?\d+\.\d+", rules[rule])[0])


# the rules


def below(difference: Estimate, asked: float) -> Outcome:
    """Holds if the interval lies below a number that is negative, in part if it lies below 0."""
    if difference.high < asked:
        return Outcome.HOLDS
    return Outcome.IN_PART if difference.high < 0 else Outcome.FALLS


def of_hidden(difference: Estimate, asked: float) -> Outcome:
    """Falls if the interval contains 0 or lies below it; holds if it lies above 0 and the mean exceeds a number."""
    if difference.low <= 0:
        return Outcome.FALLS
    return Outcome.HOLDS if difference.value > asked else Outcome.IN_PART


def of_tables(slow_white: Estimate, white_band: Estimate, slow_band: Estimate, band: Estimate) -> Outcome:
    """Falls if slow minus band has an interval that is not above 0; holds if all three lie in order, band below 0."""
    if slow_band.low <= 0:
        return Outcome.FALLS
    ordered = slow_white.low > 0 and white_band.low > 0 and band.high < 0
    return Outcome.HOLDS if ordered else Outcome.IN_PART


def of_windows(difference: Estimate, everything: Estimate, window: Estimate) -> Outcome:
    """Falls if the interval is not above 0; holds if decoders that see all places have a mean below 0, and others not."""
    if difference.low <= 0:
        return Outcome.FALLS
    return Outcome.HOLDS if everything.value < 0 <= window.high else Outcome.IN_PART


def of_sides(difference: Estimate, loss: float, asked: float, plateau: float) -> Outcome:
    """As `below`, and undecided if the encoders with an uninformative right side did not learn."""
    return Outcome.UNDECIDED if loss >= plateau else below(difference, asked)


def of_agreement(intervals: Sequence[Estimate], asked: float) -> str:
    """Met if every interval lies above a number, not met if every one lies below it, else it depends."""
    if all(interval.low > asked for interval in intervals):
        return MET
    return NOT_MET if all(interval.high < asked for interval in intervals) else DEPENDS


def of_stages(
    difference: Estimate, predicted: Estimate, distance: float, loss: float, asked: tuple[float, float]
) -> str:
    """The rules of one_sided_longer: the loss is judged first, then whether the prediction differs between the arms."""
    below_which, within = asked
    if loss >= why.PLATEAU or predicted.low <= 0 <= predicted.high:
        return Outcome.UNDECIDED.value
    if difference.high < below_which and distance <= within:
        return STAGES_HOLD
    return REFUTED if difference.high >= 0 and predicted.value < below_which else Outcome.UNDECIDED.value


# the plans


def shift(experiment: Planned) -> Finding:
    """Encoders that predict a masked character from a place to its left."""
    difference = experiment.difference("q2", "q0", lowest_of_layers("position_symmetry_8"))
    asked = threshold("why_shift")
    assert not why.learned_arms(experiment, ["q0", "q2"])
    return Finding(
        "An encoder that predicts a masked character from the position two places to its left must attend two places to"
        " the right. On waves with a period of 8 to 16 characters, $W_{qk}$ should then become skew-symmetric.",
        f"interval below {number(asked, 1)}",
        f"$s$ on these waves changes by {with_interval(difference, as_score)}{UNLEARNED}",
        below(difference, asked).value,
        learned=False,
    )


def hidden(experiment: Planned) -> Finding:
    """Rotary encoders whose predicted places hold random characters in place of the mask."""
    difference = experiment.difference("rotary-random", "rotary-mask", "symmetry")
    first_layer = experiment.difference("rotary-random", "rotary-mask", of_layer("symmetry", 0))
    asked = threshold("why_hidden")
    assert first_layer.low <= 0  # "which the plan counts against the explanation"
    return Finding(
        "If the predicted positions contain random characters instead of the mask, the same embeddings occur as queries"
        " and as keys. Encoders with rotary position embeddings should then become symmetric.",
        f"mean above {number(asked, 2)} and interval above 0",
        f"$s$ changes by {with_interval(difference, as_score)}; in the first layer alone by"
        f" {with_interval(first_layer, as_score)}, which the plan counts against the explanation",
        of_hidden(difference, asked).value,
    )


def tables(experiment: Planned) -> Finding:
    """Frozen tables of position embeddings that are made of slow, all, or fast waves."""
    measure = median_of_heads("position_symmetry")
    pairs = (("slow", "white"), ("white", "band"), ("slow", "band"))
    differences = [experiment.difference(*pair, measure) for pair in pairs]
    outcome = of_tables(*differences, experiment.estimate("band", measure))
    still = [arm for arm in ("slow", "white", "band") if experiment.mean(arm, LOSS) > why.PLATEAU]
    assert len(still) > 1
    return Finding(
        "If the position embeddings are frozen and consist only of slow waves, individual heads should be more symmetric"
        " than with fast waves.",
        "intervals above 0, and negative scores for fast waves",
        f"$s$ with slow waves minus $s$ with fast waves: {with_interval(differences[-1], as_score)}; {len(still)} of the 3"
        " kinds of encoders learned little more than how frequent each character is",
        outcome.value,
        learned=False,
    )


def windows(experiment: Planned) -> Finding:
    """Decoders that see the places from eight to four to the left alone."""
    measure = "position_symmetry_32"
    difference = experiment.difference("window", "all", measure)
    everything, window = (experiment.estimate(arm, measure) for arm in ("all", "window"))
    assert everything.value >= 0 and not why.learned_arms(experiment, ["window"])
    return Finding(
        "If each position of a decoder attends only to a window of the positions 4 to 8 places to its left and not to"
        " everything before it, $W_{qk}$ should no longer be skew-symmetric on the slowest wave.",
        "interval above 0, and a negative score without the window",
        f"$s$ on the slowest wave changes by {with_interval(difference, as_score)}; without the window $s$ is"
        f" {number(everything.value, 2)}, although we had expected a negative score; the decoders with the window hardly"
        " learned anything",
        of_windows(difference, everything, window).value,
        learned=False,
    )


def sides(experiment: Planned) -> Finding:
    """Encoders whose right side tells nothing."""
    difference = experiment.difference(*SIDES, "position_symmetry")
    loss = experiment.mean(SIDES[0], LOSS)
    asked = threshold("why_sides")
    return Finding(
        "If all characters to the right of the masked character are replaced by random characters, the two sides are no"
        " longer equally informative, so the part of $W_{qk}$ that compares positions should lose its symmetry.",
        f"interval below {number(asked, 1)}",
        f"$s$ of the part that compares positions changes by {with_interval(difference, as_score)}",
        of_sides(difference, loss, asked, threshold("why_sides", "undecided")).value,
    )


def sides_table(experiment: Planned) -> pd.DataFrame:
    """Scores and losses of why_sides, a row for each arm. Scores are medians over layers, averaged over seeds."""
    rows = []
    for arm in experiment.runs:
        config = next(iter(experiment.runs[arm].values())).config
        of_positions = experiment.estimate(arm, "position_symmetry")
        columns = {
            "s of the slowest waves": f"position_symmetry_{config['block_size']}",
            "s of the layer": "symmetry",
            "c_S": "coherence_symmetric",
            "c_N": "coherence_skew",
            "rank under coin tosses": "coin_rank",
        }
        rows.append(
            {"characters": config["block_size"], "q": config["noise_right"]}
            | {"s between positions": of_positions.value}
            | {"95 % interval": f"[{number(of_positions.low, 2)}, {number(of_positions.high, 2)}]"}
            | {title: experiment.mean(arm, column) for title, column in columns.items()}
            | {"held-out loss": experiment.mean(arm, LOSS)}
        )
    return pd.DataFrame(rows).sort_values(["characters", "q"], ignore_index=True)


# the correlation of the two directions of a pair

ARMS = {
    "table": "learned position embeddings",
    "rotary": "rotary position embeddings",
    "none": "no positional encoding",
}
AGREEMENT, EARLY = "why_agreement", 50  # the experiment; the step at which it is judged


@dataclass(frozen=True)
class Agreement:
    """The correlation of beta_ij with beta_ji along training."""

    rows: pd.DataFrame  # medians over layers: arm, run, step, heads
    asked: float

    def at(self, arm: str, step: int) -> Estimate:
        """Mean over the seeds of an arm at a step, with Student's interval."""
        return over_seeds(self.values(arm, step))

    def values(self, arm: str, step: int) -> np.ndarray:
        """The correlation of each run of an arm at a step, median over layers."""
        chosen = self.rows[(self.rows["arm"] == arm) & (self.rows["step"] == step)]
        return chosen.sort_values("run")["heads"].to_numpy()

    @property
    def outcome(self) -> str:
        """In the words of the plan."""
        return of_agreement([self.at(arm, EARLY) for arm in ARMS], self.asked)


def agreement(rows: pd.DataFrame | None = None) -> Agreement:
    """The correlation along training from the rows of agreement.csv, by default those that are recorded."""
    if rows is None:
        rows = pd.read_csv(data("runs", AGREEMENT) / "agreement.csv")
    medians = rows.groupby(["run", "step"], as_index=False)["heads"].median()
    medians["arm"] = medians["run"].str.rpartition("-")[0]
    return Agreement(medians, threshold(AGREEMENT, MET))


def coefficients(found: Agreement) -> Finding:
    """Whether the two directions of a pair are correlated early in training."""
    values = [f"{with_interval(found.at(arm, EARLY), as_score)} with {words}" for arm, words in ARMS.items()]
    return Finding(
        "The paper's Theorem 2.4 assumes that two positions of a text contribute to each other's prediction in a"
        " correlated way. Are these contributions correlated early in training?",
        f"all three intervals above {number(found.asked, 1)} at step {EARLY}",
        f"correlation {'; '.join(values)}",
        found.outcome,
        about_the_paper=True,
    )


def highest(found: Agreement) -> dict[str, tuple[int, float]]:
    """By arm, the step at which the mean correlation is highest, and its value there."""
    means = found.rows.groupby(["arm", "step"])["heads"].mean()
    return {arm: (int(means[arm].idxmax()), float(means[arm].max())) for arm in ARMS}


def agreement_table(found: Agreement) -> pd.DataFrame:
    """The correlation by step of training, a row for each type of positional encoding."""
    steps = sorted(int(step) for step in found.rows["step"].unique())
    return pd.DataFrame(
        {"positional encoding": words}
        | {f"step {step:,}": with_interval(found.at(arm, step), as_score) for step in steps}
        for arm, words in ARMS.items()
    )


# experiments on what a model reads out, whose plans and numbers are on the page of the theorem


def read_out(first: tuple[Estimate, Estimate], asked: tuple[float, float]) -> Finding:
    """Whether what a model reads out of a token is even before W_qk is symmetric.

    Args:
        first: evenness before s of W_qk passes 0.1, and at the end the evenness of encoders minus that of decoders.
        asked: the number above which the first interval must lie, and the one below which the plan is refuted.
    """
    before, more = first
    if before.low > asked[0] and more.low > 0:
        outcome = STAGES_HOLD
    else:
        outcome = REFUTED if before.low < asked[1] or more.low <= 0 else Outcome.UNDECIDED.value
    return Finding(
        "Before $W_{qk}$ becomes symmetric, an encoder should already use the tokens on both sides in the same way"
        " (evenness near 1).",
        f"interval above {number(asked[0], 1)}, and a higher evenness than in decoders",
        f"evenness {with_interval(before, partial(number, digits=2))} before $s$ passes 0.1",
        outcome,
    )


def one_sided(difference: Estimate, asked: float) -> Finding:
    """Whether a read-out that was learned from one side keeps W_qk from becoming symmetric."""
    if difference.high < asked:
        outcome = STAGES_HOLD
    else:
        outcome = REFUTED if difference.high >= 0 else Outcome.UNDECIDED.value
    return Finding(
        "If a model first learns from the left side alone, its $W_{qk}$ should remain less symmetric even after its"
        " attention is allowed to use both sides.",
        f"interval below {number(asked, 1)}",
        f"$s$ of the part that compares positions changes by {with_interval(difference, as_score)}{UNLEARNED}",
        outcome,
        learned=False,
    )


def one_sided_longer(
    difference: Estimate, predicted: Estimate, distance: float, losses: Mapping[str, float], asked: tuple[float, float]
) -> Finding:
    """The same with longer stages, in which the models leave the plateau of their loss.

    Args:
        difference: s after a read-out from the left minus s after one from both sides.
        predicted: what the theorem predicts for this difference.
        distance: between s after a read-out from the left and its prediction.
        losses: held-out, by what the read-out was learned from.
        asked: the number below which the difference must lie, and the largest distance.
    """
    return Finding(
        "If a model first learns from the left side alone and is trained for long enough, its $W_{qk}$ should remain less"
        " symmetric even after its attention is allowed to use both sides.",
        f"interval below {number(asked[0], 1)}, and a symmetry that lies within {number(asked[1], 1)} of the theorem's"
        " prediction",
        f"$s$ of the part that compares positions changes by {with_interval(difference, as_score)}; predicted change:"
        f" {with_interval(predicted, as_score)}",
        of_stages(difference, predicted, distance, max(losses.values()), asked),
    )


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """A row for each plan, those against our explanations first."""
    return pd.DataFrame(
        {
            "outcome by the plan": f"**{PLAIN[finding.outcome]}**" + ("" if finding.learned else " (not counted)"),
            "what we expected": finding.question,
            "our plan asked for": finding.asked,
            "we found": finding.found,
        }
        for finding in sorted(findings, key=lambda finding: list(PLAIN).index(finding.outcome))
    )


def counted(findings: Sequence[Finding]) -> str:
    """How many plans had which outcome, and how many of them are no evidence, as sentences."""
    ours = Counter(PLAIN[finding.outcome] for finding in findings if finding.learned and not finding.about_the_paper)
    unlearned = sum(not finding.learned for finding in findings)
    assert ours.keys() == {"confirmed", "partly confirmed", "undecided"} and ours["confirmed"] == 1 < unlearned
    return (
        f"We planned {spelled(len(findings))} experiments to test explanations of this kind. By the criteria that we had"
        f" set in advance, the explanation under test was confirmed in {spelled(ours['confirmed'])} experiment, partly"
        f" confirmed in {spelled(ours['partly confirmed'])} and left undecided in {spelled(ours['undecided'])}. In"
        f" {spelled(unlearned)} other experiments, at least one kind of model hardly learned anything, so we do not count"
        " the results as evidence."
    )
