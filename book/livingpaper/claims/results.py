"""The result of a check: the numbers compared, each with the paper's number if it has one, and a verdict."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Literal, NamedTuple, SupportsFloat

import numpy as np

from attngeo.errors import AttngeoError
from attngeo.experiments.runs.estimates import Estimate

Relation = Literal["=", "≠", "<", ">"]


class WordingError(AttngeoError):
    """The texts of a check or a figure are missing, contradict the verdict, or refer to a number that is not there."""


class Verdict(str, Enum):
    """What the check of a statement means for the paper."""

    HOLDS = "holds"
    STATED = "holds under its stated assumption"  # whether trained models meet the assumption is a separate question
    MISPRINT = "misprint"  # the conclusion is unchanged once the slip is corrected
    ASSUMPTION = "missing assumption"  # true under an additional assumption, which the paper does not state
    CHANGES = "conclusion changes"  # false as printed, and the correction has another conclusion
    UNDECIDED = "undecided"  # inconclusive, different between cases, or from models too small or trained too briefly
    SHORT = "less than its plan asked"  # ours: we found the effect, smaller or less certain than we had required

    def __str__(self) -> str:
        return self.value


class Claim(NamedTuple):
    """The paper's claim about a quantity."""

    relation: str  # =, ≠, < or >
    number: float


class Standing(str, Enum):
    """Whether a measurement agrees with the paper's claim or, if the paper has none, with ours."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    UNDECIDED = "undecided"
    TOLD = "too small or too briefly trained"  # compared with the models that the statement is about
    SHORT = "less than its plan asked"  # the comparison holds, but our plan had required more


@dataclass(frozen=True)
class Comparison:
    """A number compared with another: ``measured relation expected``, within a tolerance.

    ``=`` holds when ``|measured - expected| <= tolerance``, ``≠`` when it is larger; ``<`` and ``>`` hold when the
    difference has that sign and exceeds the tolerance. The tolerance of a Monte Carlo comparison follows from its
    standard error (`monte_carlo`).
    """

    quantity: str  # what was measured, in words
    measured: float
    relation: Relation
    expected: float
    tolerance: float = 0.0
    standard_error: float | None = None
    paper: str | None = None  # the paper's claim, such as "> 3"; "" if it has none, None if it follows from the verdict
    interval: Estimate | None = None  # the interval, if `measured` is one of its ends
    claim: Claim | None = None  # the paper's claim; None if the comparison is ours alone
    decides: bool = True  # False if the models measured are too small for the claim, or were trained too briefly
    asked: float | None = None  # the number that our plan required `measured` to exceed, if it is more than `expected`
    places: tuple[str, str] | None = None  # where the paper prints `expected` and `measured`, if it prints both

    @property
    def holds(self) -> bool:
        """Whether the relation holds. It never holds for a NaN."""
        return _holds(self.measured, self.relation, self.expected, self.tolerance)

    @property
    def standing(self) -> Standing:
        """Whether the measurement agrees with the claim.

        If the measurement equals the number that we expect, our exact number is compared with the paper's claim: if we
        expect 0 and find it up to rounding, a sign that the paper claims is contradicted. An interval that allows the
        claim and its opposite leaves the claim undecided.
        """
        if not self.decides:
            return Standing.TOLD
        asked = self.expected if self.asked is None else self.asked
        if self.holds and not _holds(self.measured, self.relation, asked, self.tolerance):
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
        """A copy with the paper's claim (see `livingpaper.claims.claim` for the rules)."""
        claim = None if ours else self.claim
        if self.paper:
            parts = re.fullmatch(r"([=≠<>]) *(\S+)", self.paper)
            if not parts:
                raise WordingError(
                    f"The comparison {self.quantity!r} has paper={self.paper!r}; write =, ≠, < or > and a number there."
                )
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
    """Any relation, which has to hold by more than ``tolerance``."""
    return Comparison(quantity, float(measured), relation, float(expected), float(tolerance), paper=paper)


def printed_twice(
    quantity: str, numbers: Mapping[str, SupportsFloat], relation: Relation, tolerance: SupportsFloat = 0.0
) -> Comparison:
    """Two numbers that the paper itself prints for the same quantity, by the place where it prints them.

    The second number is compared with the first one.
    """
    (place, expected), (other_place, measured) = numbers.items()
    return replace(compare(quantity, measured, relation, expected, tolerance), places=(place, other_place))


def monte_carlo(
    quantity: str,
    samples: Iterable[SupportsFloat],
    expected: SupportsFloat,
    relation: Relation = "=",
    paper: str | None = None,
) -> Comparison:
    """The mean of independent samples compared with a number, with a tolerance of four standard errors."""
    values = np.array([float(x) for x in samples])
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return Comparison(quantity, float(values.mean()), relation, float(expected), 4 * error, error, paper)


@dataclass(frozen=True)
class Result:
    """One checked statement, or one numbered part of it. The verdict counts only while `supported`."""

    statement: str  # number in the paper, a key of data/published/statements.csv: "2.1", "S1.17"
    part: str  # which part of the statement is meant: "(3)", "Eq. S137", or "" for the whole
    title: str  # the statement in a sentence
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    printed: str = ""  # MyST: what the paper prints, with quotations in quotation marks
    place: str = ""  # where the paper prints this
    corrected: str = ""  # MyST: the corrected statement
    remark: str = ""
    maybe_copying: bool = False  # whether this could be an error of our text copy of the paper
    ours: bool = False  # whether the statement is ours, so that the paper has no number for it
    missing: tuple[str, ...] = ()  # words of `corrected` for a missing assumption, which the paper does not have there
    repeats: str = ""  # name of the check of the same slip or of its cause; the errata have one entry for both
    source: str = ""  # name of the function that judges

    @property
    def supported(self) -> bool:
        """Whether every comparison behind the verdict holds."""
        return bool(self.comparisons) and all(c.holds for c in self.comparisons)

    def to_dict(self) -> dict:
        """A JSON-ready copy, with `supported`."""
        return asdict(self) | {"supported": self.supported, "verdict": str(self.verdict)}
