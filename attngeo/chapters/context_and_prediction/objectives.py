"""Definition S1.3: what each objective predicts from what; a product of two-sided conditionals is no joint."""

from collections.abc import Callable
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix, context_sets, predicted_sets

CHAPTER = "context_and_prediction"


def chain_rule(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | t_1 .. t_{i-1}]`` (Eq. S6) of every sequence; ``joint`` has one axis per position."""
    n, result = joint.ndim, torch.ones_like(joint)
    for i in range(n):
        future = tuple(range(i + 1, n))
        past = joint.sum(future, keepdim=True) if future else joint  # Pr[t_0 .. t_i]
        result = result * past / past.sum(i, keepdim=True)
    return result


def both_sides(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | all other tokens]`` (right of Eq. S8) of every sequence: the pseudo-likelihood."""
    result = torch.ones_like(joint)
    for i in range(joint.ndim):
        result = result * joint / joint.sum(i, keepdim=True)
    return result


def two_bits(agreement: float) -> Float[Tensor, "2 2"]:
    """Joint distribution of two fair bits that agree with a given probability."""
    same, other = agreement / 2, (1 - agreement) / 2
    return torch.tensor([[same, other], [other, same]], dtype=torch.float64)


def _random_joint(n_tokens: int, n_vocab: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand((n_vocab,) * n_tokens, generator=generator, dtype=torch.float64) ** 3
    return weights / weights.sum()


@claim
def objectives_definition(
    n_tokens: int = 5,
    n_vocab: int = 3,
    seed: int = 0,
    factorisation: Callable[[Tensor], Tensor] = chain_rule,
) -> Result:
    """Definition S1.3: Eq. S6 is an identity; C_i and P_j describe the same pairs."""
    joint = _random_joint(n_tokens, n_vocab, seed)
    masked = torch.arange(n_tokens) % 3 == 1
    n_masked = int(masked.sum())
    expected_pairs = {
        Objective.AUTOREGRESSIVE: n_tokens * (n_tokens - 1) // 2,
        Objective.BIDIRECTIONAL: n_tokens * (n_tokens - 1),
        Objective.MASKED: n_masked * (n_tokens - n_masked),
    }
    comparisons = [
        exact("largest difference between Eq. S6 and a random joint", (factorisation(joint) - joint).abs().max(), 0)
    ]
    for objective, n_pairs in expected_pairs.items():
        matrix = context_matrix(objective, n_tokens, masked if objective is Objective.MASKED else None)
        c, p = context_sets(matrix), predicted_sets(matrix)
        dual = all((j in c[i]) == (i in p[j]) for i, j in product(range(n_tokens), repeat=2))
        comparisons += [
            exact(f"pairs (i, j) with j in C_i, {objective}", sum(map(len, c)), n_pairs, 0),
            exact(f"j in C_i if and only if i in P_j, {objective}", dual, 1, 0),
        ]
    return Result(
        statement="S1.3",
        part="Eqs. S6, S7, S9, S10",
        title="the objectives and their conditioning sets",
        verdict=Verdict.HOLDS,
        comparisons=tuple(comparisons),
        remark="Eq. S10 writes $M \\in [1, \\dots, N]$ for the subset $M \\subset \\{1, \\dots, N\\}$; the text "
        "numbers tokens from 1 in some places and from 0 in others.",
        chapter=CHAPTER,
    )


@claim
def bidirectional_factorisation(
    agreement: float = 0.8, n_tokens: int = 4, seed: int = 0, mass: Callable[[float], float] | None = None
) -> Result:
    """Equation S8 fails: the product of two-sided conditionals of two bits sums to 2 q^2 + 2 (1 - q)^2, not to 1."""
    mass = mass or (lambda q: 2 * q**2 + 2 * (1 - q) ** 2)
    joint = _random_joint(n_tokens, 2, seed)
    independent = torch.full((2,) * n_tokens, 0.5**n_tokens, dtype=torch.float64)
    return Result(
        statement="S1.3",
        part="Eq. S8",
        title="the joint probability as a product of two-sided conditionals",
        verdict=Verdict.FAILS,
        comparisons=(
            exact(
                f"total mass, two bits that agree with probability {agreement:g}",
                both_sides(two_bits(agreement)).sum(),
                mass(agreement),
            ),
            Comparison("the same against 1", float(both_sides(two_bits(agreement)).sum()), "≠", 1.0, 1e-3),
            Comparison(f"total mass, {n_tokens} random bits", float(both_sides(joint).sum()), "≠", 1.0, 1e-3),
            exact("total mass, independent bits", both_sides(independent).sum(), 1),
        ),
        printed="$\\Pr[U] = \\prod_i \\Pr[t_i \\mid t_1, \\dots, t_{i-1}, t_{i+1}, \\dots, t_N]$",
        corrected="The product is the pseudo-likelihood of $U$. It equals $\\Pr[U]$ when the tokens are independent; "
        "for correlated tokens it does not even sum to 1.",
        remark="The objective S9 does not need S8: each of its terms is minimised by the true conditional probability.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


@claim
def attended_is_not_conditioned(n_tokens: int = 9) -> Result:
    """The set a query attends to differs from C_i: the query itself is in it, and so are the masked positions."""
    masked = torch.arange(n_tokens) % 3 == 1
    causal, before = (m(Objective.AUTOREGRESSIVE, n_tokens) for m in (attended_matrix, context_matrix))
    comparisons = [exact("A_i = C_{i+1} for every i, autoregressive", bool((causal[:-1] == before[1:]).all()), 1, 0)]
    for objective in Objective:
        sees = attended_matrix(objective, n_tokens)
        c = context_matrix(objective, n_tokens, masked if objective is Objective.MASKED else None)
        if objective is Objective.MASKED:
            sees, c = sees[masked], c[masked]  # only masked positions are predicted
        extra = int((sees & ~c).sum())
        expected = {
            Objective.AUTOREGRESSIVE: n_tokens,  # j = i
            Objective.BIDIRECTIONAL: n_tokens,
            Objective.MASKED: int(masked.sum()) ** 2,  # every masked position, itself included
        }[objective]
        comparisons += [
            exact(f"attended pairs outside C_i, {objective}", extra, expected, 0),
            exact(f"pairs of C_i that are not attended, {objective}", int((c & ~sees).sum()), 0, 0),
        ]
    return Result(
        statement="S1.3",
        part="(attended positions)",
        title="what a Transformer attends to is more than C_i",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="$C_i$ is the set of indices of the conditional probability, and the sums over attention run over it.",
        corrected="Attention runs over the positions that the mask lets position $i$ see: $j \\le i$ with a causal "
        "mask, all $j$ without. With a causal mask position $i$ predicts token $i + 1$, and what it attends to is "
        "$C_{i+1}$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
