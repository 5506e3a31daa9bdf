"""The verdicts of all chapters, counted in one place for the front page, the status page and the errata.

A verdict counts only if its check was executed and its numbers support it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

from attngeo.errors import AttngeoError
from attngeo.files.checkout import chapters, current_profile, root, runs, summaries
from livingpaper.claims.published import of_the_paper, statements
from livingpaper.claims.results import Verdict
from livingpaper.display.check_line import MEANINGS, badge
from livingpaper.display.page import outputs

# A statement with several parts counts as the first of these verdicts that one of its parts has.
BY_CONSEQUENCE = tuple(MEANINGS)


class Finding(NamedTuple):
    """One judged part of a statement, from the reports of every chapter that shows its check."""

    report: Mapping  # the first report, as `Result.to_dict()` writes it
    number: str  # statement and part, as the book prints them
    check: str  # name of the check
    verdict: Verdict
    supported: bool  # whether the numbers of every chapter that shows it agree
    badge: str  # the verdict's badge, or one that says that this run does not support it
    links: str  # links to the chapters


def _finding(same: Sequence[Mapping]) -> Finding:
    first = same[0]
    number = of_the_paper(first["statement"], first["part"])
    chapters = dict.fromkeys(report["chapter"] for report in same)
    supported = all(report["supported"] and report["verdict"] == first["verdict"] for report in same)
    return Finding(
        first,
        number=f"our statement on {number}" if first["ours"] else number,
        check=first["source"] or number,
        verdict=Verdict(first["verdict"]),
        supported=supported,
        badge=badge(first["verdict"], supported),
        links=", ".join(f"[{name.replace('_', ' ')}]({name}.py)" for name in chapters),
    )


@dataclass(frozen=True)
class Account:
    """All findings in the order of the paper, and their counts."""

    findings: tuple[Finding, ...]
    statements: int  # number of statements, figures and tables in the paper

    @property
    def supported(self) -> tuple[Finding, ...]:
        """Findings whose verdict this run supports."""
        return tuple(f for f in self.findings if f.supported)

    @property
    def checked(self) -> int:
        """How many statements of the paper have a finding."""
        found = {finding.report["statement"] for finding in self.findings if not finding.report["ours"]}
        return len(found & set(statements().index))

    @property
    def numbers(self) -> int:
        """How many numbers all findings compare."""
        return sum(len(f.report["comparisons"]) for f in self.findings)

    def counts(self, *numbers: str) -> Counter[Verdict]:
        """Number of supported verdicts of each kind, gravest first, on these statements (without arguments, on all)."""
        found = Counter(f.verdict for f in self.supported if not numbers or f.report["statement"] in numbers)
        return Counter({verdict: found[verdict] for verdict in BY_CONSEQUENCE if found[verdict]})

    def about(self, verdict: Verdict) -> tuple[str, ...]:
        """Statements of the paper that have this verdict, with support, as a whole or in a part."""
        return tuple(dict.fromkeys(f.report["statement"] for f in self.supported if f.verdict is verdict))

    def verdict(self, statement: str, part: str | None = None) -> Verdict | None:
        """The gravest supported verdict on a statement or on one of its parts; None if there is none."""
        about = [f for f in self.supported if f.report["statement"] == statement and part in (None, f.report["part"])]
        return min((f.verdict for f in about), key=BY_CONSEQUENCE.index, default=None)


def account(reports: Iterable[Mapping]) -> Account:
    """The account of what the chapters reported (`reported_checks`). A check that two chapters show counts once."""
    place = {number: i for i, number in enumerate(statements().index)}
    grouped: dict[tuple[str, str], list[Mapping]] = {}
    for report in sorted(reports, key=lambda report: place.get(report["statement"], len(place))):
        grouped.setdefault((report["statement"], report["part"]), []).append(report)
    return Account(tuple(map(_finding, grouped.values())), len(place))


def reports(chapter: str, run: NotebookNode) -> list[dict[str, Any]]:
    """The results that an executed chapter shows, as `Result.to_dict` writes them, with the chapter's name added."""
    return [dict(result) | {"chapter": chapter} for _, about in outputs(run) for result in about.get("results", [])]


def reported_checks() -> list[dict[str, Any]]:
    """The results of all checks when the chapters were last executed under the current profile, in the book's order.

    A chapter that calls this declares ``attngeo: {after: all}`` in its header, so that it is executed last. Such
    chapters are left out here.

    Raises:
        AttngeoError: a chapter has not been executed yet.
    """
    found = []
    for chapter in chapters(root()):
        if chapter in summaries(root()):
            continue
        run = runs(root(), current_profile()) / f"{chapter}.ipynb"
        if not run.exists():
            raise AttngeoError(f"Chapter {chapter} has not been executed yet: run python book/execute.py first.")
        found += reports(chapter, nbformat.read(run, as_version=4))
    return found
