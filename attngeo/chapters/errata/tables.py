"""What the checks of all chapters found to mend in the paper, as the entries of a table."""

from collections.abc import Iterable

import pandas as pd

from attngeo.display.typeset import typeset
from attngeo.display.verdicts import Finding
from attngeo.paper.wording import Verdict

MAYBE_COPYING = "†"  # behind the number of an entry that could be an error of our text copy


def errata(found: Iterable[Finding], verdict: Verdict) -> pd.DataFrame:
    """The supported findings of one verdict: entry (number, chapter), what is printed where, what holds."""
    rows = []
    for f in (f for f in found if f.supported and f.verdict is verdict):
        r, mark = f.report, f" {MAYBE_COPYING}" if f.report["maybe_copying"] else ""
        printed = f"*Printed* ({r['place']}): {r['printed']}" if r["place"] else f"*Printed:* {r['printed']}"
        rows.append(
            {
                "entry": f"**{f.number}**{mark} in {f.links}",
                "as printed, and what holds": typeset(f"{printed}<br>*Holds:* {r['corrected'] or r['remark']}"),
            }
        )
    return pd.DataFrame(rows, columns=["entry", "as printed, and what holds"])
