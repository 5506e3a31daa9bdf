"""Runs that differ in how queries and keys start, arm against arm, seed by seed: planned ones, and earlier ones.

The paper compares two starts, *random* and *symmetric*, and its released code changes more than symmetry between
them. The other initialisations of `attngeo.experiments.training` take the change apart; `PAIRS` says which two isolate
what.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

import pandas as pd
from scipy import stats

from chapters.symmetric_initialisation.speed_ups import (
    WINDOW,
    first_crossing,
    seeds_needed,
    speed_up,
    speed_up_of,
)
from livingpaper.claims.claim import Comparisons
from livingpaper.claims.seed_intervals import Case, Training, too_small
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, RECORDING, Arm, Contrast, arms, matched, whole_arms
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import PlannedContrast, read_experiments, recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, as_rate, extent, with_interval
from attngeo.experiments.runs.record import Run
from attngeo.choices import Initialisation
from attngeo.experiments.training.config import DEFAULTS

BASELINE = Initialisation.RANDOM.value
STARTS = tuple(i.value for i in Initialisation)
TEXTS = {"spaced": "characters", "plain": "plain text"}  # plain: pieces of words, or their letters, by vocabulary
BAND = 0.01  # nats: a difference within counts for nothing, say the plans
SHARE = 0.05  # of the steps: what counts as faster by a share that matters
AGAIN = "confirm_mini_new_seeds"  # the plan that asks again what `confirm_mini` has answered
PAPERS = Training.of_paper(4)  # the smaller of the paper's models, and what it read

PAIRS = tuple(
    PlannedContrast(*pair)
    for pair in (
        ("released", BASELINE, "all that the released code changes"),
        ("default-linear", BASELINE, "scale, biases and values; no tie"),
        ("symmetric", BASELINE, "the tie at equal scale"),
        ("symmetric-indefinite", BASELINE, "symmetry without definiteness, at equal scale"),
        ("skew", BASELINE, "the opposite of symmetry, at equal scale"),
        ("mimetic", BASELINE, "a form near the identity"),
        ("scaled", BASELINE, "the scale of queries and keys alone"),
        ("scaled-values", BASELINE, "the scale of the values alone"),
        ("released", "default-linear", "the tie at the released scale"),
        ("scaled-symmetric", "scaled", "the tie at that scale, biases and values as random"),
        ("symmetric", "symmetric-indefinite", "definiteness alone"),
        ("symmetric-indefinite", "skew", "the sign alone"),
    )
)
AGAINST_RANDOM = tuple(p for p in PAIRS if p.against == BASELINE)


class Outcome(Enum):
    """What a plan lets its primary contrast say."""

    SAME = "no difference that counts"
    MUCH_FASTER = "faster, by 5 % of steps or more"
    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"


SAID = {Outcome.SAME: "no difference", Outcome.MUCH_FASTER: f"faster, > {as_percent(SHARE)}"}  # in few words


def outcome_by_plan(loss: Estimate, share: Estimate) -> Outcome:
    """By the difference of final losses, in nats: ``SAME`` within ±`BAND`, judged first, or the side of zero.

    ``share`` is that of the steps saved.
    """
    if -BAND <= loss.low and loss.high <= BAND:
        return Outcome.SAME
    if loss.high < 0:
        return Outcome.MUCH_FASTER if share.low > SHARE else Outcome.FASTER
    return Outcome.SLOWER if loss.low > 0 else Outcome.UNDECIDED


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs that are equal in all but start and seed, or that one plan asks for."""

    arms: Mapping[str, Arm]  # by start, or as the plan names them
    pairs: Sequence[PlannedContrast] = PAIRS
    plan: str = ""  # its name; none where settings or seeds were chosen after looks

    @property
    def config(self) -> dict:
        """The configuration; start and seed are those of one run."""
        return (self.arms.get(BASELINE) or next(iter(self.arms.values()))).config

    @property
    def runs(self) -> list[Run]:
        """All of them, arm by arm."""
        return [run for arm in self.arms.values() for run in arm.runs]

    @property
    def encoder(self) -> bool:
        """Whether its models are, and not decoders."""
        return self.config["objective"] == "mlm"

    @property
    def text(self) -> str:
        """Characters, apart from each other, or plain text."""
        return TEXTS[self.config["text"]]

    @property
    def training(self) -> Training:
        """Size of its models, and what they read."""
        return Training.of(self.config)

    @property
    def label(self) -> str:
        """``encoder, characters``."""
        return f"{PARTS[self.config['objective']]}, {self.text}"

    @property
    def short(self) -> str:
        """``encoder, characters, 4 × 128, 20.1 M``: of a plan, with layers × width and tokens."""
        again = ", new seeds" if self.plan == AGAIN else ""
        layers, width, tokens = self.training
        return f"{self.label}, {layers} × {width}, {tokens / 1e6:.1f} M{again}"

    @property
    def said(self) -> str:
        """What its plan says, in few words."""
        return SAID.get(self.outcome, self.outcome.value)

    def less(self, arm: str, against: str = BASELINE) -> Contrast:
        """One arm and another, on the seeds of both."""
        return Contrast(self.arms[arm], self.arms[against], self.label)

    def contrasts(self, pairs: Iterable[PlannedContrast] = ()) -> dict[PlannedContrast, Contrast]:
        """Of its pairs, or of those given, the ones that were run with a seed in common."""
        seeds = {name: set(arm.seeds) for name, arm in self.arms.items()}
        run = [p for p in pairs or self.pairs if seeds.get(p.arm, set()) & seeds.get(p.against, set())]
        return {pair: self.less(pair.arm, pair.against) for pair in run}

    @property
    def primary(self) -> Contrast:
        """That by which its plan is judged."""
        return self.less(self.pairs[0].arm, self.pairs[0].against)

    @property
    def outcome(self) -> Outcome:
        """By the plan."""
        return outcome_by_plan(self.primary.difference(), speed_up_of(self.primary))

    @property
    def p(self) -> float:
        """How often seeds alone would give as large a mean difference, by Student's t on both sides."""
        return float(stats.ttest_1samp(self.primary.differences(), 0).pvalue)


