"""Figures and interactives of the survey of pretrained models."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D

from attngeo.bilinear.null_laws import LEVEL, laws_of_shape
from attngeo.bilinear.scores import SUM
from attngeo.chapters.pretrained_survey.measures import LETTERS
from attngeo.display.interactive import Interactive, packed
from attngeo.display.mirror_clouds import mirror_clouds
from attngeo.display.score_figure import score_figure
from attngeo.display.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.files.checkout import data
from attngeo.runs.numbers_in_words import number
from attngeo.survey.auc import auc
from attngeo.survey.families import FEW_BITS, GROUPS, with_kinds
from attngeo.survey.measured import named, read_records
from attngeo.survey.position_kinds import absolute_against_others, families_by_positions
from attngeo.survey.record import RecordError
from attngeo.survey.released_results import WORDS

# Released points

OURS = {"s": "symmetry", "d": "directionality_tables"}


@house_style()
def released_scores(
    results: pd.DataFrame, panels: dict[str, str], name: str, ours: pd.DataFrame | None = None
) -> CaptionedFigure:
    """Medians against parameters as drawn in the paper: a row of two panels (s, d) for each of its figures.

    Points in full colour count as trained, rightly extracted, distinct models; crosses do not. Rings are ``ours``.

    Args:
        results: `attngeo.survey.released_results.released_results`.
        panels: figure as the registry names it -> words for it: {"S1 vision": "vision", "S1 audio": "audio"}.
        name: label of the figure.
        ours: medians of models whose weights were read (`attngeo.survey.score_table.layer_medians`).
    """
    figure, grid = new_figure(8.2, 3.1 * len(panels) + 0.3, rows=len(panels), columns=2, squeeze=False)
    words, rings, crosses = [], 0, 0
    for axes, (label, title) in zip(grid, panels.items(), strict=True):
        points = results[results["figure"] == label]
        points = points.assign(counted=points["counted"] & ~points["defects"].str.contains("drawn-as"))
        for panel, letter in zip(axes, LETTERS, strict=True):
            _points(panel, points, letter)
            if ours is not None:
                rings += _rings(panel, points, ours, letter)
            panel.axhline(0, color=NEUTRAL, linewidth=0.8)
            panel.set(
                title=f"{title}: {LETTERS[letter]} {letter}", xscale="log", xlabel="parameters", ylim=(-1.05, 1.05)
            )
        crosses += (wrong := int((~points["counted"]).sum()))
        off = (points["d"].abs() > 1).sum()
        words.append(
            f"{title}: {len(points)} points"
            + (f", of which {wrong} are marked with a cross" if wrong else "")
            + (f", {off} of them outside the panel of d" if off else "")
        )
    handles = [
        *(_handle("o", colour, f"drawn as {part}") for part, colour in PART_COLOURS.items() if part != "cross"),
        *([_handle("x", NEUTRAL, "repeated, untrained, wrongly extracted or of another kind")] if crosses else []),
        *([_handle("o", "black", "our own score of the same weights", hollow=True)] if rings else []),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    shown, figures = "; ".join(words), " and ".join(sorted({label.split()[0] for label in panels}))
    ringed = f"Black rings: {rings} scores of ours, on top of the released points." if rings else ""
    caption = f"""Figure {figures} of the paper from the released medians. {shown}. Bars span the quartiles over
    layers. {ringed}"""
    alt = f"Scatter plots of symmetry and directionality by model size. {shown}."
    return CaptionedFigure(figure, name, caption, alt)


def _points(panel, points: pd.DataFrame, letter: str) -> None:
    for counted, marker in ((False, "x"), (True, "o")):
        for part in ("encoder", "decoder"):
            own = points[(points["counted"] == counted) & (points["drawn_as"] == part) & (points[letter].abs() <= 1)]
            style = {"color": PART_COLOURS[part], "alpha": 0.9 if counted else 0.45}
            spread = own[[f"{letter}_minus", f"{letter}_plus"]].to_numpy().T
            panel.errorbar(
                own["parameters"], own[letter], spread, fmt=marker, markersize=4.5, elinewidth=0.6, linewidth=0, **style
            )


def _rings(panel, points: pd.DataFrame, ours: pd.DataFrame, letter: str) -> int:
    """Rings around the released points whose weights were read; returns how many."""
    both = points.drop_duplicates(["model", "part"]).merge(ours, on=["model", "part"])
    panel.plot(both["parameters"], both[OURS[letter]], "o", color="black", markersize=9, fillstyle="none", linewidth=0)
    return len(both)


def _handle(marker: str, colour: str, label: str, hollow: bool = False) -> Line2D:
    fill = "none" if hollow else "full"
    return Line2D([], [], marker=marker, color=colour, linestyle="none", fillstyle=fill, label=label)


def results_in_figures(results: pd.DataFrame) -> pd.DataFrame:
    """The released results that a figure shows: model, figure, drawn as, parameters, s, d, counts, known against it."""
    shown = results[results["figure"] != ""].sort_values(["figure", "drawn_as", "parameters"], kind="stable")
    return pd.DataFrame(
        {
            "model": shown["model"].where(shown["model"] != "", shown["key"]),
            "figure": shown["figure"],
            "drawn as": shown["drawn_as"],
            "parameters": shown["parameters"].astype("int64"),
            "s": shown["s"],
            "d": shown["d"],
            "counts": shown["counted"].map({True: "yes", False: "no"}),
            "known against it": shown["defects"].str.replace(" ", ", "),
        }
    ).reset_index(drop=True)


@house_style()
def separations(table: pd.DataFrame, name: str = "fig-separations") -> CaptionedFigure:
    """AUC with both intervals, one line per comparison, as `separation.all_separations` gives them."""
    figure, panel = new_figure(7.4, 0.38 * len(table) + 1.6)
    labels = []
    for y, row in enumerate(table.itertuples()):
        colour = PART_COLOURS["encoder" if row.score == "s" else "decoder"]
        panel.hlines(y, row.low, row.high, color=colour, linewidth=1.4)
        if (row.family_low, row.family_high) != (row.low, row.high):  # else a group has one family, and no interval
            panel.hlines(y, row.family_low, row.family_high, color=colour, linewidth=4, alpha=0.35)
        panel.plot(row.auc, y, "o", color=colour, markersize=6)
        panel.text(1.04, y, f"{row.auc:.2f}", transform=panel.get_yaxis_transform(), va="center")
        labels.append(f"{row.score}: {row.models}")
    panel.axvline(0.5, color=NEUTRAL, linewidth=1)
    panel.set_yticks(range(len(table)), labels)
    panel.set(
        xlim=(0, 1.02), ylim=(len(table) - 0.5, -0.5), xlabel="AUC: share of pairs in which the encoder scores higher"
    )
    kinds = {"95 %, models independent": (1.4, 1), "95 %, whole families drawn": (4, 0.35)}
    lines = [Line2D([], [], color=NEUTRAL, linewidth=w, alpha=alpha, label=kind) for kind, (w, alpha) in kinds.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    told = [f"{label} {auc:.2f}" for label, auc in zip(labels, table["auc"], strict=True)]
    above = ", ".join(
        f"{(rows['low'] > 0.5).sum()} of {len(rows)} of ${score}$" for score, rows in table.groupby("score", sort=False)
    )
    caption = f"""How often an encoder scores higher than a decoder (AUC, numbers on the right). At 1/2 the score
    tells nothing. Intervals that lie above it as a whole, if models were independent: {above}. There is none of
    families where encoders or decoders are one family. Directionality of language is by the formula of Table S3, of
    vision by that of the released code; by which of the two that of audio is, is not known."""
    alt = f"""Dot plot of {len(table)} AUC with intervals, a vertical line at one half. Lowest
    {told[table["auc"].argmin()]}, highest {told[table["auc"].argmax()]}."""
    return CaptionedFigure(figure, name, caption, alt)


# Figure 2 cleaned

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
            [
                int(p.parameters),
                p.s,
                p.d,
                p.drawn_as,
                p.model or p.key,
                [code for code in p.defects.split() if code in WORDS],
            ]
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
    (s, d), (s_clean, d_clean) = as_drawn, cleaned
    caption = f"""The share of pairs in which the encoder scores higher (AUC) is {s} in $s$ and {d} in $d$ as drawn,
    {s_clean} and {d_clean} without the points that do not count. In print: {drawn.caption}"""
    alt = f"""{drawn.alt} The share of pairs in which the encoder scores higher (AUC) is {s} in s and {d} in d as
    drawn, {s_clean} and {d_clean} without the points that do not count."""
    return CaptionedFigure(drawn.figure, drawn.name, caption, alt)


@house_style()
def symmetry_by_positions(results: pd.DataFrame) -> CaptionedFigure:
    """Families' medians of s (`families_by_positions`): a panel each for encoders and decoders, a row for each kind."""
    told = families_by_positions(results)
    kinds = told.groupby("positions")["absolute"].first().sort_values(ascending=False, kind="stable").index
    figure, axes = new_figure(8.2, 3.4, columns=2, sharey=True)
    medians = []
    for panel, (part, attention) in zip(axes, GROUPS.items(), strict=True):
        own = told[told["attention"] == attention]
        style = {"x": "s", "y": "positions", "order": list(kinds), "jitter": False, "ax": panel, "legend": False}
        sns.stripplot(own[own["counted"]], color=PART_COLOURS[part], size=6, **style)
        sns.stripplot(own[~own["counted"]], color=NEUTRAL, marker="X", size=6, **style)
        rows = {kind: place for place, kind in enumerate(kinds)}
        for row in own[own["counted"] | (part == "encoder")].itertuples():  # those left out have their names below
            at = row.s, rows[row.positions]
            panel.annotate(row.family, at, (0, 6), textcoords="offset points", fontsize=6, rotation=50)
        panel.set(title=f"{part}s", xlabel="symmetry s, median of the family", ylabel="")
        difference, p, _ = absolute_against_others(told, attention)
        medians.append(f"{part}s {difference:+.2f}, p {p:.2f}")
    left_out = ", ".join(dict.fromkeys(told[~told["counted"]]["family"]))
    caption = f"""Released medians of $s$ of language models, a point per family, by how they take positions; learned
    ones are added to the embedding. Crosses are families without a result that is rightly extracted ({left_out}),
    left out of the test. Median of families with absolute positions less that of the others: {"; ".join(medians)}."""
    alt = """Two strip plots of symmetry, a row for each kind of positions. Encoders with learned positions lie right
    of T5, DeBERTa and ModernBERT, whose positions are relative or rotary; decoders of all kinds lie near 0."""
    return CaptionedFigure(figure, "fig-symmetry-by-positions", caption, alt)


