"""Null ruler: how far s and d of untrained weights scatter, by width of the model and number of heads."""

from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive
from attngeo.display.style import DECODER, ENCODER, CaptionedFigure, house_style, new_figure
from attngeo.forms.null_laws import laws_of_shape
from attngeo.forms.scores import GAMMA
from attngeo.runs.numbers_in_words import number

WIDTHS = (128, 256, 512, 768, 1024, 2048, 4096)
HEADS = (8, 12, 16, 32)
NARROWEST = 16  # head: below it the law of s is not normal
SHOWN = 8  # heads, in the still
SCORES = {"s": "symmetry", "d": "directionality"}
Table = dict[str, dict[str, dict[str, list[float]]]]


def null_ruler(gamma: float = GAMMA) -> Interactive:
    """Mean, spread and half the band of 95 % of both scores, for layers of some widths and for one of their heads."""
    shapes = null_table(gamma)
    return Interactive("null_ruler", {"widths": shapes}, _still(shapes))


def null_table(gamma: float) -> Table:
    """By width and heads ("0" for the sum over heads), for s and d: mean, standard deviation, half of the band."""
    return {
        str(width): {
            str(heads): _law(width, width // max(1, heads), gamma)
            for heads in (0, *HEADS)
            if not heads or (width % heads == 0 and width // heads >= NARROWEST)
        }
        for width in WIDTHS
    }


def _law(width: int, rank: int, gamma: float) -> dict[str, list[float]]:
    laws = laws_of_shape(width, rank, gamma)
    return {score: [laws[field].mean, laws[field].sd, laws[field].half_width] for score, field in SCORES.items()}


@house_style()
def _still(shapes: Table) -> CaptionedFigure:
    figure, panels = new_figure(8.2, 3.2, columns=2, sharey=True)
    kinds = {"sum over heads": ("0", DECODER, "s"), f"one of {SHOWN} heads": (str(SHOWN), ENCODER, "o")}
    for panel, (score, words) in zip(panels, SCORES.items(), strict=True):
        for label, (heads, colour, marker) in kinds.items():
            bands = [of_width[heads][score][2] for of_width in shapes.values()]
            panel.plot(WIDTHS, bands, marker, linestyle="-", color=colour, label=label)
        panel.set(xscale="log", yscale="log", xlabel="width of the model", title=f"{words} ${score}$")
        panel.set_xticks(WIDTHS, [str(w) if w != 768 else "" for w in WIDTHS])
        panel.minorticks_off()
    panels[0].set(ylabel="half of the 95 % band")
    panels[0].set_yticks([0.001, 0.01, 0.1, 1], ["0.001", "0.01", "0.1", "1"])
    panels[0].legend()
    s, d = (shapes["768"]["0"][score] for score in SCORES)
    head = shapes["768"][str(SHOWN)]["d"]
    return captioned(
        figure,
        __package__,
        "fig-null-ruler",
        s_band=number(s[2], 4),
        s_mean=number(s[0], 4),
        d_band=number(d[2], 2),
        heads=SHOWN,
        of_head=number(head[2], 2),
    )
