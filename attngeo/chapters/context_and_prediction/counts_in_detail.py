"""The sums inside the proof of Proposition S1.10 (Eqs. S73-S75, S82-S87) and the sentences built on them."""

from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.context_and_prediction.objectives import random_joint
from attngeo.chapters.context_and_prediction.simulation import N_VOCAB, Simulation, simulation, surplus
from attngeo.chapters.context_and_prediction.token_counts import expected_counts, mean_position
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import Objective

TOKEN = 0  # the one that is looked at, t*


def last_predicted(n_tokens: int) -> int:
    """Upper limit of the sum over predicted positions (Eq. S73)."""
    return n_tokens


@check(simulation, draws=200)
def last_position_counts(s: Simulation) -> Comparisons:
    """Equation S73: the sum over predicted positions runs to N, not to N - 1."""
    occurs = torch.nn.functional.one_hot(s.tokens, N_VOCAB).double()  # (draws, N, V)
    before = torch.arange(s.n_tokens, dtype=torch.float64)  # l - 1 for l = 1..N

    def error(limit: int) -> Tensor:
        up_to = torch.einsum("slv,l->sv", occurs[:, :limit], before[:limit])
        return (up_to - s.counts.predicted).abs().max()

    yield exact("to N", error(last_predicted(s.n_tokens)))
    yield compare("to N - 1", error(s.n_tokens - 1), "≠", 0, 0.5)


def positions(n_tokens: int) -> range:
    """The values of k in Eqs. S74, S75, S83, S84."""
    return range(1, n_tokens + 1)


@check(simulation, stationary=True)
def first_position_counts(s: Simulation) -> Judgement:
    """Equations S74, S75, S83, S84: positions start at k = 1; from k = 0 the sums are not N(N-1)/2."""
    n, p, from_zero = s.n_tokens, float(s.chain.start[TOKEN]), range(s.n_tokens + 1)
    later, earlier, half = sum(n - k for k in positions(n)), sum(k - 1 for k in positions(n)), n * (n - 1) / 2
    return Judgement(
        monte_carlo("context", s.counts.context[:, TOKEN], p * later),
        monte_carlo("predicted", s.counts.predicted[:, TOKEN], p * earlier),
        exact("from 1", later, half, 0),
        compare("context from 0", sum(n - k for k in from_zero), "≠", half, 0.5),
        compare("predicted from 0", sum(k - 1 for k in from_zero), "≠", half, 0.5),
        token=TOKEN,
    )


class CorrelatedAndIndependent(NamedTuple):
    """A process that is correlated and stationary, and one that is independent and drifts."""

    stationary: Simulation
    drifting: MarkovChain  # whose marginals the independent tokens have
    independent: Tensor  # (draws, N)


def correlated_and_independent(n_tokens: int = 12, draws: int = 4000, seed: int = 0) -> CorrelatedAndIndependent:
    """Sequences of the stationary chain, and as many of independent tokens with the marginals of the drifting one."""
    stationary, drifting = (simulation(n_tokens, draws, seed, stationary=kind) for kind in (True, False))
    generator = torch.Generator().manual_seed(seed + 3)
    drawn = [torch.multinomial(row, draws, True, generator=generator) for row in drifting.marginals]
    return CorrelatedAndIndependent(stationary, drifting.chain, torch.stack(drawn, dim=1))


@check(correlated_and_independent)
def correlation_is_irrelevant(s: CorrelatedAndIndependent) -> Comparisons:
    """Text around S82-S84: ratio 1 needs equal marginals, not independence; correlations do not enter the ratio."""
    n, start = s.stationary.n_tokens, s.stationary.chain.start[TOKEN]
    twice = (s.stationary.tokens[:, :2] == TOKEN).all(-1).double()
    weights = n + 1 - 2 * torch.arange(1, n + 1, dtype=torch.float64)  # (N - k) - (k - 1)
    drift = (s.independent == TOKEN).double() @ weights
    expected = expected_counts(Objective.AUTOREGRESSIVE, s.drifting.marginals(n))
    yield monte_carlo("together", twice, start**2, "≠")
    yield monte_carlo("correlated", surplus(s.stationary.counts, TOKEN), 0)
    yield monte_carlo("drifting", drift, 0, "≠")
    yield monte_carlo("same marginals", drift, expected.context[TOKEN] - expected.predicted[TOKEN])


