import torch

from attngeo.gradients.objectives import context_matrix, context_sets


def test_sets_of_definition_s1_3():
    assert context_sets(context_matrix("autoregressive", 4)) == [set(range(i)) for i in range(4)]
    assert context_sets(context_matrix("masked", 3, torch.arange(3) == 1)) == [set(), {0, 2}, set()]
    assert context_sets(context_matrix("masked", 3)) == [set(), {0, 2}, set()]  # every third
