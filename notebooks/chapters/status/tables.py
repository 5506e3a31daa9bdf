"""Tables of the status page: the state of every statement of the paper, and the statements of this book."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from livingpaper.claims.published import of_the_paper
from livingpaper.display.verdicts import BY_CONSEQUENCE, Finding

NOT_YET = "not yet"


def states(statements: pd.DataFrame, found: Iterable[Finding]) -> pd.DataFrame:
    """Statements of the paper by number: name, kind, title, number of checks, state (badges or "not yet"), chapters."""
    by_statement: dict[str, list[Finding]] = {number: [] for number in statements.index}
    for finding in (f for f in found if not f.report["ours"]):
        by_statement.setdefault(finding.report["statement"], []).append(finding)
    rows = {
        number: {
            "name": of_the_paper(number),
            "kind": statements.kind.get(number, ""),
            "title": statements.title.get(number, ""),
            "checks": len(same),
            "state": _state(same),
            "chapters": ", ".join(dict.fromkeys(f.links for f in same)),
        }
        for number, same in by_statement.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("number")


def _state(same: list[Finding]) -> str:
    ordered = sorted(same, key=lambda f: (not f.supported, BY_CONSEQUENCE.index(f.verdict)))
    badges = Counter(f.badge for f in ordered)
    return " ".join(f"{words} ×{n}" if n > 1 else words for words, n in badges.items()) or NOT_YET


def told_coverage(entries: int, checked: int) -> str:
    """How many entries of the paper have a check."""
    if checked == entries:
        return f"Each of the {entries} entries has at least one check."
    return f"Of {entries} entries, {checked} have at least one check. The number of entries without a check is {entries - checked}."


def told_support(verdicts: int, supported: int) -> str:
    """How many verdicts this run supports."""
    if supported == verdicts:
        return f"This run supports all {verdicts} verdicts."
    return f"This run supports {supported} of the {verdicts} verdicts and does not support the other {verdicts - supported}."


def ours(found: Sequence[Finding]) -> pd.DataFrame:
    """Statements of this book: the related statement of the paper, what was judged, verdict and chapter."""
    related = (of_the_paper(f.report["statement"], f.report["part"]) for f in found)
    rows = [(about, f.report["title"], f.badge, f.links) for about, f in zip(related, found, strict=True)]
    return pd.DataFrame(rows, columns=["related to", "our statement", "verdict", "chapter"])


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Number of statements of each kind, with and without a check, and their sums."""
    checked = table.state != NOT_YET
    kinds = pd.DataFrame({"kind": table.kind, "in the paper": 1, "checked": checked * 1, NOT_YET: ~checked * 1})
    summed = kinds.groupby("kind", sort=False).sum()
    return pd.concat([summed, summed.sum().rename("all").to_frame().T]).rename_axis("kind")
