"""The chapter *What do the paper's theorems explain?*: how far untrained models and recorded runs meet their premises."""

from enum import Enum
from functools import cache
from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import State, read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, number, with_interval
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from attngeo.gradients.rank_one import cosine, exact_coefficients, gradient_sum, step_of_factors
from attngeo.gradients.toy_transformer import LayerGradient, ToyConfig, ToyTransformer, first_layer, one_layer
from attngeo.plot.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.plot.typeset import typeset

EXPERIMENT = "why_agreement"
ARMS = {
    "table": "with learned position embeddings",
    "rotary": "with rotary position embeddings",
    "none": "without any positional encoding",
}
EARLY, ENOUGH = 50, 0.5  # the step and the bound of the plan
GRADIENT = "The gradient is a sum over pairs of tokens"
STEP = "A training step follows the gradient"
HELP = "Two tokens help each other equally"
SYMMETRIC = "Equal help makes an update symmetric"


# Coefficients of untrained models


class MaskedInTurn(NamedTuple):
    """A sequence whose positions are masked one after the other, so that every pair occurs in both orders."""

    beta: Float[Tensor, "n n"]  # row i comes from the pass in which position i is masked (Eq. S9)
    gradient: Float[Tensor, "d d"]  # the sum over all passes


def masked_in_turn(d: int = 32, n_tokens: int = 32, n_models: int = 30, seed: int = 0) -> list[MaskedInTurn]:
    """Untrained models of one layer, each on a random sequence of its own."""
    return [_sequence_in_turn(d, n_tokens, draw) for draw in range(seed, seed + n_models)]


@cache
def _sequence_in_turn(d: int, n_tokens: int, draw: int) -> MaskedInTurn:
    model = one_layer(d, n_tokens, draw)
    tokens = torch.randint(model.config.n_vocab, (n_tokens,), generator=torch.Generator().manual_seed(draw))
    passes = [model.run(tokens, Objective.MASKED, m).gradient(0) for m in torch.eye(n_tokens, dtype=torch.bool)]
    beta = torch.stack([coefficients(g)[i] for i, g in enumerate(passes)])
    return MaskedInTurn(beta, torch.stack([g.w_qk[0] for g in passes]).sum(0))


def random_gradients(
    objective: Objective, d: int = 32, n_tokens: int = 32, n_models: int = 30, seed: int = 0
) -> list[LayerGradient]:
    """The exact gradients of the same models, with every third position masked if the objective is masked."""
    return [_random_gradient(objective, d, n_tokens, draw) for draw in range(seed, seed + n_models)]


@cache
def _random_gradient(objective: Objective, d: int, n_tokens: int, draw: int) -> LayerGradient:
    return one_layer(d, n_tokens, draw).example(objective, draw).gradient(0)


def coefficients(gradient: LayerGradient) -> Float[Tensor, "n n"]:
    """The exact ``beta_ij`` up to the scale of the scores, which does not change a correlation."""
    return exact_coefficients(gradient.layer.weights[0], gradient.layer.values[0], gradient.errors, scale=1.0)


def of_pairs(beta: Float[Tensor, "n n"]) -> float:
    """``sum beta_ij beta_ji / sum beta_ij^2`` over all pairs of two different positions."""
    return symmetry_score(beta - beta.diagonal().diag())


def correlations(objective: Objective, d: int, n_tokens: int, n_models: int, seed: int) -> pd.Series:
    """The correlation of ``beta_ij`` with ``beta_ji`` in each of the untrained models."""
    sizes = {"d": d, "n_tokens": n_tokens, "n_models": n_models, "seed": seed}
    if objective is Objective.MASKED:
        found = [of_pairs(m.beta) for m in masked_in_turn(**sizes)]
    else:
        found = [of_pairs(coefficients(g)) for g in random_gradients(objective, **sizes)]
    return pd.Series(found)


# The steps of the argument


