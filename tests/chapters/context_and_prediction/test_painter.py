"""What the painter paints: the gradient by autograd, and symmetric only where both orders of a pair exist and agree."""

import pytest
import torch
from chapters.context_and_prediction import painter, ratio_and_error

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.objectives import Objective
from attngeo.gradients.rank_one import gradient_sum
from attngeo.gradients.token_counts import drifting_chain, expected_counts, simulation
from attngeo.gradients.toy_transformer import sentence_gradient


@pytest.mark.parametrize("objective", list(Objective))
def test_the_exact_terms_add_up_to_the_gradient(objective):
    shown = painter(seed=3).data[objective.value]
    beta, x = (torch.tensor(shown[name], dtype=torch.float64) for name in ("exact", "x"))
    expected = sentence_gradient(objective, 3).w_qk[0]  # by autograd
    torch.testing.assert_close(gradient_sum(beta, x), expected, atol=2e-3, rtol=0)  # data of four digits


def test_only_pairs_of_both_orders_make_the_sum_symmetric():
    scores = {objective: [] for objective in Objective}
    for shown in map(painter, range(4)):
        assert "symmetry s = 1.00" in shown.still.figure.axes[4].get_title("left")
        for objective, held in shown.data.items():
            beta, x = (torch.tensor(held[name], dtype=torch.float64) for name in ("alike", "x"))
            scores[objective].append(float(symmetry_score(gradient_sum(beta, x))))
    assert scores["bidirectional"] == pytest.approx([1] * 4, abs=1e-6) and max(scores["autoregressive"]) < 0.5
    assert sum(scores["masked"]) / 4 < 0.5  # few pairs: one sum may be rather symmetric by chance


def test_the_ratio_of_a_text_has_an_error_that_shrinks_with_the_draws():
    ratio, error = ratio_and_error(simulation(draws=400).counts)
    expected = expected_counts("autoregressive", drifting_chain(0).marginals(12)).ratio
    assert ((ratio - expected).abs() < 4 * error).all()
    torch.testing.assert_close(ratio_and_error(simulation(draws=6400).counts)[1], error / 4, rtol=0.2, atol=0)
