"""Section 3 by heads: is it single heads that are more symmetric in encoders, or their sum, and in which directions?"""

from attngeo.chapters.heads_or_sum.evidence import (
    PARTS,
    Evidence,
    beside_survey,
    changes,
    evidence,
    families,
    single_heads,
    whole,
    with_added,
)
from attngeo.paper.checks import Comparison, Comparisons, Judgement, Relation, check, compare, exact
from attngeo.survey.against_half import against_half
from attngeo.survey.families import Compared, compared

SIX_DIGITS = 1e-6  # single precision, in which narrow weights were surveyed


@check(evidence)
def section_3_symmetry_of_heads(found: Evidence) -> Judgement:
    """AUC over families of the heads' own symmetry: above 1/2 where layers have several heads, not told with one head.

    The pairs' numbers are those of the survey.
    """
    several = compared(families(whole(found.layers), PARTS), "heads")
    every = compared(single_heads(found), "heads")
    survey = beside_survey(found)
    return Judgement(
        against_half(every.separation, "low", "<"),
        against_half(every.separation, "high", ">"),
        compare("p", every.p, ">", 0.05, n=every.n_exchanges),
        against_half(several.separation, "low", ">", "several low"),
        compare("several p", several.p, "<", 0.05, n=several.n_exchanges),
        exact("survey", (survey["symmetry"] - survey["recorded"]).abs().max(skipna=False), 0, SIX_DIGITS),
        matrices=len(survey),
    )


@check(evidence)
def section_3_symmetry_of_the_sum(found: Evidence) -> Judgement:
    """AUC over families of what the sum adds lies above 1/2, by the sum and by pair: skew parts add up less."""
    told = families(whole(found.layers), PARTS)
    told = told.assign(by_pair=told["symmetric_overlap"] - told["skew_overlap"])
    results = {measure: compared(told, measure) for measure in (*PARTS, "by_pair")}
    multiple = compared(with_added(told[told["heads"] > 0]), "multiple")
    return Judgement(
        against_half(results["factor"].separation, "low", ">"),
        compare("p", results["factor"].p, "<", 0.05, n=results["factor"].n_exchanges),
        against_half(results["by_pair"].separation, "low", ">", "pair low"),
        *(_end("skew", end, "<", results["skew_gain"]) for end in ("high", "family_high")),
        *_untold("symmetric", results["symmetric_gain"]),
        *_untold("overlap", results["symmetric_overlap"]),
        *_untold("multiple", multiple),
        overlap_p=results["symmetric_overlap"].p,
    )


@check(evidence)
def section_3_symmetry_after_removals(found: Evidence) -> Comparisons:
    """Without a direction, coordinates or the diagonal encoders stay more symmetric; leading directions matter more."""
    moved = changes(found.layers)
    taken = moved[~moved["at_random"]].groupby("removed", sort=False)
    tenth = compared(dict(list(taken))["leading 10 %"], "factor")
    yield from (against_half(compared(own, "symmetry").separation, "low", ">", removed=name) for name, own in taken)
    yield compare("random", moved[moved["at_random"]]["change"].abs().max(), "<", 0.05)
    yield from _untold("tenth", tenth)


def _end(of: str, end: str, relation: Relation, result: Compared) -> Comparison:
    """Of what the paper does not speak of."""
    found = result.separation
    return compare(f"{of} {end}", getattr(found, end), relation, 0.5, **vars(found))


def _untold(of: str, result: Compared) -> Comparisons:
    """Both ends of an interval that holds 1/2, which decides nothing."""
    for end, relation in (("low", "<"), ("high", ">")):
        yield against_half(result.separation, end, relation, f"{of} {end}")
