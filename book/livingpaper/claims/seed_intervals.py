"""Intervals over seeds in claims: a difference has the expected sign, the other one, or is within the noise.

Models smaller than those that a statement speaks of, or trained on less, decide nothing about it, and are told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from attngeo.experiments.runs.estimates import NO_DIFFERENCE, TOO_FEW, Estimate
from attngeo.experiments.runs.numbers_in_words import as_millions, as_score, with_interval
from livingpaper.claims import published
from livingpaper.claims.results import Claim, Comparison, compare


class Training(NamedTuple):
    """What was trained, and how much it read."""

    layers: int
    width: int
    tokens: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Training":
        """That of a recorded run."""
        tokens = config["steps"] * config["batch_size"] * config["block_size"]
        return cls(config["layers"], config["d_model"], tokens)

    @classmethod
    def of_paper(cls, layers: int) -> "Training":
        """That of the paper's model of so many layers (Table S1, Section S2.3)."""
        return cls(layers, published.trained_widths()[layers], published.TRAINED_TOKENS)

    def reaches(self, other: "Training") -> bool:
        """Whether the model is at least as deep and as wide, and read at least as much."""
        return all(here >= there for here, there in zip(self, other, strict=True))

    def __str__(self) -> str:
        return f"{self.layers} layers, hidden size {self.width}, {as_millions(self.tokens)} tokens"


UNKNOWN = Training(0, 0, 0)  # of which nothing can be decided


@dataclass(frozen=True)
class Case:
    """A difference measured over seeds, and the sign that the paper gives it."""

    label: str  # of the setting
    quantity: str  # what was measured
    estimate: Estimate
    sign: int = 1  # expected, 1 or -1
    form: Callable[[float], str] = as_score
    training: Training = UNKNOWN  # of the models measured
    what: str = ""  # the quantity without its setting, where cases are told one by one
    said: str = ""  # the same of the outcome, where it has words of its own

    @property
    def known(self) -> bool:
        """Whether there are seeds enough for an interval; equal numbers from all of them, as on a grid, give none."""
        return self.estimate.has_interval and self.estimate.low < self.estimate.high

    @property
    def met(self) -> bool:
        """Whether the whole interval has the expected sign."""
        return self.known and (self.estimate.low > 0 if self.sign > 0 else self.estimate.high < 0)

    @property
    def reversed(self) -> bool:
        """Whether the whole interval has the other sign."""
        return self.known and (self.estimate.high < 0 if self.sign > 0 else self.estimate.low > 0)

    @property
    def outcome(self) -> str:
        """In words for a table."""
        if not self.known:
            return TOO_FEW
        return "as stated" if self.met else "the reverse" if self.reversed else NO_DIFFERENCE

    def ends(self, lies: str) -> tuple[Comparison, ...]:
        """The end that excludes 0, of an interval that ``lies`` "below" or "above" it; both of one "around" it."""
        low, high = self.estimate.low, self.estimate.high
        ends = {"below": ((high, "<"),), "above": ((low, ">"),), "around": ((low, "<"), (high, ">"))}[lies]
        about = {"interval": self.estimate, "claim": Claim(">" if self.sign > 0 else "<", 0.0)}
        return tuple(replace(compare(self.quantity, end, relation), **about) for end, relation in ends)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """`ends` where they lie; none without an interval."""
        excludes_zero = self.met or self.reversed
        return self.ends("around" if not excludes_zero else "above" if self.estimate.low > 0 else "below") * self.known


def joined(cases: Sequence[Case], spoken_of: Training) -> tuple[Comparison, ...]:
    """The comparisons of all cases, of which those smaller than what is ``spoken_of`` are told and decide nothing."""
    return tuple(replace(c, decides=case.training.reaches(spoken_of)) for case in cases for c in case.comparisons)


def in_words(cases: Sequence[Case]) -> str:
    """All cases with an interval: ``Wikipedia, characters: +0.31 [+0.28, +0.34]; ...``."""
    words = (f"{case.label}: {with_interval(case.estimate, case.form)}" for case in cases if case.known)
    return "; ".join(words) or "no setting has seeds enough"


def too_small(cases: Iterable[Case], spoken_of: Training) -> str:
    """Says that our models are too small to affect the verdict on a statement about larger ones, and asserts it."""
    trained = sorted({case.training for case in cases})
    assert not any(training.reaches(spoken_of) for training in trained), "runs as large as those: let them decide"
    return (
        f"Our models ({'; '.join(map(str, trained))}) are smaller than the models that the paper considers (at least"
        f" {spoken_of}) or were trained on fewer tokens, so they do not affect the verdict."
    )
