import pytest
import torch
from chapters.symmetric_updates import masked_in_turn
from notebook_code import notebook

from attngeo.gradients.toy_transformer import one_layer

page = notebook("symmetric_updates_details")


def test_a_row_of_coefficients_is_that_of_the_pass_in_which_its_position_is_masked():
    (s,) = masked_in_turn(d=8, n_tokens=5, n_models=1)
    model = one_layer(8, 5)
    tokens = torch.randint(40, (5,), generator=torch.Generator().manual_seed(0))
    x, total = model.we[tokens].detach(), 0
    for i in range(5):
        embeddings = x.clone()
        embeddings[i] = model.we[-1].detach()
        total = total + model.config.score_scale * torch.outer(embeddings[i], s.beta[i] @ embeddings)
    torch.testing.assert_close(s.gradient.abs(), total.abs())


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("claim", [page.symmetry_of_an_update, page.symmetry_over_a_corpus])
def test_other_seeds(claim, seed):
    result = claim(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


def test_pairs_are_counted_as_in_loops():
    tokens = torch.tensor([[0, 1, 1, 2], [2, 0, 1, 0]])
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for sequence in tokens.tolist():
        for i in range(4):
            for j in range(i):
                expected[sequence[i], sequence[j]] += 1
    corpus = page.random_corpus(4, 3, 4, 2)._replace(tokens=tokens)
    assert torch.equal(page.pair_counts(corpus, page.context_matrix("autoregressive", 4)), expected)
