"""The cards of the front page: a claim of the paper, what is said of it, and where."""

from importlib import resources

import yaml

from livingpaper.display.check_line import badge
from livingpaper.display.verdicts import Account


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
