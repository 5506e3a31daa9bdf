"""Figures of the details on pretrained models: released points, families that we read, and single heads."""

import textwrap

import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D

from attngeo.bilinear.null_laws import LEVEL
from attngeo.bilinear.scores import SUM
from chapters.pretrained_survey.measures import LETTERS, of_figure
from attngeo.plot.score_figure import score_figure
from attngeo.plot.style import NEUTRAL, PALETTE, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.experiments.runs.numbers_in_words import number, share_of
from attngeo.experiments.survey.families import GROUPS
from chapters.pretrained_survey.choices import FEW_BITS
from livingpaper.released_results import WORDS, absolute_against_others, families_by_positions

# Released points


@house_style()
def released_scores(results: pd.DataFrame, panels: dict[str, str], name: str) -> CaptionedFigure:
    """Medians against parameters as drawn in the paper: a row of two panels (s, d) for each of its figures.

    ``panels`` says what each shows: {"S1 vision": "vision"}. Points in full colour count as trained, rightly extracted,
    distinct models; crosses do not.
    """
    figure, grid = new_figure(8.2, 3.1 * len(panels) + 0.3, rows=len(panels), columns=2, squeeze=False)
    words, crosses = [], 0
    for axes, (label, title) in zip(grid, panels.items(), strict=True):
        points = results[results["figure"] == label]
        points = points.assign(counted=points["counted"] & ~points["defects"].str.contains("drawn-as"))
        wrong, off = int((~points["counted"]).sum()), (points["d"].abs() > 1).sum()
        crosses += wrong
        marked = f" ({wrong} of them as crosses)" if wrong else ""
        outer = f", and {off} more lie outside the panel of d" if off else ""
        words.append(f"{len(points)} points of {title.removesuffix(' models')} models{marked}{outer}")
        for panel, (letter, score) in zip(axes, LETTERS.items(), strict=True):
            for (counted, part), drawn in points[points[letter].abs() <= 1].groupby(["counted", "drawn_as"]):
                style = {"fmt": "o", "alpha": 0.9} if counted else {"fmt": "x", "alpha": 0.45}
                style |= {"color": PART_COLOURS[part], "markersize": 4.5, "elinewidth": 0.6, "linewidth": 0}
                spread = drawn[[f"{letter}_minus", f"{letter}_plus"]].to_numpy().T
                panel.errorbar(drawn["parameters"], drawn[letter], spread, **style)
            panel.axhline(0, color=NEUTRAL, linewidth=0.8)
            panel.set(
                title=f"{title}: {score} {letter}", xscale="log", xlabel="number of parameters", ylim=(-1.05, 1.05)
            )
    handles = [_handle("o", colour, f"drawn as {part}") for part, colour in PART_COLOURS.items() if part != "cross"]
    if crosses:
        handles.append(
            _handle("x", NEUTRAL, "does not count: repeated, untrained, wrongly extracted or of another kind")
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    shown, figures = " and ".join(words), " and ".join(sorted({label.split()[0] for label in panels}))
    caption = f"""Figure {figures} of the paper, drawn from the released medians over layers. The figure shows {shown}. Bars extend
    from the lower to the upper quartile over layers."""
    alt = f"Scatter plots of symmetry and directionality against the number of parameters, showing {shown}."
    return CaptionedFigure(figure, name, caption, alt)


def _handle(marker: str, colour: str, label: str, fill: str = "full") -> Line2D:
    return Line2D([], [], marker=marker, color=colour, linestyle="none", fillstyle=fill, label=label)


def results_in_figures(results: pd.DataFrame) -> pd.DataFrame:
    """The released results that a figure shows, and what is known against each."""
    shown = results[results["figure"] != ""].sort_values(["figure", "drawn_as", "parameters"], kind="stable")
    told = {
        "model": shown["model"].where(shown["model"] != "", shown["key"]),
        "parameters": shown["parameters"].astype("int64"),
        "counts": shown["counted"].map({True: "yes", False: "no"}),
        "reason against it": shown["defects"].str.replace(" ", ", "),
    }
    columns = ["model", "figure", "drawn as", "parameters", "s", "d", "counts", "reason against it"]
    return shown.assign(**told).rename(columns={"drawn_as": "drawn as"})[columns].reset_index(drop=True)


@house_style()
def separations(table: pd.DataFrame) -> CaptionedFigure:
    """AUC with both intervals, one line per comparison, of `chapters.pretrained_survey.measures`."""
    figure, panel = new_figure(7.4, 0.28 * len(table) + 1.3)
    colours = table["score"].map({"s": NEUTRAL, "d": PALETTE[3]})  # neither is a colour of encoders or decoders
    labels = (table["score"] + ": " + table["models"]).tolist()
    thick = {"linewidth": 4, "alpha": 0.35}
    looks = {"95 % interval, models as units": {"linewidth": 1.4}, "95 % interval, families as units": thick}
    for ends, look in zip((("low", "high"), ("family_low", "family_high")), looks.values(), strict=True):
        panel.hlines(table.index, *table[[*ends]].to_numpy().T, colors=colours, **look)  # none of a group of one family
    panel.scatter(table["auc"], table.index, c=colours, s=36)
    for y, area_of in table["auc"].items():
        panel.text(1.04, y, f"{area_of:.2f}", transform=panel.get_yaxis_transform(), va="center")
    panel.axvline(0.5, color=NEUTRAL, linewidth=1)
    panel.set_yticks(range(len(table)), labels)
    words = "share of pairs in which the encoder scores higher (AUC)"
    panel.set(xlim=(0, 1.02), ylim=(len(table) - 0.5, -0.5), xlabel=words)
    lines = [Line2D([], [], color=NEUTRAL, label=kind, **look) for kind, look in looks.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    values = [f"{label} {value:.2f}" for label, value in zip(labels, table["auc"], strict=True)]
    above = " and in ".join(
        f"{share_of((rows['low'] > 0.5).sum(), len(rows))} comparisons for ${score}$"
        for score, rows in table.groupby("score", sort=False)
    )
    caption = f"""Share of the pairs of an encoder and a decoder in which the encoder has the higher score (AUC). The
    numbers on the right give the AUC. If the models are treated as independent, the confidence interval lies above 0.5
    in {above}. If a group contains only one family, we cannot compute an interval over families. The authors computed
    the directionality of language models with the formula behind Table S3, and the directionality of vision models
    with the formula in their code. For audio models, we do not know the formula."""
    alt = f"""Dot plot of {len(table)} values of the AUC with intervals, and a vertical line at one half. The lowest value is
    {values[table["auc"].argmin()]}, and the highest value is {values[table["auc"].argmax()]}."""
    return CaptionedFigure(figure, "fig-separations", caption, alt)


# Figure 2 cleaned

FIGURE = "2"


def clean_figure(results: pd.DataFrame) -> CaptionedFigure:
    """The points of Figure 2, and the AUC of both scores with and without the defective points."""
    points = results[results["figure"] == FIGURE]
    codes = points["defects"].str.split()
    drawn = released_scores(results, {FIGURE: "language"}, "fig-released-language")
    clean = points[[not WORDS.keys() & of for of in codes]]
    as_drawn, cleaned = ([number(of_figure(FIGURE, s, of).auc, 2) for s in "sd"] for of in (points, clean))
    told = (
        "With all points, the AUC is {} for {s} and {} for {d}. Without the models marked by crosses, the AUC is {} for {s}"
        " and {} for {d}."
    )
    told = told.format(*as_drawn, *cleaned, s="{s}", d="{d}")
    caption = f"""Figure {FIGURE} of the paper, drawn from the released medians over layers. {told.format(s="$s$", d="$d$")} Bars
    extend from the lower to the upper quartile over layers."""
    alt = f"{drawn.alt} {told.format(s='s', d='d')}"
    return CaptionedFigure(drawn.figure, drawn.name, caption, alt)


@house_style()
def symmetry_by_positions(results: pd.DataFrame) -> CaptionedFigure:
    """Families' medians of s (`families_by_positions`): a panel each for encoders and decoders, a row for each kind."""
    by_positions = families_by_positions(results)
    kinds = by_positions.groupby("positions")["absolute"].first().sort_values(ascending=False, kind="stable").index
    figure, axes = new_figure(8.2, 3.7, columns=2, sharex=True, sharey=True)
    medians = []
    for panel, (part, attention) in zip(axes, GROUPS.items(), strict=True):
        shown = by_positions[by_positions["attention"] == attention]
        style = {"x": "s", "y": "positions", "order": list(kinds), "ax": panel, "legend": False}
        sns.stripplot(shown[shown["counted"]], color=PART_COLOURS[part], size=6, jitter=False, **style)
        sns.swarmplot(shown[~shown["counted"]], color=NEUTRAL, marker="X", size=5, **style)
        for (kind, counted), of_kind in shown.sort_values("s").groupby(["positions", "counted"]):
            words = textwrap.fill(", ".join(of_kind["family"]), 24 if counted else 30)
            first, last = of_kind["s"].iloc[[0, -1]]
            x, side = (first, "left") if first < 0.3 else (last, "right")
            height, of_text = (7, "bottom") if counted else (-18, "top")  # crosses lie above each other
            style = {"textcoords": "offset points", "fontsize": 8, "ha": side, "va": of_text, "annotation_clip": False}
            panel.annotate(words, (x, kinds.get_loc(kind)), (0, height), **style)
        ends = len(kinds) + 0.2, -0.9  # room for the names above the first row and below the last one
        panel.set(title=f"{part}s", xlabel="symmetry s, median of the family", ylabel="", ylim=ends)
        difference, p, _ = absolute_against_others(by_positions, attention)
        medians.append(f"{difference:+.2f} for {part}s (p = {p:.2f})")
    caption = f"""Released median symmetry scores of language models by type of positional encoding, with one point per
    family. The names of the families are given above the points and below the crosses, in the same order from left to
    right. Crosses mark families without a correctly extracted result, which we excluded from the test. The median score of
    the families with absolute positions minus the median score of the other families is {" and ".join(medians)}."""
    alt = """Two strip plots of symmetry with a row for each type of positional encoding. Encoders with learned position
    embeddings have higher scores than T5, DeBERTa and ModernBERT, whose positions are relative or rotary. Decoders of all types
    have scores near 0."""
    return CaptionedFigure(figure, "fig-symmetry-by-positions", caption, alt)


# Weights that were read

COLOURS = {"bidirectional": PART_COLOURS["encoder"], "causal": PART_COLOURS["decoder"], "cross": PART_COLOURS["cross"]}
PART_OF = {"bidirectional": "encoder", "causal": "decoder", "cross": "cross-attention"}


@house_style()
def family_scores(layers: pd.DataFrame, families: pd.DataFrame, bands: pd.DataFrame) -> CaptionedFigure:
    """Both scores of every layer, `with_kinds`, with a line for each family and part.

    ``families`` are `of_families`, ``bands`` `null_bands`.
    """
    layers, families = _lined(layers.merge(bands, on=["model", "part"], validate="m:1")), _lined(families)
    order = list(families.sort_values(["kind", "symmetry"], ascending=[True, False])["line"].unique())
    figure, panels = new_figure(9, 0.3 * len(order) + 1.3, columns=2, sharey=True)
    style = {"y": "line", "order": order, "hue": "attention", "hue_order": list(COLOURS), "legend": False}
    points = {"palette": COLOURS, "dodge": False, "jitter": False, **style}
    bars = {"linewidth": 7, "alpha": 0.25}
    grey = {"errorbar": ("pi", 100), "err_kws": bars, "linestyle": "none", "markersize": 0}
    grey["palette"] = [NEUTRAL] * len(COLOURS)
    few, outside = layers["precision"].isin(FEW_BITS), 0
    for panel, (letter, score) in zip(panels, LETTERS.items(), strict=True):
        mean, half = layers.get(f"{letter}_mean", 0.0), layers[f"{letter}_layer"]
        outside += int(((layers[score] - mean).abs() > half).sum())
        ends = pd.concat([layers.assign(**{score: mean - half}), layers.assign(**{score: mean + half})])
        sns.pointplot(ends, x=score, ax=panel, **grey, **style)
        for band in panel.lines:
            band.set_solid_capstyle("butt")  # else it is longer by its height
        sns.stripplot(layers[~few], x=score, size=4, alpha=0.7, ax=panel, **points)
        sns.stripplot(layers[few], x=score, size=4, marker="$\\circ$", ax=panel, **points)
        sns.stripplot(families, x=score, size=11, marker="|", linewidth=2.5, ax=panel, **points)
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        panel.set(xlabel=f"{score} {letter}", ylabel="", xlim=(-1.15, 1.15))  # room for the outer tick labels
    handles = [_handle("o", colour, f"layer, {PART_OF[kind]}") for kind, colour in COLOURS.items()]
    handles += [_handle("o", NEUTRAL, "layer in 8 or 4 bits", "none"), _handle("|", NEUTRAL, "mean of the family")]
    handles.append(Line2D([], [], color=NEUTRAL, alpha=0.25, linewidth=8, label="95 % of random weights"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    ends = families.groupby("attention")[list(LETTERS.values())].agg(["min", "max"])
    words = "; ".join(
        f"{PART_OF[kind]}s, "
        + ", ".join("{} from {:.2f} to {:.2f}".format(x, *ends.loc[kind, of]) for x, of in LETTERS.items())
        for kind in GROUPS.values()
        if kind in ends.index
    )
    caption = f"""Symmetry score $s$ and directionality score $d$ of {len(layers)} layers (points). Each row shows a family
    of models, with separate rows for encoders, decoders and cross-attention. Vertical bars mark the mean over the models in
    a family, where each model is represented by its median score. The grey band contains 95 % of the scores of random
    weights. For each family, we show the widest of the bands of its models. Of the {2 * len(layers)} scores, {outside} lie
    outside the band of their own model. If $d$ is negative, columns dominate."""
    alt = f"Two dot plots with a line for each family and part. The means of the families are as follows: {words}."
    return CaptionedFigure(figure, "fig-survey-families", caption, alt)


def _lined(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the line that they stand in, and the place of their kind: encoders, decoders, then cross-attention."""
    kind = rows["attention"].map({attention: place for place, attention in enumerate(COLOURS)})
    return rows.assign(line=rows["family"] + " " + rows["attention"].map(PART_OF), kind=kind)


# Every layer and head

SHOWN = "Whisper base"  # where it is among the models: it has an encoder and a decoder


def every_head(scores: pd.DataFrame) -> CaptionedFigure:
    """Every layer and head of one model of the survey, from the long score table."""
    scores = scores.astype({"gamma": float})  # of a record read back, an integer
    names = list(scores["model"].unique())
    shown = SHOWN if SHOWN in names else names[0]
    rows = scores[(scores["model"] == shown) & (scores["part"] != "cross")]
    still = score_figure(rows.to_dict("records"))
    layers = scores[scores["head"] == SUM]
    counts = ((field, (layers[f"{field}_p"] < LEVEL).sum()) for field in LETTERS.values())
    outside = " and ".join(f"{count} have a {field} score outside this range" for field, count in counts)
    caption = f"""Symmetry and directionality scores of each layer of {shown} (sum over heads) and of its individual heads. The bands
    contain 95 % of the scores of random weights of the same shape. Of the {len(layers)} layers of all models, {outside}."""
    return CaptionedFigure(still.figure, "fig-every-head", caption, still.alt)
