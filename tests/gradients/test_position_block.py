"""Known values; that the formulas are the gradient is what the page on positions checks."""

import torch
from notebook_code import notebook

from attngeo.gradients import position_block as block


def test_pairs_counted_in_a_text_are_those_of_its_chain():
    chain = notebook("positions_theory").CHAIN
    ids = chain.sample(1, 40_000, torch.Generator().manual_seed(0))[0]
    expected = block.pair_covariances(chain, 4)
    torch.testing.assert_close(block.counted_covariances(ids, 3, 4), expected, atol=0.01, rtol=0)
    first = block.counted_covariances(torch.tensor([0, 0, 1]), 2, 2)[1]  # pairs 00, 01: independent
    assert torch.equal(first, torch.zeros(2, 2).double())
