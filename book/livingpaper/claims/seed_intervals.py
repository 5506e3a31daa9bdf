"""Confidence intervals over seeds in claims: does a difference have the sign that the paper gives it?

Models that are smaller than those that a statement is about, or were trained on fewer tokens, cannot decide it. Their
numbers are shown, but not counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.numbers_in_words import as_millions, as_score
from livingpaper.claims import published
from livingpaper.claims.results import Claim, Comparison, compare


class Training(NamedTuple):
    """The size of a trained model, and the number of tokens that it was trained on."""

    layers: int
    width: int
    tokens: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Training":
        """The training of a recorded run."""
        tokens = config["steps"] * config["batch_size"] * config["block_size"]
        return cls(config["layers"], config["d_model"], tokens)

    @classmethod
    def of_paper(cls, layers: int) -> "Training":
        """The training of the paper's model with this number of layers (Table S1, Section S2.3)."""
        return cls(layers, published.trained_widths()[layers], published.TRAINED_TOKENS)

    def reaches(self, other: "Training") -> bool:
        """Whether the model is at least as deep and as wide, and was trained on at least as many tokens."""
        return all(here >= there for here, there in zip(self, other, strict=True))

    def __str__(self) -> str:
        return f"{self.layers} layers, hidden size {self.width}, {as_millions(self.tokens)} tokens"


UNKNOWN = Training(0, 0, 0)  # smaller than every model of the paper, so that it decides nothing


@dataclass(frozen=True)
class Case:
    """A difference measured over several seeds, and the sign that the paper gives it."""

    label: str  # name of the setting
    quantity: str  # what was measured, with its setting
    estimate: Estimate
    sign: int = 1  # the expected sign, 1 or -1
    form: Callable[[float], str] = as_score
    training: Training = UNKNOWN  # how the measured models were trained
    what: str = ""  # what was measured, without its setting

    @property
    def known(self) -> bool:
        """Whether there are enough seeds for an interval. Equal numbers from all seeds, as on a grid, give none."""
        return self.estimate.has_interval and self.estimate.low < self.estimate.high

    @property
    def met(self) -> bool:
        """Whether the whole interval has the expected sign."""
        return self.known and min(self.sign * self.estimate.low, self.sign * self.estimate.high) > 0

    @property
    def reversed(self) -> bool:
        """Whether the whole interval has the opposite sign."""
        return self.known and max(self.sign * self.estimate.low, self.sign * self.estimate.high) < 0

    def ends(self, lies: str) -> tuple[Comparison, ...]:
        """Comparisons of the ends of the interval with 0.

        Args:
            lies: "below" or "above" for an interval that excludes 0, which its nearer end shows; "around" for an
                interval that includes 0, which takes both ends.
        """
        low = compare(self.quantity, self.estimate.low, "<" if lies == "around" else ">")
        high = compare(self.quantity, self.estimate.high, ">" if lies == "around" else "<")
        ends = {"below": (high,), "above": (low,), "around": (low, high)}[lies]
        claim = Claim(">" if self.sign > 0 else "<", 0.0)
        return tuple(replace(end, interval=self.estimate, claim=claim) for end in ends)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The `ends` for where the interval lies; none if there is no interval."""
        if not self.known:
            return ()
        if not (self.met or self.reversed):
            return self.ends("around")
        return self.ends("above" if self.estimate.low > 0 else "below")


def joined(cases: Sequence[Case], spoken_of: Training) -> tuple[Comparison, ...]:
    """The comparisons of all cases. Models that do not reach ``spoken_of`` are shown, but decide nothing."""
    return tuple(replace(c, decides=case.training.reaches(spoken_of)) for case in cases for c in case.comparisons)


def too_small(cases: Iterable[Case], spoken_of: Training) -> str:
    """Two sentences on why our small models do not affect the verdict on a statement about larger ones."""
    trained = sorted({case.training for case in cases})
    assert not any(training.reaches(spoken_of) for training in trained), "runs of the paper's size have to decide"
    layers, width, tokens = zip(*trained, strict=True)
    return (
        f"Our models have {_range(layers)} layers and a hidden size of {_range(width)}, and they were trained on"
        f" {_range(tokens, as_millions)} tokens. The paper's statement refers to models of at least the following size"
        f" and training: {spoken_of}. Each of our models is smaller than these models or was trained on fewer tokens,"
        " so our measurements do not affect the verdict."
    )


def _range(values: Sequence[int], form: Callable[[int], str] = str) -> str:
    """``4``, or ``4 to 12``."""
    least, most = form(min(values)), form(max(values))
    return least if least == most else f"{least} to {most}"
