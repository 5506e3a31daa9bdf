"""Statements S1.13, S1.14, S1.15, 2.4: supported as checked, refused with a wrong formula or assumption planted."""

import pytest
from planting import drawn, supported, supported_with

from attngeo.chapters.symmetric_updates import (
    corpus,
    figures,
    first_gradients,
    masked,
    pairs,
    shifted_queries,
    transposed_laws,
)
from attngeo.chapters.symmetric_updates.first_gradients import causal_softmax_update, skew_share, softmax_update
from attngeo.chapters.symmetric_updates.first_update import first_coefficients, first_update, random_corpus
from attngeo.chapters.symmetric_updates.pair_symmetry import frozen_score, masked_score, pair_score
from attngeo.chapters.symmetric_updates.pairs import agreements, pair_by_parts
from attngeo.chapters.symmetric_updates.shifted_queries import expected_update, shifted_limit
from attngeo.errors import ParameterError
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import context_matrix
from attngeo.updates.rank_one import exact_coefficients


def wrong_sign(forward, backward, k):
    return pair_by_parts(forward, backward, k) - (forward - backward) * (k - k.mT)


def tied_coefficients(*args, **named):
    beta = exact_coefficients(*args, **named)
    return beta + beta.T


def centred_both_ways(beta):
    beta = beta - beta.mean(1, keepdim=True)
    return beta - beta.mean(0)


