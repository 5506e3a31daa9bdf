"""Corollary S1.13 for any tokens: the law of an update and that of its transpose, by enumeration."""

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import signs
from attngeo.chapters.symmetric_updates.pairs import random_gradients
from attngeo.paper.checks import Judgement, check, compare, exact
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.rank_one import exact_coefficients
from attngeo.updates.toy_transformer import LayerGradient


class SignEmbeddings(NamedTuple):
    """Equally likely embeddings of three tokens, whole numbers, (outcomes, 3, 2) each."""

    different: Tensor  # three tokens, whose coordinates are independent signs
    repeated: Tensor  # the sequence (a, a, b) of such tokens
    dependent: Tensor  # one outcome: neither independent nor of mean 0


def sign_embeddings(seed: int = 0) -> SignEmbeddings:
    """All signs; the dependent embeddings are drawn between -4 and 4."""
    dependent = torch.randint(-4, 5, (1, 3, 2), generator=torch.Generator().manual_seed(seed))
    return SignEmbeddings(signs(3, 2), signs(2, 2)[:, [0, 0, 1]], dependent)


def update_law(embeddings: Tensor, objective: Objective) -> Counter:
    """Weights of ``sum_i sum_{j in C_i} beta_ij x_i x_j^T``, by its entries, for independent signs beta_ij."""
    i, j = context_matrix(objective, embeddings.shape[1]).nonzero().T
    terms = embeddings[:, i, :, None] * embeddings[:, j, None]  # x_i x_j^T, (outcomes, pairs, d, d)
    updates = torch.einsum("bp,opkm->obkm", signs(len(i)), terms)
    return Counter(map(tuple, updates.flatten(2).flatten(0, 1).tolist()))


def distance_to_transposed(law: Counter) -> float:
    """``1/2 sum_w |Pr[w] - Pr[w^T]|``: total variation distance to the law of the transpose; 0 for equal laws."""
    transposed = Counter({(a, c, b, d): n for (a, b, c, d), n in law.items()})
    return sum(abs(law[w] - transposed[w]) for w in law | transposed) / 2 / law.total()


@check(sign_embeddings)
def law_of_the_transpose(x: SignEmbeddings) -> Judgement:
    """Corollary S1.13: the bidirectional update has the law of its transpose for any tokens, the other one has not."""

    def distance(name: str, objective: Objective) -> float:
        return distance_to_transposed(update_law(getattr(x, name), objective))

    both, causal = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE
    return Judgement(
        *(exact("bidirectional", distance(name, both), 0, 0, tokens=name) for name in x._fields),
        exact("autoregressive", distance("different", causal), 0, 0, tokens="different"),
        exact("autoregressive", distance("repeated", causal), 1 / 4, 0, tokens="repeated"),
    )


@check(random_gradients)
def sums_of_exact_coefficients(gradients: list[LayerGradient]) -> Judgement:
    """Corollary S1.13's condition: with a softmax the row sums of beta are 0, the column sums are not."""
    rows, columns = [], []
    for g in gradients:
        beta = exact_coefficients(g.layer.weights[0], g.layer.values[0], g.errors, scale=1.0)
        rows.append(float(beta.sum(1).norm() / beta.norm()))
        columns.append(float(beta.sum(0).norm() / beta.norm()))
    return Judgement(exact("rows", max(rows)), compare("columns", min(columns), ">", 0, 0.1))
