"""One head of a toy Transformer on one sequence, on which the checks of Proposition S1.7 compute."""

from dataclasses import dataclass

from torch import Tensor

from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import exact_coefficients
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

DIFFERENT = 0.1  # relative error above which two formulas count as different


@dataclass(frozen=True)
class HeadGradient:
    """What autograd says of the first head of the first layer, and the coefficients that Prop. S1.7 starts from."""

    beta: Tensor  # (N, N), exact coefficients
    x: Tensor  # (N, d), inputs of the layer
    w_qk: Tensor  # (d, d), dL/dW_qk of the head


def head_gradient(
    d: int = 24,
    n_tokens: int = 8,
    seed: int = 0,
    n_heads: int = 2,
    objective: Objective = Objective.AUTOREGRESSIVE,
) -> HeadGradient:
    """A two-layer Transformer at random weights, on one random sequence."""
    model = ToyTransformer.random(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens), seed)
    g = model.example(objective, seed).gradient(0)
    beta = exact_coefficients(g.layer.weights, g.layer.values, g.errors, model.config.score_scale)
    return HeadGradient(beta[0], g.layer.x, g.w_qk[0])


def gradients_by_objective(d: int = 24, n_tokens: int = 8, seed: int = 0) -> dict[Objective, HeadGradient]:
    """The same weights and tokens under the two objectives that models are trained with."""
    kinds = (Objective.AUTOREGRESSIVE, Objective.MASKED)
    return {objective: head_gradient(d, n_tokens, seed, objective=objective) for objective in kinds}
