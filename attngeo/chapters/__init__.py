"""One folder per notebook: its checks, their wording, its analysis and its figures. No chapter knows another."""

from importlib import import_module
from pkgutil import walk_packages

from attngeo.paper.checks import CHECKS, Check


def all_checks() -> dict[str, Check]:
    """Every registered check, by name: imports each module of each chapter."""
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    return dict(CHECKS)
