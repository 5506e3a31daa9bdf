"""What the paper prints, as data frames: its statements and its tables. The only reader of ``data/published``."""

import pandas as pd

from attngeo.checkout import data
from attngeo.errors import AttngeoError, ParameterError

_TABLES = {
    "1": {"layers": int, "dataset": str, "symmetric_init": str, "loss": float, "speed_up_percent": float},
    "S1": {"setting": str, "bert": str, "bert_mini": str},
    "S2": {"side": str, "row": int, "model": str, "median": float, "iqr_minus": float, "iqr_plus": float},
    "web": {"layers": int, "dataset": str, "symmetric_init": str, "loss": float, "speed_up_percent": float},
}
_TABLES["S3"] = _TABLES["S2"]
_STATEMENTS = dict.fromkeys(("number", "kind", "title", "section", "equations", "chapter"), str)
_RELEASED = {"file": str, "key": str, "layers": int, "width": int, "parameters": "Int64"} | dict.fromkeys(
    ("s", "s_minus", "s_plus", "d", "d_minus", "d_plus"), float
)
_SPEED_UPS = {"source": str, "place": str, "layers": "Int64", "speed_up_percent": float}


class PublishedError(AttngeoError):
    """A transcription is missing or damaged."""


def statements() -> pd.DataFrame:
    """Every statement, figure and table of the paper, in its order.

    Returns:
        Columns number (the index, unique), kind, title (in our words), section, equations, chapter; all text, empty
        where there is none.
    """
    return _read("statements", _STATEMENTS).set_index("number")


def table(number: str) -> pd.DataFrame:
    """A printed table, row for row: ``1``, ``S1``, ``S2``, ``S3`` or ``web``.

    Tables 1 and web have ``symmetric_init`` as a bool and no speed-up (NaN) where none is printed.

    Raises:
        ParameterError: the paper has no such table.
        PublishedError: the file is missing or damaged.
    """
    if number not in _TABLES:
        raise ParameterError(f"There is no transcribed table {number!r}; there are {', '.join(sorted(_TABLES))}.")
    frame = _read("web_table" if number == "web" else f"table_{number.lower()}", _TABLES[number])
    if "symmetric_init" in frame:
        frame["symmetric_init"] = frame["symmetric_init"] == "yes"
    return frame


def speed_ups_in_text() -> pd.DataFrame:
    """The speed-ups that sentences of the paper and of its web page state: source, place, layers, speed_up_percent."""
    return _read("speed_ups_in_text", _SPEED_UPS)


def released_medians() -> pd.DataFrame:
    """Medians over layers of the scores that the authors released, with more digits than they print.

    Returns:
        Columns file and key (unique together: the released file, and the model's name in it), layers, width,
        parameters, and s, s_minus, s_plus, d, d_minus, d_plus: median, median - Q1, Q3 - median, in the units of
        Tables S2 and S3. An audit read them from the released files; this project has not read those itself.
    """
    return _read("released_medians", _RELEASED)


def _read(name: str, columns: dict) -> pd.DataFrame:
    path = data("published", f"{name}.csv")
    blank_is_missing = [c for c, kind in columns.items() if kind is not str]
    try:
        frame = pd.read_csv(path, dtype=columns, keep_default_na=False, na_values={c: [""] for c in blank_is_missing})
    except FileNotFoundError as error:
        raise PublishedError(f"{path} is missing; restore it from the repository.") from error
    except ValueError as error:
        raise PublishedError(f"{path} cannot be read ({error}); restore it from the repository.") from error
    if list(frame.columns) != list(columns):
        raise PublishedError(f"{path} has the columns {', '.join(frame.columns)}; restore it from the repository.")
    return frame
