"""Section 3 by heads: is it single heads that are more symmetric in encoders, or their sum, and in which directions?"""

from dataclasses import replace

from attngeo.chapters.heads_or_sum.evidence import PARTS, Evidence, beside_survey, changes, evidence, families, whole
from attngeo.paper.checks import Claim, Comparison, Comparisons, Interval, Judgement, Relation, check, compare, exact
from attngeo.survey.auc import Separation
from attngeo.survey.families import Compared, compared

SIX_DIGITS = 1e-6  # single precision, in which narrow weights were surveyed


@check(evidence)
def section_3_symmetry_of_heads(found: Evidence) -> Judgement:
    """AUC over families of the heads' own symmetry lies above 1/2; the pairs' numbers are those of the survey."""
    result = compared(families(whole(found.layers), PARTS), "heads")
    survey = beside_survey(found)
    return Judgement(
        *_ends(result, ">", "low", "family_low"),
        compare("p", result.p, "<", 0.05, n=result.n_exchanges),
        exact("survey", (survey["symmetry"] - survey["recorded"]).abs().max(skipna=False), 0, SIX_DIGITS),
        matrices=len(survey),
    )


@check(evidence)
def section_3_symmetry_of_the_sum(found: Evidence) -> Comparisons:
    """AUC over families of what the sum adds lies above 1/2: by skew parts that add up less, not by symmetric ones."""
    told = families(whole(found.layers), PARTS)
    results = {part: compared(told, part) for part in PARTS}
    yield from _ends(results["factor"], ">", "low", "family_low")
    yield compare("p", results["factor"].p, "<", 0.05, n=results["factor"].n_exchanges)
    yield from _ends(results["skew_gain"], "<", "high", "family_high", key="skew ")
    yield from _ends(results["symmetric_gain"], "<", "low", key="symmetric ")
    yield from _ends(results["symmetric_gain"], ">", "high", key="symmetric ")


@check(evidence)
def section_3_symmetry_after_removals(found: Evidence) -> Comparisons:
    """Without a direction, coordinates or the diagonal encoders stay more symmetric; leading directions matter more."""
    moved = changes(found.layers)
    taken = moved[~moved["at_random"]].groupby("removed", sort=False)
    tenth = compared(dict(list(taken))["leading 10 %"], "factor")
    yield from (_ends(compared(own, "symmetry"), ">", "low", removed=name)[0] for name, own in taken)
    yield compare("random", moved[moved["at_random"]]["change"].abs().max(), "<", 0.05)
    yield from _ends(tenth, "<", "low", key="tenth ")
    yield from _ends(tenth, ">", "high", key="tenth ")


def _ends(result: Compared, relation: Relation, *ends: str, key: str = "", **fields: str) -> tuple[Comparison, ...]:
    numbers = vars(result.separation) | fields
    found = (compare(f"{key}{end}", getattr(result.separation, end), relation, 0.5, **numbers) for end in ends)
    return tuple(found) if key else tuple(_claimed(c, result.separation) for c in found)


def _claimed(end: Comparison, found: Separation) -> Comparison:
    """As an end of its interval, of which the paper says that it lies above 1/2."""
    ends = (found.family_low, found.family_high) if end.quantity == "family_low" else (found.low, found.high)
    return replace(end, interval=Interval(found.auc, *ends), claim=Claim(">", 0.5))
