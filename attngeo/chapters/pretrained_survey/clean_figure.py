"""Clean Figure 2: what is known against its points, left out kind by kind, and how well the rest separates."""

import pandas as pd

from attngeo.chapters.pretrained_survey.released_points import released_scores
from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive
from attngeo.display.style import CaptionedFigure
from attngeo.runs.numbers_in_words import number
from attngeo.survey.auc import auc
from attngeo.survey.released_results import WORDS

FIGURE = "2"


def clean_figure(results: pd.DataFrame, ours: pd.DataFrame | None = None) -> Interactive:
    """The points of Figure 2 with their defects; both scores' AUC of encoders against decoders as they are left out.

    ``results`` are `released_results`, ``ours`` medians of models whose weights were read, for the still.
    """
    points = results[results["figure"] == FIGURE]
    found = points["defects"].str.split().explode()
    data = {
        "defects": {code: [words, int((found == code).sum())] for code, words in WORDS.items() if code in set(found)},
        "points": [
            [int(p.parameters), p.s, p.d, p.drawn_as, [code for code in p.defects.split() if code in WORDS]]
            for p in points.itertuples()
        ],
    }
    return Interactive("clean_figure", data, _still(results, points, ours))


def area(points: pd.DataFrame, score: str, left_out: frozenset[str] = frozenset()) -> float:
    """AUC of a score, encoders against decoders as drawn, of the points without these defects and on the scale."""
    clean = points["defects"].map(lambda defects: not left_out & set(defects.split()))
    kept = points[clean & points[score].between(-1, 1)]
    return auc(*(kept.loc[kept["drawn_as"] == part, score].to_numpy() for part in ("encoder", "decoder")))


def _still(results: pd.DataFrame, points: pd.DataFrame, ours: pd.DataFrame | None) -> CaptionedFigure:
    drawn = released_scores(results, {FIGURE: "language"}, "fig-released-language", ours)
    as_drawn, cleaned = ([number(area(points, s, out), 2) for s in "sd"] for out in (frozenset(), frozenset(WORDS)))
    areas = dict(zip(("s", "d", "s_clean", "d_clean"), (*as_drawn, *cleaned), strict=True))
    words = {"drawn": drawn.caption, "shown": drawn.alt}
    return captioned(drawn.figure, __package__, "fig-clean-figure", drawn.name, **areas, **words)
