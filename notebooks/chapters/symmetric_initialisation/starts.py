"""Runs that differ in the initial weights of queries and keys, compared seed by seed: planned and exploratory runs.

The paper compares two starts, *random* and *symmetric*. The released code changes more than the symmetry between the two.
The other initialisations of `attngeo.experiments.training` separate these changes, and `PAIRS` lists what each comparison
of two starts isolates.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from scipy import stats

from chapters.symmetric_initialisation.speed_ups import WINDOW, first_crossing, speed_up, speed_up_of
from livingpaper.claims.seed_intervals import Training
from attngeo.errors import ParameterError
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, RECORDING, Arm, Contrast, arms, matched, whole_arms
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import PlannedContrast, read_experiments, recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_millions
from attngeo.experiments.runs.record import Run
from attngeo.choices import Initialisation

BASELINE = Initialisation.RANDOM.value
STARTS = tuple(i.value for i in Initialisation)
TEXTS = {"spaced": "characters", "plain": "plain text"}  # plain: pieces of words, or their letters, by vocabulary
BAND = 0.01  # nats: by the plans, a smaller difference does not count
SHARE = 0.05  # of the steps: a larger share counts as clearly faster
FOUND, AGAIN = "confirm_mini", "confirm_mini_new_seeds"  # a plan, and the plan that repeats it with new seeds
STD = 0.02  # of BERT's initial weights
PAPERS = Training.of_paper(4)  # the smaller of the paper's models

PAIRS = tuple(
    PlannedContrast(*pair)
    for pair in (
        ("released", BASELINE, "everything that the released code changes"),
        ("default-linear", BASELINE, "scale, biases and values, without equal queries and keys"),
        ("symmetric", BASELINE, "equal queries and keys at the usual scale"),
        ("symmetric-indefinite", BASELINE, "symmetry at the usual scale, without a positive diagonal"),
        ("skew", BASELINE, "skew-symmetry at the usual scale"),
        ("mimetic", BASELINE, "a query-key matrix close to the identity"),
        ("scaled", BASELINE, "the scale of queries and keys alone"),
        ("scaled-values", BASELINE, "the scale of the values alone"),
        ("released", "default-linear", "equal queries and keys at the released scale"),
        (
            "scaled-symmetric",
            "scaled",
            "equal queries and keys at the released scale, with the usual biases and values",
        ),
        ("symmetric", "symmetric-indefinite", "the positive diagonal alone"),
        ("symmetric-indefinite", "skew", "symmetry compared with skew-symmetry"),
    )
)
AGAINST_RANDOM = tuple(p for p in PAIRS if p.against == BASELINE)


def scale_factor(width: int) -> float:
    """``(1 / (3 width)) / 0.02^2``: variance of the weights of a new ``nn.Linear`` over that of BERT's initial weights.

    Raises:
        ParameterError: the width is not positive.
    """
    if width < 1:
        raise ParameterError(f"Parameter width is {width}; the width of a model is at least 1.")
    return 1 / (3 * width) / STD**2


class Outcome(Enum):
    """The outcome of the primary contrast by the rule of the plan."""

    SAME = "no difference that counts"
    MUCH_FASTER = "faster, by 5 % of steps or more"
    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"


SAID = {  # in a figure
    Outcome.SAME: "no difference",
    Outcome.MUCH_FASTER: "clearly faster",
    Outcome.FASTER: "slightly faster",
    Outcome.SLOWER: "slower",
    Outcome.UNDECIDED: "undecided",
}


def outcome_by_plan(loss: Estimate, share: Estimate) -> Outcome:
    """The outcome by the difference of final losses in nats: `SAME` within ±`BAND`, which is judged first, or by its sign.

    ``share`` is the share of steps saved.
    """
    if -BAND <= loss.low and loss.high <= BAND:
        return Outcome.SAME
    if loss.high < 0:
        return Outcome.MUCH_FASTER if share.low > SHARE else Outcome.FASTER
    return Outcome.SLOWER if loss.low > 0 else Outcome.UNDECIDED


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs that differ only in start and seed, or the runs of one plan."""

    arms: Mapping[str, Arm]  # by start, or as the plan names them
    pairs: Sequence[PlannedContrast] = PAIRS
    plan: str = ""  # its name; empty for exploratory runs

    @property
    def config(self) -> dict:
        """The configuration, with the start and the seed of one of the runs."""
        return (self.arms.get(BASELINE) or next(iter(self.arms.values()))).config

    @property
    def runs(self) -> list[Run]:
        """All runs, arm by arm."""
        return [run for arm in self.arms.values() for run in arm.runs]

    @property
    def encoder(self) -> bool:
        """Whether the models are encoders."""
        return self.config["objective"] == "mlm"

    @property
    def text(self) -> str:
        """``characters`` or ``plain text``."""
        return TEXTS[self.config["text"]]

    @property
    def training(self) -> Training:
        """Size of the models, and the number of tokens that they read."""
        return Training.of(self.config)

    @property
    def label(self) -> str:
        """``encoder, characters``."""
        return f"{PARTS[self.config['objective']]}, {self.text}"

    @property
    def short(self) -> str:
        """``encoder, characters, 4 × 128, 20.1 M``: label with layers × width and tokens."""
        again = ", new seeds" if self.plan == AGAIN else ""
        layers, width, tokens = self.training
        return f"{self.label}, {layers} × {width}, {tokens / 1e6:.1f} M{again}"

    @property
    def shape(self) -> str:
        """``4 layers of width 256``."""
        return f"{self.training.layers} layers of width {self.training.width}"

    @property
    def length(self) -> str:
        """``20.1 million tokens``."""
        return f"{as_millions(self.training.tokens)} tokens"

    @property
    def said(self) -> str:
        """The outcome in the words of a figure."""
        return SAID[self.outcome]

    def minus(self, arm: str, against: str = BASELINE) -> Contrast:
        """The comparison of two arms on their common seeds."""
        return Contrast(self.arms[arm], self.arms[against], self.label)

    def contrasts(self, pairs: Iterable[PlannedContrast] = ()) -> dict[PlannedContrast, Contrast]:
        """The pairs (all pairs of the setting if none are given) whose arms have a seed in common."""
        seeds = {name: set(arm.seeds) for name, arm in self.arms.items()}
        run = [p for p in pairs or self.pairs if seeds.get(p.arm, set()) & seeds.get(p.against, set())]
        return {pair: self.minus(pair.arm, pair.against) for pair in run}

    @property
    def primary(self) -> Contrast:
        """The comparison by which the plan is judged."""
        return self.minus(self.pairs[0].arm, self.pairs[0].against)

    @property
    def outcome(self) -> Outcome:
        """The outcome by the rule of the plan."""
        return outcome_by_plan(self.primary.difference(), speed_up_of(self.primary))

    @property
    def p(self) -> float:
        """The two-sided p-value of the mean difference, by Student's t-test."""
        return float(stats.ttest_1samp(self.primary.differences(), 0).pvalue)


