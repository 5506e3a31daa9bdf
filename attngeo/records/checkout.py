"""Where the book's sources and data lie: the checkout that a chapter, a test or a command works on."""

import os
from pathlib import Path

import pandas as pd

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
        "the book's sources are not here; change into a checkout of attngeo or name one in ATTNGEO_BOOK."
    )


def data(*parts: str) -> Path:
    """A path under ``data/`` of the checkout."""
    return root().joinpath("data", *parts)


def read_table(name: str, columns: dict[str, type | str]) -> pd.DataFrame:
    """A CSV file under ``data/`` with just these columns, of these types; text that is missing is empty.

    Raises:
        CheckoutError: it is missing or damaged.
    """
    path = data(name)
    blanks = {name: [""] for name, kind in columns.items() if kind is not str}
    try:
        frame = pd.read_csv(path, dtype=columns, keep_default_na=False, na_values=blanks)
    except FileNotFoundError as error:
        raise CheckoutError(f"{path} is missing; restore it from the repository.") from error
    except (OSError, ValueError) as error:
        raise CheckoutError(f"{path} cannot be read ({error}); restore it from the repository.") from error
    if list(frame.columns) != list(columns):
        raise CheckoutError(f"{path} has the columns {', '.join(frame.columns)}; restore it from the repository.")
    return frame


def _is_checkout(folder: Path) -> bool:
    return all((folder / mark).exists() for mark in _MARKS)
