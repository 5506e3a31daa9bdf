"""Figures of *Context and prediction*: how often tokens are context, and the terms of a gradient, painted one by one."""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.objectives import Objective, context_matrix, every_third
from attngeo.gradients.rank_one import gradient_sum
from attngeo.gradients.token_counts import N_VOCAB, Counts
from attngeo.gradients.toy_transformer import WORDS, sentence_gradient
from attngeo.plot.style import NEUTRAL, CaptionedFigure, house_style, new_figure, signed_image
from livingpaper.display.interactive import Interactive

MASK = "[M]"  # what stands at a masked position
TEXTS = (  # of the figure of ratios
    "correlated, preferred positions",
    "independent, preferred positions",
    "correlated, no preferred positions",
)
COLOURS = ("black", "#CC79A7", "#E69F00")  # none of encoders or decoders


def ratio_and_error(counts: Counts) -> tuple[Float[Tensor, " vocab"], Float[Tensor, " vocab"]]:
    """``E mu_c / E mu_p`` of every token, simulated, and its standard error (to first order)."""
    predicted, ratio = counts.predicted.mean(0), counts.context.mean(0) / counts.predicted.mean(0)
    return ratio, (counts.context - ratio * counts.predicted).std(0) / predicted / len(counts.context) ** 0.5


def differ_from_one(texts: dict[str, Counts]) -> bool:
    """Whether any ratio of the independent tokens differs from 1 by more than five standard errors."""
    ratio, error = ratio_and_error(texts[TEXTS[1]])
    return bool(((ratio - 1).abs() > 5 * error).any())


@house_style()
def ratio_by_text(texts: dict[str, Counts]) -> CaptionedFigure:
    """The ratio of every token, with two standard errors, in three texts."""
    figure, panel = new_figure(6.4, 3.0)
    panel.axhline(1, color=NEUTRAL, linestyle="--")
    for shift, (text, counts), colour in zip((-0.12, 0, 0.12), texts.items(), COLOURS, strict=True):
        ratio, error = ratio_and_error(counts)
        places = torch.arange(len(ratio)) + shift
        panel.errorbar(places, ratio, yerr=2 * error, fmt="o", capsize=3, color=colour, label=text)
    panel.set(xlabel="word of the artificial language", ylabel="times context / times predicted")
    panel.set_xticks(range(N_VOCAB), WORDS[:N_VOCAB])
    panel.legend()
    told = "" if differ_from_one(texts) else " With so few sequences, no ratio differs significantly from 1."
    caption = f"""How often a word serves as context, divided by how often it is predicted, in three simulated texts with a vocabulary of five
    words. The texts are read from left to right. If we remove the correlations between the words, the ratios do not change. If every
    word is equally likely at all positions, all ratios are 1. The bars show two standard errors in each direction.{told}"""
    alt = f"""Five words with three points each: how often the word is context, divided by how often it is predicted. The two
    texts in which words have preferred positions agree, with and without correlations. The points of the third text lie on the
    line at 1.{told}"""
    return CaptionedFigure(figure, "fig-ratio-by-text", caption, alt)


def painter(seed: int = 0) -> Interactive:
    """Terms ``beta_ij x_i x_j^T`` to be added by prediction or by context, until the gradient is complete."""
    n = len(WORDS)
    drawn = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    shown = {}
    for objective in Objective:
        g, alike = sentence_gradient(objective, seed), context_matrix(objective, n) * (drawn + drawn.T) / 2**0.5
        matrices = {"x": g.layer.x, "alike": alike, "exact": g.beta[0]}
        masked = every_third(n) & (objective is Objective.MASKED)
        words = [MASK if m else w for w, m in zip(WORDS, masked.tolist(), strict=True)]
        shown[objective.value] = {k: m.round(decimals=4).tolist() for k, m in matrices.items()} | {"words": words}
    return Interactive("painter", shown, painted(shown))


@house_style()
def painted(shown: dict[str, dict]) -> CaptionedFigure:
    """Coefficients that are alike in both orders, above, and the sum of their terms, below, per objective."""
    figure, panels = new_figure(8.4, 5.6, 2, len(shown), squeeze=False)
    for (above, below), (objective, held) in zip(panels.T, shown.items(), strict=True):
        x, beta = (torch.tensor(held[name], dtype=torch.float64) for name in ("x", "alike"))
        total = gradient_sum(beta, x)
        for panel, m in ((above, beta), (below, total)):
            signed_image(panel, m.masked_fill(m == 0, torch.nan).numpy())
        above.set(title=f"{objective}: {int((beta != 0).sum())} pairs", xlabel="context token j")
        above.set_xticks(range(len(x)), held["words"], rotation=90)
        above.set_yticks(range(len(x)), held["words"])
        s = number(symmetry_score(total), 2)
        below.set(title=f"their sum: symmetry s = {s}", xlabel="key coordinate", xticks=[], yticks=[])
    panels[0, 0].set_ylabel("predicted token i")
    panels[1, 0].set_ylabel("query coordinate")
    caption = r"""The table of words shows the coefficients $\beta_{ij}$ of all pairs of words in *the dog met my old cat*.
    The coefficients are equal in both orders of a pair. The matrices that are not labelled with words show sums of the
    terms $\beta_{ij} x_i x_j^\top$, and $s$ is the symmetry score of the sum over all pairs. Positive values are red, and
    negative values are blue."""
    alt = """Two rows of three matrices. Above, the autoregressive pairs fill the lower triangle, the bidirectional pairs all
    but the diagonal, and the masked pairs the crossings of masked rows and visible columns. Below, the sums of their terms with
    their symmetry scores. Only the bidirectional sum is symmetric."""
    return CaptionedFigure(figure, "fig-painter", caption, alt)
