"""The checkout with the book's sources, data and executed chapters, which chapters, tests and commands use."""

import os
import re
from pathlib import Path

from attngeo.errors import AttngeoError


class CheckoutError(AttngeoError):
    """No checkout of the repository can be found, or a file of it is missing or damaged."""


def root() -> Path:
    """The checkout: ``ATTNGEO_BOOK``, the current folder or one above it, or the folder from which attngeo is
    installed.

    Raises:
        CheckoutError: none of them is a checkout.
    """
    named, here = os.environ.get("ATTNGEO_BOOK"), Path.cwd()
    for folder in [Path(named).resolve()] if named else [here, *here.parents, Path(__file__).resolve().parents[2]]:
        if all((folder / mark).exists() for mark in ("_toc.yml", "notebooks", "data")):
            return folder
    raise CheckoutError(
        f"the book's sources are not in {named or here}, and the installed package does not contain them; change into"
        " a checkout of attngeo (git clone), or set ATTNGEO_BOOK to a checkout."
    )


def data(*parts: str) -> Path:
    """A path under ``data/`` of the checkout."""
    return root().joinpath("data", *parts)


def chapters(checkout: Path) -> dict[str, str]:
    """The text of each notebook in the table of contents, by the notebook's name, in the order of the book."""
    contents = (checkout / "_toc.yml").read_text("utf-8")
    names = re.findall(r"^[ -]*(?:root|file): notebooks/(\w+)", contents, re.MULTILINE)
    return {name: (checkout / "notebooks" / f"{name}.py").read_text("utf-8") for name in names}


def summaries(checkout: Path) -> list[str]:
    """The chapters that show the results of checks in other chapters; their header contains ``after: all``."""
    return [name for name, text in chapters(checkout).items() if "after: all" in text.partition("# %%")[0]]


def current_profile() -> str:
    """The profile that ``ATTNGEO_PROFILE`` names; cpu if it is not set."""
    return os.environ.get("ATTNGEO_PROFILE") or "cpu"


def runs(checkout: Path, profile: str) -> Path:
    """The folder in which ``book/execute.py`` keeps the executed chapters of a profile."""
    return checkout / "book" / "_build" / "runs" / profile
