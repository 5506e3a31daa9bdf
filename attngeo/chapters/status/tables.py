"""The state of every statement, by what the checks of all chapters say of it."""

from collections.abc import Iterable

import pandas as pd

from attngeo.claims.published import of_the_paper
from attngeo.claims.results import Verdict
from attngeo.display.check_line import badge
from attngeo.display.verdicts import BY_CONSEQUENCE, Finding

NOT_YET = "not yet"


def states(statements: pd.DataFrame, found: Iterable[Finding]) -> pd.DataFrame:
    """The paper's statements by number: name, kind, title, number of checks, state (badges or "not yet"), chapters."""
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
    supported = [f.verdict for f in same if f.supported]
    badges = [
        badge(verdict.value) + (f" ×{supported.count(verdict)}" if supported.count(verdict) > 1 else "")
        for verdict in BY_CONSEQUENCE
        if verdict in supported
    ]
    if len(supported) < len(same):
        badges.append(badge(Verdict.UNDECIDED.value, supported=False))
    return " ".join(badges) or NOT_YET


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """How many statements of each kind there are, have a check, and have none, with a sum."""
    checked = table.state != NOT_YET
    kinds = pd.DataFrame({"kind": table.kind, "in the paper": 1, "checked": checked * 1, NOT_YET: ~checked * 1})
    summed = kinds.groupby("kind", sort=False).sum()
    return pd.concat([summed, summed.sum().rename("all").to_frame().T]).rename_axis("kind")
