import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_forms import gaussian

from attngeo.gradients.one_token import Role, token_column, token_row, token_update
from attngeo.gradients.rank_one import by_context, by_prediction


@given(st.integers(2, 7), st.integers(2, 6), st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_a_token_s_update_is_its_part_of_either_grouping(n, d, seed):
    beta, x = gaussian(n, n, seed=seed), gaussian(n, d, seed=seed + 1)
    for position in range(n):
        for role, parts in ((Role.CONTEXT, by_context), (Role.PREDICTION, by_prediction)):
            part = parts(beta, x)[position]
            torch.testing.assert_close(token_update(beta, x, position, role), part)
            torch.testing.assert_close(token_column(beta, x, position, role.value, d - 1), part[:, d - 1])
            torch.testing.assert_close(token_row(beta, x, position, role.value, 0), part[0])
