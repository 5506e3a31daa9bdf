"""Appendix S2.1: the constraints S147 and S148, their values, their minima, and what their squares are."""

import itertools
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import Convention, symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.training.constraints import Constraint, constraint_loss

CHAPTER = "constraints"
SIGNS = {Constraint.SYMMETRIC: 1, Constraint.SKEW: -1}
Loss = Callable[[Iterable[BilinearForm], Constraint], Tensor]


def form_of_symmetry(s: float | Tensor, d: int = 12, seed: int = 0) -> BilinearForm:
    """``M = sqrt((1 + s) / 2) A + sqrt((1 - s) / 2) B``, which has symmetry score s; A symmetric, B skew, of norm 1.

    The form's queries are M, its keys the identity. It is differentiable in s inside (-1, 1).
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(d, d, generator=generator, dtype=torch.float64)
    parts = [(x + x.T) / 2, (x - x.T) / 2]
    weights = [((1 + s) / 2) ** 0.5, ((1 - s) / 2) ** 0.5]
    m = sum(w * p / p.norm() for w, p in zip(weights, parts, strict=True))
    return BilinearForm(m[None], torch.eye(d, dtype=torch.float64)[None])


def random_forms(count: int = 20, seed: int = 0) -> list[BilinearForm]:
    """Forms of 4 heads of width 3 with d = 12."""
    generator = torch.Generator().manual_seed(seed)
    factors = torch.randn(count, 2, 4, 12, 3, generator=generator, dtype=torch.float64)
    return [BilinearForm(wq, wk) for wq, wk in factors]


@claim
def symmetric_constraint(
    loss: Loss = constraint_loss, best: float = 1.0, slopes: tuple[float, float] = (-2.0, -0.5)
) -> Result:
    """Eq. S147: with squared norms ``L_c = 2 / (1 + s)``; it falls with s down to 1 at s = 1.

    Args:
        loss: the constraint.
        best: symmetry score at which the least value is expected.
        slopes: ``dL_c / ds`` expected at s = 0, and at the minimum.
    """
    return Result(
        "Eq. S147",
        "(minimum)",
        "the constraint that favours symmetry is least at $s = 1$",
        Verdict.HOLDS,
        (
            *_values(loss, Constraint.SYMMETRIC),
            *_minimum(loss, Constraint.SYMMETRIC, best),
            *_slopes(loss, Constraint.SYMMETRIC, slopes),
        ),
        chapter=CHAPTER,
    )


@claim
def skew_constraint(
    loss: Loss = constraint_loss, best: float = -1.0, slopes: tuple[float, float] = (2.0, 0.5)
) -> Result:
    """Eq. S148: with squared norms ``L_c = 2 / (1 - s)``; it is least, 1, at s = -1 and not at the printed s = 0.

    Args:
        loss: the constraint.
        best: symmetry score at which the least value is expected.
        slopes: ``dL_c / ds`` expected at s = 0, and at the minimum.
    """
    skew, balanced = (form_of_symmetry(s) for s in (-1.0, 0.0))
    return Result(
        "Eq. S148",
        "(minimum)",
        "the constraint that favours skew-symmetry is least at $s = -1$",
        Verdict.CORRECTED,
        (
            *_values(loss, Constraint.SKEW),
            *_minimum(loss, Constraint.SKEW, best),
            exact("$L_c$ at the printed $s = 0$", _value(loss, balanced, Constraint.SKEW), 2.0),
            *_slopes(loss, Constraint.SKEW, slopes),
            exact("the released code's score at $s = -1$", symmetry_score(skew, Convention.RELEASED), 0.0),
        ),
        printed="Minimising the constraint leads to a symmetry score of $s = 0$.",
        corrected="It leads to $s = -1$; at $s = 0$ the constraint still has the value 2 and, in $s$, the slope 2.",
        remark="The released code's score, $(1 + s)/2$, is 0 there: the sentence follows that convention.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def squares_are_squared_norms(scalar: Callable[[Tensor], Tensor] = torch.trace, d: int = 12) -> Result:
    """Eqs. S147, S148: ``M^2`` as a product of matrices is no number, and its trace gives no constraint.

    Args:
        scalar: what might turn the product M M into a number.
        d: rows of M.
    """
    balanced, symmetric = (form_of_symmetry(s, d).dense() for s in (0.0, 1.0))

    def ratio(m: Tensor) -> float:
        part = (m + m.T) / 2
        return float(scalar(m @ m) / scalar(part @ part))

    return Result(
        "Eq. S147",
        "and S148, notation",
        "the squares are squared Frobenius norms",
        Verdict.CORRECTED,
        (
            Comparison("numbers in the matrix $M^2$", float((symmetric @ symmetric).numel()), "≠", 1.0, 0.0),
            exact("with the norm, S147 at $s = 1$", constraint_loss([form_of_symmetry(1.0, d)], "symmetric"), 1.0),
            Comparison(
                "with the trace, $\\mathrm{Tr}\\, M^2 / \\mathrm{Tr}\\, M_s^2$ at $s = 0$, and at $s = 1$",
                ratio(balanced),
                "<",
                ratio(symmetric),
                1e-6,
            ),
        ),
        printed="$\\mathcal{L}_c = \\mathbf{M}^2 / \\mathbf{M}_s^2$ and $\\mathbf{M}^2 / \\mathbf{M}_n^2$.",
        corrected="$\\mathcal{L}_c = \\lVert M \\rVert_F^2 / \\lVert M_s \\rVert_F^2 = 2/(1+s)$ and "
        "$\\lVert M \\rVert_F^2 / \\lVert M_n \\rVert_F^2 = 2/(1-s)$.",
        remark="With traces in place of norms the value at $s = 1$ is no minimum.",
        flaw=Flaw.MISPRINT,
        maybe_copying=True,
        chapter=CHAPTER,
    )


def _values(loss: Loss, constraint: Constraint) -> list[Comparison]:
    forms, sign = random_forms(), SIGNS[constraint]
    gaps = [_value(loss, f, constraint) - 2 / (1 + sign * symmetry_score(f)) for f in forms]
    formula = f"2 / (1 {'+' if sign > 0 else '-'} s)"
    return [exact(f"largest $\\lvert L_c - {formula} \\rvert$, {len(forms)} random forms", max(map(abs, gaps)), 0.0)]


def _minimum(loss: Loss, constraint: Constraint, best: float) -> list[Comparison]:
    """The value at ``best``, that on a grid of s it grows with the distance, and where a descent ends."""
    grid = [best * (1 - 0.1 * i) for i in range(20)]
    values = [_value(loss, form_of_symmetry(s), constraint) for s in grid]
    steps = [farther - nearer for nearer, farther in itertools.pairwise(values)]
    return [
        exact(f"$L_c$ at $s = {best:g}$", values[0], 1.0),
        Comparison("least growth of $L_c$ when $s$ moves away by 0.1", min(steps), ">", 0.0, 0.0),
        Comparison("$s$ after a descent from a random form", _descend(loss, constraint), "=", best, 0.01),
    ]


def _slopes(loss: Loss, constraint: Constraint, expected: tuple[float, float], gap: float = 1e-6) -> list[Comparison]:
    """``dL_c / ds`` by automatic differentiation along a path in s: at s = 0, and ``gap`` before the minimum."""
    end = SIGNS[constraint]
    return [
        exact("slope of $L_c$ in $s$ at $s = 0$", _slope(loss, constraint, 0.0), expected[0]),
        exact(
            f"slope of $L_c$ in $s$ at the distance {gap:g} from $s = {end}$",
            _slope(loss, constraint, end * (1 - gap)),
            expected[1],
            10 * gap,
        ),
    ]


def _slope(loss: Loss, constraint: Constraint, s: float) -> float:
    at = torch.tensor(s, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss([form_of_symmetry(at)], constraint), at)
    return float(slope)


def _descend(loss: Loss, constraint: Constraint, steps: int = 300) -> float:
    form = random_forms(1)[0]
    factors = [w.clone().requires_grad_() for w in (form.wq, form.wk)]
    optimiser = torch.optim.Adam(factors, lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        loss([BilinearForm(*factors)], constraint).backward()
        optimiser.step()
    return symmetry_score(BilinearForm(*(w.detach() for w in factors)))


def _value(loss: Loss, form: BilinearForm, constraint: Constraint) -> float:
    return float(loss([form], constraint))
