"""Section 4.1, Figures 3 (c) and S4 (a, c), decoders: median symmetry near zero, and layers that are skew.

The released files have the scores of every layer; this project's copy keeps median, quartiles and extremes over the
layers, and not their order. It tells that some layers are skew, and not whether these are the middle ones.
"""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.training_scores.encoders_and_decoders import (
    CHAPTER,
    DECODER,
    SECOND_HAND,
    encoders_and_decoders,
    recorded,
    released_ends,
    released_last,
)
from attngeo.chapters.training_scores.layers import (
    INTERVALS,
    decoder_cases,
    elsewhere,
    last_scores,
    layer_cases,
    on_wikipedia,
)
from attngeo.chapters.training_scores.models import trained_widths
from attngeo.forms.random_matrices import symmetry_sd
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.paper.seed_intervals import Case, in_words, joined, judged
from attngeo.runs.numbers_in_words import as_score, extent
from attngeo.runs.record import Run

SPREADS = 4  # of a random matrix, or model, beyond which a score is not random
TEXTS = ("jigsaw", "red_pajama", "wikipedia")
SKEW = "Decoder-only models learn strong skew-symmetric matrices in the middle layers."


@claim
def decoders_almost_non_symmetric(runs: Sequence[Run] | None = None) -> Result:
    """Section 4.1: decoders end almost non-symmetric, nearer to s = 0 than encoders; of 12 layers, not of 4."""
    cases = [
        Case(p.label, "$|s|$ at the end, encoder less decoder", p.difference(_size), seeds=len(p))
        for p in encoders_and_decoders(recorded() if runs is None else runs)
    ]
    ends = released_ends("s").assign(share=lambda t: (t["decoder"] / t["encoder"]).abs())
    deep, small = (ends[ends["layers"] == n] for n in (12, 4))
    around = _decoders_of_12_layers(TEXTS).eval("s_q1 < 0 < s_q3")
    nearer = int((small["share"] < 1).sum())
    sentences = [
        f"So the released decoders of 12 layers in the median: $s$ from {extent(deep['decoder'], as_score)}, in size"
        f" {deep['share'].min():.0%} to {deep['share'].max():.0%} of the encoder's, with a quarter of the layers or"
        f" more on either side of 0. Those of 4 layers end at $s$ from {extent(small['decoder'], as_score)},"
        f" nearer to 0 than the encoder on {nearer} of {len(small)} texts."
    ]
    if joined(cases):
        sentences.append(f"In runs recorded here, $|s|$ of encoder less decoder: {in_words(cases)}.")
    return Result(
        "Section 4.1",
        "(decoders, symmetry)",
        "decoders end almost non-symmetric",
        Verdict.ASSUMPTIONS,
        (
            *(
                Comparison(
                    f"released, 12 layers, {_spaced(row.dataset)}: $|s|$ of the decoder, share of the encoder's",
                    row.share,
                    "<",
                    1.0,
                    0.0,
                )
                for row in deep.itertuples()
            ),
            Comparison(
                f"released decoders of 12 layers, of {len(around)}: quartiles of $s$ on both sides of 0",
                float(around.sum()),
                "=",
                float(len(around)),
                0.0,
            ),
            Comparison(
                f"released decoders of 4 layers, of {len(small)}: $|s|$ less than the encoder's",
                float(nearer),
                "<",
                float(len(small)),
                0.0,
            ),
            *joined(cases),
        ),
        printed="Decoder-only models learn almost non-symmetric matrices.",
        corrected=" ".join(sentences).replace("%", "\N{NO-BREAK SPACE}%"),
        remark=SECOND_HAND,
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def skew_shares(datasets: Sequence[str] = TEXTS) -> str:
    """``(1 - s) / 2`` of the most skew layer of the released decoders of 12 layers: from the least to the largest."""
    shares = (1 - _decoders_of_12_layers(datasets)["s_min"]) / 2
    words = dict.fromkeys(f"{share:.0%}" for share in (shares.min(), shares.max()))
    return " to ".join(words).replace("%", "\N{NO-BREAK SPACE}%")


@claim
def skew_layers_on_wikipedia(runs: Sequence[Run] | None = None) -> Result:
    """Figure 3 (c), right: some layers of decoders end skew, s < 0."""
    return _skew("Figure 3", "(c), decoders, skew layers", on_wikipedia(runs), ["wikipedia"])


@claim
def skew_layers_elsewhere(runs: Sequence[Run] | None = None) -> Result:
    """Figure S4 (a, c), right: some layers of decoders end skew, on other texts."""
    return _skew("Figure S4", "(a), (c), decoders, skew layers", elsewhere(runs), ["jigsaw", "red_pajama"])


@claim
def middle_layers_on_wikipedia(runs: Sequence[Run] | None = None) -> Result:
    """Figure 3 (c), right: the middle layers of decoders end skew."""
    return _middle("Figure 3", "(c), decoders, middle layers", on_wikipedia(runs))


@claim
def middle_layers_elsewhere(runs: Sequence[Run] | None = None) -> Result:
    """Figure S4 (a, c), right: the middle layers of decoders end skew, on other texts."""
    return _middle("Figure S4", "(a), (c), decoders, middle layers", elsewhere(runs))


def _skew(statement: str, part: str, runs: Sequence[Run], datasets: Sequence[str]) -> Result:
    tolerance = SPREADS * symmetry_sd(trained_widths()[12])
    released = [
        Comparison(f"released, 12 layers, {_spaced(row.dataset)}: {words} over the layers", value, "<", 0.0, tolerance)
        for row in _decoders_of_12_layers(datasets).itertuples()
        for words, value in (("least $s$", row.s_min), ("first quartile of $s$", row.s_q1))
    ]
    strongly = (
        f"Tolerance: {SPREADS} spreads of a random matrix of that width. What is strongly skew, the paper does not say;"
        f" of the squared norm of the most skew layer {skew_shares(datasets)} is skew-symmetric, half of it at random."
    )
    shared = {
        **{"statement": statement, "part": part, "title": "some layers of decoders end skew"},
        **{"comparisons": tuple(released), "remark": f"{SECOND_HAND} {strongly}", "chapter": CHAPTER},
    }
    cases = layer_cases(
        runs, DECODER, lambda run: float(last_scores(run, "symmetry").min()), "least $s$ of a layer", -1
    )
    return judged(shared, cases, SKEW, "Some released layers of each decoder are skew. Least $s$ of a layer here")


def _middle(statement: str, part: str, runs: Sequence[Run]) -> Result:
    shared = {
        **{"statement": statement, "part": part, "title": "the middle layers of decoders end skew"},
        **{"remark": f"Of the released layers this project's copy keeps no order. {INTERVALS}", "chapter": CHAPTER},
    }
    return judged(shared, decoder_cases(runs), SKEW, "Mean $s$ of the middle half of the layers")


def _decoders_of_12_layers(datasets: Sequence[str]) -> pd.DataFrame:
    last = released_last()
    return last[(last["layers"] == 12) & (last["part"] == "decoder") & last["dataset"].isin(datasets)]


def _size(run: Run) -> float:
    return abs(run.last("symmetry"))


def _spaced(dataset: str) -> str:
    return dataset.replace("_", " ")
