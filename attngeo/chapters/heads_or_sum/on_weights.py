"""Section 3 by heads: is it single heads that are more symmetric in encoders, or their sum, and in which directions?"""

from attngeo.chapters.heads_or_sum.evidence import PARTS, Evidence, beside_survey, changes, evidence, families, whole
from attngeo.paper.checks import Comparison, Comparisons, Judgement, Relation, check, compare, exact
from attngeo.survey.against_half import against_half
from attngeo.survey.families import Compared, compared

SIX_DIGITS = 1e-6  # single precision, in which narrow weights were surveyed


@check(evidence)
def section_3_symmetry_of_heads(found: Evidence) -> Judgement:
    """AUC over families of the heads' own symmetry lies above 1/2; the pairs' numbers are those of the survey."""
    result = compared(families(whole(found.layers), PARTS), "heads")
    survey = beside_survey(found)
    return Judgement(
        *(against_half(result.separation, end, ">") for end in ("low", "family_low")),
        compare("p", result.p, "<", 0.05, n=result.n_exchanges),
        exact("survey", (survey["symmetry"] - survey["recorded"]).abs().max(skipna=False), 0, SIX_DIGITS),
        matrices=len(survey),
    )


@check(evidence)
def section_3_symmetry_of_the_sum(found: Evidence) -> Comparisons:
    """AUC over families of what the sum adds lies above 1/2: by skew parts that add up less, not by symmetric ones."""
    told = families(whole(found.layers), PARTS)
    results = {part: compared(told, part) for part in PARTS}
    yield from (against_half(results["factor"].separation, end, ">") for end in ("low", "family_low"))
    yield compare("p", results["factor"].p, "<", 0.05, n=results["factor"].n_exchanges)
    yield from (_end("skew", end, "<", results["skew_gain"]) for end in ("high", "family_high"))
    yield _end("symmetric", "low", "<", results["symmetric_gain"])
    yield _end("symmetric", "high", ">", results["symmetric_gain"])


@check(evidence)
def section_3_symmetry_after_removals(found: Evidence) -> Comparisons:
    """Without a direction, coordinates or the diagonal encoders stay more symmetric; leading directions matter more."""
    moved = changes(found.layers)
    taken = moved[~moved["at_random"]].groupby("removed", sort=False)
    tenth = compared(dict(list(taken))["leading 10 %"], "factor")
    yield from (against_half(compared(own, "symmetry").separation, "low", ">", removed=name) for name, own in taken)
    yield compare("random", moved[moved["at_random"]]["change"].abs().max(), "<", 0.05)
    yield _end("tenth", "low", "<", tenth)
    yield _end("tenth", "high", ">", tenth)


def _end(of: str, end: str, relation: Relation, result: Compared) -> Comparison:
    """Of what the paper does not speak of."""
    found = result.separation
    return compare(f"{of} {end}", getattr(found, end), relation, 0.5, **vars(found))
