"""The chapter *Scores during training* (``notebooks/training_scores.py``): its numbers, tables and figures.

The released files have the scores of every layer; this project's copy keeps median, quartiles and extremes over the
layers, and not their order. It tells that some layers are skew, and not whether these are the middle ones.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attngeo.bilinear.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.bilinear.scores import Convention
from chapters.training_scores.planned import DECODER, ENCODER, planned_pairs
from livingpaper.claims.published import read_published, trained_widths
from livingpaper.claims.results import Comparison, Relation, compare
from livingpaper.claims.seed_intervals import Case, Training, joined, too_small
from attngeo.plot.style import LAYERS, NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, Arm, Contrast, Measure, arms, contrasts
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import (
    as_percent,
    as_score,
    extent,
    joined_by_and,
    number,
    share_of,
    spelled,
    with_interval,
)
from attngeo.experiments.runs.record import Run

SCORES = {"symmetry": "symmetry s", "directionality": "directionality d"}
LETTERS = {"s": "symmetry", "d": "directionality"}
SETTLED = 0.05  # of symmetry
SCATTER = 2  # spreads of random models within which a difference between two models of one seed says nothing
SPREADS = 4  # of a random matrix, or model, beyond which a score is not random
RELEASED = "authors' models, 12 layers"
LINES = {12: "-", 4: "--"}  # by number of layers
STANDS_FOR = {"commoncrawl": "Red Pajama", "wikipedia": "Wikipedia", "jigsaw": "Jigsaw"}  # our text: the paper's
FORMULAS = {
    "Definition 3.2": "directionality",
    "Table S3": "directionality_tables",
    "authors' code": "directionality_released",
}


# The released models


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


def counted(words: str, holds: pd.Series, relation: Relation = "=", paper: str | None = None) -> Comparison:
    """How many models something holds of, beside how many there are, ``{n}`` in the words."""
    return compare(words.format(n=len(holds)), holds.sum(), relation, len(holds), paper=paper)


# The recorded runs


def recorded(on_wikipedia: bool | None = None) -> list[Run]:
    """Runs of ``data/runs`` that start at random, with nothing but the prediction in their loss, as in Figure 3.

    ``on_wikipedia`` tells whether their text is that of Figure 3, or another as in Figures S3 and S4; by default all.
    """
    runs = recorded_runs(data("runs"), lambda config: (config["init"], config["constraint"]) == ("random", "none"))
    return [run for run in runs if on_wikipedia in (None, run.about["corpus"]["name"] == "wikipedia")]


def pairs_of(runs: Sequence[Run]) -> list[Contrast]:
    """Encoders beside decoders of the same model and text, each arm in one pair; their numbers of steps may differ."""
    return contrasts(runs, "objective", ENCODER, DECODER, free=("steps",), once=True)


def arms_of(runs: Sequence[Run], objective: str) -> list[Arm]:
    """Runs of an objective that differ in their seed only, those with most seeds first."""
    return arms(run for run in runs if run.config["objective"] == objective)


def case(unit: Arm | Contrast, words: str, estimate: Estimate, sign: int = 1) -> Case:
    """An estimate over the seeds of an arm or a pair, with the sign that the paper gives it."""
    config = (unit.first if isinstance(unit, Contrast) else unit).config
    quantity = f"our models, {unit.label}: {words} ({len(unit)} seeds)"
    return Case(unit.label, quantity, estimate, sign, training=Training.of(config))


def in_arms(runs: Sequence[Run], objective: str, measure: Measure, words: str, sign: int = 1) -> list[Case]:
    """A measure in every arm of an objective."""
    return [case(arm, words, arm.estimate(measure), sign) for arm in arms_of(runs, objective)]


def encoder_minus_decoder(measure: Measure, words: str) -> list[Case]:
    """Difference in a final measure in all our pairs, the planned ones last; the paper's sign is plus in s and in d."""
    planned = [pair for _, _, pair in planned_pairs()]
    return [case(pair, words, pair.difference(measure)) for pair in (*pairs_of(recorded()), *planned)]


def at_equal_steps(pair: Contrast, score: str) -> Case:
    """Encoder minus decoder where the arm of fewer steps ends: after as many steps, though not of the same schedule."""
    step = min(arm.runs[0].curve(score).index[-1] for arm in (pair.first, pair.second))
    return case(pair, score, pair.difference(lambda run: run.curve(score).loc[:step].iloc[-1]))


def change(run: Run) -> float:
    """Median d over the layers at the end minus at the start (Definition 3.2): below 0 where columns gain."""
    return run.last("directionality") - run.first("directionality")


def least_layer(run: Run) -> float:
    """Lowest symmetry score of any layer at the last step."""
    return float(run.by_layer("symmetry").iloc[-1].min())


