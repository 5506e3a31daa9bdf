"""Proposition S1.7, Eqs. 11 and 12: what one token adds to the rows and columns of W_qk in either role."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import (
    Role,
    by_prediction,
    exact_coefficients,
    rank_one_terms,
    relative_error,
    token_column,
    token_row,
    token_update,
)
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

CHAPTER = "context_and_prediction"
DIFFERENT = 0.1  # relative error above which two formulas count as different


def one_head(d: int, n_tokens: int, seed: int, objective: Objective) -> tuple[Tensor, Tensor, Tensor]:
    """Exact coefficients (N, N), inputs (N, d) and autograd's gradient (d, d) of a head in a two-layer Transformer."""
    model = ToyTransformer.random(ToyConfig(d=d, n_heads=2, n_tokens=n_tokens), seed)
    g = model.example(objective, seed).gradient(0)
    beta = exact_coefficients(g.layer.weights, g.layer.values, g.errors, model.config.score_scale)
    return beta[0], g.layer.x, g.w_qk[0]


def misprint(part: str, title: str, comparisons: list[Comparison], printed: str, corrected: str, **more) -> Result:
    """A misprint of Prop. S1.7."""
    fields = {"statement": "S1.7", "verdict": Verdict.CORRECTED, "flaw": Flaw.MISPRINT, "chapter": CHAPTER} | more
    return Result(
        part=part, title=title, comparisons=tuple(comparisons), printed=printed, corrected=corrected, **fields
    )


@claim
def token_contributions(
    d: int = 24,
    n_tokens: int = 8,
    seed: int = 0,
    update: Callable[[Tensor, Tensor, int, Role], Tensor] = token_update,
) -> Result:
    """Proposition S1.7: the part of the gradient in which one token is context, or is predicted, column by column."""
    comparisons = []
    for objective in (Objective.AUTOREGRESSIVE, Objective.MASKED):
        beta, x, gradient = one_head(d, n_tokens, seed, objective)
        terms = rank_one_terms(beta, x)  # (N, N, d, d)
        for role in Role:
            parts = terms.sum(0 if role is Role.CONTEXT else 1)  # by j, or by i
            whole = torch.zeros_like(gradient)
            columns = rows = 0.0
            for position, part in enumerate(parts):
                whole += update(beta, x, position, role)
                by_column = torch.stack([token_column(beta, x, position, role, k) for k in range(d)], dim=1)
                by_row = torch.stack([token_row(beta, x, position, role, m) for m in range(d)])
                columns = max(columns, float((by_column - part).abs().max()))
                rows = max(rows, float((by_row - part).abs().max()))
            name = f"{role.value}, {objective}"
            comparisons += [
                exact(f"relative error of the sum over tokens, {name}", relative_error(whole, gradient), 0),
                exact(f"largest difference in a column, {name}", columns, 0),
                exact(f"largest difference in a row, {name}", rows, 0),
            ]
    return Result(
        statement="S1.7",
        part="Eqs. S42, S45-S48, S52",
        title="rows and columns that one token adds",
        verdict=Verdict.HOLDS,
        comparisons=tuple(comparisons),
        remark="In S42 and S43 $\\beta_{ij}$ stands for $\\beta_{it^*}$. The list before the proposition says row for "
        "column and column for row where $t^*$ is predicted.",
        chapter=CHAPTER,
    )


