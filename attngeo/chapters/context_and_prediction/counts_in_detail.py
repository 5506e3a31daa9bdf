"""The sums inside the proof of Proposition S1.10 (Eqs. S73-S75, S82-S87) and the sentences built on them."""

from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.context_and_prediction.counts import CHAPTER, N_VOCAB, drifting_chain, simulate
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import Objective, expected_counts, mean_position


@claim
def last_position_counts(n_tokens: int = 12, draws: int = 200, seed: int = 0, last: int | None = None) -> Result:
    """Equation S73: the sum over predicted positions runs to N, not to N - 1."""
    tokens, counts = simulate(drifting_chain(seed), Objective.AUTOREGRESSIVE, n_tokens, draws, seed)
    before = torch.arange(n_tokens, dtype=torch.float64)  # l - 1 for l = 1..N
    last = n_tokens if last is None else last

    def up_to(limit: int) -> Tensor:
        occurs = torch.nn.functional.one_hot(tokens, N_VOCAB).double()[:, :limit]  # (draws, limit, V)
        return torch.einsum("slv,l->sv", occurs, before[:limit])

    return Result(
        statement="S1.10",
        part="Eq. S73",
        title="the upper limit of the sum for μ_p",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("largest difference, sum to N", (up_to(last) - counts.predicted).abs().max(), 0),
            Comparison(
                "largest difference, sum to N − 1",
                float((up_to(n_tokens - 1) - counts.predicted).abs().max()),
                "≠",
                0.0,
                0.5,
            ),
        ),
        printed="$\\mu_p = \\sum_{l=1}^{N-1} \\sum_{k=1}^{l-1} 1\\{t_l = t^*\\}$, “predicted by $t^*$”",
        corrected="$\\mu_p = \\sum_{l=1}^{N} \\sum_{k=1}^{l-1} 1\\{t_l = t^*\\}$, the tokens that predict $t^*$",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def first_position_counts(n_tokens: int = 12, draws: int = 4000, seed: int = 0, first: int = 1) -> Result:
    """Equations S74, S75, S83, S84: positions start at k = 1; from k = 0 the sums are not N(N-1)/2."""
    chain = drifting_chain(seed).stationary()
    _, counts = simulate(chain, Objective.AUTOREGRESSIVE, n_tokens, draws, seed)
    positions, p = range(first, n_tokens + 1), float(chain.start[0])
    half = n_tokens * (n_tokens - 1) / 2
    return Result(
        statement="S1.10",
        part="Eqs. S74, S75, S83, S84",
        title="the lower limit of the sums",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo(
                "μ_c of token 0, stationary process", counts.context[:, 0], p * sum(n_tokens - k for k in positions)
            ),
            monte_carlo(
                "μ_p of token 0, stationary process", counts.predicted[:, 0], p * sum(k - 1 for k in positions)
            ),
            exact("Σ_k (N − k), k from 1", sum(n_tokens - k for k in positions), half, 0),
            Comparison("Σ_k (N − k), k from 0, against N(N−1)/2", n_tokens * (n_tokens + 1) / 2, "≠", half, 0.5),
            Comparison("Σ_k (k − 1), k from 0, against N(N−1)/2", (n_tokens + 1) * (n_tokens - 2) / 2, "≠", half, 0.5),
        ),
        printed="$\\sum_{k=0}^{N}$",
        corrected="$\\sum_{k=1}^{N}$, with which S83 and S84 have the value they state",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def correlation_is_irrelevant(n_tokens: int = 12, draws: int = 4000, seed: int = 0, stationary: bool = True) -> Result:
    """Text around S82-S84: ratio 1 needs equal marginals, not independence; correlations do not enter the ratio."""
    drifting = drifting_chain(seed)
    chain = drifting.stationary() if stationary else drifting
    tokens, counts = simulate(chain, Objective.AUTOREGRESSIVE, n_tokens, draws, seed)
    t = 0
    start = float(chain.start[t])
    follows = (tokens[:, 0] == t) & (tokens[:, 1] == t)
    marginals = drifting.marginals(n_tokens)
    generator = torch.Generator().manual_seed(seed + 3)
    independent = torch.stack([torch.multinomial(row, draws, True, generator=generator) for row in marginals], dim=1)
    weights = n_tokens + 1 - 2 * torch.arange(1, n_tokens + 1, dtype=torch.float64)  # (N - k) - (k - 1)
    drift = (independent == t).double() @ weights
    expected = expected_counts(Objective.AUTOREGRESSIVE, marginals)
    same_drift = monte_carlo(
        "μ_c − μ_p, independent, same marginals as the chain", drift, expected.context[t] - expected.predicted[t]
    )
    return Result(
        statement="S1.10",
        part="Eqs. S82-S84 (independence)",
        title="what the ratio depends on",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("Pr[t_1 = t_2 = t] against the product of marginals", follows.double(), start**2, "≠"),
            monte_carlo("μ_c − μ_p, correlated and stationary", counts.context[:, t] - counts.predicted[:, t], 0),
            monte_carlo("μ_c − μ_p, independent, marginals that drift", drift, 0, "≠"),
            same_drift,
        ),
        printed="The ratio is influenced by the statistical correlations between tokens; without them it is 1.",
        corrected="The ratio depends on the positional marginals $\\Pr[t_k = t^*]$ alone. It is 1 for every stationary "
        "process, however correlated, and it differs from 1 for independent tokens whose marginals drift.",
        remark="The text assumes independent and identically distributed tokens; the second half is what matters. "
        "Blocks cut from a long text at uniformly random places have equal marginals.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def marginal_by_enumeration(conditionals: list[Tensor], k: int, token: int, limit: int) -> float:
    """Equation S86 with token t*: a sum over all sequences of ``prod_{l <= limit} Pr[t_l | t_{l+1} .. t_N]``."""
    n, v = len(conditionals), conditionals[0].shape[0]
    total = 0.0
    for sequence in product(range(v), repeat=n):
        if sequence[k] == token:
            factors = [conditionals[i][sequence[i:]] for i in range(limit)]
            total += float(torch.stack(factors).prod())
    return total


