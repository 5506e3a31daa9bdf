"""Exact means over independent normal variables."""

import torch
from jaxtyping import Float
from torch import Tensor


def normal_quadrature(n: int) -> tuple[Float[Tensor, "nodes n"], Float[Tensor, " nodes"]]:
    """All ``3^n`` points of ``{-sqrt(3), 0, sqrt(3)}^n`` with the products of the weights 1/6, 2/3, 1/6.

    The weighted sum over the points of a polynomial, of degree 5 at most in each variable, is its mean over n
    independent standard normal variables: exact moments of small random matrices, without an error of sampling.
    """
    points = torch.tensor([-(3**0.5), 0, 3**0.5], dtype=torch.float64)
    weights = torch.tensor([1 / 6, 2 / 3, 1 / 6], dtype=torch.float64)
    nodes, products = (torch.cartesian_prod(*[values] * n).view(-1, n) for values in (points, weights))
    return nodes, products.prod(1)
