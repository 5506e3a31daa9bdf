"""Queries tied to keys, head by head: ``W_k,h = W_q,h S_h``, with S_h the identity, symmetric, or skew-symmetric.

All S_h are orthogonal, so that the keys keep the scale and the singular values of the queries. Appendix S2.1 has one
d x d matrix S for all heads, which makes their sum skew-symmetric and the heads not.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import ParameterError

# (d_head, generator) -> S of one head, (d_head, d_head); None is the identity
Mixer = Callable[[int, torch.Generator], Tensor | None]


def identity(d_head: int, generator: torch.Generator) -> None:
    """``S = I``: W_qk,h is symmetric and positive semi-definite."""


def reflection(d_head: int, generator: torch.Generator) -> Float[Tensor, "d_head d_head"]:
    """``S = S^T``, half of its eigenvalues -1 and the others 1: W_qk,h is symmetric and indefinite."""
    signs = torch.ones(d_head, dtype=torch.float64)
    signs[1::2] = -1
    return _turned(torch.diag(signs), generator)


def rotation(d_head: int, generator: torch.Generator) -> Float[Tensor, "d_head d_head"]:
    """``S = -S^T``: W_qk,h is skew-symmetric. An odd width leaves one direction out and enlarges the others."""
    if d_head == 1:
        raise ParameterError("heads of width 1 cannot be skew; use fewer heads or a larger d_model.")
    turn = torch.zeros(d_head, d_head, dtype=torch.float64)
    for i in range(0, d_head - 1, 2):
        turn[i, i + 1], turn[i + 1, i] = 1, -1
    turn *= math.sqrt(d_head / (d_head - d_head % 2))
    return _turned(turn, generator).T


def tie(
    wq: Float[Tensor, "heads d d_head"],
    wk: Float[Tensor, "kv_heads d d_head"],
    mixer: Mixer,
    generator: torch.Generator,
) -> None:
    """``W_k,h = W_q,h S_h`` for every head, in place.

    Where query heads share a key head, the first of them gives it and the others follow from it, ``W_q,h = W_k,g S_h``:
    then queries are written too. With the identity they are then equal to one another. Draws are made on the CPU.
    """
    group = len(wq) // len(wk)
    for h in range(len(wq)):
        source, target = (wk[h // group], wq[h]) if h % group else (wq[h], wk[h // group])
        s = mixer(wq.shape[-1], generator)
        target.copy_(source if s is None else source.double() @ s.to(source.device))


def _turned(middle: Float[Tensor, "n n"], generator: torch.Generator) -> Float[Tensor, "n n"]:
    """``Q middle Q^T`` with Q orthogonal, drawn uniformly (Haar)."""
    n = len(middle)
    q, r = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))
    q = q * r.diagonal().sign()
    return q @ middle @ q.T