def steps_of_the_argument(toy: ToyConfig, objective: Objective, n_models: int, seed: int) -> dict[str, pd.Series]:
    """How far each step is met in untrained models, as a cosine: 1 is what the argument needs."""
    gradient, step, symmetric = [], [], []
    for draw in range(seed, seed + n_models):
        g, form = first_layer(toy, objective, draw), ToyTransformer.random(toy, draw).form(0)
        gradient.append(cosine(gradient_sum(g.beta, g.layer.x)[0], g.w_qk[0]))
        step.append(cosine(step_of_factors(form.wq, form.wk, g.w_qk)[0], g.w_qk[0]))
        symmetric.append(symmetry_score(gradient_sum((g.beta[0] + g.beta[0].T) / 2, g.layer.x)))
    steps = {GRADIENT: gradient, STEP: step, SYMMETRIC: symmetric}
    met = {name: pd.Series(values) for name, values in steps.items()}
    help_of_both = correlations(objective, toy.d, toy.n_tokens, n_models, seed)
    return {GRADIENT: met[GRADIENT], STEP: met[STEP], HELP: help_of_both, SYMMETRIC: met[SYMMETRIC]}


@house_style()
def argument_figure(met: dict[str, pd.Series], objective: Objective, bert: float) -> CaptionedFigure:
    """A bar for each step of the argument, with its standard deviation over models.

    Args:
        met: what `steps_of_the_argument` found.
        objective: with which the gradients were computed; it decides the colour.
        bert: the cosine of a training step with the gradient in a head of BERT-base at random weights.
    """
    figure, panel = new_figure(6.4, 3.2)
    colour = DECODER if objective is Objective.AUTOREGRESSIVE else ENCODER
    means, deviations = [v.mean() for v in met.values()], [v.std() for v in met.values()]
    places = range(len(met))
    panel.barh(places, means, xerr=deviations, color=colour, height=0.55, error_kw={"ecolor": NEUTRAL})
    for place, mean, deviation in zip(places, means, deviations, strict=True):
        panel.text(max(mean, 0) + deviation + 0.02, place, number(mean, 2), va="center", fontweight="bold")
    at_step = list(met).index(STEP)
    panel.plot(bert, at_step + 0.42, "^", color=NEUTRAL, markersize=7, clip_on=False)
    panel.text(bert + 0.03, at_step + 0.46, f"BERT-base: {bert:.2f}", va="center", fontsize="x-small")
    panel.axvline(1, color=NEUTRAL, linestyle="--")
    panel.set_yticks(places, [wrapped(name) for name in met])
    panel.set(xlim=(min(0.0, *means) - 0.02, 1.12), xlabel="cosine, correlation or symmetry score (1: fully met)")
    panel.set_title("Is each requirement met?", loc="left")
    panel.invert_yaxis()
    panel.grid(False, axis="y")
    words = "; ".join(f"{name}: {number(v.mean(), 2)}" for name, v in met.items())
    caption = f"""The four requirements of the argument that the {objective} objective leads to symmetric updates, measured in
    untrained models. Bars show the mean over {len(met[STEP])} models, and error bars show the standard deviation. The closer
    the bars are to 1, the more symmetric are the updates that the argument predicts. The first bar shows the cosine between a
    sum over pairs of tokens and the exact gradient of $W_{{qk}}$. The second bar shows the cosine between a training step and this gradient, and the triangle marks the value of
    this cosine for a head of BERT-base with random weights. The third bar shows the correlation between $\\beta_{{ij}}$ and
    $\\beta_{{ji}}$. The fourth bar shows the symmetry score of a sum over pairs with $\\beta_{{ij}} = \\beta_{{ji}}$."""
    alt = f"""Four horizontal bars, one for each requirement of the argument, where 1 is needed. {words}. A triangle at
    {bert:.2f} marks a training step in a head of BERT-base."""
    return CaptionedFigure(figure, "fig-argument", caption, alt)


def wrapped(words: str) -> str:
    """A label in two lines of about equal length."""
    spaces = [place for place, letter in enumerate(words) if letter == " "]
    middle = min(spaces, key=lambda place: abs(place - len(words) / 2))
    return f"{words[:middle]}\n{words[middle + 1 :]}"


# What is said about untrained models


def told_correlation(objective: Objective, found: pd.Series) -> str:
    """The correlation of the two coefficients of a pair in untrained models, with what it means."""
    if objective is Objective.AUTOREGRESSIVE:
        return (
            "With the autoregressive objective, every pair of tokens in a sequence occurs in only one order, so one of the two"
            " contributions is always 0."
        )
    value = f"{typeset(f'{found.mean():.3f}')} ± {found.sem():.3f} (mean ± standard error)"
    if abs(found.mean()) < 0.1 + 2 * found.sem():
        return (
            "In small untrained models that read random tokens, we found no such correlation: the two contributions have a"
            f" correlation of {value}."
        )
    return f"In small untrained models, the two contributions have a correlation of {value}."


