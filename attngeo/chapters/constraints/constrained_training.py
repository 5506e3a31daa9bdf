"""Appendix S2.1: what a constraint adds to a loss and to its gradient (Eq. S146), and where it cannot start."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.constraints.losses import EQUATIONS, SIGNS, Forms, forms
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, check, exact
from attngeo.training.choices import SYMMETRY, Constraint, Initialisation
from attngeo.training.constraints import constraint_loss

POLES = {Constraint.SYMMETRIC: -1.0, Constraint.SKEW: 1.0}  # symmetry score at which the constraint is infinite


class Constrained(NamedTuple):
    """Models in training, and a matrix to take gradients at."""

    weight: float  # gamma
    added: dict[Constraint, float]  # to the loss of prediction
    scores: dict[Constraint, list[float]]  # symmetry, by layer
    m: Float[Tensor, "d d"]
    direction: Float[Tensor, "d d"]  # of the length of m


def constrained_models(weight: float = 0.5, layers: int = 3) -> Constrained:
    """A small encoder of random weights for each constraint, which ``weight`` (gamma) weighs."""
    from attngeo.training import bert  # loads transformers

    shape = bert.Shape(layers=layers, d_model=16, heads=2, d_ff=16, vocab_size=30, dropout=0.0)
    tokens = {"input_ids": torch.arange(8)[None], "positions": torch.tensor([[1, 4]]), "labels": torch.tensor([[5, 6]])}
    added, scores = {}, {}
    for constraint in SIGNS:
        model = bert.build_model(shape, causal=False).double().train()
        model.constraint, model.constraint_weight = constraint, weight
        with torch.no_grad():
            outputs = model(**tokens)
            scores[constraint] = [symmetry_score(form) for form in bert.forms(model)]
        added[constraint] = float(outputs["loss"] - outputs["prediction_loss"])
    m = forms(count=1).random[0].dense()
    direction = torch.randn(m.shape, generator=torch.Generator().manual_seed(1), dtype=m.dtype)
    return Constrained(weight, added, scores, m, direction * m.norm() / direction.norm())


def gradient(m: Float[Tensor, "d d"], constraint: Constraint) -> Float[Tensor, "d d"]:
    """``dL_c / dM = 2 M / ||M_p||^2 - 2 ||M||^2 M_p / ||M_p||^4``, M_p the symmetric (S147) or skew part (S148)."""
    part = (m + SIGNS[constraint] * m.T) / 2
    return 2 * m / part.square().sum() - 2 * m.square().sum() * part / part.square().sum() ** 2


@check(constrained_models)
def constrained_loss(c: Constrained) -> Comparisons:
    """Eq. S146: a model's loss in training is ``L + gamma L_c``, L_c the mean of ``2 / (1 +- s)`` over its layers.

    What is added has the gradient of `gradient`.
    """
    for constraint, scores in c.scores.items():
        expected = c.weight * sum(2 / (1 + SIGNS[constraint] * s) for s in scores) / len(scores)
        named = {"equation": EQUATIONS[constraint]}
        yield exact("added", c.added[constraint], expected, layers=len(scores), weight=c.weight, **named)
    for constraint in SIGNS:
        named = {"equation": EQUATIONS[constraint]}
        closed = gradient(c.m, constraint)
        automatic, risen = _automatic(c.m, constraint), _finite_difference(c.m, constraint, c.direction)
        yield exact("gradient", (closed - automatic).norm(), 0, 1e-12, **named)
        yield exact("along", (closed * c.m).sum() / closed.norm() / c.m.norm(), 0, 1e-12, **named)
        yield exact("difference", risen - (closed * c.direction).sum(), 0, 1e-7, **named)


@check(forms)
def poles_of_the_constraints(drawn: Forms) -> Comparisons:
    """Eqs. S147, S148: infinite at s = -1 and s = 1; a training that starts there is refused."""
    for constraint, at in POLES.items():
        named = {"equation": EQUATIONS[constraint]}
        for gap in (1e-2, 1e-4):
            value = constraint_loss([drawn.of_symmetry(at - at * gap)], constraint)
            yield exact("pole", value * gap, 2, 1e-6, gap=gap, **named)
        refused = {i for i in Initialisation if not _accepted(i, constraint)}
        expected = {i for i, s in SYMMETRY.items() if s == at}
        yield exact("starts", len(refused ^ expected), 0, 0, **named)


def _automatic(m: Tensor, constraint: Constraint) -> Tensor:
    m = m.clone().requires_grad_()
    _loss(m, constraint).backward()
    return m.grad


def _finite_difference(m: Tensor, constraint: Constraint, direction: Tensor, step: float = 1e-5) -> float:
    """Central difference along a direction."""
    up, down = (_loss(m + side * step * direction, constraint) for side in (1, -1))
    return float(up - down) / (2 * step)


def _loss(m: Tensor, constraint: Constraint) -> Tensor:
    return constraint_loss([BilinearForm(m[None], torch.eye(len(m), dtype=m.dtype)[None])], constraint)


def _accepted(initialisation: Initialisation, constraint: Constraint) -> bool:
    from attngeo.training.config import TrainingConfig

    try:
        TrainingConfig(init=initialisation.value, constraint=constraint.value, gamma=1.0)
    except ParameterError:
        return False
    return True
