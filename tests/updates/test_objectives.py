from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.errors import ParameterError
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import (
    Objective,
    attended_matrix,
    context_matrix,
    context_sets,
    count_tokens,
    expected_counts,
    mean_position,
    predicted_sets,
    sample_mask,
)

lengths = st.integers(2, 12)


def masks(n: int):
    return st.lists(st.booleans(), min_size=n, max_size=n).map(lambda bits: torch.tensor(bits))


def chain(n_vocab: int = 3, seed: int = 0) -> MarkovChain:
    return MarkovChain.random(n_vocab, 0.4, torch.Generator().manual_seed(seed))


def every_sequence(process: MarkovChain, n: int):
    """Each sequence of n tokens with its probability."""
    v = len(process.start)
    tokens = torch.tensor(list(product(range(v), repeat=n)))
    p = process.start[tokens[:, 0]]
    for k in range(1, n):
        p = p * process.transition[tokens[:, k - 1], tokens[:, k]]
    return tokens, p


@given(lengths)
def test_sets_of_definition_s1_3(n):
    before = context_sets(context_matrix("autoregressive", n))
    assert before == [frozenset(range(i)) for i in range(n)]
    others = context_sets(context_matrix("bidirectional", n))
    assert others == [frozenset(range(n)) - {i} for i in range(n)]
    assert predicted_sets(context_matrix("autoregressive", n)) == [frozenset(range(j + 1, n)) for j in range(n)]


@given(lengths.flatmap(masks))
def test_masked_tokens_are_predicted_from_the_visible(masked):
    sets = context_sets(context_matrix("masked", len(masked), masked))
    visible = frozenset((~masked).nonzero().flatten().tolist())
    assert sets == [visible if m else frozenset() for m in masked]


@given(lengths.flatmap(masks), st.sampled_from(list(Objective)))
def test_p_is_the_inverse_of_c(masked, objective):
    matrix = context_matrix(objective, len(masked), masked if objective is Objective.MASKED else None)
    c, p = context_sets(matrix), predicted_sets(matrix)
    assert {(i, j) for i, s in enumerate(c) for j in s} == {(i, j) for j, s in enumerate(p) for i in s}
    assert not any(i in s for i, s in enumerate(c))


@given(lengths)
def test_attention_sees_itself_and_its_context(n):
    causal = attended_matrix("autoregressive", n)
    assert (causal == (context_matrix("autoregressive", n) | torch.eye(n, dtype=torch.bool))).all()
    assert attended_matrix("masked", n).all() and attended_matrix("bidirectional", n).all()


@given(st.integers(0, 10_000), st.sampled_from(list(Objective)))
@settings(max_examples=30)
def test_counts_against_loops_over_pairs(seed, objective):
    n, v, generator = 5, 3, torch.Generator().manual_seed(seed)
    tokens = torch.randint(v, (4, n), generator=generator)
    masked = sample_mask(4, n, 0.4, generator) if objective is Objective.MASKED else None
    contexts = context_matrix(objective, n, masked)
    counts = count_tokens(tokens, contexts, v)
    pairs = contexts if contexts.ndim == 3 else contexts.expand(4, n, n)
    for s, t in product(range(4), range(v)):
        inside = [(i, j) for i, j in product(range(n), repeat=2) if pairs[s, i, j]]
        assert counts.context[s, t] == sum(int(tokens[s, j]) == t for _, j in inside)
        assert counts.predicted[s, t] == sum(int(tokens[s, i]) == t for i, _ in inside)


@pytest.mark.parametrize("objective", ["autoregressive", "bidirectional"])
def test_expected_counts_over_every_sequence(objective):
    n, process = 5, chain()
    tokens, p = every_sequence(process, n)
    counts = count_tokens(tokens, context_matrix(objective, n), 3)
    expected = expected_counts(objective, process.marginals(n))
    torch.testing.assert_close(p @ counts.context, expected.context)
    torch.testing.assert_close(p @ counts.predicted, expected.predicted)


