"""What follows from Proposition S1.7: the rank of a contribution, and how the two roles of a token relate."""

import torch
from torch import Tensor

from attngeo.chapters.context_and_prediction.contributions import CHAPTER, DIFFERENT, misprint, one_head
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import Role, by_context, by_prediction, relative_error, token_update


@claim
def dimension_of_contribution(d: int = 24, n_tokens: int = 10, seed: int = 0, dimension: int = 1) -> Result:
    """Text after Eq. 12: as context a token adds one dimension to the column space, however many it predicts."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.AUTOREGRESSIVE)
    comparisons = []
    for position in (0, n_tokens // 2):
        n_predicted = int((beta[:, position] != 0).sum())
        for role in Role:
            rank = torch.linalg.matrix_rank(token_update(beta, x, position, role), rtol=1e-10)
            if role is Role.PREDICTION and not position:
                continue  # the first token attends to itself alone: beta = 0 there, by the sum rule
            comparisons.append(
                exact(f"rank, position {position + 1} as {role.value}, {n_predicted} queries", rank, dimension, 0)
            )
    together = torch.linalg.matrix_rank(by_context(beta, x).sum(0), rtol=1e-10)
    comparisons.append(Comparison("rank of the update of the sequence", float(together), ">", 1.0, 0.0))
    return misprint(
        "(text after Eq. 12)",
        "the dimension that a context token adds",
        comparisons,
        "As context, $t^*$ raises the dimension of the column space in proportion to the embeddings it predicts, and "
        "reduces the row space.",
        "Its contribution $u\\, x_{t^*}^\\top$, $u = \\sum_i \\beta_{it^*} x_i$, has rank 1: one direction in the "
        "column space, $u$, and one in the row space, $x_{t^*}$.",
        flaw=Flaw.FAILURE,
    )


@claim
def every_term_twice(d: int = 24, n_tokens: int = 8, seed: int = 0, share: float = 2.0) -> Result:
    """Equation S46: a term beta_ij K_ij is the context part of j and the prediction part of i; the two are one sum."""
    comparisons = []
    for objective in (Objective.AUTOREGRESSIVE, Objective.MASKED):
        beta, x, gradient = one_head(d, n_tokens, seed, objective)
        both = by_context(beta, x).sum(0) + by_prediction(beta, x).sum(0)
        columns, rows = (gradient.square().sum(a).sum() for a in (0, 1))
        comparisons += [
            exact(
                f"context parts and prediction parts over the update, {objective}",
                float((both * gradient).sum() / gradient.square().sum()),
                share,
            ),
            exact(f"sum of squared column norms over that of row norms, {objective}", columns / rows, 1),
        ]
    return Result(
        statement="S1.7",
        part="Eq. S46",
        title="the two groupings are two readings of one sum",
        verdict=Verdict.HOLDS,
        comparisons=tuple(comparisons),
        remark="A pair cannot feed the columns without feeding the rows: the squares of all column norms and of all "
        "row norms add up to the same number, $\\|\\Delta W\\|_F^2$.",
        chapter=CHAPTER,
    )


@claim
def roles_exchanged(d: int = 24, n_tokens: int = 8, seed: int = 0, transpose: bool = True) -> Result:
    """End of the proof: the two roles give transposed updates if beta_ij = beta_ji, and only then."""
    beta, x, _ = one_head(d, n_tokens, seed, Objective.MASKED)
    position, even = n_tokens // 2, beta + beta.T

    def error(b: Tensor) -> float:
        context, prediction = (token_update(b, x, position, role) for role in (Role.CONTEXT, Role.PREDICTION))
        return relative_error(prediction.T if transpose else prediction, context)

    return misprint(
        "(end of the proof)",
        "rows as prediction and columns as context",
        [
            exact("relative difference, β made symmetric", error(even), 0),
            Comparison("relative difference, β of the gradient", error(beta), "≠", 0.0, DIFFERENT),
        ],
        "The update of columns (rows) when $t^*$ is predicted is that of rows (columns) when it is context.",
        "The formulas have the same form. The updates are each other's transpose if $\\beta_{jt^*} = \\beta_{t^*j}$ "
        "for all $j$, which is an assumption.",
        verdict=Verdict.ASSUMPTIONS,
        flaw=Flaw.ASSUMPTION,
    )
