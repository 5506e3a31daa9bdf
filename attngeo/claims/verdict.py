"""What follows for the paper from the checks of a statement, and which words go with it."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from attngeo.errors import AttngeoError


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

    def __str__(self) -> str:
        return self.value


def check_texts(name: str, verdict: Verdict, texts: Mapping[str, Any], file: str = "its claim") -> None:
    """Refuse texts that a verdict does not go with, or that it lacks."""
    if verdict is Verdict.STATED:  # quotes the assumption where it stands, and says what rests on it
        needed, barred = ("printed", "place", "remark"), ()
    elif verdict is Verdict.HOLDS:
        needed, barred = (), ()
    elif verdict is Verdict.UNDECIDED:
        needed, barred = ("printed", "place", "remark"), ("holds",)
    elif verdict is Verdict.CHANGES:  # without a remedy it says why instead
        needed, barred = ("printed", "place", "holds" if texts["holds"] else "remark"), ()
    else:
        needed, barred = ("printed", "place", "holds"), ()
    if verdict is Verdict.ASSUMPTION:  # words for it, which the paper does not have where it would
        needed += ("missing",)
    else:
        barred += ("missing",)
    for key in needed:
        if not texts[key]:
            raise WordingError(f"{name} is {verdict!s} and has no {key} in {file}.")
    for key in barred:
        if texts[key]:
            raise WordingError(f"{name} is {verdict!s} and has {key} in {file}, which is for other verdicts.")
