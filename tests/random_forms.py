"""Random matrices and forms for property tests: sizes and seed are drawn, entries follow from the seed."""

import torch
from hypothesis import strategies as st

from attngeo import BilinearForm

SEEDS = st.integers(0, 2**31 - 1)


def gaussian(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Standard normal entries."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@st.composite
def matrices(draw, max_d: int = 12) -> torch.Tensor:
    """Square matrices whose rows, columns and symmetric part vary in size."""
    d, seed = draw(st.integers(1, max_d)), draw(SEEDS)
    m = gaussian(d, d, seed=seed)
    scales = gaussian(2, d, seed=seed + 1).exp()
    m = scales[0, :, None] * m * scales[1]
    return m + draw(st.floats(-0.9, 0.9)) * m.T


@st.composite
def forms(draw, max_d: int = 24) -> BilinearForm:
    """Forms with one or several heads, grouped keys or not, d_head from 1 to beyond d."""
    kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    d, d_head, seed = draw(st.integers(1, max_d)), draw(st.integers(1, 5)), draw(SEEDS)
    wq, wk = gaussian(kv_heads * group, d, d_head, seed=seed), gaussian(kv_heads, d, d_head, seed=seed + 1)
    # rows of unequal size, so that some exceed the threshold of the directionality score
    scales = gaussian(2, d, 1, seed=seed + 2).exp()
    return BilinearForm(scales[0] * wq, scales[1] * wk)
