"""Appendix S2.1: the constraints S147 and S148, their values, their minima, and what their squares are."""

import itertools
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import Convention, symmetry_score
from attngeo.paper.checks import Comparison, Comparisons, Judgement, check, compare, exact
from attngeo.training.choices import Constraint
from attngeo.training.constraints import constraint_loss

EQUATIONS = {Constraint.SYMMETRIC: "Eq. S147", Constraint.SKEW: "Eq. S148"}
SIGNS = {Constraint.SYMMETRIC: 1, Constraint.SKEW: -1}
LEAST_AT = {Constraint.SYMMETRIC: 1.0, Constraint.SKEW: -1.0}  # symmetry score
SLOPES = {Constraint.SYMMETRIC: (-2.0, -0.5), Constraint.SKEW: (2.0, 0.5)}  # dL_c / ds at s = 0, and at the minimum


class Forms(NamedTuple):
    """Random forms, and parts of which forms of any symmetry are made."""

    random: list[BilinearForm]  # of 4 heads of width 3
    symmetric: Float[Tensor, "d d"]  # of norm 1
    skew: Float[Tensor, "d d"]  # of norm 1

    def of_symmetry(self, s: float | Tensor) -> BilinearForm:
        """``M = sqrt((1 + s) / 2) A + sqrt((1 - s) / 2) B``, which has symmetry score s; A symmetric, B skew.

        The form's queries are M, its keys the identity. It is differentiable in s inside (-1, 1).
        """
        m = ((1 + s) / 2) ** 0.5 * self.symmetric + ((1 - s) / 2) ** 0.5 * self.skew
        return BilinearForm(m[None], torch.eye(len(m), dtype=m.dtype)[None])


def forms(d: int = 12, count: int = 20, seed: int = 0) -> Forms:
    """Normal factors, and the parts of a normal matrix."""
    x = torch.randn(d, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    parts = ((x + x.T) / 2, (x - x.T) / 2)
    factors = torch.randn(count, 2, 4, d, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return Forms([BilinearForm(wq, wk) for wq, wk in factors], *(part / part.norm() for part in parts))


@check(forms)
def symmetric_constraint(drawn: Forms) -> Judgement:
    """Eq. S147: with squared norms ``L_c = 2 / (1 + s)``; it falls with s down to 1 at s = 1."""
    return Judgement(*_course(drawn, Constraint.SYMMETRIC), *_slopes(drawn, Constraint.SYMMETRIC))


@check(forms)
def skew_constraint(drawn: Forms) -> Judgement:
    """Eq. S148: with squared norms ``L_c = 2 / (1 - s)``; it is least, 1, at s = -1 and not at the printed s = 0."""
    skew, balanced = (drawn.of_symmetry(s) for s in (-1.0, 0.0))
    value, slopes = _value(balanced, Constraint.SKEW), _slopes(drawn, Constraint.SKEW)
    return Judgement(
        *_course(drawn, Constraint.SKEW),
        exact("printed", value, 2),
        *slopes,
        exact("released", symmetry_score(skew, Convention.RELEASED)),
        value=value,
        slope=slopes[0].measured,
    )


def squared(m: Float[Tensor, "d d"]) -> Tensor:
    """``Tr(M M)``: what might turn the printed product M M into a number."""
    return torch.trace(m @ m)


@check(forms)
def squares_are_squared_norms(drawn: Forms) -> Comparisons:
    """Eqs. S147, S148: ``M^2`` as a product of matrices is no number, and its trace gives no constraint."""
    balanced, symmetric = (drawn.of_symmetry(s) for s in (0.0, 1.0))
    ratios = [squared(m) / squared((m + m.T) / 2) for m in (balanced.dense(), symmetric.dense())]
    yield compare("numbers", (symmetric.dense() @ symmetric.dense()).numel(), "≠", 1)
    yield exact("norm", _value(symmetric, Constraint.SYMMETRIC), 1)
    yield compare("trace", ratios[0], "<", ratios[1], 1e-6)


def _course(drawn: Forms, constraint: Constraint, step: float = 0.1) -> list[Comparison]:
    """Values on random forms and at the minimum, that they grow with the distance from it, where a descent ends."""
    sign, best = SIGNS[constraint], LEAST_AT[constraint]
    gaps = [_value(form, constraint) - 2 / (1 + sign * symmetry_score(form)) for form in drawn.random]
    values = [_value(drawn.of_symmetry(best * (1 - step * i)), constraint) for i in range(20)]
    growth = min(farther - nearer for nearer, farther in itertools.pairwise(values))
    return [
        exact("formula", max(map(abs, gaps)), sign="+" if sign > 0 else "-", n=len(gaps)),
        exact("least", values[0], 1, best=best),
        compare("growth", growth, ">", step=step),
        exact("descent", _descend(drawn.random[0], constraint), best, 0.01),
    ]


def _slopes(drawn: Forms, constraint: Constraint, gap: float = 1e-6) -> list[Comparison]:
    """``dL_c / ds`` by automatic differentiation along a path in s: at s = 0, and ``gap`` before the minimum."""
    end, (at_0, at_the_end) = SIGNS[constraint], SLOPES[constraint]
    return [
        exact("slope at 0", _slope(drawn, constraint, 0.0), at_0),
        exact("slope at the end", _slope(drawn, constraint, end * (1 - gap)), at_the_end, 10 * gap, gap=gap, end=end),
    ]


def _slope(drawn: Forms, constraint: Constraint, s: float) -> float:
    at = torch.tensor(s, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(constraint_loss([drawn.of_symmetry(at)], constraint), at)
    return float(slope)


def _descend(form: BilinearForm, constraint: Constraint, steps: int = 300) -> float:
    factors = [w.clone().requires_grad_() for w in (form.wq, form.wk)]
    optimiser = torch.optim.Adam(factors, lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        constraint_loss([BilinearForm(*factors)], constraint).backward()
        optimiser.step()
    return symmetry_score(BilinearForm(*(w.detach() for w in factors)))


def _value(form: BilinearForm, constraint: Constraint) -> float:
    return float(constraint_loss([form], constraint))
