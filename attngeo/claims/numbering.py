"""The paper's numbers as the book writes them, so that none is taken for a number of its own."""

import re
from functools import cache

from attngeo.claims.published import statements

_KINDS = {"proposition": "Prop.", "theorem": "Thm.", "definition": "Def.", "corollary": "Cor.", "recipe": "Section"}
_RANGE = re.compile(r"(?<=\d)-(?=S?\d)")


def of_the_paper(statement: str, part: str = "") -> str:
    """``Prop. 2.2 of the paper, Eqs. S33–S36``: a number of data/published/statements.csv, and what of it is meant."""
    kind = _kinds().get(statement, "")
    named = statement if not re.match(r"S?\d", statement) else f"{_KINDS.get(kind, kind.title())} {statement}".strip()
    if statement.startswith("Web "):
        named, source = statement.lower(), "of the paper's web page"
    else:
        source = "of the paper"
    between = "" if not part else " " if re.match(r"\(|and ", part) else ", "
    return f"{named} {source}{between}{_RANGE.sub('–', part)}"


@cache
def _kinds() -> dict[str, str]:
    return statements()["kind"].to_dict()