@claim
def column_of_context(
    d: int = 24, n_tokens: int = 8, seed: int = 0, position: int = 2, last: int | None = None
) -> Result:
    """Equation 11: the sum runs over P_t* with beta_it*, not over P_i with beta_ij."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    k, last = d // 2, position if last is None else last
    truth = token_update(beta, x, position, Role.CONTEXT)[:, k]
    other = x[position, k] * (beta[:, position + 1] @ x)  # beta_ij read with a j that is not t*
    return misprint(
        "",
        "a column of the update, token as context",
        [
            exact("relative error with β_it*", relative_error(x[position, k] * (beta[:, last] @ x), truth), 0),
            Comparison("relative error with β_ij of another j", relative_error(other, truth), "≠", 0.0, DIFFERENT),
        ],
        "$[x_{t^*}]_k \\sum_{i \\in P_i} \\beta_{ij} x_i$",
        "$[x_{t^*}]_k \\sum_{i \\in P_{t^*}} \\beta_{it^*} x_i$, as in Eq. S48",
        statement="Eq. 11",
        maybe_copying=True,
    )


@claim
def row_of_context(
    d: int = 24, n_tokens: int = 8, seed: int = 0, position: int = 2, role: Role | str = Role.CONTEXT
) -> Result:
    """Equation 12: it is the row of a token as context (t_j = t*), and the entry is [x_i]_m."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    truth = token_update(beta, x, position, role)
    entries = beta[:, position] @ x  # sum_i beta_it* [x_i]_m for every m
    formula, printed = (torch.outer(e, x[position]) for e in (entries, entries.roll(1)))
    labelled = token_update(beta, x, position, Role.PREDICTION)
    return misprint(
        "",
        "a row of the update, token as context",
        [
            exact("relative error with [x_i]_m, t_j = t*", relative_error(formula, truth), 0),
            Comparison("relative error with [x_i]_k, k = m − 1", relative_error(printed, truth), "≠", 0.0, DIFFERENT),
            Comparison("relative error, read as t_i = t*", relative_error(formula, labelled), "≠", 0.0, DIFFERENT),
        ],
        "$\\Delta w_{m,\\cdot} |_{t_i = t^*} = (\\sum_{i \\in P_i} \\beta_{ij} [x_i]_k)\\, x_{t^*}$",
        "$\\Delta w_{m,\\cdot} |_{t_j = t^*} = (\\sum_{i \\in P_{t^*}} \\beta_{it^*} [x_i]_m)\\, x_{t^*}^\\top$",
        statement="Eq. 12",
        maybe_copying=True,
    )


@claim
def row_is_a_row(d: int = 24, n_tokens: int = 8, seed: int = 0, transposed: bool = True) -> Result:
    """Equations S43, S49: the update of a row is x_t*^T, (1, d); printed is the column x_t*."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    position, m = n_tokens // 2, d // 2
    column = x[position].unsqueeze(1)
    formula = (beta[:, position] @ x[:, m]) * (column.T if transposed else column)
    truth = token_update(beta, x, position, Role.CONTEXT)[m : m + 1]
    return misprint(
        "Eqs. S43, S49",
        "the shape of the update of a row",
        [
            exact("rows of the formula", formula.shape[0], 1, 0),
            exact("columns of the formula", formula.shape[1], d, 0),
            exact("largest difference to the row of the update", (formula - truth).abs().max(), 0),
        ],
        "$\\Delta w_{m,\\cdot} = (\\sum_i \\beta_{it^*} [x_i]_m)\\, x_{t^*}$",
        "$\\Delta w_{m,\\cdot} = (\\sum_i \\beta_{it^*} [x_i]_m)\\, x_{t^*}^\\top$",
    )


@claim
def column_is_a_column(d: int = 24, n_tokens: int = 8, seed: int = 0, axis: int = 1) -> Result:
    """Equations S44, S51: the right-hand side is column k of the update (axis 1), though it is labelled a row."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    position, k = n_tokens // 2, d // 2
    update = token_update(beta, x, position, Role.PREDICTION)
    formula = (beta[position] @ x[:, k]) * x[position]
    return misprint(
        "Eqs. S44, S51",
        "the label of the column, token predicted",
        [
            exact("relative error against column k", relative_error(formula, update.select(axis, k)), 0),
            Comparison("relative error against row k", relative_error(formula, update[k]), "≠", 0.0, DIFFERENT),
        ],
        "$\\Delta w_{k,\\cdot} |_{t_i = t^*} = (\\sum_j \\beta_{t^*j} [x_j]_k)\\, x_{t^*}$",
        "$\\Delta w_{\\cdot,k} |_{t_i = t^*}$ on the left",
        maybe_copying=True,
    )


def predicted_update(query: Tensor, keys: Tensor) -> Tensor:
    """``x_t* (sum_j beta_t*j x_j)^T``: the query's embedding on the left."""
    return torch.outer(query, keys)


@claim
def update_of_predicted(
    d: int = 24, n_tokens: int = 8, seed: int = 0, update: Callable[[Tensor, Tensor], Tensor] = predicted_update
) -> Result:
    """Equation S50 is printed transposed; S51 and S52 follow from the right one."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    position = n_tokens // 2
    truth = by_prediction(beta, x)[position]
    keys = beta[position] @ x
    return misprint(
        "Eq. S50",
        "the update in which a token is predicted",
        [
            exact("relative error of x_t* (Σ_j β_t*j x_j)^T", relative_error(update(x[position], keys), truth), 0),
            Comparison(
                "relative error as printed", relative_error(torch.outer(keys, x[position]), truth), "≠", 0.0, DIFFERENT
            ),
        ],
        "$(\\sum_j \\beta_{t^*j} x_j)\\, x_{t^*}^\\top$",
        "$x_{t^*} (\\sum_j \\beta_{t^*j} x_j)^\\top$",
    )
