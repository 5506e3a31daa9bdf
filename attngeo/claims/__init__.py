"""One check per numbered statement of the paper. Chapters show it, pytest asserts it, the status page lists it."""

from importlib import import_module
from pkgutil import iter_modules

from attngeo.claims.result import CLAIMS, Comparison, Flaw, Result, Verdict

__all__ = ["CLAIMS", "Comparison", "Flaw", "Result", "Verdict", "all_claims"]


def all_claims():
    """Every registered check, by name: imports each module of this package."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(CLAIMS)
