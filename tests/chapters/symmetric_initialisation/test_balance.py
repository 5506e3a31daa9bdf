import pytest
from planting import supported, supported_with

from attngeo.chapters.symmetric_initialisation import balance

PLANTED = {
    "sum for difference": lambda wq, wk: wq.T @ wq + wk.T @ wk,
    "rows for columns": lambda wq, wk: wq @ wq.T - wk @ wk.T,
    "queries alone": lambda wq, wk: wq.T @ wq,
    "mixed": lambda wq, wk: wq.T @ wk - wk.T @ wq,
    "keys twice": lambda wq, wk: wq.T @ wq - 2 * wk.T @ wk,
}


def test_gradient_flow_conserves_the_difference_of_gram_matrices():
    assert supported(balance.flow_conserves_imbalance)
    assert all(balance.flow_conserves_imbalance(seed=seed).supported for seed in (1, 2))


@pytest.mark.parametrize("name", PLANTED)
def test_another_difference_is_refused(name):
    assert not supported_with(balance.flow_conserves_imbalance, "imbalance", PLANTED[name])
