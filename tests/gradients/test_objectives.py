import torch
from hypothesis import given
from hypothesis import strategies as st

from attngeo.gradients.objectives import (
    context_matrix,
    context_sets,
)

lengths = st.integers(2, 12)


def masks(n: int):
    return st.lists(st.booleans(), min_size=n, max_size=n).map(lambda bits: torch.tensor(bits))


@given(lengths)
def test_sets_of_definition_s1_3(n):
    before = context_sets(context_matrix("autoregressive", n))
    assert before == [frozenset(range(i)) for i in range(n)]
    others = context_sets(context_matrix("bidirectional", n))
    assert others == [frozenset(range(n)) - {i} for i in range(n)]
    assert context_sets(context_matrix("autoregressive", n).T) == [frozenset(range(j + 1, n)) for j in range(n)]


@given(lengths.flatmap(masks))
def test_masked_tokens_are_predicted_from_the_visible(masked):
    sets = context_sets(context_matrix("masked", len(masked), masked))
    visible = frozenset((~masked).nonzero().flatten().tolist())
    assert sets == [visible if m else frozenset() for m in masked]
