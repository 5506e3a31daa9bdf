"""What planned comparisons say, in words: how many say what, and how likely chance alone says as much."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from scipy import stats

from attngeo.chapters.symmetric_initialisation.crossings import speed_up_of
from attngeo.chapters.symmetric_initialisation.planned_runs import BAND, SHARE, Outcome, Planned
from attngeo.paper.wording import filled, read_words
from attngeo.runs.arms import LOSS
from attngeo.runs.numbers_in_words import as_nats, as_percent, extent, with_interval

OPEN = "open"
_TOLD_FIRST = (Outcome.FASTER, Outcome.SLOWER, Outcome.SAME, Outcome.UNDECIDED)


def told(subject: str, outcome: Planned | str | None, **numbers: Any) -> str:
    """What ``planned.yml`` says of a subject where its plan has this outcome, numbers filled in; ``open`` for None."""
    case = outcome.outcome.value if isinstance(outcome, Planned) else outcome or OPEN
    return filled(_words()[subject][case], numbers | {"band": BAND}, subject)


def shown(found: bool | None) -> str:
    """Of a part that was to grow or to shrink with size: whether it does, None where the runs are not complete."""
    return told("by size", OPEN if found is None else "shown" if found else "not shown")


def in_how_many(found: Sequence[Planned]) -> str:
    """``ends lower in 1 and is not told apart from the random start in 3``, or ``is not judged yet``."""
    counts = Counter(told("in a plan", p) for p in found)
    order = dict.fromkeys(told("in a plan", outcome.value) for outcome in _TOLD_FIRST)
    parts = [f"{words} in {counts[words]}" for words in order if words in counts]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "is not judged yet"


def much_faster(found: Sequence[Planned]) -> str:
    """A sentence on those that are faster by a share of steps that matters, with their chance among all."""
    own = [p for p in found if p.outcome is Outcome.MUCH_FASTER]
    words = [
        told(
            "much faster",
            "one",
            label=p.label,
            counted=f"{among(by_chance(p), len(found)):.2f}",
            asked=len(found),
            **measures(p),
        )
        for p in own
    ]
    return told("much faster", "in some" if own else "in none", share=as_percent(SHARE), n=len(own), found=words)


def asked_again(found: Planned | None) -> str:
    """A sentence on new seeds of a plan that has been answered; ``open`` until all of them are recorded."""
    return told("again", found, **measures(found) if found else {})


def asked_again_shortly(found: Planned | None) -> str:
    """What goes after the difference that the first seeds have found."""
    return told("again, shortly", found, **measures(found) if found else {})


def measures(found: Planned) -> dict[str, Any]:
    """Both measures of the primary contrast with their intervals, the seeds, and the p of the first."""
    return {
        "difference": with_interval(found.contrast.difference(), as_nats),
        "saved": with_interval(speed_up_of(found.contrast), as_percent),
        "seeds": len(found.contrast),
        "p": f"{by_chance(found):.3f}",
    }


def by_chance(found: Planned) -> float:
    """How often seeds alone would give as large a mean difference, by Student's t on both sides."""
    return float(stats.ttest_1samp(found.contrast.differences(), 0).pvalue)


def lower_by_chance(found: Sequence[Planned]) -> tuple[int, float]:
    """How many intervals of 95 % lie below zero, and the chance of as many or more if none differed: binomial."""
    lower = sum(p.contrast.difference().high < 0 for p in found)
    return lower, float(stats.binom.sf(lower - 1, len(found), 0.025))


def among(p: float, comparisons: int) -> float:
    """What a p counts as beside so many comparisons of one question (Bonferroni)."""
    return min(1.0, comparisons * p)


def final_losses(found: Planned) -> str:
    """``1.91 to 2.76 (random), 1.88 to 2.29 (default-linear)``: of every start, over its seeds."""
    return ", ".join(f"{extent(arm.values(LOSS), '{:.2f}'.format)} ({name})" for name, arm in found.arms.items())


def all_differences(found: Planned) -> str:
    """``−0.010 [−0.020, +0.001] (symmetric less random)``: of all that are complete, the primary first."""
    return ", ".join(f"{with_interval(c.difference(), as_nats)} ({p.name})" for p, c in found.contrasts.items())


@cache
def _words() -> dict[str, dict[str, str]]:
    return read_words(__package__, "planned.yml", dict[str, dict[str, str]])
