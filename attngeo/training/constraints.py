"""Losses that pull the query-key matrices towards symmetry or skew-symmetry (Eqs. S146 to S148)."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import gram_moments
from attngeo.training.choices import Constraint


def constraint_loss(forms: Iterable[BilinearForm], constraint: Constraint | str) -> Float[Tensor, ""]:
    """``L_c = ||M||^2 / ||M_s||^2 = 2 / (1 + s)`` (Eq. S147) or ``||M||^2 / ||M_n||^2 = 2 / (1 - s)`` (Eq. S148).

    The loss of training is ``L + gamma L_c`` (Eq. S146), with the mean of L_c over the layers. M is the sum over heads
    (Eq. S20); norms are Frobenius, squared, which the paper leaves out. The least value is 1, at s = 1 for the
    symmetric and at s = -1 for the skew constraint (the paper says 0 for the latter, the value of the released score).

    Raises:
        ValueError: the constraint is unknown.
    """
    constraint = Constraint(constraint)
    if constraint is Constraint.NONE:
        return torch.zeros(())
    sign = 1 if constraint is Constraint.SYMMETRIC else -1
    losses = []
    for form in forms:
        with torch.autocast(form.wq.device.type, enabled=False):
            moments = gram_moments(*form.merged())
        losses.append(2 * moments.square / (moments.square + sign * moments.trace))
    return torch.stack(losses).mean()
