"""What the checks of all chapters found wrong in the paper, as the entries of a table."""

from collections.abc import Iterable

import pandas as pd

from attngeo.display.verdicts import Finding
from attngeo.paper.checks import Flaw

MAYBE_COPYING = "†"  # behind the number of an entry that could be an error of our text copy


def errata(found: Iterable[Finding], flaw: Flaw) -> pd.DataFrame:
    """The supported findings of one group: entry (number, verdict, chapter), what is printed where, what holds."""
    rows = []
    for f in (f for f in found if f.supported and f.flaw is flaw):
        r, mark = f.report, f" {MAYBE_COPYING}" if f.report["maybe_copying"] else ""
        printed = f"*Printed* ({r['place']}): {r['printed']}" if r["place"] else f"*Printed:* {r['printed']}"
        rows.append(
            {
                "entry": f"**{f.number}**{mark} {f.badge} in {f.links}",
                "as printed, and what holds": f"{printed}<br>*Holds:* {r['corrected'] or r['remark']}",
            }
        )
    return pd.DataFrame(rows, columns=["entry", "as printed, and what holds"])
