"""Proposition S1.7, Eqs. 11 and 12: what one token adds to the rows and columns of W_qk in either role."""

import torch
from torch import Tensor

from attngeo.chapters.context_and_prediction.head_gradient import (
    DIFFERENT,
    HeadGradient,
    gradients_by_objective,
    head_gradient,
)
from attngeo.chapters.context_and_prediction.one_token import Role, token_column, token_row, token_update
from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import by_context, by_prediction, rank_one_terms, relative_error


def columns_of(g: HeadGradient, position: int, role: Role) -> Tensor:
    """Columns by `token_column`, side by side, (d, d)."""
    return torch.stack([token_column(g.beta, g.x, position, role, k) for k in range(g.x.shape[1])], dim=1)


def rows_of(g: HeadGradient, position: int, role: Role) -> Tensor:
    """Rows by `token_row`, one below the other, (d, d)."""
    return torch.stack([token_row(g.beta, g.x, position, role, m) for m in range(g.x.shape[1])])


@check(gradients_by_objective)
def token_contributions(gradients: dict[Objective, HeadGradient]) -> Comparisons:
    """Proposition S1.7: the part of the gradient in which one token is context, or is predicted, column by column."""
    for objective, g in gradients.items():
        terms = rank_one_terms(g.beta, g.x)  # (N, N, d, d)
        for role, parts in ((Role.CONTEXT, terms.sum(0)), (Role.PREDICTION, terms.sum(1))):  # by j, by i
            positions = range(len(parts))
            whole = sum(token_update(g.beta, g.x, p, role) for p in positions)
            columns = torch.stack([columns_of(g, p, role) for p in positions])
            rows = torch.stack([rows_of(g, p, role) for p in positions])
            case = {"role": role.value, "objective": objective}
            yield exact("sum", relative_error(whole, g.w_qk), **case)
            yield exact("columns", (columns - parts).abs().max(), **case)
            yield exact("rows", (rows - parts).abs().max(), **case)


@check(head_gradient)
def column_of_context(g: HeadGradient) -> Comparisons:
    """Equation 11: the sum runs over P_t* with beta_it*, not over P_i with beta_ij."""
    position, k = 2, g.x.shape[1] // 2
    truth = by_context(g.beta, g.x)[position, :, k]
    other = g.x[position, k] * (g.beta[:, position + 1] @ g.x)  # beta_ij read with a j that is not t*
    yield exact("beta_it*", relative_error(token_column(g.beta, g.x, position, Role.CONTEXT, k), truth))
    yield compare("beta_ij", relative_error(other, truth), "≠", 0, DIFFERENT)


@check(head_gradient)
def row_of_context(g: HeadGradient) -> Comparisons:
    """Equation 12: it is the row of a token as context (t_j = t*), and the entry is [x_i]_m."""
    position = 2
    formula = rows_of(g, position, Role.CONTEXT)
    truth, labelled = by_context(g.beta, g.x)[position], by_prediction(g.beta, g.x)[position]
    yield exact("entry m", relative_error(formula, truth))
    yield compare("entry k", relative_error(formula.roll(1, 0), truth), "≠", 0, DIFFERENT)
    yield compare("as labelled", relative_error(formula, labelled), "≠", 0, DIFFERENT)


def row_update(weight: Tensor, embedding: Tensor) -> Tensor:
    """``weight x_t*^T``: what is added to a row is a row, (1, d)."""
    return weight * embedding.unsqueeze(0)


@check(head_gradient)
def row_is_a_row(g: HeadGradient) -> Comparisons:
    """Equations S43, S49: the update of a row is x_t*^T, (1, d); printed is the column x_t*."""
    position, d = len(g.x) // 2, g.x.shape[1]
    m = d // 2
    formula = row_update(g.beta[:, position] @ g.x[:, m], g.x[position])
    truth = by_context(g.beta, g.x)[position, m : m + 1]
    yield exact("rows", formula.shape[0], 1, 0, d=d)
    yield exact("columns", formula.shape[1], d, 0)
    yield exact("difference", (formula - truth).abs().max())


@check(head_gradient)
def column_is_a_column(g: HeadGradient) -> Comparisons:
    """Equations S44, S51: the right-hand side is column k of the update, though it is labelled a row."""
    position, k = len(g.x) // 2, g.x.shape[1] // 2
    update = by_prediction(g.beta, g.x)[position]
    formula = token_column(g.beta, g.x, position, Role.PREDICTION, k)
    yield exact("column", relative_error(formula, update[:, k]))
    yield compare("row", relative_error(formula, update[k]), "≠", 0, DIFFERENT)


@check(head_gradient)
def update_of_predicted(g: HeadGradient) -> Comparisons:
    """Equation S50 is printed transposed; S51 and S52 follow from the right one."""
    position = len(g.x) // 2
    formula, truth = token_update(g.beta, g.x, position, Role.PREDICTION), by_prediction(g.beta, g.x)[position]
    yield exact("holds", relative_error(formula, truth))
    yield compare("printed", relative_error(formula.T, truth), "≠", 0, DIFFERENT)
