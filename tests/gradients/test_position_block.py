"""Known values; that the formulas are the gradient is what the page on positions checks, here too for the mutants."""

import pytest
import torch
from notebook_code import notebook, result

from attngeo.claims.claim import claims_of
from attngeo.errors import ParameterError
from attngeo.gradients import position_block as block
from attngeo.gradients.markov_chain import MarkovChain

PAGE = "positions_theory"


@pytest.mark.parametrize("claim", claims_of(PAGE))
def test_the_formulas_give_what_the_page_claims(claim):
    assert result(PAGE, claim).supported


def test_pairs_counted_in_a_text_are_those_of_its_chain():
    chain = notebook(PAGE).CHAIN
    ids = chain.sample(1, 40_000, torch.Generator().manual_seed(0))[0]
    expected = block.pair_covariances(chain, 4)
    torch.testing.assert_close(block.counted_covariances(ids, 3, 4), expected, atol=0.01, rtol=0)
    first = block.counted_covariances(torch.tensor([0, 0, 1]), 2, 2)[1]  # pairs 00, 01: independent
    assert torch.equal(first, torch.zeros(2, 2).double())


def test_how_reversible_pairs_are():
    k = torch.tensor([[[0.0, 1], [1, 0]], [[0, 1], [-1, 0]], [[0, 2], [0, 0]]])
    assert block.reversibility(k, [0, 2, 1]) == [1, 0, -1]


def test_refusals():
    with pytest.raises(ParameterError, match="drifts"):
        block.pair_covariances(MarkovChain.random(3, 0.2, torch.Generator().manual_seed(1)), 2)
    for hidden in (0, 4):
        with pytest.raises(ParameterError, match="hidden"):
            block.hidden_pair_rate(4, hidden)
