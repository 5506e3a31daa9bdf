"""Section 4.1, Figures 3 and S3: encoders against decoders, in recorded runs and in the released medians."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attngeo.forms.random_matrices import symmetry_mean, symmetry_sd
from attngeo.paper import published
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.paper.seed_intervals import Case, in_words, joined, judged
from attngeo.records.checkout import data
from attngeo.runs.arms import Arm, Contrast, Measure, arms
from attngeo.runs.arms import contrasts as contrasts_between
from attngeo.runs.estimates import over_seeds
from attngeo.runs.record import Run, read_runs

CHAPTER = "training_scores"
ENCODER, DECODER = "mlm", "clm"
WIKIPEDIA = "wikipedia"
GROWS = "As symmetric updates are added, symmetric structures emerge incrementally during the training of encoders."
SECOND_HAND = "Released medians: one seed each, read by an audit. Recorded runs: intervals of 95 % over seeds."


def from_random(config: dict[str, Any]) -> bool:
    """Whether a run starts at random, with nothing but the prediction in its loss: those of Figures 3, S3 and S4."""
    return config["init"] == "random" and config["constraint"] == "none"


def recorded() -> list[Run]:
    """The recorded runs that start at random."""
    return read_runs(data("runs"), keep=from_random)


def encoders_and_decoders(runs: Sequence[Run]) -> list[Contrast]:
    """Encoders beside decoders of the same model and text, each arm in one pair; their numbers of steps may differ."""
    free = [r for r in runs if from_random(r.config)]
    return contrasts_between(free, "objective", ENCODER, DECODER, free=("steps",), once=True)


def contrasts(runs: Sequence[Run], score: str) -> list[Case]:
    """Encoder less decoder in a score at the end, the paper's sign being plus: s is larger, d less negative."""
    return [
        Case(pair.label, "encoder less decoder", pair.difference(score), seeds=len(pair))
        for pair in encoders_and_decoders(runs)
    ]


def at_equal_steps(runs: Sequence[Run], score: str) -> list[Case]:
    """`contrasts` where the arm of fewer steps ends: both after the same number, though not of the same schedule."""
    cases = []
    for pair in encoders_and_decoders(runs):
        step = min(int(arm.runs[0].curve(score).index[-1]) for arm in (pair.first, pair.second))
        words = f"encoder less decoder at step {step}"
        cases.append(Case(pair.label, words, pair.difference(_median_by(score, step)), seeds=len(pair)))
    return cases


def released_last() -> pd.DataFrame:
    """Released numbers at the last step, a model in a row; columns of `attngeo.paper.published.released_training`."""
    curves = published.released_training()
    return curves[curves["step"] == curves["step"].max()]


def released_ends(score: str) -> pd.DataFrame:
    """Released medians at the last step: columns layers, dataset, encoder, decoder."""
    last = released_last()
    return last.pivot(index=["layers", "dataset"], columns="part", values=score).reset_index()


@claim
def symmetry_in_training(runs: Sequence[Run] | None = None) -> Result:
    """Section 4.1: encoders end more symmetric than decoders, in the released medians and in each recorded setting."""
    cases = contrasts(recorded() if runs is None else runs, "symmetry")
    ends = released_ends("s")
    n = float((ends["encoder"] > ends["decoder"]).sum())
    words = f"released pairs of {len(ends)}: encoder's median $s$ the larger"
    released = Comparison(words, n, "=", float(len(ends)), 0.0)
    shared = {
        "statement": "Section 4.1",
        "part": "(symmetry)",
        "title": "encoders end more symmetric than decoders, on every text",
        "comparisons": (released,),
        "remark": SECOND_HAND,
        "chapter": CHAPTER,
    }
    printed = "Encoder-only models show a higher degree of symmetry than decoder-only models, on all datasets."
    return judged(shared, cases, printed, "Median $s$ at the end, encoder less decoder")


