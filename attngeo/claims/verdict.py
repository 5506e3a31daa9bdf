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


QUOTED = ("printed", "place")
NEEDED = {
    Verdict.HOLDS: (),
    Verdict.STATED: (*QUOTED, "remark"),  # quotes the assumption where it stands, and says what rests on it
    Verdict.MISPRINT: (*QUOTED, "holds"),
    Verdict.ASSUMPTION: (*QUOTED, "holds", "missing"),  # words for it, which the paper does not have there
    Verdict.CHANGES: QUOTED,
    Verdict.UNDECIDED: (*QUOTED, "remark"),
}


def check_texts(name: str, verdict: Verdict, texts: Mapping[str, Any]) -> None:
    """Refuse texts that a verdict does not go with, or that it lacks."""
    needed, barred = NEEDED[verdict], () if verdict is Verdict.ASSUMPTION else ("missing",)
    if verdict is Verdict.CHANGES:  # without a remedy it says why instead
        needed = (*needed, "holds" if texts["holds"] else "remark")
    if verdict is Verdict.UNDECIDED:
        barred = (*barred, "holds")
    for key in (*needed, *barred):
        if bool(texts[key]) is (key in barred):
            raise WordingError(f"{name} is {verdict!s} and {'must have no' if key in barred else 'has no'} {key}.")
