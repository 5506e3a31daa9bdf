"""Figures of *Column dominance*: which side of an update holds the long norms, by assumption and by position."""

import numpy as np
import seaborn as sns
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.objectives import Objective
from attngeo.gradients.random_updates import (
    Coefficients,
    UpdateModel,
    context_updates,
    log_unevenness,
    power_profile,
    unevenness,
    uniform_softmax_squared_norms,
)
from attngeo.plot.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure

MASK_RATE = 0.3  # of the positions in the masked setting
CONTEXTS = 12  # isotropic context tokens instead of a sequence
THEOREM = "next token: the assumptions of the theorem"
CAUSAL_ERRORS = "next token: coefficients are errors times keys"
BOTH_ERRORS = "both sides: coefficients are errors times keys"
UNEVENNESS = "log unevenness, columns minus rows"


def updates_by_assumption(n_tokens: int, n_sequences: int, n_draws: int, d: int, exponent: float, seed: int):
    """Updates (draws, d, d) under each set of assumptions, by its name; ``n_sequences`` sequences add to one update."""
    generator = torch.Generator().manual_seed(seed)
    uneven, even = power_profile(d, exponent), torch.ones(d, dtype=torch.float64)
    outlying, mask = torch.randn(2, n_draws, d, generator=generator, dtype=torch.float64)
    outlying[:, : max(1, d // 16)] *= 8
    mean = 3.0 * (torch.arange(d) < max(1, d // 16)).double()
    size = {"n_tokens": n_tokens, "n_sequences": n_sequences}
    both, masked = Objective.BIDIRECTIONAL, Objective.MASKED
    models = {
        THEOREM: UpdateModel(uneven, **size),
        "both sides: the same assumptions": UpdateModel(uneven, both, **size),
        CAUSAL_ERRORS: UpdateModel(uneven, coefficients=Coefficients.ERROR, **size),
        BOTH_ERRORS: UpdateModel(uneven, both, coefficients=Coefficients.ERROR, **size),
        "next token: the first token has outlying coordinates": UpdateModel(even, first_token=outlying, **size),
        "masked: all masks share one embedding": UpdateModel(
            uneven, masked, mask_token=mask, mask_rate=MASK_RATE, **size
        ),
        "next token: all embeddings share a mean": UpdateModel(
            even, mean=mean, coefficients=Coefficients.CENTRED, **size
        ),
    }
    context = context_updates(uneven, n_tokens, n_draws, generator, n_contexts=CONTEXTS * n_sequences)
    return {"one token is the context of all others": context} | {
        name: m.draw(n_draws, generator) for name, m in models.items()
    }


def heavier(updates: Float[Tensor, "draws d d"], n_errors: float = 4.0) -> str:
    """Which side is the more uneven one, by more than four standard errors."""
    ratio = log_unevenness(updates)
    lead = float(ratio.mean() / ratio.std()) * len(ratio) ** 0.5
    return "both alike" if abs(lead) < n_errors else "columns heavier" if lead > 0 else "rows heavier"


def errors_times_keys(kinds: dict[str, Float[Tensor, "draws d d"]]) -> str:
    """What coefficients that are errors times keys do to the updates of either objective."""
    causal, both = kinds[CAUSAL_ERRORS], kinds[BOTH_ERRORS]
    found = f"""the mean log ratio of unevenness is {number(float(log_unevenness(causal).mean()), 2, "+")} if the next token is predicted and
        {number(float(log_unevenness(both).mean()), 2, "+")} if tokens are predicted from both sides"""
    if heavier(causal) == heavier(both) == "columns heavier":
        return f"""If each coefficient is the inner product of an error and a key, the columns are more uneven than the
            rows for both objectives ({found}). This condition therefore does not distinguish decoders from encoders."""
    return f"""With the parameters of this run, coefficients that are inner products of errors and keys do not make the
        columns more uneven than the rows by more than four standard errors for both objectives ({found})."""


@house_style()
def which_side(kinds: dict[str, Float[Tensor, "draws d d"]]) -> CaptionedFigure:
    """Mean log ratio of unevenness, columns to rows, of every set of assumptions, coloured by the objective."""
    means = {name: log_unevenness(updates) for name, updates in kinds.items()}
    order = sorted(means, key=lambda name: float(means[name].mean()))
    figure, panel = new_figure(7.6, 3.4)
    panel.axvline(0, color=NEUTRAL, linewidth=1)
    for height, name in enumerate(order):
        ratio = means[name]
        error = 2 * float(ratio.std()) / len(ratio) ** 0.5
        objective = name.partition(":")[0]
        colour = {"next token": DECODER, "both sides": ENCODER, "masked": ENCODER}.get(objective, NEUTRAL)
        panel.errorbar(float(ratio.mean()), height, xerr=error, fmt="o", color=colour, markersize=6, capsize=3)
    panel.set_yticks(range(len(order)), order)
    at_theorem = order.index(THEOREM)
    panel.annotate(
        "the paper\nexpects columns",
        (float(means[THEOREM].mean()), at_theorem),
        (14, 0),
        textcoords="offset points",
        color=DECODER,
        fontsize="small",
        va="center",
        arrowprops={"arrowstyle": "<-", "color": DECODER},
    )
    left, right = panel.get_xlim()
    panel.set_xlim(right=right + 0.2 * (right - left))  # room for these words on a phone
    for x, side, ends in ((0, "rows", "left"), (1, "columns", "right")):
        words = {"s": f"long norms\namong {side}", "fontsize": "small", "fontweight": "bold"}
        panel.text(x, 1.02, **words, transform=panel.transAxes, ha=ends, va="bottom")
    panel.set(xlabel="log of the unevenness of columns, minus that of rows", ylabel="", ylim=(len(order) - 0.5, -0.5))
    caption = rf"""Whether the few large norms of an update occur among its rows or among its columns, under different assumptions. Orange
    points show next-token prediction, as in decoders. Blue points show prediction from both sides or prediction of masked tokens, as in
    encoders. The bars show two standard errors in each direction. In the settings labelled *errors times keys*, the
    coefficients are inner products $\delta_i^\top x_j$, where $\delta_i$ is the error in predicting token $i$. In the
    masked setting, {MASK_RATE:.0%} of the positions are masked. In the setting with one context token, we replace each
    sequence by {CONTEXTS} independent context tokens, each of which has its own predicted tokens. If the first token
    has outlying coordinates or all embeddings share a mean, the covariance is $\Sigma = I$."""
    alt = f"""Dots on both sides of a line at 0, one for each of {len(order)} sets of assumptions. The setting with the longest
    rows is: {order[0]}. The setting with the longest columns is: {order[-1]}."""
    return CaptionedFigure(figure, "fig-which-side", caption, alt)


@house_style()
def early_keys(n: int = 16) -> CaptionedFigure:
    """Squared norms by position over their mean, of queries and of keys: the theorem's values on the axes."""
    figure, panel = new_figure(6.4, 3.0)
    at, sides = np.arange(1, n + 1), uniform_softmax_squared_norms(torch.eye(n).double(), Objective.AUTOREGRESSIVE)
    for (name, colour, marker), squared in zip(
        (("queries (rows)", "#CC79A7", "s"), ("keys (columns)", "black", "o")), sides, strict=True
    ):
        sns.lineplot(x=at, y=squared / squared.mean(), color=colour, label=name, marker=marker, ax=panel)
    panel.axhline(1, color=NEUTRAL, linewidth=0.8)
    panel.set(xlabel="position in the sequence", ylabel="multiple of an even share")
    rows, columns = map(unevenness, sides)
    words = f"With {n} positions, the unevenness of the queries is {rows:.2f} and the unevenness of the keys is {columns:.2f}."
    queries, keys = (squared / squared.mean() for squared in sides)
    assert keys[0] == keys.max() and (keys.diff() <= 1e-12).all() and (queries[1:].diff() < 0).all()
    caption = f"""Contribution of each position to the expected squared norm, as a query and as a key. Attention is uniform with a causal
        mask, and the inputs lie along the coordinate axes. Without a mask, all positions contribute equally (horizontal line). {words}"""
    alt = f"""Two lines over the positions. Keys begin at {keys[0]:.1f} times an even share and fall to {keys[-1]:.2f}. Queries begin
        at {queries[0]:.0f}, reach {queries[1]:.1f} at the second position and fall to {queries[-1]:.1f}. {words}"""
    return CaptionedFigure(figure, "fig-early-keys", caption, alt)
