"""Eigenvalues of a form and of its symmetric part, from products as small as its rank."""

import pandas as pd
import torch
from jaxtyping import Complex, Float
from torch import Tensor

ROUNDING = 1e-10  # an eigenvalue below this share of the largest counts as 0


def eigenvalues(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"]) -> Complex[Tensor, " rank"]:
    """Those of ``k^T q``: of ``M = q k^T`` too, but for zeros."""
    return torch.linalg.eigvals(k.T @ q)


def symmetric_eigenvalues(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"]) -> Float[Tensor, " size"]:
    """Eigenvalues of ``(M + M^T) / 2`` for ``M = q k^T``, but for zeros: ``size`` is the lesser of d and 2 rank.

    ``[q k] = Z R`` with orthonormal columns of Z leaves those of the symmetric part of ``R_q R_k^T``.
    """
    r_q, r_k = torch.linalg.qr(torch.cat([q, k], 1)).R.tensor_split(2, dim=1)
    m = r_q @ r_k.T
    return torch.linalg.eigvalsh((m + m.T) / 2)


def spectrum(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"]) -> dict[str, float]:
    """Why s is what it is, by eigenvalues l of M: ``s = (sum |l|^2 / ||M||^2) (sum l^2 / sum |l|^2)``.

    Returns:
        ``in_eigenvalues`` and ``real``, the two factors: 1 where M is normal, and where its eigenvalues are real;
        ``n_positive`` and ``n_negative``, the inertia of the symmetric part S; ``positive``, the share of ``||S||^2``
        in positive eigenvalues.
    """
    found, of_s = eigenvalues(q, k), symmetric_eigenvalues(q, k)
    squares = found.abs().square().sum()
    signed = of_s[of_s.abs() > ROUNDING * of_s.abs().max()]
    return {
        "in_eigenvalues": float(squares / ((q.T @ q) * (k.T @ k)).sum()),
        "real": float(found.square().sum().real / squares),
        "n_positive": int((signed > 0).sum()),
        "n_negative": int((signed < 0).sum()),
        "positive": float(signed.clamp_min(0).square().sum() / signed.square().sum()),
    }


def in_eigenvalues_at_random(d: pd.Series, rank: pd.Series) -> pd.Series:
    """``R (3 - R) / 6`` with ``R = rank / d``: the share of ``||M||^2`` in eigenvalues for normal factors, large d.

    Of ``k^T q``, with entries of variance 1 / d in both factors, a share F of the eigenvalues has
    ``|l|^2 <= R F (1 - R + R F)``, and ``||M||^2`` tends to the rank; the mean over F is the share. With a rank above d
    the two change places, and ``R = d / rank`` gives ``(3 - R) / 6``.

    Source: the radial law of a product of two rectangular normal matrices, Burda, Jarosz, Livan, Nowak and Swiech,
    Phys. Rev. E 82 (2010) 061114.
    """
    narrow = rank / d
    wide = 1 / narrow
    return (narrow * (3 - narrow) / 6).where(narrow <= 1, (3 - wide) / 6)
