"""Which side is heavier, and other seeds."""

import pytest
import torch
from chapters.column_dominance import heavier
from notebook_code import notebook

page = notebook("column_dominance_details")


def test_which_side_is_heavier_turns_with_the_matrix():
    updates = page.context_tokens(16, 8, 1.0, 60, 0, 24)
    assert [heavier(u) for u in (updates, updates.mT)] == ["rows heavier", "columns heavier"]
    assert heavier(torch.cat([updates, updates.mT])) == "both alike"


@pytest.mark.parametrize("seed", [11, 12])
def test_other_seeds(seed):
    for claim in (page.autoregressive_directionality, page.directionality_condition):
        assert claim(seed=seed).supported
