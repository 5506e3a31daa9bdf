"""What the released code multiplies in place of ``W_qk = sum_h W_q,h W_k,g(h)^T`` for three ways to store the weights.

For grouped keys it pairs heads that do not belong together; for fused weights it multiplies slices that were not
transposed. The right extraction is `attngeo.open_checkpoint`; these are here to see how far a score moves.
"""

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import GAMMA, score


def tiled_keys(form: BilinearForm) -> BilinearForm:
    """``sum_h W_q,h W_k,(h mod G)^T``: the G key heads repeated as a whole, not each for its own group of query heads.

    Models with grouped keys: the Llama, Mistral and MobileLLM rows. For G of 1 or H it is the form itself.
    """
    return BilinearForm(form.wq, form.wk.repeat(form.n_heads // form.n_kv_heads, 1, 1))


def head_space(form: BilinearForm) -> Float[Tensor, "rank rank"]:
    """``W_q^T W_k`` with W_q, W_k the (d, H d_head) matrices of all heads: a product over tokens' coordinates.

    ModernBERT and Phi-3, whose fused weight (3 H d_head, d) was sliced by rows and multiplied as if it were stored as
    (d, 3 H d_head). Its trace of the square is that of the right matrix, since ``Tr(ABAB)`` is ``Tr(BABA)``; its norm
    and its rows and columns are not.
    """
    q, k = (factor.transpose(1, 2).flatten(0, 1) for factor in form.per_head())  # (H d_head, d)
    return q @ k.T


def heads_as_blocks(form: BilinearForm, values: Float[Tensor, "heads d d_head"]) -> Float[Tensor, "rank rank"]:
    """Rows 0 to d times rows d to 2d of a fused weight that holds each head's query, key and value rows in turn.

    Pythia and DeBERTa (v1): the first d rows hold queries, keys and values of the first third of the heads, the next
    d rows those of the second third.

    Raises:
        ParameterError: the heads do not fill the width.
    """
    if form.n_kv_heads != form.n_heads or form.n_heads * form.d_head != form.d_model:
        raise ParameterError(f"{form} has no fused weight of 3 d rows; d must be heads x d_head, with a key head each.")
    rows = torch.stack((form.wq, form.wk, values), dim=1).transpose(2, 3).flatten(0, 2)  # (3 d, d)
    d = form.d_model
    return rows[:d] @ rows[d : 2 * d].T


def planted_form(
    n_heads: int, n_kv_heads: int, d_head: int, alike: float, strength: float = 4.0, seed: int = 0
) -> BilinearForm:
    """A form of width ``n_heads * d_head`` with symmetry and strong columns put in on purpose.

    ``W_q,h = alike W_k,g S_h + sqrt(1 - alike^2) noise``, S_h symmetric and each head's own, so that 1 gives symmetric
    heads and 0 chance; one coordinate in 32 of the keys is multiplied by ``strength``.
    """
    if not 0 <= alike <= 1:
        raise ParameterError(f"alike is {alike}; it lies between 0 and 1.")
    d = n_heads * d_head
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    wk, own = normal(n_kv_heads, d, d_head), normal(n_heads, d_head, d_head)
    own = (own + own.mT) / (2 * d_head) ** 0.5  # keeps the size of what it multiplies
    common = wk.repeat_interleave(n_heads // n_kv_heads, 0) @ own
    wq = alike * common + (1 - alike**2) ** 0.5 * normal(n_heads, d, d_head)
    factor = torch.ones(d, 1, dtype=torch.float64)
    factor[::32] = strength
    return BilinearForm(wq, wk * factor)


def extraction_effects(alike: float = 0.9, d_head: int = 16, gamma: float = GAMMA, seed: int = 0) -> pd.DataFrame:
    """Both scores of planted forms in shapes of printed models, extracted rightly and as released.

    Returns:
        Columns defect, shape, s and s_released, d and d_released (as in Table S3).
    """
    generator = torch.Generator().manual_seed(seed + 1)
    rows = []
    for defect, shape, heads, keys in (
        ("head-pairing", "32 query heads on 8 (Llama 3)", 32, 8),
        ("head-pairing", "9 query heads on 3 (MobileLLM-125M)", 9, 3),
        ("head-space", "12 heads, fused (ModernBERT)", 12, 12),
        ("mixed-heads", "12 heads, interleaved (Pythia)", 12, 12),
    ):
        form = planted_form(heads, keys, d_head, alike, seed=seed)
        if defect == "head-pairing":
            wrong = tiled_keys(form)
        elif defect == "head-space":
            wrong = head_space(form)
        else:
            wrong = heads_as_blocks(form, torch.randn(form.wq.shape, generator=generator, dtype=torch.float64))
        right, released = score(form, gamma), score(wrong, gamma)
        s = right.symmetry.item(), released.symmetry.item()
        d = right.directionality_tables.item(), released.directionality_tables.item()
        rows.append((defect, shape, *s, *d))
    return pd.DataFrame(rows, columns=["defect", "shape", "s", "s_released", "d", "d_released"])
