"""The first gradient of W_qk between positions: one layer of Def. S1.1 at ``W_qk = 0``, in expectation over a text.

Input ``x_i = u_i + p_i``, attention uniform over what position i sees, ``g_i = U^T (onehot - frequencies)`` at
predicted positions: token frequencies are known, nothing else is. What W_qk gains between positions is then
``P^T C P``, with C made from two things: how tokens go together in the text, ``K_m``, and what the values and the
output weights make of an attended token, ``A = U V E^T``, the read-out.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.gradients.token_counts import MarkovChain

Square = Float[Tensor, "vocab vocab"]
Moments = Float[Tensor, "offsets vocab vocab"]


def pair_covariances(chain: MarkovChain, n_offsets: int) -> Moments:
    """``K_m = Pr[t_i = a, t_{i+m} = b] - Pr[a] Pr[b]``, m = 0 .. n_offsets - 1, of a stationary chain; K_-m = K_m^T."""
    pi, joint = chain.start, [chain.start.diag()]
    for _ in range(n_offsets - 1):
        joint.append(joint[-1] @ chain.transition)
    return torch.stack(joint) - torch.outer(pi, pi)


def counted_covariances(ids: Int[Tensor, " n"], n_vocab: int, n_offsets: int) -> Moments:
    """`pair_covariances` of a text, from all pairs of its tokens (numbers below V) at the distance m."""
    tables = []
    for m in range(n_offsets):
        counts = torch.bincount(ids[: len(ids) - m] * n_vocab + ids[m:], minlength=n_vocab**2).double()
        joint = counts.view(n_vocab, n_vocab) / (len(ids) - m)
        tables.append(joint - torch.outer(joint.sum(1), joint.sum(0)))
    return torch.stack(tables)


def kernel(read_out: Square, covariances: Moments) -> Float[Tensor, " both"]:
    """``gamma(m) = sum_ab A_ab K_m(a, b)``, m = -(N-1) .. N-1: what attending m to the right is worth, in one step.

    ``gamma(m) - gamma(-m) = 2 <A_n, (K_m)_n>``: it is even where the read-out or the pairs have no skew part.
    """
    ahead = (read_out * covariances).sum((1, 2))
    behind = (read_out.T * covariances).sum((1, 2))
    return torch.cat([behind.flip(0), ahead[1:]])


def hidden_pair_rate(n_tokens: int, n_masked: int) -> float:
    """``kappa = n (N - n) / (N (N - 1))``: n of N positions are hidden, i is among them and j is not."""
    return n_masked * (n_tokens - n_masked) / (n_tokens * (n_tokens - 1))


def masked_read_out(covariances: Moments, pair_rate: float) -> Square:
    """``T = (kappa / N) sum_m (N - m)(K_m + K_m^T)``, m = 1 .. N - 1: what one step teaches at V = 0.

    The first step of gradient descent from ``V = 0`` moves V by ``U^T T E``; T is symmetric for every stationary text.
    """
    n = len(covariances)
    weights = n - torch.arange(n).to(covariances)
    one_side = (weights[1:, None, None] * covariances[1:]).sum(0)
    return pair_rate / n * (one_side + one_side.T)


def shown_variance(covariances: Moments, n_masked: int) -> Square:
    """``S``: variance of the mean over the block of what is not hidden, summed over the n hidden positions.

    Of pairs of shown positions, those of one position give ``(N - 1)(kappa / N) K_0``, every other pair adds its K.
    """
    n, kappa = len(covariances), hidden_pair_rate(len(covariances), n_masked)
    return kappa / n * ((n - 1) * covariances[0] + (n - n_masked - 1) * masked_read_out(covariances, 1.0))


def best_read_out(covariances: Moments, n_masked: int) -> Square:
    """``A = H^+ T S^+``: least loss to second order at uniform attention, logits ``b + A (window's mean token)``.

    H = K_0, T is `masked_read_out`, S is `shown_variance`, a sum of multiples of both. So ``H^(1/2) A H^(1/2)`` is a
    function of one symmetric matrix.
    """
    taught = masked_read_out(covariances, hidden_pair_rate(len(covariances), n_masked))
    # both have the null vector 1, whose eigenvalue rounding leaves at about 1e-17
    inverse, other = (
        torch.linalg.pinv(m, hermitian=True, rtol=1e-10)
        for m in (covariances[0], shown_variance(covariances, n_masked))
    )
    return inverse @ taught @ other
