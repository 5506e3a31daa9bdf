"""What a check gives: numbers compared, each with what the paper has for it, and a verdict on a statement."""

import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any, Literal, NamedTuple, SupportsFloat

import numpy as np

from attngeo.errors import AttngeoError
from attngeo.experiments.runs.estimates import Estimate

Relation = Literal["=", "≠", "<", ">"]


class WordingError(AttngeoError):
    """The words of a check or a figure are missing, contradict its verdict, or name a number that is not there."""


class Verdict(str, Enum):
    """What follows for the paper from the checks of a statement."""

    HOLDS = "holds"
    STATED = "holds under its stated assumption"  # which the paper states; whether models meet it is another question
    MISPRINT = "misprint"  # a slip: what is concluded stands once it is mended
    ASSUMPTION = "missing assumption"  # true once something is added that the paper does not say
    CHANGES = "conclusion changes"  # what is concluded falls
    UNDECIDED = "undecided"  # what was measured tells neither way, differs by case, or is too small or too short
    SHORT = "less than its plan asked"  # of ours: the effect is there, but smaller or less certain than we had required

    def __str__(self) -> str:
        return self.value


class Claim(NamedTuple):
    """What the paper has for a quantity."""

    relation: str  # =, ≠, < or >
    number: float


class Standing(str, Enum):
    """How the paper's claim of a number stands or, where the paper has none, ours."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    UNDECIDED = "undecided"
    TOLD = "too small or short"  # measured on models smaller than those spoken of, or trained on less
    SHORT = "less than its plan asked"  # the comparison holds, but a plan of ours had required more


@dataclass(frozen=True)
class Comparison:
    """One number set beside another: ``measured relation expected``, within a tolerance.

    ``=`` holds when ``|measured - expected| <= tolerance``, ``≠`` when it is larger; ``<`` and ``>`` hold when the
    difference has that sign and exceeds the tolerance. A Monte Carlo comparison states its standard error, from which
    the tolerance is made (`monte_carlo`).
    """

    quantity: str  # what was measured, in words
    measured: float
    relation: Relation
    expected: float
    tolerance: float = 0.0
    standard_error: float | None = None
    paper: str | None = None  # what the paper has for it, "> 3" or "" for nothing; None where the verdict tells
    interval: Estimate | None = None  # of which `measured` is an end
    claim: Claim | None = None  # the same as a number; a result's comparisons without one are ours alone
    decides: bool = True  # whether what was measured is large enough for the claim
    asked: float | None = None  # by a plan of ours that required more than `expected`: the number to be exceeded

    @property
    def holds(self) -> bool:
        """Whether the relation holds. A NaN on either side never does."""
        return _holds(self.measured, self.relation, self.expected, self.tolerance)

    @property
    def standing(self) -> Standing:
        """How the claim stands.

        A number that agrees with ours is set against the claim as ours would be: where we say 0 and find it, a claimed
        sign is contradicted. An interval that holds what is claimed and its opposite decides nothing.
        """
        if not self.decides:
            return Standing.TOLD
        if (
            self.holds
            and self.asked is not None
            and not _holds(self.measured, self.relation, self.asked, self.tolerance)
        ):
            return Standing.SHORT
        if self.claim is None:
            return Standing.AGREES if self.holds else Standing.CONTRADICTS
        relation, number = self.claim
        if self.interval and relation in ("<", ">"):
            ends = (self.interval.low, self.interval.high)
            below, above = max(ends) < number, min(ends) > number
            if not (below or above):
                return Standing.UNDECIDED
            return Standing.AGREES if above == (relation == ">") else Standing.CONTRADICTS
        ours = self.holds and self.relation == "="
        value, tolerance = (self.expected, 0.0) if ours else (self.measured, self.tolerance)
        return Standing.AGREES if _holds(value, relation, number, tolerance) else Standing.CONTRADICTS

    def claimed(self, verdict: Verdict, ours: bool = False) -> "Comparison":
        """With what the paper claims of it (see `livingpaper.claims.claim`)."""
        claim = None if ours else self.claim
        if self.paper:
            parts = re.fullmatch(r"([=≠<>]) *(\S+)", self.paper)
            if not parts:
                raise WordingError(f"{self.quantity!r} has paper={self.paper!r}; write =, ≠, < or > and a number.")
            claim = Claim(parts[1], float(parts[2]))
        elif self.paper == "":
            claim = None
        elif claim is None and self.interval is None and not ours:
            if verdict is Verdict.HOLDS:
                claim = Claim(self.relation, self.expected)
            elif self.relation == "≠":
                claim = Claim("=", self.expected)
        return replace(self, claim=claim, paper=None)


def _holds(measured: float, relation: str, number: float, tolerance: float) -> bool:
    gap = float(measured - number)
    relations = {"=": abs(gap) <= tolerance, "≠": abs(gap) > tolerance, "<": gap < -tolerance, ">": gap > tolerance}
    return bool(relations[relation]) and not math.isnan(gap)


def exact(
    quantity: str,
    measured: SupportsFloat,
    expected: SupportsFloat = 0.0,
    tolerance: SupportsFloat = 1e-10,
    paper: str | None = None,
) -> Comparison:
    """Equality up to rounding, in float64."""
    return Comparison(quantity, float(measured), "=", float(expected), float(tolerance), paper=paper)


def compare(
    quantity: str,
    measured: SupportsFloat,
    relation: Relation,
    expected: SupportsFloat = 0.0,
    tolerance: SupportsFloat = 0.0,
    paper: str | None = None,
) -> Comparison:
    """Any relation, by more than ``tolerance``."""
    return Comparison(quantity, float(measured), relation, float(expected), float(tolerance), paper=paper)


def monte_carlo(
    quantity: str,
    samples: Iterable[SupportsFloat],
    expected: SupportsFloat,
    relation: Relation = "=",
    paper: str | None = None,
) -> Comparison:
    """The mean of independent samples against a number, to within (or beyond) four standard errors."""
    values = np.array([float(x) for x in samples])
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Comparison(quantity, float(values.mean()), relation, float(expected), 4 * error, error, paper)


@dataclass(frozen=True)
class Result:
    """One checked statement, or one numbered part of it. The verdict counts only while `supported`."""

    statement: str  # number in the paper, a key of data/published/statements.csv: "2.1", "S1.17"
    part: str  # "" or what of it is meant: "(3)", "Eq. S137"
    title: str  # what is said, in a few words
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    printed: str = ""  # MyST: what the paper prints, "its words" in quotation marks, where it does not simply hold
    place: str = ""  # where it prints that
    corrected: str = ""  # MyST: the statement that does hold
    remark: str = ""
    maybe_copying: bool = False  # could be an error of our text copy of the paper
    ours: bool = False  # a statement of this book; the paper has nothing for what is compared
    missing: tuple[str, ...] = ()  # of a missing assumption: words for it in `corrected`, which the paper has not there
    repeats: str = ""  # the check of the slip that this one repeats or follows from: the errata make one entry of both
    source: str = ""  # the function that judges, with its module
    parameters: dict[str, Any] = field(default_factory=dict)  # of the sample, where the check drew it

    @property
    def supported(self) -> bool:
        """Whether every comparison behind the verdict holds."""
        return bool(self.comparisons) and all(c.holds for c in self.comparisons)

    def to_dict(self) -> dict:
        """A JSON-ready copy, with `supported` and each comparison's `holds`."""
        plain = asdict(self) | {"supported": self.supported, "verdict": str(self.verdict)}
        plain["comparisons"] = [asdict(c) | {"holds": c.holds, "standing": c.standing.value} for c in self.comparisons]
        return plain
