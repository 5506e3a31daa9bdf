"""What the paper prints, as data frames: its numbered statements and its tables.

Columns are described in ``data/published/README.md``.
"""

import re
from functools import cache

import pandas as pd

from attngeo.files.checkout import CheckoutError, data
from attngeo.inputs import cause

TRAINED_TOKENS = 200_000 * 256 * 512  # updates and batch size (Section S2.3), sequence length (Table S1)
_KINDS = {"proposition": "Prop.", "theorem": "Thm.", "definition": "Def.", "corollary": "Cor.", "recipe": "Section"}
_RANGE = re.compile(r"(?<=\d)-(?=S?\d)")


@cache
def statements() -> pd.DataFrame:
    """Every statement, figure and table, in the order of the paper.

    The index is the (unique) number. The columns are kind, title (in our words), section, equations and chapter. All of
    them are text, which is empty where there is nothing.
    """
    return read_published("statements", dtype=str, keep_default_na=False).set_index("number")


def of_the_paper(statement: str, part: str = "") -> str:
    """The name of a statement or of a part of it, such as ``Prop. 2.2 of the paper, Eqs. S33–S36``.

    Args:
        statement: its number in data/published/statements.csv.
        part: which part of it is meant. A part that begins with ``and`` names a second statement of the same kind.
    """
    named = statement
    if re.match(r"S?\d", statement):
        kind = statements()["kind"].get(statement, "")
        named = f"{_KINDS.get(kind, kind.title())} {statement}".strip()
    if statement.startswith("Web "):
        named = f"{statement.removeprefix('Web ').capitalize()} on the paper's web page"
    else:
        if part.startswith("and "):
            second, _, part = part.partition(", ")
            plural = re.sub("^(Eq|Table|Figure)", r"\g<0>s", named)
            named = f"{plural} {second}"
        named = f"{named} of the paper"
    if not part:
        return named
    return f"{named}{' ' if part.startswith('(') else ', '}{_RANGE.sub('–', part)}"


def printed_table(number: str) -> pd.DataFrame:
    """A printed table, row by row.

    In Table 1 and the web page's table, ``symmetric_init`` is a bool, and the speed-up is NaN if none is printed.

    Args:
        number: ``1``, ``S1``, ``S2``, ``S3`` or ``web``.

    Raises:
        CheckoutError: the file is missing or damaged.
    """
    file = "web_table" if number == "web" else f"table_{number.lower()}"
    frame = read_published(file, dtype=str if number == "S1" else None)
    if "symmetric_init" in frame:
        frame["symmetric_init"] = frame["symmetric_init"] == "yes"
    return frame


def trained_widths() -> dict[int, int]:
    """The widths of the trained models, by their number of layers (Table S1)."""
    sizes = printed_table("S1").set_index("setting").T
    return dict(zip(sizes["hidden_layers"].astype(int), sizes["hidden_size"].astype(int), strict=True))


def released_curves() -> pd.DataFrame:
    """Final losses and speed-ups of the 24 released loss curves, one pair of runs per row, as an audit read them.

    Speed-ups are in percent of the run. They are NaN where the final loss of the other run is never reached.
    """
    return read_published("released_curves")


def speed_ups_in_text() -> pd.DataFrame:
    """The speed-ups that the paper and its web page state in sentences: source, place, layers, speed_up_percent."""
    return read_published("speed_ups_in_text", dtype={"layers": "Int64"})


def read_published(name: str, **options) -> pd.DataFrame:
    """A table under ``data/published``, read by pandas with these options.

    Raises:
        CheckoutError: it is missing or damaged.
    """
    path = data("published", f"{name}.csv")
    try:
        return pd.read_csv(path, **options)
    except (OSError, ValueError) as error:
        raise CheckoutError(f"{path} cannot be read ({cause(error)}); restore it from the repository.") from error
