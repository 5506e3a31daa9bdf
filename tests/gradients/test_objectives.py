import torch
from hypothesis import given
from hypothesis import strategies as st

from attngeo.gradients.objectives import (
    Objective,
    attended_matrix,
    context_matrix,
    context_sets,
    every_third,
    example_pairs,
)

lengths = st.integers(2, 12)


def masks(n: int):
    return st.lists(st.booleans(), min_size=n, max_size=n).map(lambda bits: torch.tensor(bits))


def test_examples_mask_every_third_position():
    assert every_third(8).nonzero().flatten().tolist() == [1, 4, 7]
    assert (example_pairs("masked", 5) == context_matrix("masked", 5, every_third(5))).all()
    assert (example_pairs("bidirectional", 5) == context_matrix("bidirectional", 5)).all()


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


@given(lengths.flatmap(masks), st.sampled_from(list(Objective)))
def test_p_is_the_inverse_of_c(masked, objective):
    matrix = context_matrix(objective, len(masked), masked if objective is Objective.MASKED else None)
    c, p = context_sets(matrix), context_sets(matrix.T)
    assert {(i, j) for i, s in enumerate(c) for j in s} == {(i, j) for j, s in enumerate(p) for i in s}
    assert not any(i in s for i, s in enumerate(c))


@given(lengths)
def test_attention_sees_itself_and_its_context(n):
    causal = attended_matrix("autoregressive", n)
    assert (causal == (context_matrix("autoregressive", n) | torch.eye(n, dtype=torch.bool))).all()
    assert attended_matrix("masked", n).all() and attended_matrix("bidirectional", n).all()
