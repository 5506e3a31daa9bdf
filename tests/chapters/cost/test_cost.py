"""What the page makes of recorded benchmarks."""

import json

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attngeo import BilinearForm, score, score_heads
from attngeo.chapters.cost import measured


def test_ratios_are_of_medians(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "data", lambda folder, file: tmp_path / file)
    seconds = {
        "float32": {"released": [8.0, 9.0, 50.0], "ours": [6.0, 6.0, 7.0], "product": [4.5, 4.5, 4.5]},
        "bfloat16": {"released": [9.0], "ours": [3.0], "product": [1.0]},
    }
    entries = {f"test_sum_over_heads[{of}]": {"rows": [{"dtype": of, "seconds": seconds[of]}]} for of in seconds}
    (tmp_path / "scores.json").write_text(json.dumps(entries))
    layers = measured.layers().set_index("dtype")
    assert layers["ratio"].to_dict() == {"float32": 1.5, "bfloat16": 3.0}
    assert layers["alone"].to_dict() == {"float32": 2.0, "bfloat16": 9.0}


def test_the_page_has_what_it_reads():
    assert set(measured.layers()["dtype"]) == {"float32", "bfloat16"}
    assert measured.other_ways()["products"].notna().all() and len(measured.everything_else()) >= 7


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
