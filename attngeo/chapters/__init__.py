"""One folder per notebook: its checks, their wording, its analysis and its figures. No chapter knows another."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

from attngeo.paper.checks import CLAIMS, Result


def all_claims() -> dict[str, Callable[..., Result]]:
    """Every registered check, by name: imports each module of each chapter."""
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    return dict(CLAIMS)
