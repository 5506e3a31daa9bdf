"""Planted errors: a formula is replaced by a wrong one, and a sample that has been drawn is judged again."""

from functools import cache
from unittest.mock import patch

import torch

from attngeo.paper.checks import Check


@cache
def drawn(check: Check, **parameters):
    """A check's sample: drawn once for all the errors that are planted in its formulas, from generators of its own."""
    before = torch.get_rng_state()
    sample = check.sample(**parameters)
    assert torch.equal(before, torch.get_rng_state()), f"{check.__name__} draws from torch's global generator"
    return sample


def supported(check: Check) -> bool:
    """Whether the check supports its verdict as the code stands."""
    return check.of(drawn(check)).supported


def supported_with(check: Check, name: str, wrong: object) -> bool:
    """The same with an error planted.

    Args:
        check: judges the sample.
        name: what is replaced, in the module of the check; ``module.attribute`` with its full path elsewhere.
        wrong: what it is replaced by.
    """
    sample = drawn(check)
    target = name if name.startswith("attngeo.") else f"{check.__module__}.{name}"
    with patch(target, wrong):
        return check.of(sample).supported
