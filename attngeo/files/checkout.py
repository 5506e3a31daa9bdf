"""Where the book's sources and data lie: the checkout that a chapter, a test or a command works on."""

import os
from pathlib import Path

from attngeo.errors import AttngeoError


class CheckoutError(AttngeoError):
    """No checkout of the repository can be found, or a file of it is missing or damaged."""


def root() -> Path:
    """The checkout: ``ATTNGEO_BOOK``, or the current folder or one above it, or where the package is installed from.

    Raises:
        CheckoutError: none of them is a checkout.
    """
    named, here = os.environ.get("ATTNGEO_BOOK"), Path.cwd()
    for folder in [Path(named).resolve()] if named else [here, *here.parents, Path(__file__).resolve().parents[2]]:
        if all((folder / mark).exists() for mark in ("_toc.yml", "notebooks", "data")):
            return folder
    raise CheckoutError(
        f"the book's sources are not in {named or here}, and the installed package does not carry them; change into a"
        " checkout of attngeo (git clone) or name one in ATTNGEO_BOOK."
    )


def data(*parts: str) -> Path:
    """A path under ``data/`` of the checkout."""
    return root().joinpath("data", *parts)
