"""Whether the heads of a layer point the same way: how much of a layer's symmetry is made by its heads' sum.

With S_h and N_h the symmetric and the skew-symmetric part of head h, transposing a head changes the sign of N_h alone.
The layer's score therefore depends on the directions of its heads only through ``||sum_h N_h||^2``.
"""

from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm

EXACT_HEADS = 12  # up to this number of heads, all 2^(H - 1) ways of transposing them are tried
TOSSES = 4096  # ways of transposing the heads that are drawn where there are more heads


@dataclass(frozen=True)
class Coherence:
    """How the heads of a layer add up, and what their sum would score if each head were transposed by a coin."""

    heads: float  # s of the heads by themselves: (sum ||S_h||^2 - sum ||N_h||^2) / sum ||M_h||^2
    symmetric: float  # c_S = ||sum S_h||^2 / sum ||S_h||^2, NaN where all S_h are zero
    skew: float  # c_N = ||sum N_h||^2 / sum ||N_h||^2, NaN where all N_h are zero
    coins: float  # median of s over the tosses
    rank: float  # share of tosses, the layer's own directions among them, whose s is not above that of the layer

    def columns(self) -> dict[str, float]:
        """What the records of training and of released weights keep of it, by the names of their columns."""
        return {
            "symmetry_of_heads": self.heads,
            "coherence_symmetric": self.symmetric,
            "coherence_skew": self.skew,
            "coin_rank": self.rank,
        }


def head_coherence(form: BilinearForm, seed: int = 0) -> Coherence:
    """``s = (c_S (1 + s_h) - c_N (1 - s_h)) / (c_S (1 + s_h) + c_N (1 - s_h))``: coherences c_S, c_N and the coins.

    ``c_S = ||sum_h S_h||^2 / sum_h ||S_h||^2`` for the symmetric parts of the heads, ``c_N`` likewise for their skew
    parts, and s_h the score of the heads by themselves. The null model transposes each head or not by the toss of a
    coin, which changes neither s_h nor c_S nor the norm of any head. Transposing all heads changes nothing, so a layer
    of H heads has 2^(H - 1) tosses; all are tried for up to `EXACT_HEADS` heads.

    Args:
        form: a layer.
        seed: of the tosses that are drawn where there are more heads.

    Returns:
        The coherences; ``rank`` is near 0 where all heads point the same way, so that their skew parts add up, and
        uniform on the multiples of 2^-(H - 1) up to 1 where the skew part of each head is as likely as its negative. A
        layer with one head has rank 1.
    """
    symmetric, skew = part_products(form)
    of_symmetric, of_skew = float(symmetric.sum()), float(skew.sum())
    heads_symmetric, heads_skew = float(symmetric.trace()), float(skew.trace())
    signs = _tosses(form.n_heads, seed).to(skew)
    tossed = ((signs @ skew) * signs).sum(1)  # ||sum_h +-N_h||^2
    scores = (of_symmetric - tossed) / (of_symmetric + tossed)
    rounding = 1e-12 * heads_skew
    return Coherence(
        heads=_ratio(heads_symmetric - heads_skew, heads_symmetric + heads_skew),
        symmetric=_ratio(of_symmetric, heads_symmetric),
        skew=_ratio(of_skew, heads_skew),
        coins=float(scores.median()),
        rank=float((tossed >= of_skew - rounding).double().mean()),
    )


def part_products(form: BilinearForm) -> tuple[Float[Tensor, "heads heads"], Float[Tensor, "heads heads"]]:
    """``<S_g, S_h>`` and ``<N_g, N_h>`` for all pairs of heads, in float64.

    They are half the sum and half the difference of ``<M_g, M_h> = sum((q_g^T q_h) * (k_g^T k_h))`` and
    ``<M_g, M_h^T> = sum((k_g^T q_h) * (k_h^T q_g)^T)``, so no d x d matrix is formed.
    """
    q, k = (factor.detach().double() for factor in form.per_head())
    straight = torch.zeros(form.n_heads, form.n_heads, dtype=torch.float64, device=q.device)
    crossed = torch.zeros_like(straight)
    for g in range(form.n_heads):
        straight[g] = ((q[g].T @ q) * (k[g].T @ k)).sum((1, 2))
        crossed[g] = ((k[g].T @ q) * (q[g].T @ k)).sum((1, 2))
    return (straight + crossed) / 2, (straight - crossed) / 2


def _tosses(n_heads: int, seed: int) -> Float[Tensor, "tosses heads"]:
    """Signs of the heads; the first row keeps every head as it is, and the first head is never turned."""
    if n_heads <= EXACT_HEADS:
        others = list(product((1.0, -1.0), repeat=n_heads - 1))
        return torch.tensor([(1.0, *signs) for signs in others], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (TOSSES, n_heads), generator=generator).double() * 2 - 1
    signs[0] = 1
    return signs


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
