"""The figure of the printed scores: what Tables S2 and S3 print, and what the weights give."""

import pandas as pd

from attngeo.chapters.printed_scores.printed_rows import read_rows
from attngeo.display.captions import captioned
from attngeo.display.style import CROSS, DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure

SHOWN = {  # table: its score, and the ways to score it with their colours and markers
    "S2": ("symmetry s", {"symmetry": ("Def. 3.1, no factor 2", ENCODER, "o")}),
    "S3": (
        "directionality d",
        {
            "directionality": ("Def. 3.2", ENCODER, "o"),
            "directionality_released": ("released code", DECODER, "s"),
            "directionality_tables": ("excess of log norms", CROSS, "^"),
        },
    ),
}


@house_style()
def printed_beside_ours(medians: pd.DataFrame) -> CaptionedFigure:
    """Printed medians as rings, a line for each row whose weights were read, and in them or beside them our own."""
    first = {number: read_rows(number, next(iter(ways)), medians) for number, (_, ways) in SHOWN.items()}
    lines = max(map(len, first.values()))
    figure, panels = new_figure(9, 0.36 * lines + 1.9, columns=2)
    words = []
    for panel, (number, (label, ways)) in zip(panels, SHOWN.items(), strict=True):
        rows = first[number]
        printed, heights = [row.theirs[0] for row in rows], range(len(rows))
        panel.plot(printed, heights, "o", color=NEUTRAL, fillstyle="none", markersize=13, label="printed")
        for score, (formula, colour, marker) in ways.items():
            ours = read_rows(number, score, medians)
            panel.plot([row.ours[0] for row in ours], heights, marker, color=colour, markersize=6, label=formula)
            met = sum(row.verdict == "reproduced" for row in ours)
            words.append(f"Table {number}, {formula}: {met} of {len(ours)}")
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        panel.set_yticks(heights, [row.printed_as for row in rows])
        panel.set(title=f"Table {number}", xlabel=f"{label}, median over layers", ylim=(len(rows) - 0.4, -0.6))
        panel.set_xlim((-0.05, 1) if number == "S2" else (-1, 0.05))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2)
    return captioned(figure, __package__, "fig-printed-beside-ours", words=words)
