"""How much memory the scores of a layer take."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attngeo import BilinearForm, score, score_heads


class Largest(TorchDispatchMode):
    """The largest tensor that torch makes meanwhile, in bytes."""

    most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **kwargs or {})
        if isinstance(made, torch.Tensor) and not function.is_view:
            self.most = max(self.most, made.nbytes)
        return made


@pytest.mark.parametrize("of", [score, score_heads])
def test_the_matrix_of_a_layer_is_never_held(of):
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(heads * 128, 2048, generator=generator).bfloat16() for heads in (16, 4))
    form = BilinearForm.from_linear(q, k, d_head=128)
    with Largest() as seen:
        of(form)
    assert 0 < seen.most <= form.wq.nbytes  # half of the matrix in float32
