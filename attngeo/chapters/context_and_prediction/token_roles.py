"""What follows from Proposition S1.7: the rank of a contribution, and how the two roles of a token relate."""

import torch
from torch import Tensor

from attngeo.chapters.context_and_prediction.head_gradient import (
    DIFFERENT,
    HeadGradient,
    gradients_by_objective,
    head_gradient,
)
from attngeo.chapters.context_and_prediction.one_token import Role, token_update
from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import by_context, by_prediction, relative_error


def added_dimension(n_predicted: int) -> int:
    """Dimensions of the column space that a token adds as context, however many tokens it predicts."""
    return 1


@check(head_gradient, n_tokens=10)
def dimension_of_contribution(g: HeadGradient) -> Comparisons:
    """Text after Eq. 12: as context a token adds one dimension to the column space, however many it predicts."""
    middle = len(g.x) // 2
    # the first token attends to itself alone: as a query its beta is 0, by the sum rule
    for position, role in ((0, Role.CONTEXT), (middle, Role.CONTEXT), (middle, Role.PREDICTION)):
        n_queries = int((g.beta[:, position] != 0).sum())
        rank = torch.linalg.matrix_rank(token_update(g.beta, g.x, position, role), rtol=1e-10)
        words = {"position": position + 1, "role": role.value, "n_queries": n_queries}
        yield exact("rank", rank, added_dimension(n_queries), 0, **words)
    together = torch.linalg.matrix_rank(by_context(g.beta, g.x).sum(0), rtol=1e-10)
    yield compare("together", together, ">", 1)


@check(gradients_by_objective)
def every_term_twice(gradients: dict[Objective, HeadGradient]) -> Comparisons:
    """Equation S46: a term beta_ij K_ij is the context part of j and the prediction part of i; the two are one sum."""
    for objective, g in gradients.items():
        both = by_context(g.beta, g.x).sum(0) + by_prediction(g.beta, g.x).sum(0)
        yield exact("twice", relative_error(both, 2 * g.w_qk), objective=objective)


def exchanged(update: Tensor) -> Tensor:
    """The update of a token in one role, turned into that of the other role: rows become columns."""
    return update.T


@check(head_gradient, objective=Objective.MASKED)
def roles_exchanged(g: HeadGradient) -> Comparisons:
    """End of the proof: the two roles give transposed updates if beta_ij = beta_ji, and only then."""

    def error(beta: Tensor) -> float:
        context, prediction = (token_update(beta, g.x, len(g.x) // 2, role) for role in (Role.CONTEXT, Role.PREDICTION))
        return relative_error(exchanged(prediction), context)

    yield exact("symmetric", error(g.beta + g.beta.T))
    yield compare("gradient", error(g.beta), "≠", 0, DIFFERENT)
