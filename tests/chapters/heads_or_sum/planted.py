"""Errors planted in the claims of *Details: heads or their sum*: the claim, what is replaced, and by what."""

import math

from chapters.heads_or_sum.overlaps import Overlaps, parts
from notebook_code import notebook

page = notebook("heads_or_sum")
recorded = page.evidence()
layers, survey = recorded.layers, recorded.survey
of_encoders = layers["part"] == "encoder"


def changed(**columns):
    """The evidence with columns of its layers made anew."""
    return lambda: recorded._replace(layers=layers.assign(**columns))


def with_part(name, made_of):
    return lambda right, **sums: right(**sums) | {name: made_of(sums)}


SUM = "score_of_a_sum"
HEADS, ADDED = "section_3_symmetry_of_heads", "section_3_symmetry_of_the_sum"
OPEN = "section_3_symmetric_parts_of_heads"
REMOVED = "section_3_symmetry_after_removals"
several = survey.groupby(["model", "part", "layer"])["head"].transform("max") > 0
tenth = (layers["removed"] == "leading 10 %") & of_encoders
coordinates = layers["removed"] == "largest coordinates"
PLANTED = [
    (SUM, "overlaps", lambda right, form: Overlaps(right(form).products, right(form).traces)),
    (SUM, "overlaps", lambda right, form: Overlaps(right(form).traces.diagonal().diag(), right(form).products)),
    (SUM, "parts", with_part("factor", lambda sums: sum(sums.values()))),
    (SUM, "parts", with_part("symmetry", lambda sums: sums["own_trace"] / sums["own_square"])),
    (SUM, "parts", with_part("symmetric_gain", lambda sums: parts(**sums)["skew_gain"])),
    (SUM, "ratio", lambda right, s: math.sqrt(right(s))),
    (HEADS, "evidence", changed(heads=0.1)),
    (HEADS, "evidence", changed(heads=-layers["heads"])),
    (HEADS, "evidence", lambda: recorded._replace(survey=survey[several])),
    (HEADS, "evidence", changed(symmetry=layers["symmetry"] + 1e-4)),
    (ADDED, "evidence", changed(factor=1.5)),
    (ADDED, "evidence", changed(skew_gain=1.2)),
    (ADDED, "evidence", changed(symmetric_overlap=0.1, skew_overlap=0.1)),
    (OPEN, "evidence", changed(symmetric_overlap=of_encoders + 0.1)),
    (OPEN, "evidence", changed(symmetric_gain=1.0 + of_encoders)),
    (OPEN, "evidence", changed(symmetric_gain=2.0 - of_encoders)),
    (REMOVED, "evidence", changed(symmetry=layers["symmetry"].mask(layers["at_random"], 0.0))),
    (REMOVED, "evidence", changed(factor=layers["factor"] + tenth)),
]
