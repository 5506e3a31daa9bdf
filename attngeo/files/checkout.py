"""Where the book's sources and data lie: the checkout that a chapter, a test or a command works on."""

import os
from pathlib import Path

from attngeo.errors import AttngeoError

_MARKS = ("_toc.yml", "notebooks", "data")


class CheckoutError(AttngeoError):
    """No checkout of the repository can be found, or a file of it is missing or damaged."""


def root() -> Path:
    """The checkout: ``ATTNGEO_BOOK``, or the current folder or one above it, or where the package is installed from.

    Raises:
        CheckoutError: none of them is a checkout.
    """
    if named := os.environ.get("ATTNGEO_BOOK"):
        if _is_checkout(Path(named)):
            return Path(named).resolve()
        raise CheckoutError(f"ATTNGEO_BOOK names {named}, which is no checkout of attngeo (it has no _toc.yml).")
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if _is_checkout(folder):
            return folder
    raise CheckoutError(
        "the book's sources are not here, and the installed package does not carry them; change into a checkout of"
        " attngeo (git clone) or name one in ATTNGEO_BOOK."
    )


def data(*parts: str) -> Path:
    """A path under ``data/`` of the checkout."""
    return root().joinpath("data", *parts)


def _is_checkout(folder: Path) -> bool:
    return all((folder / mark).exists() for mark in _MARKS)
