"""What each plan on *Why?* asked for, what its runs say, and the outcome in the words of the plan.

Thresholds are read from the plans. The rules are those of the plans; `Outcome` has the words that most of them share.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, spelled, with_interval
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


INCOMPLETE = "not complete yet"
HOLDS_RULE, RULES = Outcome.HOLDS.value, "what counts as what"
SIDES = ("n16-q100", "n16-q000")  # arms of the primary contrast of why_sides
MET, NOT_MET, DEPENDS = (
    "the assumption is met early",
    "it is not met",
    "it depends on the type of positional encoding",
)
UNLEARNED = "; these models hardly learned anything"
REFUTED, STAGES_HOLD = "the two stages are refuted", "the two stages hold here"
AGAINST = (REFUTED, Outcome.FALLS.value, NOT_MET)
CONFIRMED = (STAGES_HOLD, Outcome.HOLDS.value, MET)
PLAIN = {
    REFUTED: "refuted",
    Outcome.FALLS.value: "refuted",
    NOT_MET: "not met",
    DEPENDS: "depends on the positional encoding",
    Outcome.IN_PART.value: "partly confirmed",
    Outcome.UNDECIDED.value: "undecided",
    INCOMPLETE: INCOMPLETE,
    STAGES_HOLD: "confirmed",
    Outcome.HOLDS.value: "confirmed",
    MET: "met",
}
# from what speaks most against our explanations to what speaks for them
ORDER = (*AGAINST, DEPENDS, Outcome.IN_PART.value, Outcome.UNDECIDED.value, INCOMPLETE, *CONFIRMED)


@dataclass(frozen=True)
class Finding:
    """A planned experiment in three sentences and an outcome."""

    question: str  # what was changed, and what should follow
    asked: str
    found: str
    outcome: str  # in the words of the plan
    learned: bool = True  # False: a kind of model that the plan compares hardly learned anything, so it is no evidence
    about_the_paper: bool = False  # whether the plan tests an assumption of the paper, not an explanation of ours

    @property
    def place(self) -> int:
        """In the order in which findings are told: those against our explanations first."""
        return ORDER.index(self.outcome)


def rules(experiment: str) -> dict[str, str]:
    """What counts as what, by a plan."""
    plan: dict[str, Any] = msgspec.yaml.decode((data("runs", experiment) / "experiment.yml").read_text("utf-8"))
    return plan.get(RULES) or plan["primary contrast"][RULES]


def threshold(experiment: str, rule: str = HOLDS_RULE) -> float:
    """The first number with a decimal point in a rule of a plan, such as -0.5 in "the interval lies below -0.5"."""
    found = re.search(r"-?\d+\.\d+", rules(experiment)[rule])
    if found is None:
        raise ValueError(f"The plan of {experiment} has no number in its rule {rule!r}.")
    return float(found[0])


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
    of_first = f"in the first layer alone by {with_interval(first_layer, as_score)}"
    if first_layer.low <= 0:
        of_first += ", which the plan counts against the explanation"
    return Finding(
        "If the predicted positions contain random characters instead of the mask, the same embeddings occur as queries"
        " and as keys. Encoders with rotary position embeddings should then become symmetric.",
        f"mean above {number(asked, 2)} and interval above 0",
        f"$s$ changes by {with_interval(difference, as_score)}; {of_first}",
        of_hidden(difference, asked).value,
    )


def tables(experiment: Planned) -> Finding:
    """Frozen tables of position embeddings that are made of slow, all, or fast waves."""
    measure = median_of_heads("position_symmetry")
    pairs = (("slow", "white"), ("white", "band"), ("slow", "band"))
    differences = [experiment.difference(*pair, measure) for pair in pairs]
    outcome = of_tables(*differences, experiment.estimate("band", measure))
    still = [arm for arm in ("slow", "white", "band") if experiment.mean(arm, LOSS) > why.PLATEAU]
    learned = (
        f"; {len(still)} of the 3 kinds of encoders learned little more than how frequent each character is"
        if still
        else ""
    )
    return Finding(
        "If the position embeddings are frozen and consist only of slow waves, individual heads should be more symmetric"
        " than with fast waves.",
        "intervals above 0, and negative scores for fast waves",
        f"$s$ with slow waves minus $s$ with fast waves: {with_interval(differences[-1], as_score)}{learned}",
        outcome.value,
        learned=len(still) < 2,
    )


def windows(experiment: Planned) -> Finding:
    """Decoders that see the places from eight to four to the left alone."""
    measure = "position_symmetry_32"
    difference = experiment.difference("window", "all", measure)
    everything, window = (experiment.estimate(arm, measure) for arm in ("all", "window"))
    learned = bool(why.learned_arms(experiment, ["window"]))
    premise = (
        f"; without the window $s$ is {number(everything.value, 2)}, although we had expected a negative score"
        if everything.value >= 0
        else ""
    )
    return Finding(
        "If each position of a decoder attends only to a window of the positions 4 to 8 places to its left and not to"
        " everything before it, $W_{qk}$ should no longer be skew-symmetric on the slowest wave.",
        "interval above 0, and a negative score without the window",
        f"$s$ on the slowest wave changes by {with_interval(difference, as_score)}{premise}"
        + ("" if learned else "; the decoders with the window hardly learned anything"),
        of_windows(difference, everything, window).value,
        learned=learned,
    )


def sides(experiment: Planned) -> Finding:
    """Encoders whose right side tells nothing."""
    question = (
        "If all characters to the right of the masked character are replaced by random characters, the two sides are no"
        " longer equally informative, so the part of $W_{qk}$ that compares positions should lose its symmetry."
    )
    asked = f"interval below {number(threshold('why_sides'), 1)}"
    if not experiment.is_whole(*SIDES):
        return Finding(question, asked, runs_so_far(experiment, SIDES), INCOMPLETE)
    difference = experiment.difference(*SIDES, "position_symmetry")
    loss = experiment.mean(SIDES[0], LOSS)
    outcome = of_sides(difference, loss, threshold("why_sides"), threshold("why_sides", "undecided"))
    found = f"$s$ of the part that compares positions changes by {with_interval(difference, as_score)}"
    if outcome is Outcome.UNDECIDED:
        found += f"; these encoders hardly learned anything (held-out loss {number(loss, 2)} nats)"
    return Finding(question, asked, found, outcome.value, learned=outcome is not Outcome.UNDECIDED)


def sides_told(experiment: Planned) -> str:
    """What the experiment found once the runs of its main comparison are complete, with the scores of both arms."""
    found = sides(experiment)
    noise, text = (number(experiment.mean(arm, "position_symmetry"), 2) for arm in SIDES)
    remains = "Most of the symmetry therefore remains. " if experiment.mean(SIDES[0], "position_symmetry") > 0.5 else ""
    return (
        f"Under the criteria of the plan, the prediction is *{PLAIN[found.outcome]}*: {found.found}. The mean"
        f" score of the encoders is {text} if the characters to the right are unchanged, and {noise} if all of them are random."
        f" {remains}"
    ).strip()


def sides_table(experiment: Planned) -> pd.DataFrame:
    """Scores and losses of why_sides, a row for each arm of which all planned runs are recorded.

    Scores are medians over layers, averaged over seeds.
    """
    rows = []
    for arm in filter(experiment.is_whole, experiment.planned):
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


FEWEST_ARMS = 3  # from which a rank correlation is given


def sides_by_share_told(experiment: Planned) -> str:
    """Sentences on how the scores depend on the share of random characters, and on encoders that hardly learned."""
    told = []
    for length, rows in sides_table(experiment).groupby("characters"):
        idle = rows[rows["held-out loss"] >= why.PLATEAU]
        if len(idle):
            of_idle = joined_by_and(f"$q = {q:g}$" for q in idle["q"])
            losses = joined_by_and(number(loss, 2) for loss in idle["held-out loss"])
            told.append(
                f"For sequences of {length} characters, the encoders with {of_idle} learned little more than the"
                f" frequencies of characters (held-out loss: {losses} nats), so we do not compare them with other encoders."
            )
            continue
        if len(rows) >= FEWEST_ARMS:
            correlation = number(float(spearmanr(rows["q"], rows["s between positions"]).statistic), 2)
            told.append(
                f"For sequences of {length} characters, the rank correlation between $q$ and the mean score is"
                f" {correlation} ({spelled(len(rows))} values of $q$)."
            )
        slowest = rows.set_index("q")["s of the slowest waves"]
        if {0, 1} <= set(slowest.index):
            told.append(
                f"For the slowest waves in these sequences, the mean score is {number(slowest[0], 2)} with $q = 0$ and"
                f" {number(slowest[1], 2)} with $q = 1$."
            )
    return " ".join(told)


def sides_machines_told(experiment: Planned) -> str:
    """On which machines and with how many versions of the code the runs were made, because the plan asked for one."""
    machines = {
        arm: [bool(run.about["hardware"].get("gpu")) for run in by_seed.values()]
        for arm, by_seed in experiment.runs.items()
    }
    every = [on_gpu for arm in machines.values() for on_gpu in arm]
    commits = {run.about["versions"]["commit"] for by_seed in experiment.runs.values() for run in by_seed.values()}
    if len(set(every)) == 1 and len(commits) == 1:
        return ""
    main = [on_gpu for arm in SIDES for on_gpu in machines.get(arm, [])]
    return (
        f"The plan required the same machine and the same commit for all runs. However, {spelled(sum(every))} of the"
        f" {spelled(len(every))} runs were made on a GPU and the others on CPUs, and their code comes from"
        f" {spelled(len(commits))} different commits. In the main comparison, {spelled(sum(main))} of the"
        f" {spelled(len(main))} runs were made on a GPU."
    )


def runs_so_far(experiment: Planned, arms: Sequence[str]) -> str:
    """How many runs of some arms are recorded."""
    done = sum(len(experiment.runs.get(arm, {})) for arm in arms)
    return f"{done} of the {sum(experiment.planned[arm] for arm in arms)} runs that the plan compares are recorded"


# the correlation of the two directions of a pair

ARMS = {
    "table": "learned position embeddings",
    "rotary": "rotary position embeddings",
    "none": "no positional encoding",
}
AGREEMENT, EARLY = "why_agreement", 50  # the experiment; the step at which it is judged


@dataclass(frozen=True)
class Agreement:
    """The correlation of beta_ij with beta_ji along training, once every planned run has been measured."""

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
    def last_step(self) -> int:
        """At which training ended."""
        return int(self.rows["step"].max())

    @property
    def outcome(self) -> str:
        """In the words of the plan."""
        return of_agreement([self.at(arm, EARLY) for arm in ARMS], self.asked)


def agreement_rows(experiment: Planned, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """Correlations of the recorded runs: medians over layers by run and step.

    Args:
        experiment: the runs of why_agreement.
        rows: of agreement.csv; by default those that are recorded.
    """
    if rows is None:
        rows = pd.read_csv(data("runs", AGREEMENT) / "agreement.csv")
    names = [f"{arm}-{seed}" for arm, by_seed in experiment.runs.items() for seed in by_seed]
    medians = rows[rows["run"].isin(names)].groupby(["run", "step"], as_index=False)["heads"].median()
    medians["arm"] = medians["run"].str.rpartition("-")[0]
    return medians


def measured(experiment: Planned, rows: pd.DataFrame | None = None) -> int:
    """How many runs of why_agreement are recorded and were measured at the step that the plan judges."""
    return int((agreement_rows(experiment, rows)["step"] == EARLY).sum())


def agreement(experiment: Planned, rows: pd.DataFrame | None = None) -> Agreement | None:
    """The correlation along training; None until every planned run is recorded and measured."""
    if measured(experiment, rows) < sum(experiment.planned.values()):
        return None
    return Agreement(agreement_rows(experiment, rows), threshold(AGREEMENT, MET))


def coefficients(experiment: Planned, found: Agreement | None) -> Finding:
    """Whether the two directions of a pair are correlated early in training."""
    question = (
        "The paper's Theorem 2.4 assumes that two positions of a text contribute to each other's prediction in a"
        " correlated way. Are these contributions correlated early in training?"
    )
    limit = number(threshold(AGREEMENT, MET), 1)
    asked = f"all three intervals above {limit} at step {EARLY}"
    if found is None:
        waiting = runs_so_far(experiment, list(experiment.planned))
        return Finding(question, asked, waiting, INCOMPLETE, about_the_paper=True)
    values = [f"{with_interval(found.at(arm, EARLY), as_score)} with {words}" for arm, words in ARMS.items()]
    return Finding(question, asked, f"correlation {'; '.join(values)}", found.outcome, about_the_paper=True)


AGREEMENT_TOLD = {
    MET: (
        "In all three kinds of encoders, the two contributions are correlated early in training, so the assumption of"
        " the paper's Theorem 2.4 is met at this stage."
    ),
    NOT_MET: (
        "In all three kinds of encoders, the two contributions are less correlated early in training than our plan"
        " required. Under the criteria of our plan, the assumption of the paper's Theorem 2.4 is not met at this stage. The"
        " paper itself does not say how strong the correlation has to be."
    ),
    DEPENDS: (
        "Early in training, the correlation between the two contributions clearly exceeds the required value in some"
        " kinds of encoders, but not in others. Under the criteria of our plan, the answer depends on the type of positional encoding."
    ),
}
NOT_ENOUGH = (
    " Nevertheless, encoders without learned position embeddings do not become symmetric ($s$ = {scores}), so this"
    " assumption is not sufficient to make $W_{qk}$ symmetric."
)
SYMMETRIC = 0.1  # above which the plan calls W_qk symmetric


def agreement_told(experiment: Planned, found: Agreement | None) -> str:
    """The outcome of why_agreement in sentences, for every outcome that it can have."""
    if found is None:
        return (
            f"So far, {runs_so_far(experiment, list(experiment.planned))}. Our plan allows no comparison before all of"
            " them are complete, so we report no result."
        )
    told = AGREEMENT_TOLD[found.outcome]
    without = {arm: experiment.mean(arm, "symmetry") for arm in ("rotary", "none")}
    if found.outcome == MET and max(without.values()) < SYMMETRIC:
        scores = " and ".join(f"{number(s, 2)} with {ARMS[arm]}" for arm, s in without.items())
        told += NOT_ENOUGH.format(scores=scores)
    return told + early_loss_told(experiment) + highest_told(found)


def early_loss_told(experiment: Planned) -> str:
    """How much the models have learned at the step that the plan judges."""
    runs = [run.history.set_index("step") for by_seed in experiment.runs.values() for run in by_seed.values()]
    losses = [history[LOSS].get(EARLY, np.nan) for history in runs]
    if np.isnan(losses).any():
        return ""
    return (
        f" At step {EARLY}, the models have learned very little: their mean loss on held-out text is still"
        f" {number(float(np.mean(losses)), 2)} nats."
    )


def highest_told(found: Agreement) -> str:
    """At which step the mean correlation of each type of positional encoding is highest, which no plan judges."""
    means = found.rows.groupby(["arm", "step"])["heads"].mean()
    peaks = {arm: (int(means[arm].idxmax()), means[arm].max()) for arm in ARMS}
    parts = [f"{number(value, 2)} at step {step:,} with {ARMS[arm]}" for arm, (step, value) in peaks.items()]
    return (
        f" Over the whole of training, the highest mean correlation is {', '.join(parts[:-1])}, and {parts[-1]}. We had"
        " not planned to compare these later steps."
    )


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
        for finding in sorted(findings, key=lambda finding: finding.place)
    )


def counted(findings: Sequence[Finding]) -> str:
    """How many plans had which outcome, and how many of them are no evidence, as sentences."""
    ours = [finding for finding in findings if finding.learned and not finding.about_the_paper]
    outcomes = {
        "confirmed": CONFIRMED,
        "partly confirmed": (Outcome.IN_PART.value,),
        "left undecided": (Outcome.UNDECIDED.value,),
        "refuted": AGAINST,
    }
    counts = {words: sum(finding.outcome in known for finding in ours) for words, known in outcomes.items()}
    told = [f"{words} in {spelled(count)}" for words, count in counts.items() if count]
    sentences = [f"We planned {spelled(len(findings))} experiments to test explanations of this kind."]
    if told:
        told[0] += " experiment" if next(filter(None, counts.values())) == 1 else " experiments"
        sentences.append(
            f"By the criteria that we had set in advance, the explanation under test was {joined_by_and(told)}."
        )
    if unlearned := sum(not finding.learned for finding in findings):
        where = "another experiment" if unlearned == 1 else f"{spelled(unlearned)} other experiments"
        sentences.append(
            f"In {where}, at least one kind of model hardly learned anything, so we do not count the results as evidence."
        )
    for finding in findings:
        if finding.about_the_paper and finding.outcome != INCOMPLETE:
            sentences.append(ASSUMPTION_TOLD[finding.outcome])
    if waiting := sum(finding.outcome == INCOMPLETE for finding in findings):
        sentences.append(
            f"{spelled(waiting).capitalize()} {'experiment is' if waiting == 1 else 'experiments are'} not complete yet."
        )
    return " ".join(sentences)


ASSUMPTION_TOLD = {
    MET: "In one experiment, we tested the assumption of the paper's Theorem 2.4 and found that it is met early in"
    " training.",
    NOT_MET: "In one experiment, we tested the assumption of the paper's Theorem 2.4. Early in training, the correlation that"
    " the theorem assumes is weaker than our plan required.",
    DEPENDS: "In one experiment, we tested the assumption of the paper's Theorem 2.4. Whether the assumption is met early in"
    " training depends on the type of positional encoding.",
}
