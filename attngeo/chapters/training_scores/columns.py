"""Section 4.1, Figures 3 (b), S3 (b): when columns come to dominate in training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attngeo.chapters.training_scores.decoders import SPREADS
from attngeo.chapters.training_scores.depth import arm_cases
from attngeo.chapters.training_scores.evidence import (
    DECODER,
    Evidence,
    counted,
    encoders_beside_decoders,
    evidence,
    spoken_of,
)
from attngeo.forms.random_matrices import directionality_sd
from attngeo.forms.scores import Convention
from attngeo.paper.checks import Judgement, check, compare
from attngeo.paper.published import trained_widths
from attngeo.paper.seed_intervals import Case, in_words, joined
from attngeo.runs.arms import Contrast
from attngeo.runs.estimates import NO_DIFFERENCE, TOO_FEW
from attngeo.runs.numbers_in_words import as_score, extent
from attngeo.runs.record import Run


@dataclass(frozen=True)
class Move:
    """Directionality from start to end in one setting; the signs are those of encoders losing it, decoders gaining."""

    pair: Contrast
    encoder: Case  # `change`, expected above 0
    decoder: Case  # expected below 0

    @property
    def source(self) -> str:
        """Which of the two moves the interval over seeds tells from 0, in words for a table."""
        if not self.encoder.known:
            return TOO_FEW
        moves = {"encoders lose it": self.encoder, "decoders gain it": self.decoder}
        return ", ".join(words for words, move in moves.items() if move.met) or NO_DIFFERENCE


def change(run: Run) -> float:
    """Median d over the layers at the end less at the start (Definition 3.2): below 0 where columns gain."""
    return run.last("directionality") - run.first("directionality")


def moves(runs: Sequence[Run]) -> list[Move]:
    """How encoders and decoders of every setting move; of one seed both start alike."""
    found = []
    for pair in encoders_beside_decoders(runs):
        sides = ((pair.first, 1), (pair.second, -1))
        found.append(Move(pair, *(Case(pair.label, "recorded", arm.estimate(change), sign) for arm, sign in sides)))
    return found


def released_course(curves: pd.DataFrame) -> pd.DataFrame:
    """Released medians of d over training, a model in a row: at its first recorded step, at its most, at its end."""
    rows = []
    for (layers, part, dataset), curve in curves.groupby(["layers", "part", "dataset"]):
        d = curve.set_index("step")["d"].sort_index()
        below_from_here = (d < 0)[::-1].cummin()[::-1]
        rows.append(
            {
                "layers": layers,
                "part": part,
                "text": dataset.replace("_", " "),
                "first step": int(d.index[0]),
                "first": d.iloc[0],
                "most": d.max(),
                "steps": int(d.index[-1]),
                "end": d.iloc[-1],
                "last step above 0": int(d.index[d > 0].max()) if (d > 0).any() else 0,
                "below 0 from": int(below_from_here.idxmax()) if below_from_here.any() else 0,
            }
        )
    return pd.DataFrame(rows)


def gaps_over_training(course: pd.DataFrame) -> pd.DataFrame:
    """Encoder less decoder in released median d, by depth and text: at the first recorded step, and at the end."""
    wide = course.pivot(index=["layers", "text"], columns="part", values=["first", "end"])
    gaps = {when: wide[when]["encoder"] - wide[when]["decoder"] for when in ("first", "end")}
    return pd.DataFrame(gaps).reset_index()


def random_median_sd(layers: int) -> float:
    """Spread of the median over layers of d, by the released formula, at random, for a trained model of that depth.

    That of the median of many normal numbers: for 12 layers too large by a twentieth, for 4 by a seventh.
    """
    return directionality_sd(trained_widths()[layers], convention=Convention.RELEASED) * math.sqrt(math.pi / 2 / layers)


def random_gap_sd(layers: int) -> float:
    """Spread of the difference of that median between two such models."""
    return math.sqrt(2) * random_median_sd(layers)


@check(evidence)
def columns_over_training(e: Evidence) -> Judgement:
    """Section 4.1, Figures 3b and S3b: columns come to dominate in decoders, but early rather than incrementally."""
    course = released_course(e.released)
    decoders = course[course["part"] == "decoder"]
    deep, small = (decoders[decoders["layers"] == layers] for layers in (12, 4))
    dominant = decoders["end"] < 0
    grown, grown_small = (models["end"] < models["first"] for models in (deep, small))
    gaps = gaps_over_training(course).query("layers == 12")
    cases = arm_cases(e.runs, DECODER, change, "recorded", -1)
    return Judgement(
        counted("dominant", dominant),
        compare("early", deep["first"].max(), "<", 0, SPREADS * random_median_sd(12), n=len(deep)),
        counted("grown", grown, "<"),
        counted("grown, 4 layers", grown_small),
        counted("narrowed", gaps["end"] < gaps["first"]),
        *joined(cases, spoken_of()),
        n=len(decoders),
        deep=len(deep),
        small=len(small),
        dominant=dominant.sum(),
        grown=grown.sum(),
        grown_small=grown_small.sum(),
        first_step=deep["first step"].iloc[0],
        steps=deep["steps"].iloc[0],
        first=extent(deep["first"], as_score),
        end=extent(deep["end"], as_score),
        moves=extent(deep["end"] - deep["first"], as_score),
        spread=random_gap_sd(12),
        recorded=in_words(cases),
    )
