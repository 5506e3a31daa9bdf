"""Definition S1.3: what each objective predicts from what; a product of two-sided conditionals is no joint."""

from itertools import product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix, context_sets

AGREEMENT = 0.8  # probability with which two bits are equal


def chain_rule(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | t_1 .. t_{i-1}]`` (Eq. S6) of every sequence; ``joint`` has one axis per position."""
    n, result = joint.ndim, torch.ones_like(joint)
    for i in range(n):
        future = tuple(range(i + 1, n))
        past = joint.sum(future, keepdim=True) if future else joint  # Pr[t_0 .. t_i]
        result = result * past / past.sum(i, keepdim=True)
    return result


def two_sided(joint: Float[Tensor, "..."]) -> Float[Tensor, "positions ..."]:
    """``Pr[t_i | all other tokens]`` of every sequence, by position i."""
    return torch.stack([joint / joint.sum(i, keepdim=True) for i in range(joint.ndim)])


def both_sides(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | all other tokens]`` (right of Eq. S8) of every sequence: the pseudo-likelihood."""
    return two_sided(joint).prod(0)


def expected_loss(joint: Float[Tensor, "..."], modelled: Float[Tensor, "positions ..."]) -> float:
    """``-E sum_i log p(t_i | all other tokens)`` (Eq. S9) of a model's conditional probabilities."""
    return -float((joint * modelled.log()).sum())


def two_bits(agreement: float) -> Float[Tensor, "2 2"]:
    """Joint distribution of two fair bits that agree with a given probability."""
    same, other = agreement / 2, (1 - agreement) / 2
    return torch.tensor([[same, other], [other, same]], dtype=torch.float64)


def random_joint(n_tokens: int = 5, n_vocab: int = 3, seed: int = 0) -> Float[Tensor, "..."]:
    """Joint distribution of correlated tokens, one axis per position."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand((n_vocab,) * n_tokens, generator=generator, dtype=torch.float64) ** 3
    return weights / weights.sum()


def every_third(n_tokens: int = 9) -> Bool[Tensor, " n"]:
    """Which positions are masked: every third."""
    return torch.arange(n_tokens) % 3 == 1


def pairs(objective: Objective, masked: Bool[Tensor, " n"]) -> Bool[Tensor, "n n"]:
    """[j in C_i] with these positions masked, where the objective masks any."""
    return context_matrix(objective, len(masked), masked if objective is Objective.MASKED else None)


@check(random_joint)
def objectives_definition(joint: Tensor) -> Comparisons:
    """Definition S1.3: Eq. S6 is an identity; C_i and P_j describe the same pairs."""
    n, masked = joint.ndim, every_third(joint.ndim)
    n_masked = int(masked.sum())
    n_pairs = {
        Objective.AUTOREGRESSIVE: n * (n - 1) // 2,
        Objective.BIDIRECTIONAL: n * (n - 1),
        Objective.MASKED: n_masked * (n - n_masked),
    }
    yield exact("joint", (chain_rule(joint) - joint).abs().max())
    for objective, expected in n_pairs.items():
        matrix = pairs(objective, masked)
        c, p = context_sets(matrix), context_sets(matrix.T)
        dual = all((j in c[i]) == (i in p[j]) for i, j in product(range(n), repeat=2))
        yield exact("pairs", sum(map(len, c)), expected, 0, objective=objective)
        yield exact("dual", dual, 1, 0, objective=objective)


def mass_of_two_bits(agreement: float) -> float:
    """``2 q^2 + 2 (1 - q)^2``: what the products of Eq. S8 add up to for two bits that agree with probability q."""
    return 2 * agreement**2 + 2 * (1 - agreement) ** 2


@check(random_joint, n_tokens=4, n_vocab=2)
def bidirectional_factorisation(joint: Tensor) -> Comparisons:
    """Equation S8: two-sided conditionals of two bits give a mass of 2 q^2 + 2 (1 - q)^2; S9 is least at them."""
    mass, true = both_sides(two_bits(AGREEMENT)).sum(), two_sided(joint)
    others = (two_sided(joint**power) for power in (0.5, 0.99, 1.01, 2))
    growth = min(expected_loss(joint, other) for other in others) - expected_loss(joint, true)
    yield exact("two bits", mass, mass_of_two_bits(AGREEMENT), agreement=AGREEMENT)
    yield compare("two bits against 1", mass, "≠", 1, 1e-3)
    yield compare("random bits", both_sides(joint).sum(), "≠", 1, 1e-3, n=joint.ndim)
    yield exact("independent bits", both_sides(torch.full_like(joint, 1 / joint.numel())).sum(), 1)
    yield compare("objective", growth, ">", 0, 1e-6)


@check(every_third)
def attended_is_not_conditioned(masked: Tensor) -> Comparisons:
    """The set a query attends to differs from C_i: the query itself is in it, and so are the masked positions."""
    n = len(masked)
    n_attended_besides = {
        Objective.AUTOREGRESSIVE: n,  # j = i
        Objective.BIDIRECTIONAL: n,
        Objective.MASKED: int(masked.sum()) ** 2,  # every masked position, itself included
    }
    causal, before = attended_matrix(Objective.AUTOREGRESSIVE, n), pairs(Objective.AUTOREGRESSIVE, masked)
    yield exact("shifted", (causal[:-1] == before[1:]).all(), 1, 0)
    for objective, expected in n_attended_besides.items():
        predicted = masked if objective is Objective.MASKED else torch.ones_like(masked)
        sees, c = attended_matrix(objective, n)[predicted], pairs(objective, masked)[predicted]
        yield exact("besides", (sees & ~c).sum(), expected, 0, objective=objective)
        yield exact("missing", (c & ~sees).sum(), 0, 0, objective=objective)
