"""What the painter paints: the gradient by autograd, and symmetric only where both orders of a pair exist and agree."""

import pytest
import torch

from attngeo.chapters.context_and_prediction.painter import WORDS, painter
from attngeo.forms.scores import symmetry_score
from attngeo.updates.rank_one import gradient_sum
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


@pytest.mark.parametrize("objective", ["autoregressive", "bidirectional", "masked"])
def test_the_exact_terms_add_up_to_the_gradient(objective):
    shown, vocabulary = painter(seed=3).data[objective], list(dict.fromkeys(WORDS))
    config = ToyConfig(d=12, n_heads=1, n_layers=1, n_tokens=len(WORDS), n_vocab=len(vocabulary), d_mlp=0)
    masked = torch.tensor([word not in vocabulary for word in shown["words"]])
    tokens = torch.tensor([vocabulary.index(word) for word in WORDS])
    run = ToyTransformer.random(config, 3).run(tokens, objective, masked if objective == "masked" else None)
    beta, x = (torch.tensor(shown[name], dtype=torch.float64) for name in ("exact", "x"))
    torch.testing.assert_close(gradient_sum(beta, x), run.gradient(0).w_qk[0], atol=2e-3, rtol=0)  # data of four digits


@pytest.mark.parametrize("seed", range(3))
def test_only_pairs_of_both_orders_make_the_sum_symmetric(seed):
    shown = painter(seed)
    s = {}
    for objective, held in shown.data.items():
        beta, x = (torch.tensor(held[name], dtype=torch.float64) for name in ("alike", "x"))
        s[objective] = float(symmetry_score(gradient_sum(beta, x)))
    assert s["bidirectional"] == pytest.approx(1, abs=1e-6) and max(s["autoregressive"], s["masked"]) < 0.5
    assert "bidirectional 1.00" in shown.still.caption
