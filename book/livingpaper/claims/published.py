"""What the paper prints, as data frames: its statements, by their numbers, and its tables.

Columns are described in ``data/published/README.md``.
"""

import re
from functools import cache

import pandas as pd

from attngeo.files.checkout import CheckoutError, data
from attngeo.inputs import cause

TRAINED_TOKENS = 200_000 * 256 * 512  # updates of so many blocks (Section S2.3) of so many positions (Table S1)
_KINDS = {"proposition": "Prop.", "theorem": "Thm.", "definition": "Def.", "corollary": "Cor.", "recipe": "Section"}
_RANGE = re.compile(r"(?<=\d)-(?=S?\d)")


@cache
def statements() -> pd.DataFrame:
    """Every statement, figure and table of the paper, in its order.

    Columns number (the index, unique), kind, title (in our words), section, equations, chapter; all text, empty where
    there is none.
    """
    return read_published("statements", dtype=str, keep_default_na=False).set_index("number")


def of_the_paper(statement: str, part: str = "") -> str:
    """``Prop. 2.2 of the paper, Eqs. S33–S36``: a number of data/published/statements.csv, and what of it is meant."""
    kind = statements()["kind"].get(statement, "")
    named = statement if not re.match(r"S?\d", statement) else f"{_KINDS.get(kind, kind.title())} {statement}".strip()
    if statement.startswith("Web "):
        named, source = statement.lower(), "of the paper's web page"
    else:
        source = "of the paper"
    between = "" if not part else " " if re.match(r"\(|and ", part) else ", "
    return f"{named} {source}{between}{_RANGE.sub('–', part)}"


def printed_table(number: str) -> pd.DataFrame:
    """A printed table, row for row: ``1``, ``S1``, ``S2``, ``S3`` or ``web``.

    Tables 1 and web have ``symmetric_init`` as a bool and no speed-up (NaN) where none is printed.

    Raises:
        CheckoutError: the file is missing or damaged.
    """
    file = "web_table" if number == "web" else f"table_{number.lower()}"
    frame = read_published(file, dtype=str if number == "S1" else None)
    if "symmetric_init" in frame:
        frame["symmetric_init"] = frame["symmetric_init"] == "yes"
    return frame


def trained_widths() -> dict[int, int]:
    """Width of the trained models by their number of layers (Table S1)."""
    sizes = printed_table("S1").set_index("setting").T
    return dict(zip(sizes["hidden_layers"].astype(int), sizes["hidden_size"].astype(int), strict=True))


def released_curves() -> pd.DataFrame:
    """Final losses and speed-ups of the 24 released loss curves, a pair of runs in a row, as an audit read them.

    Speed-ups are in percent of the run, NaN where the end is never reached.
    """
    return read_published("released_curves")


def speed_ups_in_text() -> pd.DataFrame:
    """The speed-ups that sentences of the paper and of its web page state: source, place, layers, speed_up_percent."""
    return read_published("speed_ups_in_text", dtype={"layers": "Int64"})


def read_published(name: str, **options) -> pd.DataFrame:
    """A table under ``data/published``, by pandas with these options.

    Raises:
        CheckoutError: it is missing or damaged.
    """
    path = data("published", f"{name}.csv")
    try:
        return pd.read_csv(path, **options)
    except (OSError, ValueError) as error:
        raise CheckoutError(f"{path} cannot be read ({cause(error)}); restore it from the repository.") from error
