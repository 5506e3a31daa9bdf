"""The chain rule in the proof of Proposition 2.2 (Eqs. S27-S32): sums and products in their places."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from attngeo.chapters.implicit_gradient.gradient import CHAPTER, TRAINED
from attngeo.errors import ParameterError
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.updates.objectives import Objective, attended_matrix
from attngeo.updates.rank_one import relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


def one_value(gain: Tensor, mask: Tensor) -> Tensor:
    """``dL/dalpha_ij = g_i^T v_j``, from gain = g_i^T v_j, (H, N, N)."""
    return gain


def summed_values(gain: Tensor, mask: Tensor) -> Tensor:
    """Equation S28 as printed: ``g_i^T sum_{j in C_i} v_j`` for every j."""
    return (gain * mask).sum(-1, keepdim=True).expand_as(gain)


@claim
def single_weight_derivative(
    d: int = 32, n_tokens: int = 8, seed: int = 0, derivative: Callable[[Tensor, Tensor], Tensor] = one_value
) -> Result:
    """Equations S27, S28: the derivative by one weight has one value in it; the sum over j is the chain rule's."""
    comparisons = []
    for objective in TRAINED:
        g = ToyTransformer.random(ToyConfig(d=d, n_tokens=n_tokens), seed).example(objective, seed).gradient(0)
        gain = g.errors @ g.layer.values.mT
        wrong = relative_error(summed_values(gain, g.layer.mask), g.weights)
        comparisons += [
            exact(
                f"relative error of g·v_j, {objective}", relative_error(derivative(gain, g.layer.mask), g.weights), 0
            ),
            Comparison(f"relative error of Σ_j g·v_j, {objective}", wrong, "≠", 0.0, 0.1),
        ]
    return Result(
        statement="2.2",
        part="Eqs. S27, S28, S31, S32",
        title="the derivative by one attention weight",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$\\partial L / \\partial \\alpha_{ij}$ ends in $\\sum_{j \\in C_i} x_j$, and S27 has no sum.",
        corrected="$\\partial L / \\partial \\alpha_{ij} = \\delta_i^\\top x_j$, and $\\nabla_w L = \\sum_{j \\in C_i} "
        "(\\partial L / \\partial \\alpha_{ij}) (\\partial \\alpha_{ij} / \\partial w)$.",
        remark="The result S32 is the one that follows from the corrected steps.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


def product_of_jacobians(blocks: list[Tensor], feedforward: Tensor) -> Tensor:
    """``prod_m (I + F_m') (I + m')``, later blocks on the left; every F_m' is the Jacobian of a block's increment."""
    total = torch.eye(len(feedforward), dtype=feedforward.dtype) + feedforward
    for block in blocks:
        total = total + block @ total
    return total


def sum_of_jacobians(blocks: list[Tensor], feedforward: Tensor) -> Tensor:
    """Equation S29 as printed: ``(I + sum_m F_m') (I + m')``."""
    identity = torch.eye(len(feedforward), dtype=feedforward.dtype)
    return (identity + sum(blocks)) @ (identity + feedforward)


@claim
def jacobian_of_later_layers(
    d: int = 12,
    n_heads: int = 2,
    n_tokens: int = 4,
    n_layers: int = 3,
    seed: int = 0,
    chain: Callable = product_of_jacobians,
) -> Result:
    """Equations S29, S30: the layers above multiply; their Jacobians, taken over the whole sequence, do not add."""
    if n_layers < 3:
        raise ParameterError(f"with {n_layers} layers the sum and the product agree; n_layers must be at least 3.")
    config = ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens, n_layers=n_layers, d_mlp=2 * d)
    model = ToyTransformer.random(config, seed)
    mask = attended_matrix(Objective.BIDIRECTIONAL, n_tokens)
    size = n_tokens * d

    def above(attended: Tensor) -> Tensor:  # x-hat of layer 0 to the last output
        x = model.feedforward(0, attended)
        for index in range(1, n_layers):
            x = model.layer(index, x, mask).output
        return x

    layers = model.example(Objective.BIDIRECTIONAL, seed).layers
    start = layers[0].attended.detach()
    truth = jacobian(above, start).reshape(size, size)
    blocks = [
        jacobian(lambda x, i=i: model.layer(i, x, mask).output - x, layers[i].x.detach()).reshape(size, size)
        for i in range(1, n_layers)
    ]
    feedforward = jacobian(lambda x: model.feedforward(0, x) - x, start).reshape(size, size)
    own = [slice(i * d, (i + 1) * d) for i in range(n_tokens)]  # one token's block of a Jacobian
    alone = max(
        relative_error(product_of_jacobians([b[o, o] for b in blocks], feedforward[o, o]), truth[o, o]) for o in own
    )
    return Result(
        statement="2.2",
        part="Eqs. S29, S30",
        title="the derivative through the layers above",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("relative error of the product", relative_error(chain(blocks, feedforward), truth), 0),
            Comparison(
                f"relative error of the sum as printed, {n_layers - 1} layers above",
                relative_error(sum_of_jacobians(blocks, feedforward), truth),
                "≠",
                0.0,
                1e-2,
            ),
            Comparison(
                "largest relative error of the product along one token alone",
                alone,
                "≠",
                0.0,
                1e-2,
            ),
        ),
        printed="$\\partial x_i^L / \\partial \\hat x_i^l = (1 + \\sum_m \\mathcal{F}'_l(x_i^m)) (1 + m'_l)$",
        corrected="$\\partial X^L / \\partial \\hat X^l = \\prod_{m = L}^{l+1} (I + F'_m)\\, (I + m'_l)$ over the "
        "whole sequence, with $F'_m$ the Jacobian of what block $m$ adds.",
        remark="Only the definition of $\\delta$ changes; the form of the result does not. The index of "
        "$\\mathcal{F}'_l$ should be that of the layer summed over.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
