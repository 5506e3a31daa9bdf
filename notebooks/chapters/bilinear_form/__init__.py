"""A random attention layer, on which both pages about bilinear forms compute, and the order of its scores."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.errors import ParameterError


class Layer(NamedTuple):
    """Random tokens and one attention layer without biases, float64."""

    x: Tensor  # (N, d), one embedding a row
    form: BilinearForm
    wv: Tensor  # (H, d, d_head)
    wo: Tensor  # (H, d_head, d)
    directions: Tensor  # (d, 256), to look at the tokens from

    def raw(self) -> Tensor:
        """The raw scores ``x_i^T W_qk,h x_j``, (H, N, N)."""
        return torch.stack([self.x @ w @ self.x.T for w in self.form.heads()])


def random_layer(d: int, n_tokens: int, n_heads: int, seed: int) -> Layer:
    """Normal embeddings, and weights under which raw scores are of order sqrt(d).

    Raises:
        ParameterError: d is no multiple of n_heads.
    """
    if d % n_heads:
        raise ParameterError(f"d is {d} and n_heads is {n_heads}; d must be a multiple of n_heads.")
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    wq, wk, wv = (normal(n_heads, d, d // n_heads) / d**0.5 for _ in range(3))
    x, wo = normal(n_tokens, d), normal(n_heads, d // n_heads, d) / d**0.5
    return Layer(x, BilinearForm(wq, wk), wv, wo, normal(d, 256))


def order_violations(weights: Tensor, raw: Tensor, allowed: Tensor | None = None) -> int:
    """Triples (i, j, j') for which ``weights_ij < weights_ij'`` and ``raw_ij < raw_ij'`` disagree (Eq. 5)."""
    differ = (weights[..., :, None] < weights[..., None, :]) != (raw[..., :, None] < raw[..., None, :])
    if allowed is not None:
        differ &= allowed[..., :, None] & allowed[..., None, :]
    return int(differ.sum())
