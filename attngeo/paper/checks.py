"""What a check of one statement is: a sample is drawn, numbers of it are compared, and its wording is data.

A check is written in a chapter's room::

    @check(attention_example, n_heads=1)  # draws the sample; its parameters are those of the check
    def heads_add_up(example: AttentionExample) -> Judgement:
        return Judgement(exact("sum", distance(summed(example.form), example.form.dense())))

A judge that has nothing to add to its comparisons may yield them. ``heads_add_up(d=64)`` draws and judges;
``heads_add_up.of(sample)`` judges a sample that is there already. Statement, title, verdict and the words of each
quantity stand under ``heads_add_up`` in the room's ``checks.yml`` (`attngeo.paper.wording`).
"""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import partial, update_wrapper
from typing import Any, Generic, Literal, NamedTuple, SupportsFloat, TypeVar

from attngeo.paper.wording import FILE, Claim, Verdict, WordingError, wording

Sample = TypeVar("Sample")
Relation = Literal["=", "≠", "<", ">"]


class Standing(str, Enum):
    """How the paper's claim of a number stands or, where the paper has none, ours."""

    AGREES = "agrees"
    CONTRADICTS = "contradicts"
    UNDECIDED = "undecided"
    TOLD = "too small or short"  # measured on models smaller than those spoken of, or trained on less


class Interval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """One number set beside another: ``measured relation expected``, within a tolerance.

    ``=`` holds when ``|measured - expected| <= tolerance``, ``≠`` when it is larger; ``<`` and ``>`` hold when the
    difference has that sign and exceeds the tolerance. A Monte Carlo comparison states its standard error, from which
    the tolerance is made (`monte_carlo`).
    """

    quantity: str  # what was measured: a key of the check's `quantities`, in a result their words
    measured: float
    relation: Relation
    expected: float
    tolerance: float = 0.0
    standard_error: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)  # that the words name, as in <<n>>
    interval: Interval | None = None  # of which `measured` is an end
    claim: Claim | None = None  # what the paper has for it; a result's comparisons without one are ours alone
    key: str = ""  # the quantity's key, in a result
    decides: bool = True  # whether what was measured is large enough for the claim

    def __post_init__(self) -> None:
        for name in ("measured", "expected", "tolerance", "standard_error"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))  # numpy and torch scalars too

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
        if self.claim is None:
            return Standing.AGREES if self.holds else Standing.CONTRADICTS
        relation, number = self.claim
        if self.interval and relation in ("<", ">"):
            ends = (self.interval.low, self.interval.high)
            below, above = max(ends) < number, min(ends) > number
            found = Standing.AGREES if (above if relation == ">" else below) else Standing.CONTRADICTS
            return found if below or above else Standing.UNDECIDED
        ours = self.holds and self.relation == "="
        value, tolerance = (self.expected, 0.0) if ours else (self.measured, self.tolerance)
        return Standing.AGREES if _holds(value, relation, number, tolerance) else Standing.CONTRADICTS

    def told(self, words: str, paper: Claim | str | None, verdict: Verdict) -> "Comparison":
        """As a result has it, with its words and with what the paper claims of it (see `attngeo.paper.wording`)."""
        claim = self.claim if paper is None else paper or None
        if paper is None and claim is None and self.interval is None:
            if verdict is Verdict.HOLDS:
                claim = Claim(self.relation, self.expected)
            elif self.relation == "≠":
                claim = Claim("=", self.expected)
        return replace(self, quantity=words, key=self.quantity, claim=claim, fields={})


def _holds(measured: float, relation: str, number: float, tolerance: float) -> bool:
    gap = measured - number
    if math.isnan(gap):
        return False
    return {
        "=": abs(gap) <= tolerance,
        "≠": abs(gap) > tolerance,
        "<": gap < -tolerance,
        ">": gap > tolerance,
    }[relation]


def exact(
    quantity: str, measured: SupportsFloat, expected: SupportsFloat = 0.0, tolerance: SupportsFloat = 1e-10, **fields
) -> Comparison:
    """Equality up to rounding, in float64. ``fields`` are what the words of the quantity name."""
    return Comparison(quantity, float(measured), "=", float(expected), float(tolerance), fields=fields)


def compare(
    quantity: str,
    measured: SupportsFloat,
    relation: Relation,
    expected: SupportsFloat = 0.0,
    tolerance: SupportsFloat = 0.0,
    **fields,
) -> Comparison:
    """Any relation, by more than ``tolerance``. ``fields`` are what the words of the quantity name."""
    return Comparison(quantity, float(measured), relation, float(expected), float(tolerance), fields=fields)


