"""The chain rule in the proof of Proposition 2.2 (Eqs. S27-S32): sums and products in their places."""

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from attngeo.chapters.implicit_gradient.toy_passes import ToyPass, toy_pass, trained_passes
from attngeo.errors import ParameterError
from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import relative_error


def one_value(gain: Tensor, mask: Tensor) -> Tensor:
    """``dL/dalpha_ij = g_i^T v_j``, from gain = g_i^T v_j, (H, N, N)."""
    return gain


def summed_values(gain: Tensor, mask: Tensor) -> Tensor:
    """Equation S28 as printed: ``g_i^T sum_{j in C_i} v_j`` for every j."""
    return (gain * mask).sum(-1, keepdim=True).expand_as(gain)


@check(trained_passes)
def single_weight_derivative(passes: list[ToyPass]) -> Comparisons:
    """Equations S27, S28: the derivative by one weight has one value in it; the sum over j is the chain rule's."""
    for p in passes:
        g = p.run.gradient(0)
        gain = g.errors @ g.layer.values.mT
        right, printed = (relative_error(f(gain, g.layer.mask), g.weights) for f in (one_value, summed_values))
        yield exact("one value", right, objective=p.objective)
        yield compare("as printed", printed, "≠", 0, 0.1, objective=p.objective)


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


@check(toy_pass, objective=Objective.BIDIRECTIONAL, d=12, n_heads=2, n_layers=3, n_tokens=4, d_mlp=24)
def jacobian_of_later_layers(p: ToyPass) -> Comparisons:
    """Equations S29, S30: the layers above multiply; their Jacobians, taken over the whole sequence, do not add."""
    model, layers, config = p.model, p.run.layers, p.model.config
    if config.n_layers < 3:
        raise ParameterError(
            f"with {config.n_layers} layers the sum and the product agree; n_layers must be at least 3."
        )
    mask, start = layers[0].mask, layers[0].attended.detach()

    def above(attended: Tensor) -> Tensor:  # x-hat of layer 0 to the last output
        x = model.feedforward(0, attended)
        for index in range(1, config.n_layers):
            x = model.layer(index, x, mask).output
        return x

    def square(function, at: Tensor) -> Tensor:  # Jacobian over the whole sequence, (N d, N d)
        return jacobian(function, at).reshape(at.numel(), at.numel())

    truth = square(above, start)
    blocks = [
        square(lambda x, i=i: model.layer(i, x, mask).output - x, layers[i].x.detach())
        for i in range(1, config.n_layers)
    ]
    feedforward = square(lambda x: model.feedforward(0, x) - x, start)
    own = [slice(i * config.d, (i + 1) * config.d) for i in range(config.n_tokens)]  # one token's block of a Jacobian
    alone = max(
        relative_error(product_of_jacobians([b[o, o] for b in blocks], feedforward[o, o]), truth[o, o]) for o in own
    )
    printed = relative_error(sum_of_jacobians(blocks, feedforward), truth)
    yield exact("product", relative_error(product_of_jacobians(blocks, feedforward), truth))
    yield compare("as printed", printed, "≠", 0, 1e-2, n_above=config.n_layers - 1)
    yield compare("one token", alone, "≠", 0, 1e-2)