# Weights that were read

OFFSETS = {"bidirectional": -0.16, "causal": 0.16, "cross": 0.0}  # within the line of a family
PANELS = (  # score, columns of its band: mean (0 where there is none) and half-width; label
    ("symmetry", "s_mean", "s_layer", "symmetry s"),
    ("directionality", "", "d_layer", "directionality d"),
)


@house_style()
def family_scores(layers: pd.DataFrame, families: pd.DataFrame, bands: pd.DataFrame) -> CaptionedFigure:
    """Both scores of every layer's summed form, `with_kinds`, a line for each family; cross-attention apart.

    ``families`` are `of_families`, ``bands`` `null_bands`.
    """
    lines, apart = _lines(families)
    shown = layers.merge(bands, on=["model", "part"], validate="m:1")
    colours = {kind: PART_COLOURS[part] for part, kind in [*GROUPS.items(), ("cross", "cross")]}
    figure, panels = new_figure(9, 0.34 * len(lines) + 1.1, columns=2, sharey=True)
    outside = 0
    for panel, (score, mean, half, label) in zip(panels, PANELS, strict=True):
        middle = shown[mean] if mean else 0 * shown[half]
        outside += int(((shown[score] - middle).abs() > shown[half]).sum())
        ends = shown.assign(low=middle - shown[half], high=middle + shown[half]).groupby(["family", "attention"])
        for (family, kind), band in ends[["low", "high"]].agg({"low": "min", "high": "max"}).iterrows():
            y = lines[family, kind == "cross"] + OFFSETS[kind]
            panel.fill_betweenx([y - 0.13, y + 0.13], band["low"], band["high"], color=NEUTRAL, alpha=0.25, linewidth=0)
        for kind, own in shown.groupby("attention"):
            heights = own["family"].map(lambda f, kind=kind: lines[f, kind == "cross"]) + OFFSETS[kind]
            few = own["precision"].isin(FEW_BITS)
            for marked, face in ((few, "none"), (~few, colours[kind])):
                at = own[score][marked], heights[marked]
                panel.scatter(*at, s=14, facecolors=face, edgecolors=colours[kind], alpha=0.7, linewidths=0.8)
        for unit in families.itertuples():
            y = lines[unit.family, unit.attention == "cross"] + OFFSETS[unit.attention]
            colour = colours[unit.attention]
            panel.plot(getattr(unit, score), y, "|", color=colour, markersize=13, markeredgewidth=2.5)
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        if apart:
            panel.axhline(len(lines) - apart - 0.5, color=NEUTRAL, linewidth=0.6, linestyle=":")
        panel.set(xlabel=label, xlim=(-1.05, 1.05), ylim=(len(lines) - 0.4, -0.6))
    panels[0].set_yticks(range(len(lines)), [f"{f}, cross" if cross else f for f, cross in lines])
    handles = [Line2D([], [], marker="o", linestyle="none", color=c, label=kind) for kind, c in colours.items()]
    few = {"marker": "o", "fillstyle": "none", "label": "8 or 4 bits"}
    mean = {"marker": "|", "markersize": 13, "markeredgewidth": 2.5, "label": "mean of the family"}
    handles += [Line2D([], [], linestyle="none", color=NEUTRAL, **look) for look in (few, mean)]
    handles.append(Line2D([], [], color=NEUTRAL, alpha=0.25, linewidth=8, label="95 % of random weights"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    means = {kind: families[families["attention"] == kind] for kind in GROUPS.values()}
    words = "; ".join(
        f"{kind}: s from {own['symmetry'].min():.2f} to {own['symmetry'].max():.2f}, "
        f"d from {own['directionality'].min():.2f} to {own['directionality'].max():.2f}"
        for kind, own in means.items()
        if len(own)
    )
    caption = f"""Scores of the summed form $W_{{qk}}$ (Eq. S20): {len(shown)} layers (points, open where the weights
    are held in 8 or 4 bits) and the mean of each family's medians (bars). In grey the band that holds 95 % of layers
    with random weights of a model's shape, for each family the widest: {outside} of {2 * len(shown)} scores lie
    outside their own. Left of zero in d, columns dominate."""
    alt = f"Two dot plots, a line for each family and for cross-attention below. Families, {words}."
    return CaptionedFigure(figure, "fig-survey-families", caption, alt)


def _lines(families: pd.DataFrame) -> tuple[dict[tuple[str, bool], int], int]:
    """The line of each family and, below, of its cross-attention; and how many of the latter there are."""
    wide = families.pivot(index="family", columns="attention", values="symmetry").reindex(columns=[*OFFSETS])
    encoders, decoders = (wide[kind].dropna().sort_values(ascending=False).index for kind in GROUPS.values())
    own = dict.fromkeys([*encoders, *decoders])
    cross = [(family, True) for family in wide["cross"].dropna().index]
    return {line: y for y, line in enumerate([*((family, False) for family in own), *cross])}, len(cross)


def read_picture(folder: Path, model: str, name: str) -> np.ndarray:
    """A recorded picture of W_qk, in units of its saturation level, (n, n) in [-1, 1].

    Raises:
        RecordError: the model or the picture is not recorded.
    """
    try:
        with np.load(Path(folder) / model / "images.npz", allow_pickle=False) as arrays:
            return arrays[name].astype(np.float32) / 127
    except (OSError, KeyError, ValueError) as error:
        raise RecordError(f"{model} has no recorded picture {name!r} ({error}).") from None


@house_style()
def form_pictures(pictures: dict[str, np.ndarray]) -> CaptionedFigure:
    """W_qk as an image for each entry of ``pictures`` (title -> (n, n) in [-1, 1]), as in Figure 2 of the paper."""
    figure = mirror_clouds({title.replace(", ", ",\n"): m for title, m in pictures.items()})
    symmetries = "; ".join(
        f"{title}: {number(float((m * m.T).sum() / (m * m).sum()), 2)}" for title, m in pictures.items()
    )
    caption = f"""The matrix $W_{{qk}}$ itself, and each entry $m_{{ij}}$ against its mirror image $m_{{ji}}$: along
    the mirror line where it is symmetric. Symmetry of the pictures: {symmetries}. Colours and axes end at the 99.5th
    percentile of the magnitudes. Matrices wider than 256 are pooled: a block is its entry of largest magnitude, so
    that the cloud has a gap around 0."""
    alt = f"""Images of query-key matrices, red positive, blue negative, over clouds of mirrored entries. Symmetry,
    which draws a cloud out along the mirror line, is {symmetries}."""
    return CaptionedFigure(figure, "fig-survey-forms", caption, alt)


# Place your bet

EACH = 3  # encoders, and as many decoders
SEED = 0
SIDE = 128  # rows and columns shown: all of them would not fit on the page


@dataclass(frozen=True)
class Drawn:
    """One of the matrices: the middle layer of a recorded model."""

    title: str  # A, B, C ...
    model: str
    part: str
    layer: int
    s: float
    d: float
    picture: np.ndarray


def drawn(folder: Path | None = None) -> list[Drawn]:
    """Of each family one encoder and one decoder, the first by name; of these three each, drawn and shuffled by a seed.

    Raises:
        RecordError: of a model drawn no picture is recorded.
    """
    folder = folder or data("survey")
    scores, _ = read_records(folder)
    layers = with_kinds(named(scores.assign(folder=scores["model"])))[lambda t: t["head"] == -1]
    count = layers.groupby(["model", "part"])["layer"].transform("size")
    middle = layers[layers["layer"] == count // 2].sort_values("model").drop_duplicates(["family", "attention"])
    rng = np.random.default_rng(SEED)
    groups = [middle[middle["attention"] == kind].sample(EACH, random_state=rng) for kind in GROUPS.values()]
    chosen = pd.concat(groups).sample(frac=1, random_state=rng)
    return [
        Drawn(
            *(chr(ord("A") + k), row.model, row.part, row.layer, row.symmetry, row.directionality),
            read_picture(folder, row.folder, f"{row.part}-{row.layer}")[:SIDE, :SIDE],
        )
        for k, row in enumerate(chosen.itertuples())
    ]


def wins(shown: list[Drawn], score: str) -> float:
    """In how many pairs of an encoder and a decoder the encoder's score is the higher one; a tie is half."""
    return EACH**2 * auc(*(np.array([getattr(one, score) for one in shown if one.part == part]) for part in GROUPS))


def place_your_bet(shown: list[Drawn]) -> Interactive:
    """The pictures, and behind them what each is and scores."""
    counts = {score: wins(shown, score) for score in "sd"}
    pictures = [
        {
            **{"title": one.title, "part": one.part, "words": f"{one.model}, {one.part} layer {one.layer}"},
            **{"s": round(one.s, 4), "d": round(one.d, 4), "side": len(one.picture)},
            "levels": packed(np.rint(one.picture * 127).astype(np.int8)),
        }
        for one in shown
    ]
    return Interactive("bets", {"pictures": pictures, "pairs": EACH**2, **counts}, _still_of_bets(shown, counts))


def _still_of_bets(shown: list[Drawn], counts: dict[str, float]) -> CaptionedFigure:
    titles = {f"{one.title}: {one.part}\ns {number(one.s, 2)}, d {number(one.d, 2)}": one.picture for one in shown}
    told = f"the encoder has the higher $s$ in {counts['s']:g} of {EACH**2} pairs, the higher $d$ in {counts['d']:g}"
    caption = f"""$W_{{qk}}$ of the middle layer of {EACH} encoders and {EACH} decoders, no two of a kind from one
    family, drawn by chance (seed {SEED}) from the models below: at most {SIDE} rows and columns, red positive, blue
    negative. Matrices wider than 256 are pooled, which leaves their clouds a gap around 0. By their numbers
    {told}."""
    alt = f"""Images of {len(shown)} query-key matrices over clouds of mirrored entries, which lie along the mirror
    line where symmetry is high. Symmetry goes {_range(shown, "encoder")} in the encoders and {
        _range(shown, "decoder")
    } in the decoders."""
    return CaptionedFigure(mirror_clouds(titles, width=9), "fig-bets", caption, alt)


def _range(shown: list[Drawn], part: str) -> str:
    own = [one.s for one in shown if one.part == part]
    return f"from {number(min(own), 2)} to {number(max(own), 2)}"


# Every layer and head

SHOWN = "Whisper base"  # in the still, where it is among the models: it has an encoder and a decoder


def explorer(scores: pd.DataFrame) -> Interactive:
    """Every layer and head of the survey, from the long score table."""
    scores = scores.astype({"gamma": float})  # of a record read back, an integer
    stacks = scores.groupby(["model", "part"], sort=False)
    models = {f"{model}, {part}": _stack(part, rows) for (model, part), rows in stacks}
    names = list(scores["model"].unique())
    shown = SHOWN if SHOWN in names else names[0]
    rows = scores[(scores["model"] == shown) & (scores["part"] != "cross")]
    still = score_figure(rows.to_dict("records"))
    layers = scores[scores["head"] == SUM]
    outside = " and ".join(f"{(layers[f'{field}_p'] < LEVEL).sum()} by {field}" for field in LETTERS.values())
    caption = f"""Both scores of each layer's sum over heads and of its single heads, beside the bands that hold 95 %
    of random weights of the same shape (in print: {shown}). Of the {len(layers)} layers of all models, {outside} lie
    outside their own."""
    figure = CaptionedFigure(still.figure, "fig-explorer", caption, still.alt)
    return Interactive("explorer", {"first": f"{shown}, {rows['part'].iloc[0]}", "models": models}, figure)


def _stack(part: str, rows: pd.DataFrame) -> dict:
    layers, heads = rows[rows["head"] == SUM].sort_values("layer"), rows[rows["head"] != SUM].sort_values("head")
    by_layer = dict(list(heads.groupby("layer")))
    return {
        "part": part,
        "width": int(layers["d_model"].iloc[0]),
        "bands": {kind: _bands(own.iloc[0]) for kind, own in (("layers", layers), ("heads", heads))},
        "layers": _values(layers),
        "heads": [_values(by_layer[layer]) for layer in layers["layer"]],
    }


def _bands(row: pd.Series) -> dict[str, list[float]]:
    laws = laws_of_shape(int(row["d_model"]), int(row["rank"]), row["gamma"], row["convention"])
    of_score = {score: laws[field] for score, field in LETTERS.items()}
    return {score: [round(law.mean + side * law.half_width, 4) for side in (-1, 1)] for score, law in of_score.items()}


def _values(rows: pd.DataFrame) -> dict[str, list[float]]:
    return {score: rows[field].round(4).tolist() for score, field in LETTERS.items()}
