"""Heads that each look in one direction along a sentence, and their sum, which looks in both alike."""

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from attngeo.bilinear.scores import symmetry_score
from attngeo.errors import ParameterError
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.toy_transformer import WORDS
from attngeo.plot.style import NEUTRAL, PALETTE, CaptionedFigure, house_style, new_figure

MOST_HEADS = 2 * (len(WORDS) - 1)  # the largest distance between two words, in both directions
BACK, AHEAD = PALETTE[3], PALETTE[2]  # neither is a colour of encoders or decoders


def looks_at(offset: int) -> Float[Tensor, "n n"]:
    """Scores of a head in which each word scores the word at this offset 1, and all other words 0."""
    scores = torch.zeros(len(WORDS), len(WORDS), dtype=torch.float64)
    for i in range(len(WORDS)):
        if 0 <= i + offset < len(WORDS):
            scores[i, i + offset] = 1
    return scores


def heads_of_words(n_heads: int) -> Float[Tensor, "heads n n"]:
    """Heads 1, 2, 3, 4 ... look one word back, one ahead, two back, two ahead, and so on.

    Raises:
        ParameterError: the sentence has no words at such a distance.
    """
    if not 2 <= n_heads <= MOST_HEADS:
        raise ParameterError(f"n_heads is {n_heads}; a sentence of {len(WORDS)} words has room for 2 to {MOST_HEADS}.")
    offsets = [distance * side for distance in range(1, len(WORDS)) for side in (-1, 1)]
    return torch.stack([looks_at(offset) for offset in offsets[:n_heads]])


@house_style()
def heads_and_their_sum(n_heads: int) -> CaptionedFigure:
    """The first two heads and the sum over all of them, as arrows from each word to the words that it scores."""
    heads = heads_of_words(n_heads)
    shown = {"head 1": heads[0], "head 2": heads[1], f"sum of {n_heads} heads": heads.sum(0)}
    furthest = (n_heads + 1) // 2
    figure, panels = new_figure(9, 1.1 + 0.35 * furthest, columns=len(shown))
    s = {}
    for panel, (name, scores) in zip(panels, shown.items(), strict=True):
        s[name] = number(symmetry_score(scores), 2)
        _arrows(panel, scores, height=0.6 + 0.3 * furthest)
        panel.set_title(f"{name}: s = {s[name]}")
    one, other, of_sum = s.values()
    others = " The other heads do the same at larger distances." if n_heads > 2 else ""
    directions = (
        "one head attends backwards and the other attends forwards"
        if n_heads == 2
        else "half of the heads attend backwards and the other half attend forwards"
    )
    caption = f"""Arrows point from each word to the words to which it gives a high score. Head 1 attends one word back,
    whereas head 2 attends one word ahead. Neither head is symmetric ($s$ = {one} and {other}).{others} The sum of the {n_heads} heads
    has $s$ = {of_sum}{f", because {directions}" if n_heads % 2 == 0 else ""}."""
    alt = f"""Arrows between the six words of a sentence in three panels. In the first they all point back, in the second
    ahead, and in the third, the sum, they point both ways. Symmetry scores {one}, {other} and {of_sum}."""
    return CaptionedFigure(figure, "fig-heads-of-words", " ".join(caption.split()), alt)


def _arrows(panel: Axes, scores: Float[Tensor, "n n"], height: float) -> None:
    """The words in a row; arrows that lead back run above it, arrows that lead ahead below it."""
    for i, j in scores.nonzero().tolist():
        look = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.45", "color": BACK if j < i else AHEAD}
        start = 0.16 if j < i else -0.16
        panel.annotate("", (j, start), (i, start), arrowprops=look | {"linewidth": 1.6, "shrinkA": 0, "shrinkB": 0})
    for place, word in enumerate(WORDS):
        panel.text(place, 0, word, ha="center", va="center", fontsize=10, color=NEUTRAL)
    panel.set(xlim=(-0.6, len(WORDS) - 0.4), ylim=(-height, height), aspect="equal")
    panel.set_axis_off()
