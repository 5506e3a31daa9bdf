"""The first page's sentences with their verdicts, and its cards: a claim of the paper, what is said of it, where."""

from importlib import resources
from typing import NamedTuple

import yaml

from livingpaper.display.check_line import badge
from livingpaper.display.verdicts import Account


class Sentence(NamedTuple):
    """What can be repeated, and one number for it."""

    says: str  # MyST: the sentence
    verdicts: str  # HTML: badges, or what to do
    because: str  # MyST: the number
    page: str  # where more is said, as a link


def sentences(*said: Sentence) -> str:
    """MyST of a numbered list."""
    rows = (f"1. **{s.says}** {s.verdicts} {s.because} [More]({s.page})" for s in said)
    return "\n".join(["::::{div} front-sentences", *rows, "::::"])


def cards(paper: Account) -> str:
    """MyST of all cards (``cards.yml``), with the verdicts that this run supports."""
    written = yaml.safe_load(resources.files(__package__).joinpath("cards.yml").read_text("utf-8"))
    return "\n".join(["::::{div} front-cards", *(_card(paper, **card) for card in written), "::::"])


def _card(paper: Account, claim: str, verdicts: dict[str, list[str]], chapter: str) -> str:
    judged = " ".join(f"<span>{words} {on(paper, *of)}</span>" for words, of in verdicts.items())
    blocks = (f"**{claim}**", f"[{judged}]{{.front-verdicts}}", f"[More]({chapter}.py)")
    return "\n\n".join([":::{div} front-card", *blocks, ":::"])


def on(paper: Account, statement: str, part: str = "") -> str:
    """The badge of a statement."""
    verdict = paper.verdict(statement, part)
    return badge(str(verdict), supported=verdict is not None)
