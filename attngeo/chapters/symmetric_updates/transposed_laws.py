"""Corollary S1.13: the laws of an update and of its transpose, and the variances of the norms, by enumeration."""

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import signs
from attngeo.chapters.symmetric_updates.pairs import random_gradients
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.rank_one import exact_coefficients
from attngeo.updates.toy_transformer import LayerGradient


class SignEmbeddings(NamedTuple):
    """Equally likely embeddings of three tokens, whole numbers, (outcomes, 3, 2) each."""

    different: Tensor  # three tokens, whose coordinates are 2 and 1 with independent signs
    repeated: Tensor  # the sequence (a, a, b) of such tokens
    dependent: Tensor  # one outcome: neither independent nor of mean 0


def sign_embeddings(seed: int = 0) -> SignEmbeddings:
    """All signs; the dependent embeddings are drawn between -4 and 4."""
    dependent = torch.randint(-4, 5, (1, 3, 2), generator=torch.Generator().manual_seed(seed))
    sizes = torch.tensor([2, 1])
    return SignEmbeddings(signs(3, 2) * sizes, signs(2, 2)[:, [0, 0, 1]] * sizes, dependent)


def updates_by_signs(embeddings: Tensor, objective: Objective) -> Tensor:
    """``sum_i sum_{j in C_i} beta_ij x_i x_j^T`` for all signs beta_ij and embeddings (outcomes, N, d)."""
    i, j = context_matrix(objective, embeddings.shape[1]).nonzero().T
    terms = embeddings[:, i, :, None] * embeddings[:, j, None]  # x_i x_j^T, (outcomes, pairs, d, d)
    return torch.einsum("bp,opkm->obkm", signs(len(i)).to(terms), terms).flatten(0, 1)


def update_law(embeddings: Tensor, objective: Objective) -> Counter:
    """Weights of `updates_by_signs`, by their entries."""
    return Counter(map(tuple, updates_by_signs(embeddings, objective).flatten(1).tolist()))


def distance_to_transposed(law: Counter) -> float:
    """``1/2 sum_w |Pr[w] - Pr[w^T]|``: total variation distance to the law of the transpose; 0 for equal laws."""
    transposed = Counter({(a, c, b, d): n for (a, b, c, d), n in law.items()})
    return sum(abs(law[w] - transposed[w]) for w in law | transposed) / 2 / law.total()


@check(sign_embeddings)
def law_of_the_transpose(x: SignEmbeddings) -> Comparisons:
    """Corollary S1.13: the bidirectional update has the law of its transpose for any tokens, the other one has not."""

    def distance(name: str, objective: Objective) -> float:
        return distance_to_transposed(update_law(getattr(x, name), objective))

    both, causal = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE
    yield from (exact("bidirectional", distance(name, both), 0, 0, tokens=name) for name in x._fields)
    yield exact("autoregressive", distance("different", causal), 0, 0, tokens="different")
    yield exact("autoregressive", distance("repeated", causal), 1 / 4, 0, tokens="repeated")
    rows, columns = (
        norms.square().sum(-1).mean() for norms in squared_norms(updates_by_signs(x.repeated, causal).double())
    )
    yield exact("fourth powers", columns - rows, -1088)


class EveryUpdate(NamedTuple):
    """Equally likely updates of three tokens with coordinates ±2 and ±1, (outcomes, 2, 2) each."""

    bidirectional: Tensor  # coefficients: independent signs
    autoregressive: Tensor
    errors: Tensor  # bidirectional, coefficients of errors whose coordinates are independent signs
    masked: Tensor  # one masked position, whose embedding has the coordinates ±1


def every_update() -> EveryUpdate:
    """All of them."""
    x, contexts = signs(3, 2) * torch.tensor([2.0, 1.0]).double(), context_matrix(Objective.BIDIRECTIONAL, 3)
    beta = torch.einsum("eid,ojd->oeij", signs(3, 2).double(), x) * contexts
    arriving = torch.einsum("bj,ojm->obm", signs(2).double(), x[:, 1:]).flatten(0, 1)  # sum_j beta_0j x_j
    return EveryUpdate(
        updates_by_signs(x, Objective.BIDIRECTIONAL),
        updates_by_signs(x, Objective.AUTOREGRESSIVE),
        torch.einsum("oik,oeij,ojm->oekm", x, beta, x).flatten(0, 1),
        (signs(2).double()[:, None, :, None] * arriving[:, None]).flatten(0, 1),
    )


def variance_gaps(updates: Tensor) -> Tensor:
    """``Var(row norms) - Var(column norms)`` of every update; 0 where Eq. S103 holds."""
    rows, columns = squared_norms(updates)
    return rows.sqrt().var(-1, correction=0) - columns.sqrt().var(-1, correction=0)


@check(every_update)
def variances_of_norms(updates: EveryUpdate) -> Comparisons:
    """Corollary S1.13: equal variances on average for exchangeable tokens, in autoregressive training as well."""
    bidirectional, autoregressive, errors, masked = map(variance_gaps, updates)
    yield exact("bidirectional", bidirectional.mean())
    yield compare("single", bidirectional.abs().mean(), ">", 0, 0.1)
    yield exact("autoregressive", autoregressive.mean())
    yield compare("errors", errors.mean(), "<", 0, 0.1)
    yield compare("masked", masked.mean(), "<", 0, 0.1)


@check(random_gradients)
def sums_of_exact_coefficients(gradients: list[LayerGradient]) -> Judgement:
    """Corollary S1.13's condition: with a softmax the row sums of beta are 0, the column sums are not."""
    rows, columns = [], []
    for g in gradients:
        beta = exact_coefficients(g.layer.weights[0], g.layer.values[0], g.errors, scale=1.0)
        rows.append(float(beta.sum(1).norm() / beta.norm()))
        columns.append(float(beta.sum(0).norm() / beta.norm()))
    return Judgement(exact("rows", max(rows)), compare("columns", min(columns), ">", 0, 0.1))