# What was measured in training


class Outcome(Enum):
    """What the plan of `EXPERIMENT` calls its result."""

    OPEN = "not all runs are recorded"
    MET = "the assumption is met early"
    NOT_MET = "the assumption is not met early"
    MIXED = "it depends on the type of positional encoding"


@cache
def in_training() -> tuple[Outcome, dict[str, Estimate], int, int]:
    """The outcome by the plan, the early correlation of each arm, and how many runs are recorded and planned."""
    runs = read_experiment(data("runs", EXPERIMENT)).runs
    recorded = sum(run.state is State.RECORDED for run in runs)
    rows = pd.read_csv(data("runs", EXPERIMENT, "agreement.csv")).query("step == @EARLY")
    medians = rows.groupby("run")["heads"].median()
    if recorded < len(runs) or len(medians) < len(runs):
        return Outcome.OPEN, {}, recorded, len(runs)
    early = {arm: over_seeds(medians[medians.index.str.startswith(f"{arm}-")]) for arm in ARMS}
    return outcome_by_plan(early), early, recorded, len(runs)


def outcome_by_plan(early: dict[str, Estimate]) -> Outcome:
    """The outcome of a complete experiment, from the early correlation of each arm."""
    if min(estimate.low for estimate in early.values()) > ENOUGH:
        return Outcome.MET
    if max(estimate.high for estimate in early.values()) < ENOUGH:
        return Outcome.NOT_MET
    return Outcome.MIXED


def told_in_training(outcome: Outcome, early: dict[str, Estimate], recorded: int, planned: int) -> str:
    """What we know about the assumption in encoders that are being trained."""
    if outcome is Outcome.OPEN:
        return (
            f"We have planned {planned} training runs in which we measure this correlation in small encoders with learned"
            f" position embeddings, with rotary position embeddings and without any positional encoding. So far, {recorded}"
            " of these runs are recorded. We will draw no conclusion before all runs are complete."
        )
    values = [f"{with_interval(early[arm], as_score)} {words}" for arm, words in ARMS.items()]
    measured = (
        f"We measured the correlation between $\\beta_{{ij}}$ and $\\beta_{{ji}}$ in {planned} training runs of small encoders. For"
        f" each run, we took the median of this correlation over the layers after {EARLY} training steps. Averaged over"
        f" seeds, this median is {values[0]}, {values[1]} and {values[2]} (95 % confidence intervals over seeds)."
    )
    weak = "The paper does not say how strong the correlation has to be."
    if all(estimate.low > 0 for estimate in early.values()):
        weak = f"However, the intervals lie entirely above 0, so there is a correlation, although it is weak. {weak}"
    follows = {
        Outcome.MET: f"All three intervals lie above {ENOUGH:g}, the bound that we had fixed before the first run. By this"
        " criterion, the assumption is met early in training.",
        Outcome.NOT_MET: f"All three intervals lie below {ENOUGH:g}, the bound that we had fixed before the first run. By"
        f" this criterion, the assumption is not met early in training. {weak}",
        Outcome.MIXED: f"Before the first run, we had fixed a bound of {ENOUGH:g}. The three intervals do not all lie on the"
        " same side of this bound, so whether the assumption is met depends on the type of positional encoding.",
    }
    return f"{measured} {follows[outcome]}"


def in_short(outcome: Outcome, early: dict[str, Estimate]) -> str:
    """The same in one sentence."""
    means = sorted(estimate.value for estimate in early.values())
    found = f"between {as_score(means[0])} and {as_score(means[-1])}" if means else ""
    return {
        Outcome.OPEN: "We do not know yet whether the assumption is met during training.",
        Outcome.MET: f"Early in the training of small encoders, the mean correlation lies {found}, above the {ENOUGH:g} that our"
        " plan required.",
        Outcome.NOT_MET: f"Early in the training of small encoders, the mean correlation lies {found}, far below the {ENOUGH:g}"
        " that our plan required. The paper does not say how strong it has to be.",
        Outcome.MIXED: f"Early in the training of small encoders, the mean correlation lies {found}. Whether it reaches the"
        f" {ENOUGH:g} that our plan required depends on the type of positional encoding.",
    }[outcome]