@pytest.mark.parametrize("rate", [0.15, 0.5, 0.9])
def test_expected_masked_counts_over_every_sequence_and_mask(rate):
    n, process = 4, chain()
    tokens, p = every_sequence(process, n)
    expected = expected_counts("masked", process.marginals(n), rate)
    context = predicted = torch.zeros(3, dtype=torch.float64)
    for bits in product([False, True], repeat=n):
        weight = rate ** sum(bits) * (1 - rate) ** (n - sum(bits))
        counts = count_tokens(tokens, context_matrix("masked", n, torch.tensor(bits)), 3)
        context, predicted = context + weight * p @ counts.context, predicted + weight * p @ counts.predicted
    torch.testing.assert_close(context, expected.context)
    torch.testing.assert_close(predicted, expected.predicted)


@given(st.integers(2, 20), st.integers(0, 1000))
@settings(max_examples=30)
def test_ratio_is_a_function_of_the_mean_position(n, seed):
    marginals = chain(4, seed).marginals(n)
    counts, k = expected_counts("autoregressive", marginals), mean_position(marginals)
    torch.testing.assert_close(counts.ratio, (n - k) / (k - 1))
    assert ((counts.ratio > 1) == (k < (n + 1) / 2)).all()
    half = torch.tensor(n * (n - 1) / 2, dtype=torch.float64)
    torch.testing.assert_close(counts.context.sum(), half)
    torch.testing.assert_close(counts.predicted.sum(), half)


@given(st.integers(2, 30), st.integers(0, 1000))
@settings(max_examples=30)
def test_stationary_process_has_ratio_one(n, seed):
    process = chain(4, seed).stationary()
    marginals = process.marginals(n)
    torch.testing.assert_close(marginals, process.start.expand(n, -1))
    ratio = expected_counts("autoregressive", marginals).ratio
    torch.testing.assert_close(ratio, torch.ones_like(ratio))


def test_marginals_and_samples_of_a_chain():
    process, n = chain(3, 5), 4
    tokens, p = every_sequence(process, n)
    enumerated = torch.stack([torch.zeros(3).double().index_add(0, tokens[:, k], p) for k in range(n)])
    torch.testing.assert_close(process.marginals(n), enumerated)
    first, second = (process.sample(2000, n, torch.Generator().manual_seed(1)) for _ in range(2))
    assert (first == second).all()
    frequency = torch.nn.functional.one_hot(first, 3).double().mean(0)
    assert (frequency - enumerated).abs().max() < 4 * 0.5 / 2000**0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: context_matrix("causal", 4), "use one of autoregressive, bidirectional, masked"),
        (lambda: context_matrix("autoregressive", 1), "at least 2"),
        (lambda: attended_matrix("masked", 0), "at least 2"),
        (lambda: context_matrix("masked", 4), "masked"),
        (lambda: context_matrix("autoregressive", 2, torch.tensor([True, False])), "masks no positions"),
        (lambda: context_matrix("masked", 3, torch.tensor([True, False])), "speaks of 2 positions"),
        (lambda: sample_mask(2, 4, 0.0, torch.Generator()), "strictly between 0 and 1"),
        (lambda: sample_mask(2, 4, float("nan"), torch.Generator()), "strictly between 0 and 1"),
        (lambda: expected_counts("masked", chain().marginals(4), 1.0), "strictly between 0 and 1"),
        (lambda: expected_counts("masked", chain().marginals(4)), "needs a mask rate"),
        (lambda: expected_counts("autoregressive", chain().marginals(4), 0.1), "has no mask rate"),
        (lambda: expected_counts("autoregressive", 2 * chain().marginals(4)), "no probability distribution"),
        (lambda: expected_counts("autoregressive", chain().marginals(1)), "at least 2"),
        (lambda: MarkovChain(torch.tensor([0.5, 0.6]), torch.eye(2)), "rows sum to 1"),
        (lambda: MarkovChain(torch.tensor([0.5, 0.5]), torch.eye(3)), "transition matrix"),
        (lambda: MarkovChain.random(1, 0.5, torch.Generator()), "needs 2 tokens"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(as_user, call, words):
    with pytest.raises(ParameterError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
