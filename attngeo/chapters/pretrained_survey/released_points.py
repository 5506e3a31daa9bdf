"""Figures 2, S1 and S2 of the paper from the released medians, and how well their scores separate the models."""

import pandas as pd
from matplotlib.lines import Line2D

from attngeo.display.captions import captioned
from attngeo.display.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure

LETTERS = {"s": "symmetry s", "d": "directionality d"}
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
            panel.set(title=f"{title}: {LETTERS[letter]}", xscale="log", xlabel="parameters", ylim=(-1.05, 1.05))
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
    told = {"words": words, "rings": rings, "ours": "<<ringed>>" if rings else ""}
    figures = sorted({p.split()[0] for p in panels})
    return captioned(figure, __package__, "fig-released-language", name, figures=figures, **told)


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
    return captioned(
        figure,
        __package__,
        "fig-separations",
        name,
        above=above,
        n=len(table),
        lowest=told[table["auc"].argmin()],
        highest=told[table["auc"].argmax()],
    )


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
