"""The figure of the front page: two squares that train, and the crossing lines of ten pairs of models.

``python -m chapters.introduction.front_figure`` draws book/_static/preview.png, which a link to the book shows.
"""

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data, root
from attngeo.plot.style import PART_COLOURS, CaptionedFigure, house_style, plain_panel
from chapters import positions
from chapters.positions.pictures import EXPERIMENT, KERNELS, MODELS, recorded_pictures
from livingpaper.display.interactive import Interactive

SIDE = 32  # rows and columns of W_qk itself that are shown
BELOW = "#5c6470"  # grey: values below zero
SYMMETRIC = 0.8  # s from which the text calls a square close to its own mirror image
OBJECTIVES = {"encoder": "mlm", "decoder": "clm"}
ARMS = {
    "table": "learned",
    "rotary": "rotary",
}  # kinds of positions, as `RUNS` and as the planned experiments name them

Kernels = Float[np.ndarray, "steps n n"]


def scores_of_seeds(experiment: positions.Judged) -> dict[str, dict[str, list[float]]]:
    """Symmetry of every run, median over layers: by model and kind of positions, in the order of the seeds."""
    return {
        model: {
            kind: [round(float(s), 3) for s in experiment.arms[f"{objective}-{arm}"].values(positions.S)]
            for kind, arm in ARMS.items()
        }
        for model, objective in OBJECTIVES.items()
    }


def kernels() -> dict[str, Kernels]:
    """P W_qk P^T of the first layer of the models with learned positions, each as levels of its largest magnitude."""
    with np.load(data("runs", EXPERIMENT, KERNELS)) as recorded:
        return {model: recorded[model].astype(float) for model in MODELS}


def _symmetry(square: Float[np.ndarray, "n n"]) -> float:
    return symmetry_score(torch.from_numpy(square))


def settled(squares: Kernels) -> int:
    """The first frame from which on every square is close to its own mirror image."""
    scores = np.array([_symmetry(square) for square in squares])
    return int(np.flatnonzero(scores < SYMMETRIC)[-1]) + 1


def front_figure() -> Interactive:
    """From the recorded runs."""
    experiment = positions.recorded()
    squares = kernels()
    shown = recorded_pictures(SIDE) | {
        "seeds": scores_of_seeds(experiment),
        "settled": settled(squares["encoder"]),
    }
    assert shown["settled"] < len(shown["steps"]) / 2
    # what the script says of the folded squares: little is left of the encoder's, and more of the decoder's
    left = {model: (1 - _symmetry(of_steps[-1])) / 2 for model, of_steps in squares.items()}
    assert left["encoder"] < 0.05 < 0.1 < left["decoder"]
    return Interactive("front_figure", shown, _still(squares, shown))


def _still(squares: dict[str, Kernels], shown: dict) -> CaptionedFigure:
    ends = {model: {kind: np.mean(s) for kind, s in by_kind.items()} for model, by_kind in shown["seeds"].items()}
    of_pair = {model: shown["kinds"]["table"][model] for model in MODELS}
    seeds = len(shown["seeds"]["encoder"]["table"])
    steps = f"{shown['steps'][-1]:,}"
    means = {f"{model}, {kind}": number(value, 2) for model, kinds in ends.items() for kind, value in kinds.items()}
    caption = (
        "**Left and middle:** How much position $i$ (row) attends to position $j$ (column) in the first layer of an"
        f" encoder and of a decoder with learned position embeddings, after {steps} training steps. The median symmetry"
        f" score over the layers is {number(of_pair['encoder']['median'][-1], 2)} for this encoder and"
        f" {number(of_pair['decoder']['median'][-1], 2)} for this decoder. **Right:** Symmetry scores of {seeds} other"
        " pairs of models. Each pair was trained once with learned and once with rotary position embeddings."
    )
    alt = (
        "Two coloured squares and a line chart. The square of an encoder is nearly its own mirror image, but the square"
        f" of a decoder is not. In the chart, the lines of encoders and decoders cross. With learned position embeddings, encoders score {means['encoder, table']} and decoders"
        f" {means['decoder, table']}. With rotary position embeddings, encoders score {means['encoder, rotary']} and decoders"
        f" {means['decoder, rotary']}."
    )
    return CaptionedFigure(_drawn(squares, shown["seeds"]), "fig-front", caption, alt)


@house_style()
def _drawn(squares: dict[str, Kernels], seeds: dict, height: float = 3.3) -> Figure:
    figure = Figure(figsize=(9, height))
    panels = figure.subplots(1, 3, width_ratios=(1, 1, 1.05))
    for panel, (model, of_steps) in zip(panels, squares.items(), strict=False):
        colours = LinearSegmentedColormap.from_list(model, [BELOW, "white", PART_COLOURS[model]])
        plain_panel(panel)
        panel.imshow(of_steps[-1], cmap=colours, vmin=-127, vmax=127)
        panel.set(xlabel="attends to position j", ylabel="position i" if model == MODELS[0] else "")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_title(model.capitalize(), color=PART_COLOURS[model])
    _crossing_lines(panels[-1], seeds)
    return figure


def _crossing_lines(panel: Axes, seeds: dict) -> None:
    for model, by_kind in seeds.items():
        colour = PART_COLOURS[model]
        panel.plot([0, 1], [by_kind["table"], by_kind["rotary"]], color=colour, alpha=0.25, linewidth=1)
        ends = [np.mean(by_kind["table"]), np.mean(by_kind["rotary"])]
        panel.plot([0, 1], ends, "o-", color=colour, linewidth=3)
        for x, value, side in zip((0, 1), ends, ("right", "left"), strict=True):
            words = {"color": colour, "ha": side, "va": "center", "fontweight": "bold"}
            panel.text(x + (0.09 if x else -0.09), value, number(value, 2), **words)
    panel.set(xlim=(-0.6, 1.6), xticks=[0, 1], ylabel="symmetry s of $W_{qk}$")
    panel.set_xticklabels(["learned\npositions", "rotary\npositions"])
    panel.set_title("Ten such pairs")


def preview() -> None:
    """The picture that a link to the book shows: 1200 x 630 pixels."""
    figure = _drawn(kernels(), scores_of_seeds(positions.recorded()), height=4.725)
    with house_style(), atomic_path(root() / "book" / "_static" / "preview.png") as file:
        figure.suptitle("Give a small BERT rotary positions, and its query–key weights stop being symmetric")
        figure.savefig(file, format="png", dpi=1200 / 9, bbox_inches=None)


if __name__ == "__main__":
    preview()
