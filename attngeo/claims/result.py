"""What a check of one statement returns, and the register of all checks."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Literal, SupportsFloat


class Verdict(str, Enum):
    """What our checks say of a statement as the paper prints it."""

    HOLDS = "holds"
    ASSUMPTIONS = "holds under assumptions"
    CORRECTED = "corrected"  # fails as printed; a corrected statement is given, and checked
    FAILS = "fails as printed"  # and no correction keeps its content
    UNDECIDED = "undecided"  # what was measured speaks neither for it nor against it

    def __str__(self) -> str:
        return self.value


class Flaw(str, Enum):
    """The group in which an entry stands on the errata page."""

    MISPRINT = "misprint"
    ASSUMPTION = "missing assumption"
    FAILURE = "failure"

    def __str__(self) -> str:
        return self.value


Relation = Literal["=", "≠", "<", ">"]


@dataclass(frozen=True)
class Comparison:
    """One number set beside another: ``measured relation expected``, within a tolerance.

    ``=`` holds when ``|measured - expected| <= tolerance``, ``≠`` when it is larger; ``<`` and ``>`` hold when the
    difference has that sign and exceeds the tolerance. A Monte Carlo comparison states its standard error, from which
    the tolerance is made (`monte_carlo`).
    """

    quantity: str  # what was measured, in words, with its unit if it has one
    measured: float
    relation: Relation
    expected: float
    tolerance: float
    standard_error: float | None = None

    def __post_init__(self) -> None:
        for name in ("measured", "expected", "tolerance", "standard_error"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))  # numpy and torch scalars too

    @property
    def holds(self) -> bool:
        """Whether the relation holds. A NaN on either side never does."""
        gap = self.measured - self.expected
        if math.isnan(gap):
            return False
        return {
            "=": abs(gap) <= self.tolerance,
            "≠": abs(gap) > self.tolerance,
            "<": gap < -self.tolerance,
            ">": gap > self.tolerance,
        }[self.relation]


@dataclass(frozen=True)
class Result:
    """One checked statement, or one numbered part of it. The verdict counts only while `supported`."""

    statement: str  # number in the paper, a key of data/published/statements.csv: "2.1", "S1.17"
    part: str  # "" or what of it is meant: "(3)", "Eq. S137"
    title: str  # what is said, in a few words
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    printed: str = ""  # MyST: what the paper prints, where it does not simply hold
    corrected: str = ""  # MyST: the statement that does hold
    remark: str = ""
    flaw: Flaw | None = None  # None where there is nothing to correct
    maybe_copying: bool = False  # could be an error of our text copy of the paper
    chapter: str = ""  # notebook that shows the check

    @property
    def supported(self) -> bool:
        """Whether every comparison behind the verdict holds."""
        return bool(self.comparisons) and all(c.holds for c in self.comparisons)

    def to_dict(self) -> dict:
        """A JSON-ready copy, with `supported` and each comparison's `holds`."""
        plain = asdict(self) | {"supported": self.supported, "verdict": str(self.verdict)}
        plain["flaw"] = str(self.flaw) if self.flaw else None
        plain["comparisons"] = [asdict(c) | {"holds": c.holds} for c in self.comparisons]
        return plain


def exact(
    quantity: str, measured: SupportsFloat, expected: SupportsFloat, tolerance: SupportsFloat = 1e-10
) -> Comparison:
    """Equality up to rounding, in float64."""
    return Comparison(quantity, float(measured), "=", float(expected), float(tolerance))


def monte_carlo(
    quantity: str, samples, expected: SupportsFloat, relation: Relation = "=", n_errors: float = 4.0
) -> Comparison:
    """The mean of independent samples against a number, to within (or beyond) ``n_errors`` standard errors."""
    n = len(samples)
    mean = math.fsum(map(float, samples)) / n
    error = math.sqrt(math.fsum((float(x) - mean) ** 2 for x in samples) / (n - 1) / n)
    return Comparison(quantity, mean, relation, float(expected), n_errors * error, error)


CLAIMS: dict[str, Callable[..., Result]] = {}


def claim(function: Callable[..., Result]) -> Callable[..., Result]:
    """Register a check under its function name. It must run with its defaults in a few seconds."""
    if function.__name__ in CLAIMS:
        raise ValueError(f"two checks are named {function.__name__}")
    CLAIMS[function.__name__] = function
    return function
