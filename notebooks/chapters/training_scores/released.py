"""The authors' models over the course of training, as an audit read their released files.

The released files have the scores of every layer; this project's copy keeps median, quartiles and extremes over the
layers, and not their order. It tells that some layers are skew, and not whether these are the middle ones.
"""

import math
from functools import cache

import pandas as pd

from attngeo.bilinear.random_matrices import directionality_sd
from attngeo.bilinear.scores import Convention
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.numbers_in_words import as_percent
from livingpaper.claims.published import read_published, trained_widths
from livingpaper.claims.results import Comparison, Relation, compare
from livingpaper.claims.seed_intervals import Case

LETTERS = {"s": "symmetry", "d": "directionality"}
SCATTER = 2  # spreads of random models within which a difference between two models of one seed says nothing
SPREADS = 4  # of a random matrix, or model, beyond which a score is not random


@cache
def released_training() -> pd.DataFrame:
    """Scores over training of the models behind Figures 3, S3 and S4, as the authors released them; one seed each.

    Returns:
        Columns layers (12 or 4), part (encoder or decoder), text, step (seven between 1000 and 200000), and over the
        layers of both scores: median (s, d), quartiles, of s also the extremes. Symmetry lies in [-1, 1];
        directionality has the sign of Def. 3.2 and the released code's formula. An audit read them from the released
        files; this project has not read those itself.
    """
    curves = read_published("released_training")
    return curves.assign(text=curves["dataset"].str.replace("_", " ").str.title()).drop(columns="dataset")


def released_last() -> pd.DataFrame:
    """Released numbers at the last step, a model in a row."""
    return released_training()[lambda curves: curves["step"] == curves["step"].max()]


def released_ends(score: str) -> pd.DataFrame:
    """Released medians at the last step: columns layers, text, encoder, decoder."""
    return released_last().pivot(index=["layers", "text"], columns="part", values=score).reset_index()


def released_course() -> pd.DataFrame:
    """Released medians of d over training, a model in a row: at its first recorded step, at its most, at its end."""
    rows = []
    for (layers, part, title), curve in released_training().groupby(["layers", "part", "text"]):
        d = curve.set_index("step")["d"].sort_index()
        below_from_here = (d < 0)[::-1].cummin()[::-1]
        rows.append(
            {"layers": layers, "part": part, "text": title, "first step": int(d.index[0]), "first": d.iloc[0]}
            | {"most": d.max(), "steps": int(d.index[-1]), "end": d.iloc[-1]}
            | {"last step above 0": int(d.index[d > 0].max()) if (d > 0).any() else 0}
            | {"below 0 from": int(below_from_here.idxmax()) if below_from_here.any() else 0}
        )
    return pd.DataFrame(rows)


def decoders_of_12_layers() -> pd.DataFrame:
    """Their released numbers at the last step, a text in a row."""
    return released_last().query("layers == 12 and part == 'decoder'")


def skew_shares(decoders: pd.DataFrame) -> str:
    """``(1 - s) / 2`` of the most skew layer of each decoder: from the least to the largest."""
    shares = (1 - decoders["s_min"]) / 2
    return " to ".join(dict.fromkeys(map(as_percent, (shares.min(), shares.max()))))


def random_median_sd(layers: int) -> float:
    """Spread of the median over layers of d, by the released formula, at random, for a trained model of that depth.

    That of the median of many normal numbers: for 12 layers too large by a twentieth, for 4 by a seventh.
    """
    return directionality_sd(trained_widths()[layers], convention=Convention.RELEASED) * math.sqrt(math.pi / 2 / layers)


def random_gap_sd(layers: int) -> float:
    """Spread of the difference of that median between two such models."""
    return math.sqrt(2) * random_median_sd(layers)


def scattered(label: str, words: str, value: float, spread: float, sign: int = 1) -> Case:
    """A difference of one seed, with the scatter of random models where an interval over seeds would be."""
    return Case(label, words, Estimate(value, value - SCATTER * spread, value + SCATTER * spread), sign)


def released_gaps(layers: int) -> list[Case]:
    """Encoder minus decoder in the authors' final median d, by dataset: one seed each, with `SCATTER` sd about it."""
    words = f"authors' {layers}-layer models, {{}}: $d$ of the encoder minus $d$ of the decoder"
    ends = released_ends("d").query("layers == @layers").set_index("text")
    gaps = (ends["encoder"] - ends["decoder"]).items()
    return [scattered(title, words.format(title), gap, random_gap_sd(layers)) for title, gap in gaps]


def released_pairs() -> pd.DataFrame:
    """Released medians of both scores at the last step, one row per depth and text."""
    columns = {f"{score}, {part}": released_ends(score)[part] for score in LETTERS for part in ("encoder", "decoder")}
    table = released_ends("s")[["layers", "text"]].assign(**columns)
    return table.sort_values(["layers", "text"], ascending=[False, True], ignore_index=True)


def counted(words: str, holds: pd.Series, relation: Relation = "=", paper: str | None = None) -> Comparison:
    """How many models something holds of, beside how many there are, ``{n}`` in the words."""
    return compare(words.format(n=len(holds)), holds.sum(), relation, len(holds), paper=paper)
