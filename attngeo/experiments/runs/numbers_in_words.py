"""Formatting of numbers and intervals for the tables and sentences of the book."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial

from attngeo.experiments.runs.estimates import NEVER, Estimate

SMALL_COUNTS = "no one two three four five six seven eight nine ten eleven twelve".split()


def number(value: float, digits: int, sign: str = "") -> str:
    """A rounded number with a typographic minus and no sign before zero; ``sign="+"`` also writes a plus."""
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}".replace("-", "\N{MINUS SIGN}")


as_nats = partial(number, digits=3, sign="+")  # a difference of losses, ``+0.012`` or ``−0.300``
as_score = partial(number, digits=2, sign="+")  # a score or a difference of scores, ``+0.31``


def as_rate(value: float) -> str:
    """A learning rate without an exponent, such as ``0.00005``."""
    return f"{Decimal(f'{value:g}'):f}"


def as_percent(value: float) -> str:
    """A speed-up, ``12 %``, kept on one line, or ``never``."""
    return "never" if value == NEVER else f"{value:.0%}".replace("%", "\N{NO-BREAK SPACE}%")


def as_millions(count: int) -> str:
    """``20.1 million``."""
    return f"{count / 1e6:,.1f} million"


def with_interval(estimate: Estimate, form: Callable[[float], str]) -> str:
    """``value [low, high]``, or only the value if it has no interval."""
    ends = f" [{form(estimate.low)}, {form(estimate.high)}]" if estimate.has_interval else ""
    return f"{form(estimate.value)}{ends}"


def extent(values: Iterable[float], form: Callable[[float], str]) -> str:
    """The smallest and the largest value, ``0.40 to 0.58``, or a dash if there are none."""
    found = list(values)
    return f"{form(min(found))} to {form(max(found))}" if found else "–"


def joined_by_and(words: Iterable[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def spelled(count: int) -> str:
    """``no``, ``one``, ... ``twelve``, and digits for larger counts."""
    return SMALL_COUNTS[count] if count < len(SMALL_COUNTS) else f"{count:,}"


def share_of(count: int, total: int) -> str:
    """``all 6``, or ``2 of the 6``."""
    return f"all {total}" if count == total else f"{count} of the {total}"