@claim
def directionality_in_training(runs: Sequence[Run] | None = None) -> Result:
    """Section 4.1: decoders end more column-dominated than encoders in some released pairs only; and in our runs."""
    cases = contrasts(recorded() if runs is None else runs, "directionality")
    ends = released_ends("d")
    n, of = int((ends["encoder"] > ends["decoder"]).sum()), len(ends)
    deep = ends[ends["layers"] == 12]
    in_deep = int((deep["encoder"] > deep["decoder"]).sum())
    sentence = f"In the released final medians decoders are the more column-dominated in {n} of {of} pairs"
    ours = f"In the runs recorded here, encoder less decoder: {in_words(cases)}." if joined(cases) else ""
    return Result(
        "Section 4.1",
        "(directionality)",
        "decoders end more directional than encoders, on every text",
        Verdict.CORRECTED,
        (
            Comparison(
                f"released pairs of {of}: decoder's median $d$ the more negative", float(n), "<", float(of), 0.0
            ),
            Comparison(f"of these with 12 layers, of {len(deep)}", float(in_deep), "<", float(len(deep)), 0.0),
            *joined(cases),
        ),
        printed="Decoder-only models have a higher directionality score, on all datasets tested.",
        corrected=f"{sentence} ({in_deep} of {len(deep)} with 12 layers). {ours}".strip(),
        remark=SECOND_HAND,
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def climb(arm: Arm) -> dict[str, Any]:
    """How median symmetry moves in an arm: start, peak of the mean curve, end; growth, and `fall_from_peak`."""
    curves = arm.curves("symmetry")
    mean = curves.mean(axis=1)
    peak = int(mean.idxmax())
    return {
        "seeds": len(arm),
        "start": float(mean.iloc[0]),
        "peak": float(mean[peak]),
        "peak step": peak,
        "end": float(mean.iloc[-1]),
        "steps": int(mean.index[-1]),
        "growth": over_seeds((curves.iloc[-1] - curves.iloc[0]).tolist()),
        "fall": over_seeds(fall_from_peak(curves)),
    }


def fall_from_peak(curves: pd.DataFrame) -> list[float]:
    """Of every seed (column): its value where the mean of the *other* seeds peaks, less its value at the end.

    A peak chosen on the curve that it is then measured on lies above the end by chance alone.
    """
    falls = []
    for seed in curves:
        others = curves.drop(columns=seed) if curves.shape[1] > 1 else curves
        falls.append(float(curves.at[others.mean(axis=1).idxmax(), seed] - curves[seed].iloc[-1]))
    return falls


def climbs(runs: Sequence[Run], objective: str = ENCODER) -> list[dict[str, Any]]:
    """`climb` of every arm of an objective, with its text, those with most seeds first."""
    found = arms([r for r in runs if from_random(r.config) and r.config["objective"] == objective])
    return [{"text": arm.label, **climb(arm)} for arm in found]


@claim
def growth_on_wikipedia(runs: Sequence[Run] | None = None) -> Result:
    """Figure 3 (a): the symmetry of encoders grows in training on Wikipedia; whether it falls again is told."""
    runs = recorded() if runs is None else runs
    return _growth("Figure 3", [r for r in runs if r.about["corpus"]["name"] == WIKIPEDIA], ["wikipedia"])


@claim
def growth_on_other_texts(runs: Sequence[Run] | None = None) -> Result:
    """Figure S3 (a): the same on other texts."""
    runs = recorded() if runs is None else runs
    others = [r for r in runs if r.about["corpus"]["name"] != WIKIPEDIA]
    return _growth("Figure S3", others, ["jigsaw", "red_pajama"])


@claim
def recorded_starts(runs: Sequence[Run] | None = None) -> Result:
    """Section 4.1: before the first step the layers of the recorded models have scores of random matrices, not zero."""
    starts = [
        r.layer_scores()[lambda t: t["step"] == 0].assign(d=r.config["d_model"])
        for r in (recorded() if runs is None else runs)
    ]
    layers = pd.concat(starts) if starts else pd.DataFrame(columns=["symmetry", "d"])
    layers = layers.drop_duplicates("symmetry")  # runs of one seed and size start alike
    mean, sd = (np.array([f(d) for d in layers["d"]]) for f in (symmetry_mean, symmetry_sd))
    z = (layers["symmetry"].to_numpy(float) - mean) / sd
    n = len(z)
    comparisons = (
        ()
        if n < 2
        else (
            Comparison(
                f"$s$ less 1/width, in units of its spread, mean over {n} layers",
                float(z.mean()),
                "=",
                0.0,
                4 / n**0.5,
                n**-0.5,
            ),
            Comparison(
                "the same, standard deviation", float(z.std(ddof=1)), "=", 1.0, 4 / (2 * n) ** 0.5, (2 * n) ** -0.5
            ),
            Comparison("layers with $s = 0$", float((layers["symmetry"] == 0).sum()), "=", 0.0, 0.0),
        )
    )
    return Result(
        "Section 4.1",
        "(initialisation of recorded runs)",
        "symmetry at the start of training",
        Verdict.ASSUMPTIONS,
        comparisons,
        printed="At initialisation the symmetry score of $W_{qk}$ is zero at any layer.",
        corrected="It is that of a random matrix: 1/width on average, with a spread of about $\\sqrt{2}$/width.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def _median_by(score: str, step: int) -> Measure:
    """Median over layers at the last recorded step that does not exceed another."""
    return lambda run: float(run.curve(score).loc[:step].iloc[-1])


def _growth(statement: str, runs: Sequence[Run], datasets: Sequence[str]) -> Result:
    found = climbs(runs)
    cases = [
        Case(c["text"], "encoders, $s$ at the end less at the start", c["growth"], seeds=c["seeds"]) for c in found
    ]
    descents = [Case(c["text"], f"$s$ at its peak, step {c['peak step']}, less at the end", c["fall"]) for c in found]
    fallen = [case for case in descents if case.met]
    shared = {
        "statement": statement,
        "part": "(a), encoders over training",
        "title": "the symmetry of encoders grows in training",
        "comparisons": (*_released_growth(datasets), *joined(fallen)),
        "remark": SECOND_HAND,
        "chapter": CHAPTER,
    }
    result = judged(shared, cases, GROWS, "Median $s$ at the end less at the start")
    if not fallen:
        return result
    falls = f"In runs recorded here it falls again after its peak: {in_words(fallen)}."
    if result.verdict is Verdict.HOLDS:
        result = replace(result, verdict=Verdict.ASSUMPTIONS, printed=GROWS, flaw=Flaw.ASSUMPTION)
    return replace(result, corrected=f"{result.corrected} {falls}".strip())


def _released_growth(datasets: Sequence[str]) -> list[Comparison]:
    curves = published.released_training()
    curves = curves[(curves["part"] == "encoder") & curves["dataset"].isin(datasets)]
    comparisons = []
    for (layers, dataset), rows in curves.groupby(["layers", "dataset"]):
        s = rows.set_index("step")["s"]
        words = (
            f"released, {layers} layers, {dataset.replace('_', ' ')}: $s$ at step {s.index[-1]} less at {s.index[0]}"
        )
        comparisons.append(Comparison(words, float(s.iloc[-1] - s.iloc[0]), ">", 0.0, 0.0))
    return comparisons
