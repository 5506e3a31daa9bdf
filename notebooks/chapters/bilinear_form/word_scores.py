"""The scores of six words for a query-key matrix whose symmetry the reader sets, and the attention weights they give."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.toy_transformer import WORDS
from attngeo.plot.style import NEUTRAL, CaptionedFigure, house_style, new_figure, signed_image
from livingpaper.display.interactive import Interactive

N_TOKENS = 400  # pairs of random tokens whose scores are drawn as points
EXTENT = 3.6  # of the axes of the points, in standard deviations of a score


@dataclass(frozen=True)
class MadeOfParts:
    """``W = sqrt((1 + s) / 2) S + sqrt((1 - s) / 2) N`` has symmetry score s: S symmetric, N skew, both of norm 1."""

    symmetric: Float[Tensor, "d d"]
    skew: Float[Tensor, "d d"]

    def at(self, s: float) -> Float[Tensor, "d d"]:
        """The matrix with symmetry score s."""
        return math.sqrt((1 + s) / 2) * self.symmetric + math.sqrt((1 - s) / 2) * self.skew


def random_parts(d: int, generator: torch.Generator) -> MadeOfParts:
    """The parts of a matrix with normal entries."""
    m = torch.randn(d, d, generator=generator, dtype=torch.float64)
    symmetric, skew = m + m.T, m - m.T
    return MadeOfParts(symmetric / symmetric.norm(), skew / skew.norm())


def random_tokens(n: int, d: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
    """Normal embeddings, one a row."""
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


def word_scores(d: int, seed: int, symmetry: float) -> Interactive:
    """Scores and weights of the words of one sentence, and the scores of random pairs of tokens in both orders."""
    generator = torch.Generator().manual_seed(seed)
    parts = random_parts(d, generator)
    words = random_tokens(len(WORDS), d, generator)
    one, other = random_tokens(N_TOKENS, d, generator), random_tokens(N_TOKENS, d, generator)
    m = parts.at(symmetry)
    scores = words @ m @ words.T
    pair = least_alike(torch.softmax(scores, -1))
    held = {
        "words": WORDS,
        "pair": pair,
        "opened": symmetry,
        "extent": EXTENT,
        "symmetric": _rounded(words @ parts.symmetric @ words.T),
        "skew": _rounded(words @ parts.skew @ words.T),
        "tokens": {
            "symmetric": _rounded(torch.einsum("ni,ij,nj->n", one, parts.symmetric, other)),
            "skew": _rounded(torch.einsum("ni,ij,nj->n", one, parts.skew, other)),
        },
    }
    in_order = torch.einsum("ni,ij,nj->n", one, m, other)
    reversed_order = torch.einsum("ni,ij,nj->n", other, m, one)
    return Interactive("word_scores", held, _still(scores, pair, in_order, reversed_order, symmetry))


def least_alike(weights: Float[Tensor, "n n"]) -> tuple[int, int]:
    """The pair (i, j) whose weights differ most, i attending to j more than j attends to i."""
    most = int((weights - weights.T).argmax())
    return most // len(weights), most % len(weights)


def _rounded(values: Tensor) -> list[float]:
    return values.flatten().round(decimals=4).tolist()


@house_style()
def _still(
    scores: Float[Tensor, "n n"],
    pair: tuple[int, int],
    in_order: Float[Tensor, " pairs"],
    reversed_order: Float[Tensor, " pairs"],
    s: float,
) -> CaptionedFigure:
    figure, (left, middle, right) = new_figure(9, 3.4, columns=3)
    weights = torch.softmax(scores, -1)
    for panel, values, title in ((left, scores, "scores"), (middle, weights, "attention weights")):
        signed_image(panel, values.numpy())
        panel.set_title(title)
        panel.set_xticks(range(len(WORDS)), WORDS, rotation=90)
        panel.set_yticks(range(len(WORDS)), WORDS)
        panel.set(xlabel="attended word $j$", ylabel="attending word $i$")
    right.scatter(in_order, reversed_order, s=5, color=NEUTRAL, alpha=0.5)
    right.axline((0, 0), slope=1, color=NEUTRAL, linewidth=1, linestyle="--")
    right.set(
        xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT), aspect="equal", title=f"{N_TOKENS} random pairs of tokens"
    )
    right.set(xlabel="score that $i$ gives $j$", ylabel="score that $j$ gives $i$")
    i, j = pair
    one, other = WORDS[i], WORDS[j]
    there, back = (number(float(scores[at]), 2) for at in ((i, j), (j, i)))
    share, share_back = (f"{float(weights[at]):.0%}" for at in ((i, j), (j, i)))
    if there == back:
        given = f"The words *{one}* and *{other}* give each other a score of {there}."
    else:
        given = f"The word *{one}* gives *{other}* a score of {there}, and *{other}* gives *{one}* a score of {back}."
    caption = f"""Scores and attention weights of the words of *the dog met my old cat* for a random query-key matrix with symmetry
    score $s$ = {s:g}. {given} After the softmax, however, the word *{one}* gives {share} of its attention weight
    to the word *{other}*, whereas *{other}* gives {share_back} to *{one}*. No other pair of words has attention weights that
    differ so much. Each point on the right shows the two scores that two randomly chosen tokens give each other. The correlation between these two scores is $s$."""
    mirrored = "a mirror image of itself at the diagonal" if s == 1 else "not a mirror image of itself at the diagonal"
    alt = f"""Two heat maps of the words of a sentence and a cloud of points. The map of scores is {mirrored}, and the map
    of attention weights is not. The cloud of points has a correlation of about s = {s:g}."""
    return CaptionedFigure(figure, "fig-word-scores", " ".join(caption.split()), alt)
