"""Section S1.4.2: how much one context token, or one predicted token, adds to columns and to rows (S1.8, S1.9)."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.norms import bilinear_squared_norms, independent_ratio, ratio_samples, squared_norms
from attngeo.updates.random_updates import context_updates, draw_embeddings, power_profile

CHAPTER = "column_dominance"


@claim
def context_ratio(
    d: int = 16,
    n_tokens: int = 8,
    exponent: float = 1.0,
    n_draws: int = 8000,
    seed: int = 0,
    predicted: Callable[[Tensor, int], float] = independent_ratio,
) -> Result:
    """Proposition S1.8: E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm) if beta ignores the embeddings."""
    covariance = torch.diag(power_profile(d, exponent))
    updates = context_updates(covariance, n_tokens, n_draws, torch.Generator().manual_seed(seed))
    rows, columns = squared_norms(updates)
    comparisons = []
    for k, m in ((0, d - 1), (d - 1, d // 2), (d // 2, 0)):
        samples = ratio_samples(columns[:, k], rows[:, m])
        comparisons.append(monte_carlo(f"ratio, column {k + 1} to row {m + 1}", samples, predicted(covariance, m)))
    quiet = ratio_samples(columns[:, 0], rows[:, d - 1])
    loud = ratio_samples(columns[:, 0], rows[:, 0])
    comparisons += [
        monte_carlo("ratio for the row of smallest variance", quiet, 1, ">"),
        monte_carlo("ratio for the row of largest variance", loud, 1, "<"),
    ]
    return Result(
        statement="S1.8",
        part="Eqs. S53-S63",
        title="columns outgrow the rows of below-average variance",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The ratio is above 1 for $\\Sigma_{mm} < \\mathrm{Tr}(\\Sigma)/d$; $\\beta$ is treated as a constant.",
        corrected="$\\mathbb{E}\\|\\Delta w_{\\cdot,k}\\|^2 / \\mathbb{E}\\|\\Delta w_{m,\\cdot}\\|^2 = "
        "\\mathrm{Tr}(\\Sigma) / (d\\,\\Sigma_{mm})$ when the coefficients are independent of all embeddings and "
        "$y$ is isotropic.",
        remark="The rows of above-average variance outgrow every column by the same formula. Eq. S61 prints "
        "$\\beta_{i^*}$ for $\\beta_{it^*}$; $\\Gamma$, from Eq. S58 on, is the covariance of $y$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def context_ratio_of_dependent_coefficients(
    d: int = 16,
    n_tokens: int = 8,
    exponent: float = 1.0,
    n_draws: int = 8000,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]] = bilinear_squared_norms,
) -> Result:
    """Proposition S1.8 with beta_i = x_i^T B y, which Prop. 2.2 produces: Eq. S62 is far off, S53 can turn round."""
    covariance = torch.diag(power_profile(d, exponent))
    generator = torch.Generator().manual_seed(seed)
    gaussian = torch.randn(d, d, generator=generator, dtype=torch.float64) / d**0.5
    below = int((covariance.diagonal() < covariance.trace() / d).nonzero()[0])  # first row that Eq. S53 speaks of
    one_row = torch.zeros(d, d, dtype=torch.float64)
    one_row[below] = gaussian[below]  # beta_i = [x_i]_m b^T y: the error follows one coordinate of the predicted token
    comparisons = []
    for name, form, k, m in (("random B", gaussian, d - 1, 0), ("B of one row", one_row, d - 1, below)):
        updates = context_updates(covariance, n_tokens, n_draws, generator, form)
        rows, columns = squared_norms(updates)
        expected_rows, expected_columns = predicted(covariance, form, n_tokens)
        samples = ratio_samples(columns[:, k], rows[:, m])
        expected = float(expected_columns[k] / expected_rows[m])
        comparisons.append(monte_carlo(f"{name}: ratio, row {m + 1}", samples, expected))
    comparisons += [
        monte_carlo("B of one row: the same against Eq. S62", samples, independent_ratio(covariance, below), "≠"),
        monte_carlo("B of one row: the same against Eq. S53", samples, 1, "<"),
    ]
    return Result(
        statement="S1.8",
        part="(coefficients of Prop. 2.2)",
        title="the ratio when the coefficients depend on the embeddings",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="Eqs. S57 and S60 take $\\beta_{it^*}$ out of the expectation.",
        corrected="With $\\beta_i = x_i^\\top B y$ and Gaussian embeddings the ratio is $(\\mathrm{Tr}\\,G + 2 G_{kk})"
        " / \\big((d+2)[N(N+1)\\|(\\Sigma B)_{m,\\cdot}\\|^2 + N \\Sigma_{mm} \\mathrm{Tr}(B^\\top \\Sigma B)]\\big)$, "
        "$G = B^\\top [N(N+1)\\Sigma^2 + N\\,\\mathrm{Tr}(\\Sigma)\\,\\Sigma] B$. It depends on $k$ too, and "
        "Eq. S53 fails for some $B$.",
        remark="Prop. 2.2 makes $\\beta_{it^*}$ a function of $y$ and of the error at position $i$, hence of $x_i$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def non_isotropic_covariance(d: int = 16, correlation: float = 0.5) -> Result:
    """Equation S63: a covariance other than sigma^2 I may still have equal variances; S53 then speaks of no row."""
    covariance = torch.full((d, d), correlation, dtype=torch.float64).fill_diagonal_(1.0)
    below = sum(float(covariance[m, m]) < float(covariance.trace()) / d for m in range(d))
    distance = (covariance - torch.eye(d, dtype=torch.float64)).norm() / covariance.norm()
    return Result(
        statement="S1.8",
        part="Eq. S63",
        title="non-isotropic means unequal variances",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            Comparison("distance of Sigma from a multiple of I, relative", float(distance), ">", 0.0, 0.1),
            exact("rows m with Sigma_mm < Tr(Sigma) / d", below, 0, 0),
            exact("ratio of Eq. S62", independent_ratio(covariance, 0), 1),
        ),
        printed="$\\Sigma \\neq \\sigma^2 I$ implies $\\mathrm{Tr}(\\Sigma) > d\\,\\Sigma_{mm}$ for some $m$.",
        corrected="The variances $\\Sigma_{mm}$ must differ: what counts is the diagonal of $\\Sigma$ in the "
        "coordinate basis, not its spectrum.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def independence_of_vectors(
    d: int = 16,
    correlation: float = 0.5,
    n_draws: int = 4000,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], float] = lambda covariance, beta: float(covariance.trace() * beta @ beta),
) -> Result:
    """Equation S57 needs independent vectors x_i; independent entries within a vector are neither needed nor enough."""
    generator = torch.Generator().manual_seed(seed)
    covariance = torch.full((d, d), correlation, dtype=torch.float64).fill_diagonal_(1.0)
    beta = torch.tensor([1.0, 0.5], dtype=torch.float64)
    expected = predicted(covariance, beta)
    apart = draw_embeddings(covariance, n_draws, 2, generator=generator)
    one = torch.randn(n_draws, 1, d, generator=generator, dtype=torch.float64).expand(-1, 2, -1)

    def relative(x: Tensor) -> Tensor:
        return torch.einsum("i,rid->rd", beta, x).square().sum(-1) / expected

    return Result(
        statement="S1.8",
        part="Eq. S57",
        title="which independence removes the cross terms",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("independent vectors of correlated entries: left over right of Eq. S57", relative(apart), 1),
            monte_carlo("equal vectors of independent entries: left over right of Eq. S57", relative(one), 1, "≠"),
        ),
        printed="statistical independence between the entries of $x_i$",
        corrected="statistical independence between the vectors $x_i$ and $x_{i'}$",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


def prediction_ratio_formula(covariance: Tensor, k: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = d Sigma_kk / Tr(Sigma)`` for every m (Eq. S67)."""
    return 1 / independent_ratio(covariance, k)


