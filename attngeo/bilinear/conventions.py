"""The formulas of the scores, and the threshold of the directionality score; this module does not import torch."""

from math import isfinite

from attngeo.errors import Choice, ParameterError

GAMMA = 2.0  # gamma of Def. 3.2; the paper does not state its value, and its released code uses 2


def require_gamma(gamma: float) -> None:
    """Refuse a gamma that cannot be a threshold.

    Raises:
        ParameterError: gamma is not a finite number >= 0.
    """
    if not (isinstance(gamma, int | float) and isfinite(gamma) and gamma >= 0):
        raise ParameterError(f"gamma is {gamma!r}; it must be a finite number of standard deviations, 0 or more.")


class Convention(Choice):
    """The formula of a score.

    The text of the paper, the authors' released code and the paper's tables use different formulas. We recommend
    DEFINITION.
    """

    DEFINITION = "definition"  # s in [-1, 1] (Prop. S1.17); d of Def. 3.2 as printed
    PRINTED = "printed"  # Def. 3.1 with its factor 2: s in [-2, 2]; d as in the definition
    RELEASED = "released"  # the released code: s = ||M_s||^2 / ||M||^2 in [0, 1]; d sums the excess over the threshold
    TABLES = "tables"  # reproduces Table S3: d sums the excess of the logarithms of norms; s as in the definition
