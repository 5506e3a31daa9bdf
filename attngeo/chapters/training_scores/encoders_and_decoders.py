"""Section 4.1, Figures 3, S3 and S4: encoders against decoders, in recorded runs and in the released medians."""

from attngeo.chapters.training_scores.evidence import (
    Evidence,
    counted,
    encoders_beside_decoders,
    evidence,
    released_ends,
    spoken_of,
)
from attngeo.paper.checks import Judgement, check, compare
from attngeo.paper.seed_intervals import Case, Training, in_words, joined, judged
from attngeo.runs.arms import Contrast
from attngeo.runs.numbers_in_words import as_score


def at_the_end(pair: Contrast, score: str) -> Case:
    """Encoder less decoder in a score at the end, the paper's sign being plus: s is larger, d less negative."""
    return Case(
        pair.label, "recorded", pair.difference(score), seeds=len(pair), training=Training.of(pair.first.config)
    )


def at_equal_steps(pair: Contrast, score: str) -> Case:
    """`at_the_end`, but where the arm of fewer steps ends: after as many steps, though not of the same schedule."""
    step = min(arm.runs[0].curve(score).index[-1] for arm in (pair.first, pair.second))
    difference = pair.difference(lambda run: run.curve(score).loc[:step].iloc[-1])
    return Case(pair.label, "recorded", difference, seeds=len(pair))


@check(evidence)
def symmetry_in_training(e: Evidence) -> Judgement:
    """Section 4.1: encoders end more symmetric than decoders, in the released medians and in each recorded setting."""
    cases = _recorded(e, "symmetry")
    ends = released_ends(e.released, "s")
    larger = counted("released", ends["encoder"] > ends["decoder"])
    return judged(cases, larger, spoken_of=spoken_of(), told=in_words(cases))


@check(evidence)
def directionality_in_training(e: Evidence) -> Judgement:
    """Section 4.1: decoders end more column-dominated than encoders in some released pairs only; and in our runs."""
    cases = _recorded(e, "directionality")
    ends = released_ends(e.released, "d")
    as_stated = ends["encoder"] > ends["decoder"]
    deep = as_stated[ends["layers"] == 12]
    return Judgement(
        counted("released", as_stated, "<"),
        counted("deep", deep, "<"),
        *joined(cases),
        all=as_stated.sum(),
        n=len(ends),
        deep=deep.sum(),
        n_deep=len(deep),
        recorded=in_words(cases),
    )


@check(evidence)
def directionality_differs_less_elsewhere(e: Evidence) -> Judgement:
    """Figure S4: models on Jigsaw and Red Pajama differ less in directionality than on Wikipedia; on Jigsaw they do."""
    ends = released_ends(e.released, "d").set_index(["layers", "text"])
    gap = ends["encoder"] - ends["decoder"]
    size = gap.abs()
    beyond = size[12] - size[12, "wikipedia"]
    smaller = size[4] < size[12]
    return Judgement(
        compare("elsewhere", beyond["jigsaw"], "<", text="jigsaw"),
        compare("elsewhere", beyond["red pajama"], ">", text="red pajama"),
        counted("smaller", smaller),
        gaps=", ".join(f"{text} {as_score(value)}" for text, value in gap[12].items()),
        smaller=smaller.sum(),
        n=len(smaller),
        encoders=(gap[4] < 0).sum(),
    )


def _recorded(e: Evidence, score: str) -> list[Case]:
    return [at_the_end(pair, score) for pair in encoders_beside_decoders(e.runs)]
