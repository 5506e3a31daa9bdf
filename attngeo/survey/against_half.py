"""An end of an interval of AUC against 1/2, above which Section 3 says that every AUC lies."""

from dataclasses import replace

from attngeo.paper.checks import Claim, Comparison, Interval, Relation, compare
from attngeo.survey.auc import Separation


def against_half(found: Separation, end: str, relation: Relation, key: str = "", **fields: str) -> Comparison:
    """``low``, ``high``, ``family_low`` or ``family_high`` against 1/2; the fields are for its words."""
    low, high = (found.family_low, found.family_high) if end.startswith("family") else (found.low, found.high)
    compared = compare(key or end, getattr(found, end), relation, 0.5, **vars(found), **fields)
    return replace(compared, interval=Interval(found.auc, low, high), claim=Claim(">", 0.5))