@claim
def prediction_ratio(
    d: int = 16,
    n_tokens: int = 8,
    exponent: float = 1.0,
    n_draws: int = 8000,
    seed: int = 0,
    predicted: Callable[[Tensor, int], float] = prediction_ratio_formula,
) -> Result:
    """Corollary S1.9: the transposed model, with the reciprocal ratio."""
    covariance = torch.diag(power_profile(d, exponent))
    updates = context_updates(covariance, n_tokens, n_draws, torch.Generator().manual_seed(seed)).mT
    rows, columns = squared_norms(updates)
    comparisons = []
    for k, m in ((d - 1, 0), (d // 2, d - 1), (0, d // 2)):
        samples = ratio_samples(columns[:, k], rows[:, m])
        comparisons.append(monte_carlo(f"ratio, column {k + 1} to row {m + 1}", samples, predicted(covariance, k)))
    return Result(
        statement="S1.9",
        part="Eqs. S64, S67",
        title="rows outgrow the columns of below-average variance",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The ratio is below 1 for $\\Sigma_{kk} < \\mathrm{Tr}(\\Sigma)/d$; the coefficients are left out.",
        corrected="The ratio is $d\\,\\Sigma_{kk} / \\mathrm{Tr}(\\Sigma)$ under the assumptions that make Prop. S1.8 "
        "hold.",
        remark='The proof cites "Proposition S1.4.2"; Prop. S1.8 is meant.',
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def prediction_row_norm(
    d: int = 16,
    n_tokens: int = 8,
    exponent: float = 1.0,
    n_draws: int = 4000,
    seed: int = 0,
    predicted: Callable[[Tensor], float] = lambda beta: float(beta.square().mean()),
) -> Result:
    """Equation S66: ||sum_j beta_j x_j||^2 is not sum_j ||x_j||^2; the expectations agree up to the mean of beta^2."""
    generator = torch.Generator().manual_seed(seed)
    x = draw_embeddings(torch.diag(power_profile(d, exponent)), n_draws, n_tokens, generator=generator)
    separate = x.square().sum((1, 2))
    together = x.sum(1).square().sum(-1)
    beta = torch.arange(1, n_tokens + 1, dtype=torch.float64) / 2
    weighted = torch.einsum("i,rid->rd", beta, x).square().sum(-1)
    return Result(
        statement="S1.9",
        part="Eqs. S65, S66",
        title="the squared norm of a sum of embeddings",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("mean distance of the two sides of Eq. S66, relative", (together / separate - 1).abs(), 0, "≠"),
            monte_carlo("ratio of their expectations, all beta = 1", ratio_samples(together, separate), 1),
            monte_carlo("the same with coefficients", ratio_samples(weighted, separate), predicted(beta)),
        ),
        printed="$\\|\\Delta w_{m,\\cdot}\\|^2 = [y]_m^2 \\sum_i \\|x_i\\|^2$",
        corrected="$\\|\\Delta w_{m,\\cdot}\\|^2 = [y]_m^2 \\, \\|\\sum_j \\beta_{t^*j} x_j\\|^2$, with expectation "
        "$\\mathbb{E}[y]_m^2\\,\\mathrm{Tr}(\\Sigma)\\sum_j \\beta_{t^*j}^2$",
        remark="Eqs. S65 and S66 leave $\\beta_{t^*j}$ out.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
