"""What the checks of all chapters say of the paper, counted in one place: front page, status and errata ask here.

A verdict counts only where its check ran and is supported; nothing here states one otherwise.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

from attngeo.errors import AttngeoError
from attngeo.files.checkout import chapters, current_profile, root, runs, summaries
from attngeo.plot import METADATA_KEY
from livingpaper.claims.published import of_the_paper, statements
from livingpaper.claims.results import Verdict
from livingpaper.display.check_line import MEANINGS, badge

BY_CONSEQUENCE = tuple(MEANINGS)  # a whole counts as the first of these that a part of it has


class Finding(NamedTuple):
    """One judged part of a statement: the reports of one check, from every chapter that shows it."""

    report: Mapping  # the first of them, `Result.to_dict()`
    number: str  # statement and part, as the book prints them
    check: str  # its name
    verdict: Verdict
    supported: bool  # in every chapter that shows it
    badge: str  # the verdict in its frame, or that this run does not support it
    links: str  # the chapters, linked from another chapter's page


def _finding(same: Sequence[Mapping]) -> Finding:
    first = same[0]
    number = of_the_paper(first["statement"], first["part"])
    chapters = dict.fromkeys(report["chapter"] for report in same)
    supported = all(report["supported"] and report["verdict"] == first["verdict"] for report in same)
    return Finding(
        first,
        number=f"ours, beside {number}" if first["ours"] else number,
        check=first["source"] or number,
        verdict=Verdict(first["verdict"]),
        supported=supported,
        badge=badge(first["verdict"], supported),
        links=", ".join(f"[{name.replace('_', ' ')}]({name}.py)" for name in chapters),
    )


@dataclass(frozen=True)
class Account:
    """Every finding, in the order of the paper, and how many there are of what."""

    findings: tuple[Finding, ...]
    statements: int  # statements, figures and tables of the paper

    @property
    def supported(self) -> tuple[Finding, ...]:
        """Findings whose verdict this run supports."""
        return tuple(f for f in self.findings if f.supported)

    @property
    def checked(self) -> int:
        """Statements of the paper with a finding."""
        return len(
            statements().index.intersection({f.report["statement"] for f in self.findings if not f.report["ours"]})
        )

    @property
    def numbers(self) -> int:
        """Numbers compared, by all findings together."""
        return sum(len(f.report["comparisons"]) for f in self.findings)

    def counts(self, *numbers: str) -> Counter[Verdict]:
        """Supported verdicts on some statements of the paper (on all, where none is named), gravest first."""
        found = Counter(f.verdict for f in self.supported if not numbers or f.report["statement"] in numbers)
        return Counter({verdict: found[verdict] for verdict in BY_CONSEQUENCE if found[verdict]})

    def about(self, verdict: Verdict) -> tuple[str, ...]:
        """Statements of the paper with a supported finding of this verdict, on the whole or on a part."""
        return tuple(dict.fromkeys(f.report["statement"] for f in self.supported if f.verdict is verdict))

    def verdict(self, statement: str, part: str | None = None) -> Verdict | None:
        """The gravest supported verdict on a statement, or on one part of it; None where there is none."""
        about = [f for f in self.supported if f.report["statement"] == statement and part in (None, f.report["part"])]
        return min((f.verdict for f in about), key=BY_CONSEQUENCE.index, default=None)


def account(reports: Iterable[Mapping]) -> Account:
    """What the chapters reported (`reported_checks`); a check that two of them show is one finding."""
    place = {number: i for i, number in enumerate(statements().index)}
    grouped: dict[tuple[str, str], list[Mapping]] = {}
    for report in sorted(reports, key=lambda report: place.get(report["statement"], len(place))):
        grouped.setdefault((report["statement"], report["part"]), []).append(report)
    return Account(tuple(map(_finding, grouped.values())), len(place))


def reports(chapter: str, run: NotebookNode) -> list[dict[str, Any]]:
    """The results that an executed chapter shows, as `Result.to_dict` writes them, each with the chapter's name."""
    found = []
    for cell in run.cells:
        for output in cell.get("outputs", []):
            shown = output.get("metadata", {}).get(METADATA_KEY, {})
            found += [dict(result) | {"chapter": chapter} for result in shown.get("results", [])]
    return found


def reported_checks() -> list[dict[str, Any]]:
    """What the checks of the book found when its chapters were last executed under the current profile, in its order.

    A chapter that calls this declares ``attngeo: {after: all}`` in its header, so that it is executed last. Chapters
    that do so are left out.

    Raises:
        AttngeoError: a chapter has not been executed yet.
    """
    folder = runs(root(), current_profile())
    summarising = summaries(root())
    found = []
    for chapter in chapters(root()):
        run = folder / f"{chapter}.ipynb"
        if chapter in summarising:
            continue
        if not run.exists():
            raise AttngeoError(f"Chapter {chapter} has not been executed yet: run python book/execute.py first.")
        found += reports(chapter, nbformat.read(run, as_version=4))
    return found