@cache
def planned() -> dict[str, Setting]:
    """The plans on starts by name. All runs of their primary contrasts are recorded."""
    plans = [p for p in read_experiments(data("runs")) if p.name.startswith("confirm_")]
    every = {p.name: Setting(whole_arms(p), p.contrasts, p.name) for p in plans}
    assert all({of.pairs[0].arm, of.pairs[0].against} <= set(of.arms) for of in every.values())
    return every


def tie_at_released_scale(plans: Mapping[str, Setting]) -> dict[str, Contrast]:
    """Released start compared with the same start without equal queries and keys, for every plan that has both."""
    pair = {"released", "default-linear"}
    return {name: p.minus("released", "default-linear") for name, p in plans.items() if pair <= set(p.arms)}


def about_symmetry(plans: Mapping[str, Setting]) -> list[Setting]:
    """The plans whose primary contrast compares a symmetric start with a random start."""
    return [p for p in plans.values() if (p.pairs[0].arm, p.pairs[0].against) == ("symmetric", BASELINE)]


def chosen(compared: Sequence[Setting], names: Sequence[str]) -> list[Setting]:
    """The planned comparisons of these names, or all if no name is given; encoders first, those that read most first.

    Raises:
        ParameterError: a name is none of them.
    """
    known = [p.plan for p in compared]
    if unknown := [name for name in names if name not in known]:
        raise ParameterError(f"Parameter plans names {unknown[0]!r}; choose from {', '.join(known)}.")
    kept = [p for p in compared if not names or p.plan in names]
    return sorted(kept, key=lambda p: (not p.encoder, -p.training.tokens, -p.training.width, p.plan == AGAIN))


