"""Whether the heads of a layer point in the same direction, and how much this contributes to the symmetry of the layer.

Let S_h and N_h be the symmetric and the skew-symmetric part of head h. Transposing a head changes only the sign of N_h.
The score of the layer therefore depends on the directions of its heads only through ``||sum_h N_h||^2``.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import ROUGH, near_one
from attngeo.bilinear.on_gpu import full_float32, to_cpu

EXACT_HEADS = 12  # up to this number of heads, all 2^(H - 1) ways of transposing them are tried
TOSSES = 4096  # number of random ways of transposing the heads of a layer with more heads


@dataclass(frozen=True)
class Coherence:
    """How the heads of a layer add up, and the score of their sum if coin tosses decide which heads are transposed."""

    heads: float  # s of the heads without their sum: (sum ||S_h||^2 - sum ||N_h||^2) / sum ||M_h||^2
    symmetric: float  # c_S = ||sum S_h||^2 / sum ||S_h||^2, NaN if all S_h are zero
    skew: float  # c_N = ||sum N_h||^2 / sum ||N_h||^2, NaN if all N_h are zero
    symmetric_sd: float  # standard deviation of c_S if the sign of each S_h is random; its mean is then 1
    skew_sd: float  # standard deviation of c_N if the sign of each N_h is random; its mean is then 1
    symmetric_p: float  # two-sided p of c_S if the sign of each head is random
    coins: float  # median of s over the tosses
    rank: float  # share of tosses, including the layer itself, whose s is not above the s of the layer
    tosses: int  # number of tosses among which the layer is ranked

    @property
    def rank_p(self) -> float:
        """The two-sided p of the rank, and so of c_N if the sign of each head is random."""
        return _two_sided(self.rank, self.tosses)

    def columns(self) -> dict[str, float]:
        """The values that are recorded for training runs and released weights, by the names of their columns."""
        return {
            "symmetry_of_heads": self.heads,
            "coherence_symmetric": self.symmetric,
            "coherence_skew": self.skew,
            "coin_rank": self.rank,
        }


def head_coherence(form: BilinearForm, seed: int = 0) -> Coherence:
    """``s = (c_S (1 + s_h) - c_N (1 - s_h)) / (c_S (1 + s_h) + c_N (1 - s_h))`` with the coherences c_S and c_N.

    ``c_S = ||sum_h S_h||^2 / sum_h ||S_h||^2`` for the symmetric parts of the heads, ``c_N`` is defined likewise for
    their skew-symmetric parts, and s_h is the score of the heads without their sum. In the null model, the toss of a
    coin decides for each head whether it is transposed. This changes neither s_h nor c_S nor the norm of any head.
    Transposing all heads does not change s, so a layer of H heads has 2^(H - 1) different tosses. For up to
    `EXACT_HEADS` heads, all of them are tried.

    Args:
        form: a layer.
        seed: of the random tosses for layers with more heads.

    Returns:
        The coherences. If all heads point in the same direction, their skew-symmetric parts add up, and ``rank`` is
        close to 0. If the skew-symmetric part of each head is as likely as its negative, ``rank`` is uniform on the
        multiples of 2^-(H - 1) up to 1. A layer with one head has rank 1.

        With independent query factors of random sign, c_S and c_N have the mean 1 and the standard deviation ``2
        sqrt(sum_{g<h} <S_g, S_h>^2) / sum_h ||S_h||^2``, likewise for N_h, also if heads share keys.
    """
    symmetric, skew = to_cpu(*part_products(near_one(form)))
    of_symmetric, of_skew = float(symmetric.sum()), float(skew.sum())
    heads_symmetric, heads_skew = float(symmetric.trace()), float(skew.trace())
    signs = _tosses(form.n_heads, None if form.n_heads <= EXACT_HEADS else seed).to(skew)
    signed, tossed = (((signs @ part) * signs).sum(1) for part in (symmetric, skew))  # ||sum_h +-N_h||^2
    scores = (of_symmetric - tossed) / (of_symmetric + tossed)
    rounding = torch.finfo(product_dtype(form)).eps ** 0.75
    return Coherence(
        heads=_ratio(heads_symmetric - heads_skew, heads_symmetric + heads_skew),
        symmetric=_ratio(of_symmetric, heads_symmetric),
        skew=_ratio(of_skew, heads_skew),
        symmetric_sd=_ratio(2 * float(symmetric.triu(1).norm()), heads_symmetric),
        skew_sd=_ratio(2 * float(skew.triu(1).norm()), heads_skew),
        symmetric_p=_two_sided(_share(signed >= of_symmetric - rounding * heads_symmetric), len(signs)),
        coins=float(scores.median()),
        rank=_share(tossed >= of_skew - rounding * heads_skew),
        tosses=len(signs),
    )


def part_products(form: BilinearForm) -> tuple[Float[Tensor, "heads heads"], Float[Tensor, "heads heads"]]:
    """``<S_g, S_h>`` and ``<N_g, N_h>`` for all pairs of heads, computed in `product_dtype`.

    They are half the sum and half the difference of ``<M_g, M_h> = sum((q_g^T q_h) * (k_g^T k_h))`` and
    ``<M_g, M_h^T> = sum((k_g^T q_h) * (q_g^T k_h))``, so that no d x d matrix has to be formed. If heads share keys,
    ``<M_g, M_h> = sum((q_g k_g^T k_h) * q_h)`` needs fewer operations.
    """
    q, k = (factor.detach().to(product_dtype(form)).mT for factor in (form.wq, form.wk))  # (heads, d_head, d)
    by_key = q.unflatten(0, (len(k), -1))  # (keys, queries of a key, d_head, d)
    with full_float32():
        keys = _all_pairs(k, k).view(*k.shape[:2], *k.shape[:2])
        crossed = _all_pairs(k, q).view(*k.shape[:2], *by_key.shape[:3])
        products = [torch.einsum("aibhj,bjagi->agbh", crossed, crossed)]
        if len(q) == len(k):
            products.append((_all_pairs(q, q).view_as(keys) * keys).sum((1, 3)))
        else:
            mapped = (torch.einsum("ibj,gid->bgjd", *pair) for pair in zip(keys, by_key, strict=True))  # q_g k_g^T k_h
            products.append(torch.stack([torch.einsum("bgjd,bhjd->gbh", of_key, by_key) for of_key in mapped]))
    crossed, straight = (product.reshape(len(q), len(q)).double() for product in products)
    return (straight + crossed) / 2, (straight - crossed) / 2


def product_dtype(form: BilinearForm) -> torch.dtype:
    """float64, or float32 for wide factors of 32 or 16 bits, where the errors of the products average out."""
    return torch.float32 if form.d_model >= ROUGH and form.wq.dtype != torch.float64 else torch.float64


def _all_pairs(a: Float[Tensor, "m r d"], b: Float[Tensor, "n r d"]) -> Float[Tensor, "mr nr"]:
    """``a_g^T b_h`` for all pairs of heads, from one product; both factors are given transposed."""
    return a.flatten(0, 1) @ b.flatten(0, 1).T


@lru_cache(maxsize=8)
def _tosses(n_heads: int, seed: int | None) -> Float[Tensor, "tosses heads"]:
    """Signs of the heads, all or by a seed some of them. The first row keeps every head as it is."""
    if seed is None:
        others = list(product((1.0, -1.0), repeat=n_heads - 1))
        return torch.tensor([(1.0, *signs) for signs in others], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (TOSSES, n_heads), generator=generator).double() * 2 - 1
    signs[0] = 1
    return signs


def _share(is_so: Bool[Tensor, " tosses"]) -> float:
    return float(is_so.double().mean())


def _two_sided(rank: float, tosses: int) -> float:
    """The two-sided p of a rank that by chance is uniform on the multiples of ``1 / tosses`` up to 1."""
    return min(1.0, 2 * min(rank, 1 - rank + 1 / tosses))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
