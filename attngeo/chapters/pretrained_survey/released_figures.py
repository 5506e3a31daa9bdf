"""Figures 2 and S1: how well their points, as they are drawn, tell encoders from decoders."""

import pandas as pd

from attngeo.chapters.pretrained_survey.auc import Separation
from attngeo.chapters.pretrained_survey.separation import SCORES, SOURCE, of_figure
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.survey.models import released_results

CHAPTER = "pretrained_survey"


@claim
def figure_2_as_drawn(results: pd.DataFrame | None = None) -> Result:
    """Figure 2: both scores of the language models drawn there separate encoders from decoders, AUC above 1/2.

    Args:
        results: `attngeo.survey.models.released_results` by default.
    """
    results = released_results() if results is None else results
    drawn = results[results["figure"] == "2"]
    counted = int(drawn["counted"].sum())
    comparisons = [c for score in SCORES for c in _above("2", score, of_figure("2", score, results), families=True)]
    return Result(
        "Figure 2",
        "",
        "language models: encoders lie above decoders in both panels",
        Verdict.HOLDS,
        (*comparisons, Comparison("points that count, of all drawn", float(counted), "<", float(len(drawn)), 0.0)),
        remark=f"{counted} of {len(drawn)} points are distinct, trained, rightly extracted; they alone are judged under"
        " Section 3, with the same outcome.",
        chapter=CHAPTER,
    )


@claim
def figure_s1_as_drawn(results: pd.DataFrame | None = None) -> Result:
    """Figure S1: vision models as drawn do not separate; audio models do, in d through MusicGen's cross-attention.

    Args:
        results: `attngeo.survey.models.released_results` by default.
    """
    results = released_results() if results is None else results
    own = results[~results["defects"].str.contains("cross-attention|text-encoder")]
    return Result(
        "Figure S1",
        "",
        "vision and audio models: encoders lie above decoders in both panels",
        Verdict.CORRECTED,
        (
            *(c for score in SCORES for c in _around("S1 vision", score, of_figure("S1 vision", score, results))),
            *(c for score in SCORES for c in _above("S1 audio", score, of_figure("S1 audio", score, results))),
            *_above("S1 audio, MusicGen left out", "s", of_figure("S1 audio", "s", own)),
            *_around("S1 audio, MusicGen left out", "d", of_figure("S1 audio", "d", own)),
        ),
        printed="Vision and audio models show the differences of Figure 2 in both scores.",
        corrected="As drawn, vision models show neither; audio models show both, but that in directionality is gone "
        "without MusicGen, whose points are a text encoder and cross-attention.",
        remark=SOURCE.replace("distinct, trained, rightly extracted models", "the models as drawn"),
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def _head(figure: str, score: str, found: Separation) -> str:
    return (
        f"AUC {found.auc:.3f} of {SCORES[score]}, Figure {figure} ({found.n_first} encoders, {found.n_second} decoders)"
    )


def _above(figure: str, score: str, found: Separation, families: bool = False) -> list[Comparison]:
    ends = {"lower end": found.low} | ({"lower end, independent families": found.family_low} if families else {})
    return [Comparison(f"{_head(figure, score, found)}: {name}", end, ">", 0.5, 0.0) for name, end in ends.items()]


def _around(figure: str, score: str, found: Separation) -> list[Comparison]:
    head = _head(figure, score, found)
    return [
        Comparison(f"{head}: lower end", found.low, "<", 0.5, 0.0),
        Comparison(f"{head}: upper end", found.high, ">", 0.5, 0.0),
    ]
