import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_forms import gaussian

from attngeo.errors import ParameterError
from attngeo.gradients.objectives import Objective, attended_matrix
from attngeo.gradients.rank_one import (
    by_context,
    by_prediction,
    cosine,
    gradient_sum,
    rank_one_terms,
    relative_error,
    step_of_factors,
)
from attngeo.gradients.toy_transformer import WORDS, ToyConfig, ToyTransformer, sentence_gradient

configs = st.builds(
    lambda heads, d_head, layers, n, mlp: ToyConfig(
        d=heads * d_head, n_heads=heads, n_layers=layers, n_tokens=n, d_mlp=mlp
    ),
    heads=st.sampled_from([1, 2, 4]),
    d_head=st.sampled_from([2, 3, 8]),
    layers=st.integers(1, 3),
    n=st.integers(2, 9),
    mlp=st.sampled_from([0, 16]),
)


@given(configs, st.sampled_from(list(Objective)), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_exact_coefficients_give_the_gradient_of_every_head(config, objective, seed):
    one_pass = ToyTransformer.random(config, seed).example(objective, seed)
    for layer in range(config.n_layers):
        g = one_pass.gradient(layer)
        beta = g.beta
        scale = g.w_qk.abs().max().clamp_min(1e-300)
        assert ((gradient_sum(beta, g.layer.x) - g.w_qk).abs().max() / scale) < 1e-10
        assert beta.sum(-1).abs().max() <= 1e-12 * beta.abs().max().clamp_min(1)


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


def test_masked_inputs_hide_the_token():
    model = ToyTransformer.random(ToyConfig(n_tokens=4), 0)
    masked = torch.tensor([False, True, False, False])
    a, b = (model.run(torch.tensor([0, t, 2, 3]), "masked", masked) for t in (1, 5))
    assert (a.logits == b.logits).all()
    assert (a.losses > 0).tolist() == masked.tolist()


def test_the_causal_model_predicts_the_next_token():
    one_pass = ToyTransformer.random(ToyConfig(n_tokens=4), 0).run(torch.tensor([4, 5, 6, 7]), "autoregressive")
    log_p = one_pass.logits.log_softmax(-1)
    torch.testing.assert_close(
        one_pass.losses, torch.stack([-log_p[0, 5], -log_p[1, 6], -log_p[2, 7], log_p[0, 0] * 0])
    )


@given(st.integers(2, 7), st.integers(2, 6), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_groupings_are_one_sum(n, d, seed):
    beta, x = gaussian(n, n, seed=seed), gaussian(n, d, seed=seed + 1)
    terms, total = rank_one_terms(beta, x), gradient_sum(beta, x)
    torch.testing.assert_close(terms.sum((0, 1)), total)
    torch.testing.assert_close(terms.sum(1), by_prediction(beta, x))
    torch.testing.assert_close(terms.sum(0), by_context(beta, x))


def test_a_step_on_the_factors_against_automatic_differentiation():
    wq, wk, target = (gaussian(3, 10, width, seed=width) for width in (4, 4, 10))
    grad_q, grad_k = torch.func.grad(lambda q, k: (q @ k.mT * target).sum(), (0, 1))(wq, wk)  # dL/dW_qk = target
    torch.testing.assert_close(step_of_factors(wq, wk, target), wq @ grad_k.mT + grad_q @ wk.mT)
    torch.testing.assert_close(step_of_factors(wq, wk, target[0])[0], step_of_factors(wq[0], wk[0], target[0]))


@pytest.mark.parametrize("objective", list(Objective))
def test_the_sentence_is_read_word_by_word(objective):
    g, n = sentence_gradient(objective, 2), len(WORDS)
    model = ToyTransformer.random(ToyConfig(d=12, n_heads=1, n_layers=1, d_mlp=0, n_vocab=n, n_tokens=n), 2)
    ids = [n if objective == "masked" and i % 3 == 1 else i for i in range(n)]
    torch.testing.assert_close(g.layer.x, (model.we[ids] + model.wp).detach())
    assert g.w_qk.shape == (1, 12, 12) and relative_error(gradient_sum(g.beta, g.layer.x), g.w_qk) < 1e-12


def test_cosine_of_zero_is_zero():
    assert cosine(torch.zeros(3), torch.ones(3)) == 0.0
    for scale in (2.0, 1e-9):
        assert math.isclose(cosine(torch.ones(3), scale * torch.ones(3)), 1.0, rel_tol=1e-6)


def test_heads_that_do_not_divide_the_width_are_refused(as_user):
    with pytest.raises(ParameterError, match="10"):
        ToyConfig(d=10, n_heads=4)
