"""Runs that differ in how queries and keys start, arm against arm, seed by seed.

The paper compares two starts, *random* and *symmetric*, and its released code changes more than symmetry between
them. The other initialisations of `attngeo.training` take the change apart; `PAIRS` says which pair of starts
isolates what.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from attngeo.chapters.symmetric_initialisation import crossings
from attngeo.runs import estimates
from attngeo.runs.arms import LOSS, RECORDING, Arm, Contrast, arms, matched
from attngeo.runs.labels import PARTS
from attngeo.runs.numbers_in_words import as_rate
from attngeo.runs.record import Run
from attngeo.training.choices import Initialisation

BASELINE = Initialisation.RANDOM.value
STARTS = tuple(i.value for i in Initialisation)
TEXTS = {"spaced": "characters", "plain": "plain text"}  # plain: pieces of words, or their letters, by vocabulary


@dataclass(frozen=True)
class StartPair:
    """Two starts, and what differs between them."""

    start: str
    against: str
    isolates: str

    @property
    def name(self) -> str:
        """``released less random``."""
        return f"{self.start} less {self.against}"


PAIRS = (
    StartPair("released", BASELINE, "all that the released code changes"),
    StartPair("default-linear", BASELINE, "scale, biases and values; no tie"),
    StartPair("symmetric", BASELINE, "the tie at equal scale"),
    StartPair("symmetric-indefinite", BASELINE, "symmetry without definiteness, at equal scale"),
    StartPair("skew", BASELINE, "the opposite of symmetry, at equal scale"),
    StartPair("mimetic", BASELINE, "a form near the identity"),
    StartPair("scaled", BASELINE, "the scale of queries and keys alone"),
    StartPair("scaled-values", BASELINE, "the scale of the values alone"),
    StartPair("released", "default-linear", "the tie at the released scale"),
    StartPair("scaled-symmetric", "scaled", "the tie at that scale, biases and values as random"),
    StartPair("symmetric", "symmetric-indefinite", "definiteness alone"),
    StartPair("symmetric-indefinite", "skew", "the sign alone"),
)
AGAINST_RANDOM = tuple(p for p in PAIRS if p.against == BASELINE)
RELEASED = PAIRS[0]
AT_EQUAL_SCALE = PAIRS[2:4]  # the two whose answer is symmetry's own
PARTS_OF_THE_SCALE = ("scaled", "scaled-symmetric", "scaled-values")  # beyond the matrix: for where the scale matters


@dataclass(frozen=True, eq=False)
class ControlMatrix:
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
        """The numbers that two experiments of one label may differ in."""
        c = self.config
        corpus, tokens = self.runs[0].about["corpus"]["name"], c["batch_size"] * c["block_size"]
        return (
            f"{corpus}, {c['layers']} layers of width {c['d_model']}, {c['steps']} steps of {tokens} tokens in blocks "
            f"of {c['block_size']}, at most {c['vocab_size']} kinds of token, "
            f"learning rate {as_rate(c['lr'])}, dropout {c['dropout']:g}"
        )

    @cached_property
    def arms(self) -> dict[str, Arm]:
        """By initialisation, in the order of `STARTS`."""
        found = {arm.config["init"]: arm for arm in arms(self.runs)}
        return {start: found[start] for start in STARTS if start in found}

    def only(self, seeds: Iterable[int]) -> "ControlMatrix":
        """The same with some of its seeds."""
        return ControlMatrix(tuple(run for arm in self.arms.values() for run in arm.of(seeds).runs))

    @property
    def missing(self) -> list[str]:
        """Arms without the seeds that an interval takes: ``mimetic``, or ``skew (1 of 3 seeds)``."""
        asked = [start for start in STARTS if start in self.arms or start not in PARTS_OF_THE_SCALE]
        seeds = {start: len(self.arms[start]) if start in self.arms else 0 for start in asked}
        least = estimates.LEAST_SEEDS
        return [f"{start} ({n} of {least} seeds)" if n else start for start, n in seeds.items() if n < least]

    def contrasts(self, pairs: Sequence[StartPair] = PAIRS) -> dict[StartPair, Contrast]:
        """Of these pairs, those with a seed in common."""
        return {
            pair: Contrast(self.arms[pair.start], self.arms[pair.against], self.label)
            for pair in pairs
            if {pair.start, pair.against} <= set(self.arms)
            and set(self.arms[pair.start].seeds) & set(self.arms[pair.against].seeds)
        }


def free_runs(runs: Iterable[Run]) -> list[Run]:
    """Runs with no constraint in their loss."""
    return [run for run in runs if run.config["constraint"] == "none" and run.config["objective"] in PARTS]


def experiments(runs: Iterable[Run]) -> list[ControlMatrix]:
    """Of free runs, those in which a random start can be compared with another, with most runs first."""
    found = [ControlMatrix(tuple(group)) for group in matched(free_runs(runs), differ=("init", "seed", *RECORDING))]
    comparable = [e for e in found if e.contrasts(AGAINST_RANDOM)]
    return sorted(comparable, key=lambda e: (len(e.runs), e.config["lr"]), reverse=True)


def main_experiments(found: Iterable[ControlMatrix]) -> list[ControlMatrix]:
    """Of each objective and text the one with most runs, then steps, then the lower rate: encoders first."""
    first: dict[str, ControlMatrix] = {}
    for experiment in sorted(found, key=lambda e: (len(e.runs), e.config["steps"], -e.config["lr"]), reverse=True):
        first.setdefault(experiment.label, experiment)
    order = [f"{part}, {text}" for part in PARTS.values() for text in TEXTS.values()]
    return [first[label] for label in order if label in first]


def between_random_starts(experiment: ControlMatrix, window: int = crossings.WINDOW) -> tuple[list[float], list[float]]:
    """Speed-ups that two random starts of different seeds show over each other, every ordered pair of seeds.

    Returns:
        For good, on the smoothed held-out loss; and by first crossing, on the training loss, as Table 1 has it. What a
        comparison of one seed with another gives where nothing differs. Empty where one seed was run.
    """
    held_out, training = (experiment.arms[BASELINE].curves(name) for name in (LOSS, "loss"))
    steps, recorded = held_out.index.to_numpy(), training.index.to_numpy()
    for_good, first = [], []
    for one, other in itertools.permutations(held_out, 2):
        for_good.append(
            crossings.speed_up(steps, *(held_out[[seed]].to_numpy().T for seed in (one, other)), window=window)
        )
        first.append(crossings.first_crossing(recorded, *(training[seed].to_numpy() for seed in (one, other))))
    return for_good, first