def middle_s(run: Run) -> float:
    """Mean symmetry of the middle half of the layers at the last step: layers 2 and 3 of 4, 4 to 9 of 12."""
    s = run.by_layer("symmetry").iloc[-1]
    return float(s.iloc[len(s) // 4 : len(s) - len(s) // 4].mean())


def settles_late_less_early(run: Run) -> float:
    """Share of training until a layer's symmetry stays within `SETTLED` of its end: late half minus early half."""
    s = run.by_layer("symmetry")
    away = (s - s.iloc[-1]).abs() > SETTLED
    last_away = away.mul(s.index.to_numpy(), axis=0).max()  # the last step at which each layer is still away
    return late_less_early(last_away) / s.index[-1]


def late_less_early(by_layer: pd.Series) -> float:
    """Mean of the second half of the layers minus that of the first half."""
    half = len(by_layer) // 2
    return float(by_layer.iloc[-half:].mean() - by_layer.iloc[:half].mean()) if half else 0.0


def cases_of_layers(runs: Sequence[Run]) -> dict[str, dict[str, list[Case]]]:
    """What Section 4.1 states about early, middle and late layers, measured: by statement and words, a case per arm."""
    settling = (
        f"share of the steps until $s$ stays within {SETTLED:g} of its final value, late layers minus early layers"
    )
    late_s, late_d = (lambda run, of=score: late_less_early(run.by_layer(of).iloc[-1]) for score in SCORES)
    late = "{} of late layers minus {} of early layers"
    measures = {
        "encoders": ((ENCODER, late_s, late.format("$s$", "$s$"), 1), (ENCODER, settles_late_less_early, settling, -1)),
        "middle": ((DECODER, middle_s, "$s$ of the middle layers", -1),),
        "directionality": tuple((objective, late_d, late.format("$d$", "$d$"), -1) for objective in (ENCODER, DECODER)),
    }
    found: dict[str, dict[str, list[Case]]] = {}
    for statement, of in measures.items():
        told = ((o, measure, f"{PARTS[o]}s, {words}", sign) for o, measure, words, sign in of)
        found[statement] = {words: in_arms(runs, o, measure, words, sign) for o, measure, words, sign in told}
    gap = "this difference in decoders minus this difference in encoders"
    gaps = [case(pair, gap, pair.difference(lambda run: -late_d(run)), -1) for pair in pairs_of(runs)]
    found["directionality"][gap] = gaps
    return found


class Climb(NamedTuple):
    """How median symmetry moves in an arm."""

    arm: Arm
    mean: pd.Series  # over seeds, by step
    growth: Estimate  # the end minus the start
    fall: Estimate  # `fall_from_peak`


def climb_of(arm: Arm) -> Climb:
    """Of one arm of encoders."""
    curves = arm.curves("symmetry")
    growth = over_seeds(curves.iloc[-1] - curves.iloc[0])
    return Climb(arm, curves.mean(axis=1), growth, over_seeds(fall_from_peak(curves)))


def climbs(runs: Sequence[Run]) -> list[Climb]:
    """Of every arm of encoders, those with most seeds first."""
    return [climb_of(arm) for arm in arms_of(runs, ENCODER)]


def fall_from_peak(curves: pd.DataFrame) -> list[float]:
    """Of every seed (column): its value where the mean of the *other* seeds peaks, minus its value at the end.

    A peak chosen on the curve that it is then measured on lies above the end by chance alone.
    """
    falls = []
    for seed in curves:
        others = curves.drop(columns=seed) if curves.shape[1] > 1 else curves
        falls.append(float(curves.at[others.mean(axis=1).idxmax(), seed] - curves[seed].iloc[-1]))
    return falls


def beside(cases: Sequence[Case]) -> tuple[Comparison, ...]:
    """What our runs show: they are smaller than the models of Section 4.1, so they are shown and decide nothing."""
    too_small(cases, spoken_of())  # asserted
    return joined(cases, spoken_of())


def spoken_of() -> Training:
    """The smallest models that Section 4.1 considers.

    It opens with those of 12 layers, and Figures 3, S3 and S4 show no others.
    """
    return Training.of_paper(12)


def doubt(cases: Sequence[Case]) -> str:
    """Says that our models are too small to affect the verdict; nothing if none of them has an interval."""
    known = [case for case in cases if case.known]
    return too_small(known, spoken_of()) if known else ""


# Tables


def released_pairs() -> pd.DataFrame:
    """Released medians of both scores at the last step, one row per depth and text."""
    columns = {f"{score}, {part}": released_ends(score)[part] for score in LETTERS for part in ("encoder", "decoder")}
    table = released_ends("s")[["layers", "text"]].assign(**columns)
    return table.sort_values(["layers", "text"], ascending=[False, True], ignore_index=True)


def contrast_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder beside decoder in every recorded setting, a row per score: both at the end, difference with interval.

    The last column has the released difference in s: in d the formulas differ (`formula_table`).
    """
    rows = []
    for pair in pairs_of(runs):
        steps = "\u00a0/\u00a0".join(dict.fromkeys(str(arm.config["steps"]) for arm in (pair.first, pair.second)))
        for letter, score in LETTERS.items():
            rows.append(
                {"setting": pair.label, "steps": steps, "seeds": len(pair), "score": letter}
                | {"encoder": as_score(pair.first.mean(score)), "decoder": as_score(pair.second.mean(score))}
                | {"difference": with_interval(pair.difference(score), as_score)}
                | {RELEASED: released_difference(pair, "s") if letter == "s" else "–"}
            )
    return pd.DataFrame(rows)


def formula_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder minus decoder in directionality at the end, by each formula that the paper's numbers rest on.

    Beside that of the released code stands the difference in the released models, which by the audit follows it.
    """
    return pd.DataFrame(
        {"setting": pair.label, "seeds": len(pair)}
        | {words: with_interval(pair.difference(score), as_score) for words, score in FORMULAS.items()}
        | {RELEASED: released_difference(pair, "d")}
        for pair in pairs_of(runs)
    )


def released_difference(pair: Contrast, letter: str) -> str:
    """Encoder minus decoder of the released models of 12 layers on a text or the one it stands for, or a dash."""
    ends = released_ends(letter).query("layers == 12").set_index("text")
    name = pair.first.runs[0].about["corpus"]["name"]
    title = STANDS_FOR.get(name, name)
    return as_score(ends["encoder"][title] - ends["decoder"][title]) if title in ends.index else "–"


# Figures


def score_axes(panels: Iterable[Axes]) -> None:
    """The range that both scores have, and their zero."""
    for panel in panels:
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set_ylim(-1.05, 1.05)


@house_style()
def released_over_steps() -> CaptionedFigure:
    """Released medians over steps, a column per text: s of both models, and d of the encoder minus d of the decoder."""
    figure, grid = new_figure(8.6, 4.2, rows=2, columns=3, sharex=True, sharey="row")
    for (upper, lower), title in zip(grid.T, ("Wikipedia", "Red Pajama", "Jigsaw"), strict=True):
        curves = released_training().query("text == @title").set_index("step")
        for (layers, part), rows in curves.groupby(["layers", "part"], sort=False):
            look = {"color": PART_COLOURS[part], "linestyle": LINES[layers]}
            upper.plot(rows["s"], label=f"{part}, {layers} layers", marker=".", **look)
            upper.fill_between(rows.index, rows["s_q1"], rows["s_q3"], color=look["color"], alpha=0.1, linewidth=0)
        for layers, of_depth in curves.groupby("layers"):
            gap = of_depth.pivot(columns="part", values="d").eval("encoder - decoder")
            lower.plot(gap, color="black", linestyle=LINES[layers], marker=".", label=f"difference, {layers} layers")
            band = SCATTER * random_gap_sd(layers)
            lower.axhspan(-band, band, color=NEUTRAL, alpha=0.18, linewidth=0)
        upper.set_title(title)
        lower.set(xlabel="step", xscale="log")  # shared
    for panel in grid.flat:
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    grid[0, 0].set(ylabel=SCORES["symmetry"], ylim=(-1.05, 1.05))
    grid[1, 0].set(ylabel="d of the encoder\nminus d of the decoder", ylim=(-0.75, 1.45))
    handles, labels = (
        above + below for above, below in zip(*(panel.get_legend_handles_labels() for panel in grid[:, 0]), strict=True)
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    s, gaps = released_ends("s"), [gap for layers in LINES for gap in released_gaps(layers)]
    symmetric = f"{share_of((s['encoder'] > s['decoder']).sum(), len(s))} pairs"
    positive = f"{share_of(sum(gap.estimate.value > 0 for gap in gaps), len(gaps))} pairs"
    n_apart = sum(gap.met or gap.reversed for gap in gaps)
    apart = "Only one difference lies" if n_apart == 1 else f"Of these differences, {spelled(n_apart)} lie"
    caption = f"""Symmetry score $s$ of the authors' encoders (blue) and decoders (orange) over the course of training
    (top), and the directionality score $d$ of the encoder minus $d$ of the decoder (bottom). Solid lines show models
    with 12 layers, and dashed lines show models with 4 layers. Every score is the median over layers, and the
    coloured bands extend from the lower to the upper quartile. Each model was trained once. The paper predicts a
    positive difference in $d$. The grey bands show how much $d$ differs between two randomly initialised models
    (±{spelled(SCATTER)} standard deviations), for 12 layers (narrow and dark) and for 4 layers (wide and light). At
    the end of training, the encoder has the higher symmetry score in {symmetric}. The difference in $d$ is positive
    in {positive}. {apart} outside the corresponding grey band."""
    alt = f"""Line plots over training steps, with one column per dataset. At the end, the symmetry score of the
    encoder is higher than that of the decoder in {symmetric}. In the lower row, the difference in directionality is
    positive at the end in {positive}. {apart} outside the grey bands."""
    return CaptionedFigure(figure, "fig-training-released", caption, alt)


@house_style()
def over_steps(pairs: Sequence[Contrast], name: str) -> CaptionedFigure:
    """Loss and both scores over steps of encoders and decoders, a row per setting (Figures 3a, b and S3)."""
    figure, grid = new_figure(8.6, 2.5 * len(pairs) + 0.3, rows=len(pairs), columns=3, squeeze=False)
    style = {"x": "step", "y": "value", "errorbar": ("pi", 100)}
    for panels, pair in zip(grid, pairs, strict=True):
        score_axes(panels[1:])
        d = pair.first.config["d_model"]
        at_random = (symmetry_mean(d), symmetry_sd(d)), (0.0, directionality_sd(d))
        for panel, (mean, sd) in zip(panels[1:], at_random, strict=True):
            panel.axhspan(mean - 2 * sd, mean + 2 * sd, color=NEUTRAL, alpha=0.15, linewidth=0)
        titles = {LOSS: textwrap.fill(f"{pair.label}: loss (nats)", 30)} | SCORES
        for panel, (measure, title) in zip(panels, titles.items(), strict=True):
            for arm in (pair.first, pair.second):
                curves = arm.curves(measure).melt(ignore_index=False).reset_index()  # a row per step and seed
                part = PARTS[arm.config["objective"]]
                sns.lineplot(curves, ax=panel, label=part, color=PART_COLOURS[part], legend=False, **style)
            panel.set(title=title, ylabel="", xlabel="step" if pair is pairs[-1] else "")
    grid[0, 1].legend(loc="upper left")
    seeds = sorted(map(len, pairs))
    several = " to ".join(map(str, sorted({seeds[0], seeds[-1]})))
    symmetric = sum(pair.first.mean("symmetry") > pair.second.mean("symmetry") for pair in pairs)
    columns = sum(pair.first.mean("directionality") > pair.second.mean("directionality") for pair in pairs)
    lines = f"""Each line is the median over layers, averaged over {several} seeds, and the coloured band extends from
    the lowest to the highest value over seeds."""
    if several == "1":
        lines = "Each line is the median over layers in a single training run."
    caption = f"""Loss on held-out text and scores of the sum over heads during training. {lines} The grey band extends
    two standard deviations to either side of the mean score of random matrices."""
    alt = f"""Line plots over training steps with loss, symmetry and directionality in columns and one row per setting. At
    the end, the encoder has the higher symmetry score in {symmetric} of {len(pairs)} rows, and the decoder has the lower
    directionality score in {columns} of {len(pairs)} rows."""
    return CaptionedFigure(figure, name, caption, alt)


@house_style()
def by_layer(pair: Contrast) -> CaptionedFigure:
    """Scores over steps, medians over seeds, a line per layer, encoder beside decoder (Figure 3c, d; Figure S4)."""
    figure, grid = new_figure(7.6, 5.0, rows=2, columns=2, sharex=True, sharey="row")
    spans: dict[str, list[str]] = {score: [] for score in SCORES}
    for column, arm in zip(grid.T, (pair.first, pair.second), strict=True):
        layers = pd.concat(run.layer_scores() for run in arm.runs).assign(layer=lambda rows: rows["layer"] + 1)
        part, style = PARTS[arm.config["objective"]], {"palette": LAYERS, "estimator": "median", "errorbar": None}
        for panel, score in zip(column, SCORES, strict=True):
            sns.lineplot(layers, x="step", y=score, hue="layer", legend=panel is grid[0, 0], ax=panel, **style)
            last = layers[layers["step"] == layers["step"].max()].groupby("layer")[score].median()
            spans[score].append(f"from {extent(last, lambda s: number(s, 2))} in the {part}")
        column[0].set_title(part)
    score_axes(grid.flat)
    ranges = [f"the {score} scores range {joined_by_and(found)}" for score, found in spans.items()]
    told = f"At the end of training, {', and '.join(ranges)}."
    caption = f"Scores of each layer (sum over heads) during training. Lines show medians over seeds. {told}"
    alt = f"Line plots over training steps, with one line per layer. {told}"
    return CaptionedFigure(figure, "fig-training-layers", caption, alt)