PLANTED = {
    "S113 with the wrong sign": (pairs.pair_decomposition, "pair_by_parts", wrong_sign),
    "pair score without the angle": (pairs.symmetry_of_a_pair, "pair_score", lambda rho, c: rho),
    "pair score with the factor 2": (pairs.symmetry_of_a_pair, "pair_score", lambda rho, c: 2 * pair_score(rho, c)),
    "S114 without its 2": (pairs.equal_coefficients, "equal_pair", lambda beta, k: beta * (k + k.T) / 2),
    "nearly parallel embeddings are enough": (
        pairs.symmetry_of_a_pair,
        "pair_score",
        lambda rho, c: 1.0 if c > 0.99 else pair_score(rho, c),
    ),
    "frozen skew part without its 2": (
        pairs.frozen_skew_part,
        "frozen_score",
        lambda start, now: (1 + frozen_score(start, now)) / 2,
    ),
    "the symmetric part is frozen": (
        pairs.frozen_skew_part,
        "frozen_score",
        lambda start, now: (start + start.T).square().sum() / 2 / now.square().sum() - 1,
    ),
    "updates change the skew part": (
        pairs.frozen_skew_part,
        "frozen_score",
        lambda start, now: pairs.symmetry_score(start),
    ),
    "every objective has both orders": (
        transposed_laws.law_of_the_transpose,
        "context_matrix",
        lambda objective, n: context_matrix("bidirectional", n),
    ),
    "every objective has one order": (
        transposed_laws.law_of_the_transpose,
        "context_matrix",
        lambda objective, n: context_matrix("autoregressive", n),
    ),
    "coefficients of a softmax have the same law in both orders": (
        transposed_laws.sums_of_exact_coefficients,
        "exact_coefficients",
        lambda *args, **named: centred_both_ways(exact_coefficients(*args, **named)),
    ),
    "coefficients without the mean that a softmax takes off": (
        transposed_laws.sums_of_exact_coefficients,
        "exact_coefficients",
        lambda weights, values, errors, scale: weights * (errors @ values.mT),
    ),
    "any update is symmetric": (pairs.symmetry_of_an_update, "isotropic_score", lambda rho, d: 1.0),
    "isotropic embeddings as orthonormal ones": (
        pairs.symmetry_of_an_update,
        "isotropic_score",
        lambda rho, d: rho,
    ),
    "half the correlation": (pairs.symmetry_of_an_update, "isotropic_score", lambda rho, d: rho / 2),
    "coefficients made equal": (pairs.agreement_at_random_weights, "exact_coefficients", tied_coefficients),
    "columns and rows exchanged": (
        transposed_laws.variances_of_norms,
        "squared_norms",
        lambda u: squared_norms(u)[::-1],
    ),
    "softmax update of linear attention": (
        first_gradients.first_update_through_softmax,
        "softmax_update",
        lambda x, values: x.T @ x @ values @ x.T @ x / len(x),
    ),
    "softmax update without its term of rank 1": (
        first_gradients.first_update_through_softmax,
        "softmax_update",
        lambda x, values: len(x) * x.T.cov(correction=0) @ values @ x.T.cov(correction=0),
    ),
    "the mean on the key side": (
        first_gradients.first_update_through_softmax,
        "softmax_update",
        lambda x, values: softmax_update(x, values.T).T,
    ),
    "causal softmax update without a shift": (
        first_gradients.first_update_through_softmax,
        "causal_softmax_update",
        lambda x, values: causal_softmax_update(x.roll(1, 0), values),
    ),
    "covariance of the whole sequence": (
        first_gradients.first_update_through_softmax,
        "causal_softmax_update",
        lambda x, values: x[:-1].T @ x[1:] @ values @ x.T.cov(correction=0),
    ),
    "half of what is skew": (
        first_gradients.first_update_through_softmax,
        "skew_share",
        lambda x, values: skew_share(x, values) / 2,
    ),
    "autoregressive without a shift": (
        first_gradients.first_update_of_linear_attention,
        "first_coefficients",
        lambda tokens, embeddings, values, ahead: first_coefficients(tokens, embeddings, values, 0),
    ),
    "random values are symmetric": (
        first_gradients.first_update_of_linear_attention,
        "random_value_score",
        lambda moment: 1.0,
    ),
    "a position is no pair with itself": (
        pairs.agreement_at_random_weights,
        "agreements",
        lambda gradients, with_itself=False: agreements(gradients),
    ),
    "no query behind": (
        corpus.symmetry_over_a_corpus,
        "first_update",
        lambda tokens, embeddings, values, contexts, ahead=0: first_update(tokens, embeddings, values, contexts),
    ),
    "expected update with queries and keys exchanged": (
        corpus.symmetry_over_a_corpus,
        "expected_update",
        lambda *args: expected_update(*args).T,
    ),
    "expected update without a position's own term": (
        shifted_queries.expected_update_one_behind,
        "expected_update",
        lambda *args: expected_update(*args[:-1], args[-1] - 1),
    ),
    "Sigma V A": (
        shifted_queries.expected_update_one_behind,
        "shifted_limit",
        lambda chain, embeddings, values: shifted_limit(chain, embeddings, values.T).T,
    ),
    "S119 as a quarter": (masked.masked_shares, "both_to_one_masked", lambda p: 0.25),
    "p / (1 - p) as the score": (
        masked.masked_update_score,
        "masked_score",
        lambda rho, p, rounds, visible: rho * p / (1 - p),
    ),
    "the share bounds what adds up": (
        masked.masked_update_score,
        "masked_score",
        lambda rho, p, rounds, visible: rho * p,
    ),
    "maskings do not share their positions": (
        masked.masked_update_score,
        "masked_score",
        lambda rho, p, rounds, visible: masked_score(rho, p, rounds, True),
    ),
    "masked tokens keep their embeddings": (
        masked.masked_positions_hold_the_mask,
        "first_layer",
        lambda x, masked, mask: x,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, formula, wrong)


def test_errors_independent_of_the_embeddings_are_no_exchangeable_coefficients():
    updates = drawn(transposed_laws.variances_of_norms)
    assert not transposed_laws.variances_of_norms.of(updates._replace(bidirectional=updates.errors)).supported


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("check", [pairs.symmetry_of_an_update, corpus.symmetry_over_a_corpus])
def test_other_seeds(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


def test_too_few_tokens_are_refused():
    with pytest.raises(ParameterError):
        pairs.agreement_at_random_weights(n_tokens=2)
    assert len(pairs.random_gradients(n_tokens=3, n_draws=2, seed=5)) == 2


def test_random_gradients_know_no_positions():
    for gradient in pairs.random_gradients(n_tokens=32, n_draws=3):
        assert len(gradient.layer.x.unique(dim=0)) < 32  # a token that comes twice is the same vector twice


def test_growth_over_a_corpus():
    growth = corpus.corpus_symmetry(random_corpus(16, 16, 12, 400), (1, 400))
    growth = growth.set_index(["setting", "n_sequences"])["symmetry"]
    assert growth["bidirectional", 1] == pytest.approx(1)
    assert growth["autoregressive, query holds the target", 1] < 0.8
    assert growth["autoregressive, query holds the target", 400] > 0.95
    assert growth["autoregressive, query one behind", 400] < growth["order of the pairs", 400]


@pytest.mark.parametrize("sizes", [(), (0, 3), (1, 5)], ids=str)
def test_parts_that_are_none_of_the_corpus_are_refused(sizes):
    with pytest.raises(ParameterError):
        corpus.corpus_symmetry(random_corpus(4, 4, 3, 4), sizes)


def test_figures_speak_of_their_data():
    assert "0.80" in figures.pair_scores().caption
    scores = pairs.update_scores([u for n in (6, 9) for u in pairs.correlated_updates(12, n, 3)])
    assert "N = 6" in figures.score_by_correlation(scores, 12).caption
    growth = corpus.corpus_symmetry(random_corpus(8, 8, 6, 10), (1, 10))
    assert "1 to 10 sequences" in figures.score_by_sequences(growth).caption
    table = masked.masked_scores(masked.masked_updates(10, 0.5, 50))
    assert "$\\rho$ = 0.5" in figures.score_by_mask_rate(table, 0.5).caption
    assert table["symmetry"].between(0, 0.5).all()