@cache
def planned() -> dict[str, Setting]:
    """The plans on starts, by name; of a plan whose primary contrast lacks a seed nothing is compared."""
    plans = [p for p in read_experiments(data("runs")) if p.name.startswith("confirm_")]
    every = {p.name: Setting(whole_arms(p), p.contrasts, p.name) for p in plans}
    return {name: of for name, of in every.items() if {of.pairs[0].arm, of.pairs[0].against} <= set(of.arms)}


def tie_at_released_scale(plans: Mapping[str, Setting]) -> dict[str, Contrast]:
    """Released start minus the same start without the tie (default-linear), by plan, of the plans that have both."""
    pair = {"released", "default-linear"}
    return {name: p.less("released", "default-linear") for name, p in plans.items() if pair <= set(p.arms)}


def about_symmetry(plans: Mapping[str, Setting]) -> list[Setting]:
    """Those whose primary contrast is that of a symmetric start with a random one."""
    return [p for p in plans.values() if (p.pairs[0].arm, p.pairs[0].against) == ("symmetric", BASELINE)]


@cache
def recorded() -> list[Run]:
    """The runs, settings and seeds chosen after looks, that optimise nothing but their predictions."""
    return recorded_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


def settings(runs: Iterable[Run]) -> list[Setting]:
    """Those in which a random start can be compared with another, with most runs first."""
    grouped = [_setting(group) for group in matched(runs, differ=("init", "seed", *RECORDING))]
    comparable = [s for s in grouped if s.contrasts(AGAINST_RANDOM)]
    return sorted(comparable, key=lambda s: (len(s.runs), s.config["lr"]), reverse=True)


def main_settings(compared: Iterable[Setting]) -> list[Setting]:
    """Of each objective and text the one with most runs, then steps, then the lower rate: encoders first."""
    first: dict[str, Setting] = {}
    for setting in sorted(compared, key=lambda s: (len(s.runs), s.config["steps"], -s.config["lr"]), reverse=True):
        first.setdefault(setting.label, setting)
    order = [f"{part}, {text}" for part in PARTS.values() for text in TEXTS.values()]
    return [first[label] for label in order if label in first]


@cache
def encoders() -> list[Setting]:
    """The main setting with encoders on each text, of the recorded runs."""
    return [s for s in main_settings(settings(recorded())) if s.encoder]


def by_learning_rate(runs: Iterable[Run]) -> list[list[Setting]]:
    """Settings that differ in their largest learning rate alone, the lowest first; at one several starts were run."""
    families = []
    for group in matched(runs, differ=("init", "seed", "lr", *RECORDING)):
        rates = sorted({run.config["lr"] for run in group})
        if len(rates) > 1 and settings(group):
            families.append([_setting([run for run in group if run.config["lr"] == rate]) for rate in rates])
    return families


