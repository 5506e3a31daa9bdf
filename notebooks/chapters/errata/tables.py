"""Tables of the errata page: errors of the paper that the checks of all chapters found."""

from collections.abc import Iterable

import pandas as pd

from livingpaper.claims.published import read_published
from livingpaper.claims.results import Verdict
from attngeo.plot.typeset import typeset
from livingpaper.display.check_line import in_the_paper, stopped
from livingpaper.display.verdicts import Finding

MAYBE_COPYING = "†"  # marks an entry that may be an error of our text copy
COLUMNS = ["entry", "statement of the paper and correction"]


def errata(found: Iterable[Finding], verdict: Verdict) -> pd.DataFrame:
    """The supported findings with one verdict: number and chapter, what the paper states and where, and the correction (or our remark).

    Findings that repeat the slip of another finding share its entry.
    """
    of_verdict = {f.check: f for f in found if f.supported and f.verdict is verdict}
    entries: dict[str, list[Finding]] = {}
    for name, f in of_verdict.items():
        repeated = str(f.report["repeats"])
        entries.setdefault(repeated if repeated in of_verdict else name, []).append(f)
    rows = []
    for name, same in entries.items():
        same.sort(key=lambda f: f.check != name)  # the slip, then what repeats it
        rows.append(
            ["; ".join(map(_entry, same)), typeset("<br>*The same slip occurs again.* ".join(map(_texts, same)))]
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def slips_found_by_reading() -> pd.DataFrame:
    """Slips without a check, in the columns of the other tables."""
    slips = read_published("slips", dtype=str).itertuples()
    texts = ([f"**{s.place}**", f"{in_the_paper('', s.printed)}<br>*Correction*: {stopped(s.holds)}"] for s in slips)
    return pd.DataFrame(texts, columns=COLUMNS)


def told_withheld(count: int) -> str:
    """How many entries the tables of this build omit."""
    if not count:
        return "In this build, no entry had to be omitted."
    entries = "1 entry is" if count == 1 else f"{count} entries are"
    return f"In this build, {entries} omitted because the numbers do not support our verdict."


def _entry(f: Finding) -> str:
    return f"**{f.number}**{f' {MAYBE_COPYING}' if f.report['maybe_copying'] else ''} in {f.links}"


def _texts(f: Finding) -> str:
    r = f.report
    correction = f"*Correction*: {stopped(r['corrected'])}" if r["corrected"] else f"*Remark*: {r['remark']}"
    return f"{in_the_paper(r['place'], r['printed'])}<br>{correction}"
