"""Verdicts from intervals over seeds, with words of their own, until those of this room's checks are data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict
from attngeo.runs.estimates import LEAST_SEEDS, NO_DIFFERENCE, TOO_FEW, Estimate
from attngeo.runs.numbers_in_words import as_score, with_interval


@dataclass(frozen=True)
class Case:
    """A difference measured over seeds, and the sign that the paper gives it."""

    label: str  # of the setting
    quantity: str  # what was subtracted from what
    estimate: Estimate
    sign: int = 1  # expected, 1 or -1
    seeds: int = 0  # told where given
    form: Callable[[float], str] = as_score

    @property
    def known(self) -> bool:
        """Whether there are seeds enough for an interval; equal numbers from all of them, as on a grid, give none."""
        return self.estimate.has_interval and self.estimate.low < self.estimate.high

    @property
    def met(self) -> bool:
        """Whether the whole interval has the expected sign."""
        return self.known and min(self.sign * self.estimate.low, self.sign * self.estimate.high) > 0

    @property
    def reversed(self) -> bool:
        """Whether the whole interval has the other sign."""
        return self.known and max(self.sign * self.estimate.low, self.sign * self.estimate.high) < 0

    @property
    def outcome(self) -> str:
        """In words for a table."""
        if not self.known:
            return TOO_FEW
        return "as stated" if self.met else "the reverse" if self.reversed else NO_DIFFERENCE

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What the outcome rests on: the end of the interval that excludes 0, or both ends that include it."""
        if not self.known:
            return ()
        ends = {"lower": self.estimate.low, "upper": self.estimate.high}
        if self.met or self.reversed:
            end, relation = ("lower", ">") if self.estimate.value > 0 else ("upper", "<")
            return (Comparison(f"{self._head}: {end} end", ends[end], relation, 0.0, 0.0),)
        return tuple(
            Comparison(f"{self._head}: {end} end, on the other side of 0", ends[end], relation, 0.0, 0.0)
            for end, relation in (("lower", "<"), ("upper", ">"))
        )

    @property
    def words(self) -> str:
        """``wikipedia, characters: +0.31 [+0.28, +0.34]``."""
        return f"{self.label}: {with_interval(self.estimate, self.form)}"

    @property
    def _head(self) -> str:
        seeds = f", {self.seeds} seeds" if self.seeds else ""
        return f"{self.label}: {self.quantity}{seeds}, {self.form(self.estimate.value)}"


def all_met(cases: Sequence[Case]) -> bool:
    """Whether every case with an interval is as stated, and there is one."""
    known = [case for case in cases if case.known]
    return bool(known) and all(case.met for case in known)


def joined(cases: Sequence[Case]) -> tuple[Comparison, ...]:
    """The comparisons of all cases."""
    return tuple(c for case in cases for c in case.comparisons)


def in_words(cases: Sequence[Case]) -> str:
    """All cases with an interval, in a sentence's worth of words."""
    return "; ".join(case.words for case in cases if case.known) or "no setting has seeds enough"


def judged(
    shared: dict[str, Any], cases: Sequence[Case], printed: str, measured: str = "", told: str | None = None
) -> Result:
    """Holds where every interval has the stated sign, under assumptions where some have, corrected where none has.

    Intervals that all hold 0 decide nothing: then what is shared decides alone, and if nothing is, the statement is
    undecided. Comparisons that are shared support the statement, so that runs against it limit it and do not overturn
    it; without them it holds only if every case has an interval. Runs as small as these show a missing assumption at
    most.

    Args:
        shared: fields of the result, its comparisons among them, apart from those of the cases.
        cases: what was measured.
        printed: what the paper says.
        measured: what the numbers of the cases are.
        told: all that the cases say, where they do not all measure the same.
    """
    support, remark = tuple(shared.get("comparisons", ())), shared.get("remark", "")
    some, against = any(case.met for case in cases), any(case.reversed for case in cases)
    told = f": {told}" if told else f". {measured}: {in_words(cases)}."
    if not some and not against:
        known = any(case.known for case in cases)
        if known or not support:
            told = told if known else f": none has {LEAST_SEEDS} seeds."
            remark = f"The runs recorded here do not decide{told} {remark}"
        if support:
            return Result(verdict=Verdict.HOLDS, **{**shared, "remark": remark.strip()})
        fields = {**shared, "comparisons": joined(cases) or _no_interval(cases), "remark": remark.strip()}
        return Result(verdict=Verdict.UNDECIDED, printed=printed, **fields)
    fields = {**shared, "comparisons": (*support, *joined(cases))}
    if all_met(cases) and (support or all(case.known for case in cases)):
        return Result(verdict=Verdict.HOLDS, **fields)
    return Result(
        verdict=Verdict.ASSUMPTIONS if some or support else Verdict.CORRECTED,
        printed=printed,
        corrected=f"{'Not in all' if some else 'In none'} of the cases recorded here{told}",
        flaw=Flaw.ASSUMPTION,
        **fields,
    )


def _no_interval(cases: Sequence[Case]) -> tuple[Comparison, ...]:
    """What keeps a verdict from being reached."""
    known = float(sum(case.known for case in cases))
    return (Comparison("differences with seeds enough for an interval", known, "<", 1.0, 0.0),)
