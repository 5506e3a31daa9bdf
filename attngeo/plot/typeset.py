"""Formatting of numbers and short texts for the book: exponents, minus signs, and no ASCII mathematics."""

import math
import re

MINUS = "\u2212"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_EXPONENT = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)(?!\w)")
_NEGATIVE = re.compile(r"(?<![\w.)\]])-(?=\d|\.\d)")
_PERCENT = re.compile(r"(?<=\d)%(?![\w%])")
_LITERAL = re.compile(r"(\$[^$]*\$|`[^`]*`)")  # mathematics and code are left unchanged


def typeset(text: str) -> str:
    """A formatted number, or a sentence with numbers: ``-2.5e-16`` becomes −2.5 × 10⁻¹⁶, and ``3%`` becomes 3 %."""
    pieces = _LITERAL.split(text)
    pieces[::2] = [_PERCENT.sub("\u00a0%", _NEGATIVE.sub(MINUS, _EXPONENT.sub(_power, piece))) for piece in pieces[::2]]
    return "".join(pieces)


def significant(value: float, digits: int = 4) -> str:
    """A number with at most this many digits, or with one digit if it is so small that it comes from rounding."""
    if math.isfinite(value) and value == round(value) and abs(value) < 1e6:
        return typeset(str(round(value)))
    return typeset(format(value, f".{1 if abs(value) < 1e-8 else digits}g").replace("inf", "∞"))


def with_error(value: float, error: float) -> str:
    """``0.681 ± 0.042``: two digits of the error, and the same number of decimals in the value."""
    return f"{_fixed(value, error)} ± {_fixed(error, error)}"


def within(value: float, low: float, high: float) -> str:
    """``0.031 [0.028, 0.034]``, with the number of decimals that suits half the width of the interval."""
    middle, *ends = (_fixed(one, (high - low) / 2) for one in (value, low, high))
    return f"{middle} [{', '.join(ends)}]"


def _fixed(value: float, error: float) -> str:
    decimals = max(0, 1 - math.floor(math.log10(error))) if 0 < error < math.inf else None
    if decimals is None or decimals > 6 or not math.isfinite(value):
        return significant(value, 2 if decimals and abs(value) < 1e-4 else 4)
    return typeset(format(value, f".{decimals}f"))


def _power(found: re.Match) -> str:
    mantissa, exponent = found[1], int(found[2])
    factor = "" if mantissa in ("1", "-1") else f"{mantissa} × "
    sign = "-" if mantissa == "-1" else ""
    return f"{sign}{factor}10{str(exponent).translate(_RAISED)}"