def between_random_starts(setting: Setting, window: int = WINDOW) -> tuple[list[float], list[float]]:
    """Speed-ups that two random starts of different seeds show over each other, every ordered pair of seeds.

    Returns:
        For good, on the smoothed held-out loss; and by first crossing, on the training loss, as Table 1 has it. What a
        comparison of one seed with another gives where nothing differs. Empty where one seed was run.
    """
    held_out, training = (setting.arms[BASELINE].curves(name) for name in (LOSS, "loss"))
    steps, recorded_at = held_out.index.to_numpy(), training.index.to_numpy()
    pairs = list(itertools.permutations(held_out, 2))
    curves = {seed: held_out[[seed]].to_numpy().T for seed in held_out}
    for_good = [speed_up(steps, curves[one], curves[other], window).value for one, other in pairs]
    return for_good, [first_crossing(recorded_at, *(training[seed].to_numpy() for seed in pair)) for pair in pairs]


def loss_case(setting: Setting, arm: str, against: str = BASELINE) -> Case:
    """Final held-out loss of one start less that of another, of which the paper expects less than zero."""
    difference = setting.less(arm, against)
    what = f"loss of {arm} less {against}"
    words = f"{setting.label}: {what} ({len(difference)} seeds)"
    if setting.plan:
        words = f"{setting.short.removeprefix('encoder, ')} ({len(difference)}): {setting.said}"
    about = {"what": what, "said": difference.outcome(), "training": setting.training}
    return Case(setting.label, words, difference.difference(), -1, as_nats, **about)


def ends(case: Case, lies: str) -> Comparisons:
    """`Case.ends`, which decide only of models as large as the paper's, trained as long."""
    yield from (replace(end, decides=case.training.reaches(PAPERS)) for end in case.ends(lies))


def one_by_one(cases: Sequence[Case], *beside: Case) -> str:
    """What every case says, those that are told ``beside`` too, of runs whose settings were chosen after looks."""
    told = [
        f"{case.what} ({case.label}): {with_interval(case.estimate, case.form)}, {case.said or case.outcome}"
        for case in (*cases, *beside)
    ]
    share = max(setting.config["steps"] for setting in encoders()) / DEFAULTS["steps"]
    return (
        f"{too_small(cases, PAPERS)} One by one: {'; '.join(told)}. These runs have at most {100 * share:.1f} % of the"
        " paper's steps; losses are held-out ones. Intervals are of 95 % over seeds, and a little too narrow:"
        " settings and seeds were not all fixed in advance, as the chapter tells."
    )


def speed_ups_table(compared: Iterable[Setting], window: int = WINDOW) -> pd.DataFrame:
    """Of every start over the random one, seeds and steps saved for good, a column per setting.

    The first row has what two random starts of different seeds show over each other (`between_random_starts`).
    """
    columns = {}
    for setting in compared:
        columns[setting.label] = {BASELINE: f"({extent(between_random_starts(setting, window)[0], as_percent)})"} | {
            pair.arm: f"{with_interval(speed_up_of(contrast, window), as_percent)}; {len(contrast)} seeds"
            for pair, contrast in setting.contrasts(AGAINST_RANDOM).items()
        }
    return pd.DataFrame(columns).fillna("–").rename_axis("start")


def rates_table(family: Sequence[Setting]) -> pd.DataFrame:
    """Final loss of each start (seeds) in `by_learning_rate`, a row per start: the rates tried, lowest first."""
    rows = []
    for start in (s for s in STARTS if any(s in setting.arms for setting in family)):
        tried = {as_rate(s.config["lr"]): s.arms[start] for s in family if start in s.arms}
        losses = "; ".join(f"{rate}: {arm.mean(LOSS):.3f} ({len(arm)})" for rate, arm in tried.items())
        rows.append({"setting": family[0].short, "start": start, "loss by rate": losses})
    return pd.DataFrame(rows)


def planned_rows(plans: Iterable[Setting]) -> Iterator[dict]:
    """A row per comparison that is planned and complete, the primary one of each plan first: both of its measures."""
    for setting in plans:
        for pair, contrast in setting.contrasts().items():
            primary = pair is setting.pairs[0]
            yield {
                "primary": primary,
                "setting": setting.short,
                "pair": pair.name,
                "seeds": len(contrast),
                "difference of final losses (nats)": with_interval(contrast.difference(), as_nats),
                "steps saved": with_interval(speed_up_of(contrast), as_percent),
                "by the plan": setting.outcome.value if primary else "",
                "p": f"{setting.p:.3f}" if primary else "",
                f"seeds for ±{BAND}": seeds_needed(contrast.differences().std(), BAND),
                "what it isolates": pair.isolates,
            }


def _setting(runs: Iterable[Run]) -> Setting:
    of_start = {arm.config["init"]: arm for arm in arms(runs)}
    return Setting({start: of_start[start] for start in STARTS if start in of_start})
