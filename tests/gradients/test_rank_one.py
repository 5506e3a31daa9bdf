import math

import pytest
import torch

from attngeo.errors import ParameterError
from attngeo.gradients.objectives import attended_matrix
from attngeo.gradients.rank_one import cosine
from attngeo.gradients.toy_transformer import ToyConfig, ToyTransformer


@pytest.mark.parametrize("objective", ["autoregressive", "masked"])
def test_toy_attention_against_pytorch(objective):
    config = ToyConfig(d=12, n_heads=3, n_layers=1, n_tokens=5, d_mlp=0)
    model = ToyTransformer.random(config, 1)
    layer = model.example(objective, 1).layers[0]
    q, k, v = ((layer.x @ w[0]) for w in (model.wq, model.wk, model.wv))  # (heads, n, d_head)
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=attended_matrix(objective, 5))
    expected = layer.x + (heads @ model.wo[0]).sum(0)
    torch.testing.assert_close(layer.attended, expected)
    torch.testing.assert_close(layer.output, expected)


def test_cosine_of_zero_is_zero():
    assert cosine(torch.zeros(3), torch.ones(3)) == 0.0
    for scale in (2.0, 1e-9):
        assert math.isclose(cosine(torch.ones(3), scale * torch.ones(3)), 1.0, rel_tol=1e-6)


def test_heads_that_do_not_divide_the_width_are_refused(as_user):
    with pytest.raises(ParameterError, match="10"):
        ToyConfig(d=10, n_heads=4)