@cache
def recorded() -> list[Run]:
    """The exploratory runs without a constraint in the loss."""
    return recorded_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


def settings(runs: Iterable[Run]) -> list[Setting]:
    """The settings in which a random start can be compared with another start, those with most runs first."""
    grouped = [_setting(group) for group in matched(runs, differ=("init", "seed", *RECORDING))]
    comparable = [s for s in grouped if s.contrasts(AGAINST_RANDOM)]
    return sorted(comparable, key=lambda s: (len(s.runs), s.config["lr"]), reverse=True)


def main_settings(compared: Iterable[Setting]) -> list[Setting]:
    """For each objective and text, the setting with most runs, then most steps, then the lower rate; encoders first."""
    first: dict[str, Setting] = {}
    for setting in sorted(compared, key=lambda s: (len(s.runs), s.config["steps"], -s.config["lr"]), reverse=True):
        first.setdefault(setting.label, setting)
    order = [f"{part}, {text}" for part in PARTS.values() for text in TEXTS.values()]
    return [first[label] for label in order if label in first]


@cache
def encoders() -> list[Setting]:
    """The main settings of the exploratory runs with encoders."""
    return [s for s in main_settings(settings(recorded())) if s.encoder]


def by_learning_rate(runs: Iterable[Run]) -> list[list[Setting]]:
    """Groups of settings that differ only in their learning rate, the lowest first."""
    families = []
    for group in matched(runs, differ=("init", "seed", "lr", *RECORDING)):
        rates = sorted({run.config["lr"] for run in group})
        if len(rates) > 1 and settings(group):
            families.append([_setting([run for run in group if run.config["lr"] == rate]) for rate in rates])
    return families


def pair_of_seeds(setting: Setting, seeds: Sequence[int]) -> tuple[int, int]:
    """Two seeds of the random start: those given or, if none is, the pair in which one looks fastest.

    Raises:
        ParameterError: the seeds are not two different ones that were recorded.
    """
    recorded = setting.arms[BASELINE].seeds
    if not seeds:
        pairs, shares = list(itertools.permutations(recorded, 2)), between_random_starts(setting)[1]
        return pairs[shares.index(max(shares))]
    if len(set(seeds)) != 2 or len(seeds) != 2 or not set(seeds) <= set(recorded):
        known = ", ".join(map(str, recorded))
        raise ParameterError(f"Parameter seed_pair is {list(seeds)}; give two different seeds out of {known}.")
    return seeds[0], seeds[1]


def between_random_starts(setting: Setting, window: int = WINDOW) -> tuple[list[float], list[float]]:
    """Speed-ups of one random start over another, for every ordered pair of seeds.

    Returns:
        The speed-ups for good with the smoothed held-out loss, and the speed-ups by the first crossing of the training
        loss, as in Table 1. Both are empty if only one seed was run.
    """
    held_out, training = (setting.arms[BASELINE].curves(name) for name in (LOSS, "loss"))
    steps, recorded_at = held_out.index.to_numpy(), training.index.to_numpy()
    pairs = list(itertools.permutations(held_out, 2))
    curves = {seed: held_out[[seed]].to_numpy().T for seed in held_out}
    for_good = [speed_up(steps, curves[one], curves[other], window).value for one, other in pairs]
    return for_good, [first_crossing(recorded_at, *(training[seed].to_numpy() for seed in pair)) for pair in pairs]


def _setting(runs: Iterable[Run]) -> Setting:
    of_start = {arm.config["init"]: arm for arm in arms(runs)}
    return Setting({start: of_start[start] for start in STARTS if start in of_start})