def joint_of(conditionals: list[Float[Tensor, "..."]]) -> Float[Tensor, "..."]:
    """``prod_l Pr[t_l | t_{l+1} .. t_N]`` of every sequence (Eqs. S85, S86)."""
    return reduce(torch.mul, conditionals)  # the l-th has the axes l..N


@check(random_joint, n_tokens=4)
def marginal_from_the_future(joint: Tensor) -> Comparisons:
    """Equations S85, S86: the product runs to N and the token is t*; the factors of the past sum to 1."""
    n, token = joint.ndim, 1
    tails = [joint.sum(tuple(range(i))) if i else joint for i in range(n)]  # Pr[t_i .. t_N]
    conditionals = [tail / tail.sum(0, keepdim=True) for tail in tails]
    k = n - 2
    others = tuple(i for i in range(n) if i != k)
    truth = joint.sum(others)[token]
    yield exact("to N", joint_of(conditionals).sum(others)[token], truth)
    yield exact("without the past", (conditionals[k][token] * tails[k + 1]).sum(), truth)


class Openings(NamedTuple):
    """Three chains that differ in how a block begins."""

    n_tokens: int
    cycle: MarkovChain  # t is always followed by t + 1, cut anywhere
    leaving: MarkovChain  # the token opens every block and does not come back
    returning: MarkovChain  # the token opens every block, after it all are equally likely


def openings(n_tokens: int = 12) -> Openings:
    """The chains, over the vocabulary of the simulations; nothing in them is random."""
    uniform = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64)
    first = torch.nn.functional.one_hot(torch.tensor(TOKEN), N_VOCAB).double()
    cycle = torch.eye(N_VOCAB, dtype=torch.float64).roll(1, dims=1)
    others = ((1 - first) / (N_VOCAB - 1)).expand(N_VOCAB, -1)
    return Openings(
        n_tokens,
        MarkovChain(uniform, cycle),
        MarkovChain(first, others),
        MarkovChain(first, uniform.expand(N_VOCAB, -1)),
    )


@check(openings)
def preceding_is_not_enough(o: Openings) -> Comparisons:
    """Text after S87: to stand before certain tokens does not raise the ratio; to stand early in the block does."""
    anywhere = expected_counts(Objective.AUTOREGRESSIVE, o.cycle.marginals(o.n_tokens))
    marginals = o.leaving.marginals(o.n_tokens)
    opens = expected_counts(Objective.AUTOREGRESSIVE, marginals)
    yield exact("anywhere", (anywhere.ratio - 1).abs().max())
    yield exact("mean position", mean_position(marginals)[TOKEN], 1)
    yield exact("predicted", opens.predicted[TOKEN])
    yield exact("context", opens.context[TOKEN], o.n_tokens - 1)


@check(simulation)
def sign_of_the_ratio(s: Simulation) -> Judgement:
    """Text after S96: a ratio above 1 means that more tokens are predicted by t* than predict it."""
    ratio = expected_counts(Objective.AUTOREGRESSIVE, s.marginals).ratio
    t = int(ratio.argmax())
    one_opens = expected_counts(Objective.AUTOREGRESSIVE, openings(s.n_tokens).returning.marginals(s.n_tokens))
    return Judgement(
        compare("ratio", ratio[t], ">", 1, 0.05),
        monte_carlo("surplus", surplus(s.counts, t), 0, ">"),
        exact("above 1", (one_opens.ratio > 1).sum(), 1, 0),
        token=t,
        n_vocab=N_VOCAB,
    )
