"""Runs that differ in how queries and keys start, arm against arm, seed by seed.

The paper compares two starts, *random* and *symmetric*, and its released code changes more than symmetry between
them. The other initialisations of `attngeo.training` take the change apart; `CONTRASTS` says which pair of arms
isolates what.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from attngeo.errors import AttngeoError
from attngeo.runs import estimates as measure
from attngeo.runs.arms import PARTS, RECORDING
from attngeo.runs.estimates import Estimate
from attngeo.runs.record import Run, matched
from attngeo.training.initialisations import Initialisation

BASELINE = Initialisation.RANDOM.value
ARMS = tuple(i.value for i in Initialisation)
TEXTS = {"spaced": "characters", "plain": "plain text"}  # plain: pieces of words, or their letters, by vocabulary


class MatrixError(AttngeoError):
    """Two arms have no seed, or no recorded step, in common."""


@dataclass(frozen=True)
class Contrast:
    """Two arms, and what differs between them."""

    arm: str
    against: str
    isolates: str


CONTRASTS = (
    Contrast("released", BASELINE, "all that the released code changes"),
    Contrast("default-linear", BASELINE, "scale, biases and values; no tie"),
    Contrast("symmetric", BASELINE, "the tie at equal scale"),
    Contrast("symmetric-indefinite", BASELINE, "symmetry without definiteness, at equal scale"),
    Contrast("skew", BASELINE, "the opposite of symmetry, at equal scale"),
    Contrast("mimetic", BASELINE, "a form near the identity"),
    Contrast("scaled", BASELINE, "the scale of queries and keys alone"),
    Contrast("scaled-values", BASELINE, "the scale of the values alone"),
    Contrast("released", "default-linear", "the tie at the released scale"),
    Contrast("scaled-symmetric", "scaled", "the tie at that scale, biases and values as random"),
    Contrast("symmetric", "symmetric-indefinite", "definiteness alone"),
    Contrast("symmetric-indefinite", "skew", "the sign alone"),
)
AGAINST_RANDOM = tuple(c for c in CONTRASTS if c.against == BASELINE)
AT_EQUAL_SCALE = CONTRASTS[2:4]  # the two whose answer is symmetry's own
PARTS_OF_THE_SCALE = ("scaled", "scaled-symmetric", "scaled-values")  # beyond the matrix: for where the scale matters


@dataclass(frozen=True, eq=False)
class Setting:
    """Recorded runs that are equal in everything but initialisation and seed."""

    runs: tuple[Run, ...]

    @property
    def config(self) -> dict:
        """The configuration; ``init`` and ``seed`` are those of one run."""
        return self.runs[0].config

    @property
    def part(self) -> str:
        """Encoder or decoder."""
        return PARTS[self.config["objective"]]

    @property
    def text(self) -> str:
        """Characters, apart from each other, or plain text."""
        return TEXTS[self.config["text"]]

    @property
    def label(self) -> str:
        """``encoder, characters``."""
        return f"{self.part}, {self.text}"

    @property
    def size(self) -> str:
        """The numbers that two settings of one label may differ in."""
        c = self.config
        corpus, tokens = self.runs[0].about["corpus"]["name"], c["batch_size"] * c["block_size"]
        return (
            f"{corpus}, {c['layers']} layers of width {c['d_model']}, {c['steps']} steps of {tokens} tokens in blocks "
            f"of {c['block_size']}, at most {c['vocab_size']} kinds of token, "
            f"learning rate {c['lr']:g}, dropout {c['dropout']:g}"
        )

    @cached_property
    def arms(self) -> dict[str, dict[int, Run]]:
        """Run by seed by initialisation, in the order of `ARMS`."""
        found = {arm: {r.config["seed"]: r for r in self.runs if r.config["init"] == arm} for arm in ARMS}
        return {arm: dict(sorted(runs.items())) for arm, runs in found.items() if runs}

    def only(self, seeds: Sequence[int]) -> "Setting":
        """The same with some of its seeds."""
        return Setting(tuple(run for run in self.runs if run.config["seed"] in seeds))

    @property
    def missing(self) -> list[str]:
        """Arms without the seeds that an interval takes: ``mimetic``, or ``skew (1 of 3 seeds)``."""
        asked = [arm for arm in ARMS if arm in self.arms or arm not in PARTS_OF_THE_SCALE]
        seeds = {arm: len(self.arms.get(arm, {})) for arm in asked}
        return [
            f"{arm} ({n} of {measure.LEAST_SEEDS} seeds)" if n else arm
            for arm, n in seeds.items()
            if n < measure.LEAST_SEEDS
        ]

    def held_out(self, arm: str, seeds: Sequence[int] | None = None) -> pd.DataFrame:
        """Held-out loss of an arm by step, a column per seed: of all that it has, or of some."""
        return self._by_seed(arm, "held_out_loss", seeds)

    def training(self, arm: str, seeds: Sequence[int] | None = None) -> pd.DataFrame:
        """Training loss of an arm by step (mean since the last record), a column per seed."""
        return self._by_seed(arm, "loss", seeds)

    def common_seeds(self, *arms: str) -> list[int]:
        """Seeds that all of some arms have."""
        return sorted(set.intersection(*(set(self.arms.get(arm, {})) for arm in arms)))

    def has(self, contrast: Contrast) -> bool:
        """Whether some seed was run with both arms."""
        return bool(self.common_seeds(contrast.arm, contrast.against))

    def _by_seed(self, arm: str, column: str, seeds: Sequence[int] | None) -> pd.DataFrame:
        runs = self.arms.get(arm, {})
        chosen = {seed: run for seed, run in runs.items() if seeds is None or seed in seeds}
        return pd.DataFrame({seed: run.history.set_index("step")[column] for seed, run in chosen.items()}).dropna()


@dataclass(frozen=True)
class Comparison:
    """One contrast in one setting: loss and speed of an arm against another."""

    contrast: Contrast
    seeds: int
    loss: float  # of the arm, held out, at the end, mean over the seeds that both have
    loss_against: float  # of the other, on the same seeds
    difference: Estimate
    speed_up: Estimate
    scatter: float  # standard deviation over seeds of the difference; NaN for one seed
    first_crossings: tuple[float, ...]  # on training losses, one per seed, as the paper takes them

    @property
    def verdict(self) -> str:
        """Of the difference; see `attngeo.runs.estimates.verdict`."""
        return measure.verdict(self.difference)


def free_runs(runs: Sequence[Run]) -> list[Run]:
    """Runs with no constraint in their loss."""
    return [run for run in runs if run.config["constraint"] == "none" and run.config["objective"] in PARTS]


def settings(runs: Sequence[Run]) -> list[Setting]:
    """Settings of free runs in which a random start can be compared with another, those with most runs first."""
    found = [Setting(tuple(group)) for group in matched(free_runs(runs), differ=("init", "seed", *RECORDING))]
    comparable = [s for s in found if any(s.has(c) for c in CONTRASTS if c.against == BASELINE)]
    return sorted(comparable, key=lambda s: (len(s.runs), s.config["lr"]), reverse=True)


def main_settings(found: Sequence[Setting]) -> list[Setting]:
    """Of each objective and text the setting with most runs, then steps, then the lower rate: encoders first."""
    first: dict[str, Setting] = {}
    for setting in sorted(found, key=lambda s: (len(s.runs), s.config["steps"], -s.config["lr"]), reverse=True):
        first.setdefault(setting.label, setting)
    order = [f"{part}, {text}" for part in PARTS.values() for text in TEXTS.values()]
    return [first[label] for label in order if label in first]


def compare(setting: Setting, contrast: Contrast, window: int = measure.WINDOW) -> Comparison:
    """An arm against another, on the seeds that both have.

    Raises:
        MatrixError: they have none in common, or no step.
    """
    seeds = setting.common_seeds(contrast.arm, contrast.against)
    if not seeds:
        raise MatrixError(f"The arms {contrast.arm} and {contrast.against} have no seed in common; record one of each.")
    pair = (contrast.arm, contrast.against)
    steps, a, b = _aligned(*(setting.held_out(arm, seeds) for arm in pair))
    train = _aligned(*(setting.training(arm, seeds) for arm in pair))
    return Comparison(
        contrast,
        len(seeds),
        float(a[:, -1].mean()),
        float(b[:, -1].mean()),
        measure.final_difference(a, b),
        measure.speed_up_estimate(steps, a, b, window),
        float((a[:, -1] - b[:, -1]).std(ddof=1)) if len(seeds) > 1 else math.nan,
        tuple(measure.first_crossing(train[0], x, y) for x, y in zip(*train[1:], strict=True)),
    )


def comparisons(
    setting: Setting, contrasts: Sequence[Contrast] = CONTRASTS, window: int = measure.WINDOW
) -> list[Comparison]:
    """The contrasts that this setting has runs for."""
    return [compare(setting, contrast, window) for contrast in contrasts if setting.has(contrast)]


def between_random_starts(setting: Setting, window: int = measure.WINDOW) -> tuple[list[float], list[float]]:
    """Speed-ups that two random starts of different seeds show over each other, every ordered pair of seeds.

    Returns:
        For good, on the smoothed held-out loss; and by first crossing, on the training loss, as Table 1 has it. What a
        comparison of one seed with another gives where nothing differs. Empty where one seed was run.
    """
    held_out, training = setting.held_out(BASELINE), setting.training(BASELINE)
    for_good, first = [], []
    for one, other in itertools.permutations(setting.arms[BASELINE], 2):
        curves = (held_out[[one]].to_numpy().T, held_out[[other]].to_numpy().T)
        for_good.append(measure.speed_up(held_out.index.to_numpy(), *curves, window))
        first.append(
            measure.first_crossing(training.index.to_numpy(), training[one].to_numpy(), training[other].to_numpy())
        )
    return for_good, first


def _aligned(arm: pd.DataFrame, against: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps that both have, and losses (seeds, steps)."""
    steps = arm.index.intersection(against.index)
    if steps.empty:
        raise MatrixError(f"Runs {list(arm)} of two arms have no recorded step in common; record both at equal steps.")
    return steps.to_numpy(), arm.loc[steps].to_numpy().T, against.loc[steps].to_numpy().T