def monte_carlo(
    quantity: str, samples, expected: SupportsFloat, relation: Relation = "=", n_errors: float = 4.0, **fields
) -> Comparison:
    """The mean of independent samples against a number, to within (or beyond) ``n_errors`` standard errors."""
    n = len(samples)
    mean = math.fsum(map(float, samples)) / n
    error = math.sqrt(math.fsum((float(x) - mean) ** 2 for x in samples) / (n - 1) / n)
    return Comparison(quantity, mean, relation, float(expected), n_errors * error, error, fields)


@dataclass(frozen=True, init=False)
class Judgement:
    """What the numbers of one sample say: comparisons, and further numbers that the wording names.

    A verdict is given where it follows from the numbers and is not that of the wording.
    """

    comparisons: tuple[Comparison, ...]
    verdict: Verdict | None
    numbers: dict[str, Any]

    def __init__(self, *comparisons: Comparison, verdict: Verdict | None = None, **numbers: Any) -> None:
        object.__setattr__(self, "comparisons", comparisons)
        object.__setattr__(self, "verdict", verdict)
        object.__setattr__(self, "numbers", numbers)


Comparisons = Iterator[Comparison]  # what a judge yields
Judge = Callable[[Sample], Judgement | Comparisons]


@dataclass(frozen=True)
class Result:
    """One checked statement, or one numbered part of it. The verdict counts only while `supported`."""

    statement: str  # number in the paper, a key of data/published/statements.csv: "2.1", "S1.17"
    part: str  # "" or what of it is meant: "(3)", "Eq. S137"
    title: str  # what is said, in a few words
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    printed: str = ""  # MyST: what the paper prints, where it does not simply hold
    place: str = ""  # where it prints that
    corrected: str = ""  # MyST: the statement that does hold
    remark: str = ""
    maybe_copying: bool = False  # could be an error of our text copy of the paper
    chapter: str = ""  # notebook that shows the check
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
        for comparison in plain["comparisons"]:
            del comparison["fields"]
        return plain


class Check(Generic[Sample]):
    """A registered check: called with the parameters of its sample it gives a `Result`.

    Args:
        sample: draws what is judged; every parameter has a default, and with these it takes a few seconds at most.
        judge: compares numbers of a sample; it draws nothing.
    """

    def __init__(self, sample: Callable[..., Sample], judge: Judge) -> None:
        self.sample, self._judge = sample, judge
        update_wrapper(self, judge, updated=())
        self.__signature__ = inspect.signature(sample)

    @property
    def room(self) -> str:
        """Package of the chapter that the check belongs to."""
        return self.__module__.rpartition(".")[0]

    def judge(self, sample: Sample) -> Judgement:
        """Compare the numbers of a sample."""
        found = self._judge(sample)
        return found if isinstance(found, Judgement) else Judgement(*found)

    def __call__(self, **parameters: Any) -> Result:
        """Draw a sample and judge it."""
        drawn = self.of(self.sample(**parameters))
        given = getattr(self.sample, "keywords", {}) | parameters
        values = {name: value.value if isinstance(value, Enum) else value for name, value in given.items()}
        return replace(drawn, parameters={k: v for k, v in values.items() if isinstance(v, str | int | float)})

    def of(self, sample: Sample) -> Result:
        """Judge a sample that has been drawn."""
        found, name = self.judge(sample), self.__name__
        words = wording(self.room).get(name)
        if words is None:
            raise WordingError(f"{name} has no entry in {FILE} of {self.room}.")
        verdict = found.verdict or words.verdict
        texts = words.told(verdict, found.numbers)
        comparisons = tuple(
            c.told(*words.quantity(c.quantity, found.numbers | {"expected": c.expected} | c.fields), verdict)
            for c in found.comparisons
        )
        chapter = self.room.rpartition(".")[2]
        source = f"{self.__module__}.{name}"
        return Result(
            words.statement, verdict=verdict, comparisons=comparisons, **texts, chapter=chapter, source=source
        )


CHECKS: dict[str, Check] = {}


def check(sample: Callable[..., Sample], **defaults: Any) -> Callable[[Judge], Check[Sample]]:
    """Register a function that judges samples as a check, under its name, with its own defaults for the sample."""

    def register(judge: Judge) -> Check[Sample]:
        if judge.__name__ in CHECKS:
            raise ValueError(f"two checks are named {judge.__name__}")
        CHECKS[judge.__name__] = Check(partial(sample, **defaults), judge)
        return CHECKS[judge.__name__]

    return register
