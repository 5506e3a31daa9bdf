"""The cards of the front page: claim, verdict, one number, where it comes from. Their words stand in ``cards.yml``."""

from importlib import resources

import yaml

from attngeo.display.check_line import badge
from attngeo.display.verdicts import Account


def cards(paper: Account) -> str:
    """MyST of all cards, with the verdicts that this run supports."""
    written = yaml.safe_load(resources.files(__package__).joinpath("cards.yml").read_text("utf-8"))
    return "\n".join(["::::{div} front-cards", *(_card(paper, **card) for card in written), "::::"])


def _card(paper: Account, claim: str, verdicts: dict[str, list[str]], number: str, says: str, chapter: str) -> str:
    judged = " ".join(f"<span>{words} {_badge(paper, *of)}</span>" for words, of in verdicts.items())
    blocks = (
        f"**{claim}**",
        f"[{judged}]{{.front-verdicts}}",
        f"[{number}]{{.front-number}}",
        f"{says} []({chapter}.py)",
    )
    return "\n\n".join([":::{div} front-card", *blocks, ":::"])


def _badge(paper: Account, statement: str, part: str) -> str:
    verdict = paper.verdict(statement, part)
    return badge(str(verdict), supported=verdict is not None)