def backward_conditionals(joint: Float[Tensor, "..."]) -> list[Float[Tensor, "..."]]:
    """``Pr[t_i | t_{i+1} .. t_N]`` for every i (Eq. S85), the i-th with axes i..N."""
    result = []
    for i in range(joint.ndim):
        tail = joint.sum(tuple(range(i))) if i else joint  # Pr[t_i .. t_N]
        result.append(tail / tail.sum(0, keepdim=True))
    return result


@claim
def marginal_from_the_future(n_tokens: int = 4, seed: int = 0, limit: int | None = None) -> Result:
    """Equations S85, S86: the product runs to N and the token is t*; the factors of the past sum to 1."""
    generator = torch.Generator().manual_seed(seed)
    joint = torch.rand((3,) * n_tokens, generator=generator, dtype=torch.float64) ** 3
    joint /= joint.sum()
    conditionals = backward_conditionals(joint)
    k, token = n_tokens - 2, 1
    others = tuple(i for i in range(n_tokens) if i != k)
    future = joint.sum(tuple(range(k + 1)))
    short = float((conditionals[k][token] * future).sum())  # only Pr[t_k = t* | future] and Pr[future]
    truth = float(joint.sum(others)[token])
    whole = marginal_by_enumeration(conditionals, k, token, n_tokens if limit is None else limit)
    return Result(
        statement="S1.10",
        part="Eqs. S85-S87",
        title="the marginal from the tokens that follow",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("Eq. S86 with limit N and token t*", whole, truth),
            exact("the same without the factors of the past", short, truth),
        ),
        printed="$\\prod_{l \\ne k}^{T} \\Pr[t_l \\mid t_{l+1}, \\dots, t_N] \\cdot \\Pr[t_k = t \\mid \\dots]$",
        corrected="The limit is $N$ and the token $t^*$. The factors with $l < k$ sum to 1, which leaves $\\Pr[t_k = "
        "t^*] = \\mathrm{E}\\,\\Pr[t_k = t^* \\mid t_{k+1}, \\dots, t_N]$, for any process.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def preceding_is_not_enough(n_tokens: int = 12, start: float | None = None) -> Result:
    """Text after S87: to stand before certain tokens does not raise the ratio; to stand early in the block does."""
    cycle = torch.roll(torch.eye(N_VOCAB, dtype=torch.float64), 1, dims=1)  # t is always followed by t + 1
    first = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64)
    if start is not None:
        first = torch.full((N_VOCAB,), (1 - start) / (N_VOCAB - 1), dtype=torch.float64)
        first[0] = start
    anywhere = expected_counts(Objective.AUTOREGRESSIVE, MarkovChain(first, cycle).marginals(n_tokens))
    opening = torch.zeros(N_VOCAB, dtype=torch.float64)
    opening[0] = 1
    leave = torch.full((N_VOCAB, N_VOCAB), 1 / (N_VOCAB - 1), dtype=torch.float64)
    leave[:, 0] = 0  # token 0 opens every block and does not come back
    marginals = MarkovChain(opening, leave).marginals(n_tokens)
    opens = expected_counts(Objective.AUTOREGRESSIVE, marginals)
    return Result(
        statement="S1.10",
        part="(text after Eq. S87)",
        title="which tokens have a ratio above 1",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact(
                "largest |ratio − 1|, every token always before the next, blocks cut anywhere",
                (anywhere.ratio - 1).abs().max(),
                0,
            ),
            exact("mean position of a token that opens every block", mean_position(marginals)[0], 1),
            exact("μ_p of that token", opens.predicted[0], 0),
            exact("μ_c of that token", opens.context[0], n_tokens - 1),
        ),
        printed="The ratio is likely above 1 when $t^*$ tends to occur before a given set of tokens, or at the "
        "beginning of sentences.",
        corrected="It is above 1 exactly when the mean position of $t^*$ in the block lies before the middle. Order "
        "relative to other tokens matters only where blocks begin at a fixed place of the text.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def sign_of_the_ratio(n_tokens: int = 12, draws: int = 4000, seed: int = 0, relation: str = ">") -> Result:
    """Text after S96: a ratio above 1 means that more tokens are predicted by t* than predict it."""
    chain = drifting_chain(seed)
    expected = expected_counts(Objective.AUTOREGRESSIVE, chain.marginals(n_tokens))
    t = int(expected.ratio.argmax())
    _, counts = simulate(chain, Objective.AUTOREGRESSIVE, n_tokens, draws, seed)
    opening = torch.zeros(N_VOCAB, dtype=torch.float64)
    opening[0] = 1  # one token opens every block, after it all are equally likely
    uniform = torch.full((N_VOCAB, N_VOCAB), 1 / N_VOCAB, dtype=torch.float64)
    ratios = expected_counts(Objective.AUTOREGRESSIVE, MarkovChain(opening, uniform).marginals(n_tokens)).ratio
    return Result(
        statement="S1.12",
        part="(text after Eq. S96)",
        title="what a ratio above 1 says",
        verdict=Verdict.CORRECTED,
        comparisons=(
            Comparison(f"μ_c / μ_p, token {t}", float(expected.ratio[t]), ">", 1.0, 0.05),
            monte_carlo(
                f"tokens predicted by token {t} less tokens that predict it",
                counts.context[:, t] - counts.predicted[:, t],
                0,
                relation,
            ),
            exact(f"tokens of {N_VOCAB} with a ratio above 1, one token opens every block", (ratios > 1).sum(), 1, 0),
        ),
        printed="From $\\mathrm{E}\\mu_c / \\mathrm{E}\\mu_p > 1$ for most $t^*$: “the average number of tokens that "
        "are predicted by $t^*$ is smaller”.",
        corrected="It is larger. That the ratio exceeds 1 for *most* tokens is an assumption about the corpus, not a "
        "consequence of S1.10: both counts have the same sum over the vocabulary.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )
