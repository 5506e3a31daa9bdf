"""Section 4.1, Figures 3 (b), S3 (b), S4: when columns come to dominate in training, and how far in decoders only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attngeo.chapters.training_scores.decoders import SPREADS
from attngeo.chapters.training_scores.encoders_and_decoders import (
    CHAPTER,
    DECODER,
    SECOND_HAND,
    encoders_and_decoders,
    recorded,
    released_ends,
)
from attngeo.chapters.training_scores.layers import layer_cases
from attngeo.chapters.training_scores.models import trained_widths
from attngeo.forms.random_matrices import directionality_sd
from attngeo.forms.scores import Convention
from attngeo.paper import published
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.paper.seed_intervals import Case, in_words, joined
from attngeo.runs.arms import Contrast
from attngeo.runs.estimates import NO_DIFFERENCE, TOO_FEW
from attngeo.runs.numbers_in_words import as_score, extent
from attngeo.runs.record import Run

CHANGE = "median $d$ at the end less at the start"


@dataclass(frozen=True)
class Move:
    """Directionality from start to end in one setting; the signs are those of encoders losing it, decoders gaining."""

    pair: Contrast
    encoder: Case  # d at the end less at the start, expected above 0
    decoder: Case  # expected below 0

    @property
    def source(self) -> str:
        """Which of the two moves the interval over seeds tells from 0, in words for a table."""
        if not self.encoder.known:
            return TOO_FEW
        found = [
            words
            for words, met in (("encoders lose it", self.encoder.met), ("decoders gain it", self.decoder.met))
            if met
        ]
        return ", ".join(found) or NO_DIFFERENCE


def change(run: Run) -> float:
    """Median d over the layers at the end less at the start (Definition 3.2): below 0 where columns gain."""
    return run.last("directionality") - run.first("directionality")


def moves(runs: Sequence[Run]) -> list[Move]:
    """How encoders and decoders of every setting move; of one seed both start alike."""
    found = []
    for pair in encoders_and_decoders(runs):
        sides = [
            Case(pair.label, CHANGE, arm.estimate(change), sign, len(arm))
            for arm, sign in ((pair.first, 1), (pair.second, -1))
        ]
        found.append(Move(pair, *sides))
    return found


def released_course() -> pd.DataFrame:
    """Released medians of d over training, a model in a row: at its first recorded step, at its least, at its end."""
    rows = []
    for (layers, part, dataset), curve in published.released_training().groupby(["layers", "part", "dataset"]):
        d = curve.set_index("step")["d"].sort_index()
        rows.append(
            {
                **{"layers": layers, "part": part, "text": dataset.replace("_", " ")},
                **{"first step": int(d.index[0]), "first": float(d.iloc[0])},
                **{"deepest step": int(d.idxmin()), "deepest": float(d.min())},
                **{"steps": int(d.index[-1]), "end": float(d.iloc[-1])},
                "last step above 0": int(d.index[d > 0].max()) if (d > 0).any() else 0,
                "below 0 from": int(d.index[(d < 0)[::-1].cummin()[::-1]].min()) if d.iloc[-1] < 0 else 0,
            }
        )
    return pd.DataFrame(rows)


def gaps_over_training() -> pd.DataFrame:
    """Encoder less decoder in released median d, by depth and text: at the first recorded step, and at the end."""
    course = released_course().pivot(index=["layers", "text"], columns="part", values=["first", "end"])
    gaps = {when: course[when]["encoder"] - course[when]["decoder"] for when in ("first", "end")}
    return pd.DataFrame(gaps).reset_index()


def random_median_sd(layers: int) -> float:
    """Spread of the median over layers of d, by the released formula, at random, for a trained model of that depth."""
    return directionality_sd(trained_widths()[layers], convention=Convention.RELEASED) * math.sqrt(math.pi / 2 / layers)


@claim
def columns_over_training(runs: Sequence[Run] | None = None) -> Result:
    """Section 4.1, Figures 3b and S3b: columns come to dominate in decoders, but early rather than incrementally."""
    cases = layer_cases(recorded() if runs is None else runs, DECODER, change, CHANGE, -1)
    course = released_course()
    decoders = course[course["part"] == "decoder"]
    deep, small = (decoders[decoders["layers"] == n] for n in (12, 4))
    gaps = gaps_over_training().query("layers == 12")
    first, steps = (int(deep[c].iloc[0]) for c in ("first step", "steps"))
    grown, grown_small = (int((t["end"] < t["first"]).sum()) for t in (deep, small))
    fallen = int((decoders["deepest"] < decoders["end"]).sum())
    beyond = SPREADS * random_median_sd(12)
    ends = extent(deep["end"], as_score)
    sentences = [
        f"Columns end dominant in {int((decoders['end'] < 0).sum())} of {len(decoders)} released decoders. In those of"
        f" 12 layers they are so at the first recorded step, {first} of {steps}: $d$ from"
        f" {extent(deep['first'], as_score)}, at the end {ends}. From that step to the end their dominance"
        f" grows in {grown} of {len(deep)} decoders of 12 layers and in {grown_small} of {len(small)} of 4; in {fallen}"
        f" of {len(decoders)} it was once greater."
    ]
    if joined(cases):
        sentences.append(f"Recorded decoders, $d$ at the end less at the start: {in_words(cases)}.")
    comparisons = (
        _count(f"released decoders of {len(decoders)}: $d < 0$ at the end", (decoders["end"] < 0), "="),
        Comparison(
            f"of {len(deep)} with 12 layers: $d$ at step {first}, nearest to 0", deep["first"].max(), "<", 0.0, beyond
        ),
        _count(f"of {len(deep)} with 12 layers: $d$ less at the end than then", deep["end"] < deep["first"], "<"),
        _count(f"of {len(small)} with 4 layers: the same", small["end"] < small["first"], "="),
        _count(f"of {len(decoders)}: $d$ less before the end than there", decoders["deepest"] < decoders["end"], "="),
        _count(
            f"pairs of {len(gaps)} with 12 layers: encoder less decoder in $d$ less at the end than at step {first}",
            gaps["end"] < gaps["first"],
            "=",
        ),
        *joined(cases),
    )
    return Result(
        "Section 4.1",
        "(columns over training)",
        "columns of high norm emerge incrementally while decoders train",
        Verdict.CORRECTED,
        comparisons,
        printed="Decoder-only models develop high-norm columns incrementally during training.",
        corrected=" ".join(sentences),
        remark=f"{SECOND_HAND} No scores were released of earlier steps.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


@claim
def directionality_differs_less_elsewhere(ends: pd.DataFrame | None = None) -> Result:
    """Figure S4: models on Jigsaw and Red Pajama differ less in directionality than on Wikipedia; on Jigsaw they do.

    Args:
        ends: `attngeo.chapters.training_scores.encoders_and_decoders.released_ends` of d by default.
    """
    ends = released_ends("d") if ends is None else ends
    gap = (ends["encoder"] - ends["decoder"]).set_axis(pd.MultiIndex.from_frame(ends[["layers", "dataset"]]))
    size = gap.abs()
    less = int((size[4] < size[12]).sum())
    told = ", ".join(f"{text.replace('_', ' ')} {as_score(value)}" for text, value in gap[12].items())
    return Result(
        "Figure S4",
        "(b), (d), encoders against decoders",
        "on Jigsaw and Red Pajama encoders and decoders differ less in directionality",
        Verdict.ASSUMPTIONS,
        (
            _less(size, 12, "jigsaw", "<"),
            _less(size, 12, "red_pajama", ">"),
            _count(
                f"of {len(size[4])} texts: difference smaller with 4 layers than with 12",
                size[4] < size[12],
                "=",
            ),
        ),
        printed="The models on the other datasets have less significant differences in directionality scores.",
        corrected=f"Released medians of 12 layers, encoder less decoder: {told}. The difference is smaller than on"
        f" Wikipedia on Jigsaw, where it has the other sign, and larger on Red Pajama. With 4 layers it is smaller than"
        f" with 12 on {less} of {len(size[4])} texts, and encoders are the more directional on"
        f" {int((gap[4] < 0).sum())}.",
        remark="One seed each, read by an audit; size alone is compared. The sentence may mean differences between"
        " layers, which this project's copy does not tell.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def _less(size: pd.Series, layers: int, dataset: str, relation: str) -> Comparison:
    words = f"released, {layers} layers: difference in $d$ on {dataset.replace('_', ' ')}, less that on wikipedia"
    return Comparison(words, float(size[layers, dataset] - size[layers, "wikipedia"]), relation, 0.0, 0.0)


def _count(words: str, holds: pd.Series, relation: str) -> Comparison:
    """How many models something holds of, beside how many there are."""
    return Comparison(words, float(holds.sum()), relation, float(len(holds)), 0.0)
