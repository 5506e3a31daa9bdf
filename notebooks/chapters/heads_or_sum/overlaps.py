"""How the score of a layer follows from pairs of its heads.

With ``M = sum_h M_h`` (Eq. S20), S and N the symmetric and skew-symmetric parts of M, S_h and N_h those of a head:

    Tr(M M) = sum_gh Tr(M_g M_h)         ||M||^2 = sum_gh <M_g, M_h>
    <S_g, S_h> = (<M_g, M_h> + Tr(M_g M_h)) / 2       <N_g, N_h> = (<M_g, M_h> - Tr(M_g M_h)) / 2
    ||S||^2 / ||N||^2 = (G_s / G_n) sum_h ||S_h||^2 / sum_h ||N_h||^2

where G_s = ||S||^2 / sum_h ||S_h||^2 says how far the symmetric parts of the heads add up, and G_n says the same of their
skew-symmetric parts.
"""

from dataclasses import dataclass
from typing import TypeVar

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm

Numbers = TypeVar("Numbers", float, Tensor, pd.Series)
SUMS = ("trace", "square", "own_trace", "own_square")  # arguments of `parts`


@dataclass(frozen=True)
class Overlaps:
    """Two inner products for every pair of heads: of M_g^T with M_h, and of M_g with M_h."""

    traces: Float[Tensor, "heads heads"]  # Tr(M_g M_h)
    products: Float[Tensor, "heads heads"]  # <M_g, M_h> = Tr(M_g^T M_h)

    @property
    def symmetric(self) -> Float[Tensor, "heads heads"]:
        """``<S_g, S_h>`` of the heads' symmetric parts."""
        return (self.products + self.traces) / 2

    @property
    def skew(self) -> Float[Tensor, "heads heads"]:
        """``<N_g, N_h>`` of the heads' skew-symmetric parts."""
        return (self.products - self.traces) / 2

    def sums(self) -> dict[str, Float[Tensor, ""]]:
        """``Tr(M M)`` and ``||M||^2`` of the layer, and the sums over its heads of theirs: the arguments of `parts`."""
        of_heads = self.traces.trace(), self.products.trace()
        return dict(zip(SUMS, (self.traces.sum(), self.products.sum(), *of_heads), strict=True))


def overlaps(form: BilinearForm) -> Overlaps:
    """Both inner products of every pair of heads, from products of factors that are d_head x d_head.

    With ``C_gh = W_k,g^T W_q,h``: ``Tr(M_g M_h) = sum(C_gh * C_hg^T)``, and ``<M_g, M_h> = sum((W_q,g^T W_q,h) *
    (W_k,g^T W_k,h))``.
    """
    q, k = (w.double() for w in form.per_head())
    c = torch.einsum("gdi,hdj->ghij", k, q)
    products = torch.einsum("gdi,hdj->ghij", q, q) * torch.einsum("gdi,hdj->ghij", k, k)
    return Overlaps(torch.einsum("ghij,hgji->gh", c, c), products.sum((-2, -1)))


def parts(trace: Numbers, square: Numbers, own_trace: Numbers, own_square: Numbers) -> dict[str, Numbers]:
    """A layer's score s, that of its heads together, and what the sum adds; of tensors, or of columns of a table.

    Returns:
        ``symmetry`` s; ``heads``, the mean of the heads' s weighted with ``||M_h||^2``; ``symmetric_gain`` G_s and
        ``skew_gain`` G_n; ``factor``, their quotient, by which the sum multiplies ``(1 + s) / (1 - s)``. Heads that
        are all symmetric have no skew gain: NaN or infinite.
    """
    gains = (square + trace) / (own_square + own_trace), (square - trace) / (own_square - own_trace)
    scores = {"symmetry": trace / square, "heads": own_trace / own_square}
    return scores | {"symmetric_gain": gains[0], "skew_gain": gains[1], "factor": gains[0] / gains[1]}


def ratio(s: Numbers) -> Numbers:
    """``||S||^2 / ||N||^2 = (1 + s) / (1 - s)`` of a matrix with score s."""
    return (1 + s) / (1 - s)
