"""The query-key matrix of an attention layer, represented by its factors.

``W_qk = sum_h W_q,h W_k,g(h)^T`` (Eq. S20). Rows belong to the query (the predicted side), and columns belong to the
key (the context side). The matrix of a layer is d x d but has at most rank n_heads * d_head, so only the factors are
stored and used in computations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from attngeo.errors import MatrixError

if TYPE_CHECKING:
    Array = Tensor
else:
    Array = Tensor | np.ndarray  # arrays become tensors


@dataclass(frozen=True, eq=False)
class BilinearForm:
    """The query-key matrix of a layer: ``W_qk = sum_h W_qk,h`` with ``W_qk,h = W_q,h W_k,g(h)^T`` (Eqs. S19, S20).

    Query head h uses the key head ``g(h) = h // (H / H_kv)``.

    Args:
        wq: query factors, of shape (H, d, d_head). Column ``c`` of ``wq[h]`` gives the c-th query coordinate of head h.
            ``torch.nn.Linear`` stores the transpose, of shape (d_head, d). NumPy arrays are copied into tensors.
        wk: key factors, of shape (H_kv, d, d_head). If H_kv is smaller than H, it must divide H, and consecutive query
            heads share a key head.

    Raises:
        MatrixError: the factors are not three-dimensional floating-point tensors of matching shape, dtype and device.

    Source: paper, Definition S1.1, Remark S1.5.
    """

    wq: Float[Array, "heads d d_head"]
    wk: Float[Array, "kv_heads d d_head"]

    def __post_init__(self) -> None:
        wq, wk = as_tensor(self.wq), as_tensor(self.wk)
        object.__setattr__(self, "wq", wq)
        object.__setattr__(self, "wk", wk)
        for name, factor in (("wq", wq), ("wk", wk)):
            if not isinstance(factor, Tensor):
                raise MatrixError(
                    f"{name} is {described(factor)}; a form needs floating-point numbers in torch tensors or NumPy"
                    " arrays."
                )
            if factor.ndim != 3 or 0 in factor.shape or not factor.is_floating_point():
                raise MatrixError(
                    f"{name} is {described(factor)}; a form needs floating-point tensors of shape (heads, d, d_head)."
                )
        if (wq.shape[1:], wq.dtype, wq.device) != (wk.shape[1:], wk.dtype, wk.device) or len(wq) % len(wk):
            raise MatrixError(
                f"wq is {described(wq)} and wk is {described(wk)}; only their numbers of heads may differ, and the"
                " number of query heads must be a multiple of the number of key heads."
            )

    @classmethod
    def from_linear(
        cls,
        query: Float[Array, "q_rows d"] | nn.Linear,
        key: Float[Array, "k_rows d"] | nn.Linear,
        d_head: int,
    ) -> "BilinearForm":
        """``W_qk,h = W_q,h W_k,g(h)^T`` (Eq. S19) from two weights in the layout of ``torch.nn.Linear``.

        Args:
            query: weight of shape (H * d_head, d), in which the heads follow one another, or the module itself.
            key: weight of shape (H_kv * d_head, d), or the module itself.
            d_head: width of one head.

        Raises:
            MatrixError: an argument has no weight, the two weights have different input widths, or a weight cannot be
                split into heads of width d_head.
        """
        query, key = _weight("query", query), _weight("key", key)
        d_model = query.shape[-1]
        if d_head < 1 or query.shape[0] % d_head or key.shape[0] % d_head or key.shape[-1] != d_model:
            raise MatrixError(
                f"the weights of queries {tuple(query.shape)} and keys {tuple(key.shape)} cannot be split into heads"
                f" of width {d_head} with a common input width."
            )
        return cls(
            query.reshape(-1, d_head, d_model).transpose(1, 2),
            key.reshape(-1, d_head, d_model).transpose(1, 2),
        )

    @property
    def n_heads(self) -> int:
        """Number of query heads, H."""
        return self.wq.shape[0]

    @property
    def n_kv_heads(self) -> int:
        """Number of key heads, H_kv."""
        return self.wk.shape[0]

    @property
    def d_model(self) -> int:
        """Width of the embedding, d."""
        return self.wq.shape[1]

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.wq.shape[2]

    @property
    def T(self) -> "BilinearForm":
        """The transposed form ``W_qk^T``, in which the roles of queries and keys are exchanged."""
        return BilinearForm(*reversed(self.per_head()))

    def to(self, *args, **kwargs) -> "BilinearForm":
        """Convert both factors with ``torch.Tensor.to`` and return the new form."""
        return BilinearForm(self.wq.to(*args, **kwargs), self.wk.to(*args, **kwargs))

    def head(self, h: int) -> Float[Tensor, "d d"]:
        """``W_qk,h = W_q,h W_k,g(h)^T``, of shape (d, d). Negative values of ``h`` count from the last head.

        Raises:
            MatrixError: the layer has no such head.
        """
        return self.alone(h).dense()

    def alone(self, h: int) -> "BilinearForm":
        """The form of head h alone. Negative values of ``h`` count from the last head."""
        if not -self.n_heads <= h < self.n_heads:
            raise MatrixError(f"head {h} does not exist; this layer has heads 0 to {self.n_heads - 1}.")
        key = h % self.n_heads // (self.n_heads // self.n_kv_heads)
        return BilinearForm(self.wq[h][None], self.wk[key][None])

    def heads(self) -> Iterator[Float[Tensor, "d d"]]:
        """Yield ``W_qk,h``, of shape (d, d), one head at a time."""
        return (self.head(h) for h in range(self.n_heads))

    def dense(self) -> Float[Tensor, "d d"]:
        """``W_qk = sum_h W_qk,h`` (Eq. S20), of shape (d, d)."""
        q, k = self.merged()
        return q @ k.T

    def eigenvalues(self, k: int | None = None) -> Complex[Tensor, " k"]:
        """The k eigenvalues of ``W_qk`` with the largest magnitudes, in complex128, computed from ``K^T Q``.

        If k is None, all d eigenvalues are returned. Eigenvalues beyond the rank of the factors are 0.
        """
        q, key = (factor.detach().double() for factor in self.merged())
        small = key.T @ q if q.shape[1] < self.d_model else q @ key.T
        values = torch.linalg.eigvals(small)
        return self._largest(values[values.abs().argsort(descending=True)], k)

    def singular_values(self, k: int | None = None) -> Float[Tensor, " k"]:
        """The k largest singular values of ``W_qk``, in float64, computed from QR decompositions of the factors.

        If k is None, all d singular values are returned. Singular values beyond the rank of the factors are 0.
        """
        (_, q), (_, key) = (torch.linalg.qr(factor.detach().double()) for factor in self.merged())
        return self._largest(torch.linalg.svdvals(q @ key.T), k)

    def _largest(self, values: Tensor, k: int | None) -> Tensor:
        if k is not None and not (isinstance(k, int) and 1 <= k <= self.d_model):
            raise MatrixError(f"W_qk of width {self.d_model} does not have {k} values; ask for 1 to {self.d_model}.")
        return torch.cat([values, values.new_zeros(self.d_model - len(values))])[:k]

    def symmetric_part(self) -> Float[Tensor, "d d"]:
        """``M_s = (M + M^T) / 2`` for ``M = W_qk`` (Eq. 16), of shape (d, d)."""
        m = self.dense()
        return (m + m.T) / 2

    def skew_part(self) -> Float[Tensor, "d d"]:
        """``M_n = (M - M^T) / 2`` for ``M = W_qk`` (Eq. 16), of shape (d, d)."""
        m = self.dense()
        return (m - m.T) / 2

    def merged(self) -> tuple[Float[Tensor, "d rank"], Float[Tensor, "d rank"]]:
        """The two factors of the matrix ``W_qk`` that is summed over heads, each of shape (d, H_kv * d_head).

        If several query heads share a key head, the factors of these query heads are added first. This is exact,
        because ``sum_h W_q,h W_k,g^T = (sum_h W_q,h) W_k,g^T``.
        """
        grouped = self.n_heads != self.n_kv_heads
        q = self.wq.unflatten(0, (self.n_kv_heads, -1)).sum(1) if grouped else self.wq  # (H_kv, d, d_head)
        return q.transpose(0, 1).flatten(1), self.wk.transpose(0, 1).flatten(1)

    def per_head(self) -> tuple[Float[Tensor, "heads d d_head"], Float[Tensor, "heads d d_head"]]:
        """The factors of all heads, each of shape (H, d, d_head).

        Shared key heads are repeated, once for each of their query heads.
        """
        group = self.n_heads // self.n_kv_heads
        return self.wq, self.wk if group == 1 else self.wk.repeat_interleave(group, dim=0)

    def __repr__(self) -> str:
        keys = "" if self.n_heads == self.n_kv_heads else f", kv_heads={self.n_kv_heads}"
        return f"BilinearForm(heads={self.n_heads}{keys}, d={self.d_model}, d_head={self.d_head}, {self.wq.dtype})"


def _weight(name: str, given: Array | nn.Linear) -> Tensor:
    """The weight of a linear layer, of shape (out, in)."""
    weight = given.weight if isinstance(given, nn.Linear) else as_tensor(given)
    if isinstance(weight, Tensor) and weight.ndim == 2:
        return weight
    raise MatrixError(f"{name} is {described(weight)}; from_linear needs a tensor of shape (out, in) or an nn.Linear.")


def as_tensor(given: Any) -> Any:
    """Copy a NumPy array of floating-point numbers into a tensor, and return anything else unchanged."""
    is_real = isinstance(given, np.ndarray) and given.dtype in (np.float16, np.float32, np.float64)
    return torch.tensor(np.ascontiguousarray(given)) if is_real else given


def described(given: object) -> str:
    """A description, for error messages, of what was given in place of a suitable tensor."""
    if isinstance(given, Tensor):
        return f"{tuple(given.shape)} of {given.dtype} on {given.device}"
    if isinstance(given, np.ndarray):
        return f"an array of {given.dtype}"
    return f"a {type(given).__name__}"
