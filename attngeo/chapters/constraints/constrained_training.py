"""Appendix S2.1: what a constraint adds to a loss and to its gradient (Eq. S146), and where it cannot start."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.constraints.losses import CHAPTER, SIGNS, form_of_symmetry, random_forms
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.training.constraints import Constraint, constraint_loss
from attngeo.training.initialisations import SYMMETRY, Initialisation

EQUATIONS = {Constraint.SYMMETRIC: "Eq. S147", Constraint.SKEW: "Eq. S148"}


def gradient(m: Float[Tensor, "d d"], constraint: Constraint) -> Float[Tensor, "d d"]:
    """``dL_c / dM = 2 M / ||M_p||^2 - 2 ||M||^2 M_p / ||M_p||^4``, M_p the symmetric (S147) or skew part (S148)."""
    part = (m + SIGNS[constraint] * m.T) / 2
    return 2 * m / part.square().sum() - 2 * m.square().sum() * part / part.square().sum() ** 2


@claim
def constrained_loss(
    weight: float = 0.5, layers: int = 3, derivative: Callable[[Tensor, Constraint], Tensor] = gradient
) -> Result:
    """Eq. S146: a model's loss in training is ``L + gamma L_c``, and what is added has the gradient of `gradient`.

    Args:
        weight: gamma.
        layers: of the model.
        derivative: closed form of the gradient, to be compared with automatic differentiation.
    """
    comparisons = [c for constraint in SIGNS for c in _added(constraint, weight, layers)]
    for constraint in SIGNS:
        number, m = EQUATIONS[constraint], random_forms(1)[0].dense()
        automatic = _automatic(m, constraint)
        closed = derivative(m, constraint)
        comparisons += [
            exact(f"{number}: gradient, closed form less automatic", (closed - automatic).norm(), 0.0, 1e-12),
            exact(f"{number}: gradient along M, relative", (closed * m).sum() / closed.norm() / m.norm(), 0.0, 1e-12),
            exact(f"{number}: finite difference less gradient", _finite_difference(m, constraint, closed), 0.0, 1e-7),
        ]
    return Result(
        "Eq. S146",
        "",
        "the constraint is added to the loss with weight $\\gamma$",
        Verdict.HOLDS,
        tuple(comparisons),
        remark="For several layers we take the mean of $\\mathcal{L}_c$; the paper does not say.",
        chapter=CHAPTER,
    )


@claim
def poles_of_the_constraints(pole: float = -1.0) -> Result:
    """Eqs. S147, S148: infinite at s = -1 and s = 1; a training that starts there is refused.

    Args:
        pole: of S147; that of S148 has the other sign.
    """
    comparisons = []
    for constraint, sign in SIGNS.items():
        number, at = EQUATIONS[constraint], sign * pole
        for gap in (1e-2, 1e-4):
            value = float(constraint_loss([form_of_symmetry(at - at * gap)], constraint))
            comparisons.append(
                exact(f"{number}: ${gap:g}\\, L_c$ at the distance {gap:g} from the pole", value * gap, 2.0, 1e-6)
            )
        refused = {i for i in Initialisation if not _accepted(i, constraint)}
        expected = {i for i, s in SYMMETRY.items() if s == at}
        comparisons.append(
            exact(f"{number}: initialisations wrongly refused or accepted", len(refused ^ expected), 0.0, 0.0)
        )
    return Result(
        "Eq. S147",
        "and S148, poles",
        "a start at the opposite structure is outside the constraint's domain",
        Verdict.ASSUMPTIONS,
        tuple(comparisons),
        printed="The loss is optionally extended with a constraint, the initialisation is optionally symmetric or skew-"
        "symmetric; no combination is excluded.",
        corrected="S147 needs $M_s \\neq 0$ and S148 $M_n \\neq 0$: a skew-symmetric start is outside the one, a "
        "symmetric start outside the other.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def _added(constraint: Constraint, weight: float, layers: int) -> list[Comparison]:
    """What a model in training adds to its loss, against gamma times the mean of ``2 / (1 +- s)`` over its layers."""
    from attngeo.training.bert import Shape, build_model, forms  # loads transformers

    shape = Shape(layers=layers, d_model=16, heads=2, d_ff=16, vocab_size=30, dropout=0.0, attention_dropout=0.0)
    model = build_model(shape, causal=False).double().train()
    model.constraint, model.constraint_weight = constraint, weight
    tokens = {"input_ids": torch.arange(8)[None], "positions": torch.tensor([[1, 4]]), "labels": torch.tensor([[5, 6]])}
    with torch.no_grad():
        outputs = model(**tokens)
        scores = [symmetry_score(form) for form in forms(model)]
    expected = weight * sum(2 / (1 + SIGNS[constraint] * s) for s in scores) / layers
    quantity = f"{EQUATIONS[constraint]}: added to the loss of {layers} layers, $\\gamma$ = {weight:g}"
    return [exact(quantity, outputs["loss"] - outputs["prediction_loss"], expected)]


def _automatic(m: Tensor, constraint: Constraint) -> Tensor:
    m = m.clone().requires_grad_()
    constraint_loss([BilinearForm(m[None], torch.eye(len(m), dtype=m.dtype)[None])], constraint).backward()
    return m.grad


def _finite_difference(m: Tensor, constraint: Constraint, slope: Tensor, step: float = 1e-5) -> float:
    """Central difference in a random direction of length ``||M||``, less what ``slope`` predicts."""
    direction = torch.randn(m.shape, generator=torch.Generator().manual_seed(1), dtype=m.dtype)
    direction *= m.norm() / direction.norm()
    identity = torch.eye(len(m), dtype=m.dtype)[None]
    up, down = (
        float(constraint_loss([BilinearForm((m + side * step * direction)[None], identity)], constraint))
        for side in (1, -1)
    )
    return (up - down) / (2 * step) - float((slope * direction).sum())


def _accepted(initialisation: Initialisation, constraint: Constraint) -> bool:
    from attngeo.training.config import TrainingConfig

    try:
        TrainingConfig(init=initialisation.value, constraint=constraint.value, gamma=1.0)
    except ParameterError:
        return False
    return True
