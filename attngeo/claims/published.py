"""What the paper prints, as data frames: its statements and its tables."""

import pandas as pd

from attngeo.errors import ParameterError
from attngeo.files.tables import read_table

_TABLES = {
    "1": {"layers": int, "dataset": str, "symmetric_init": str, "loss": float, "speed_up_percent": float},
    "S1": {"setting": str, "bert": str, "bert_mini": str},
    "S2": {"side": str, "row": int, "model": str, "median": float, "iqr_minus": float, "iqr_plus": float},
}
_TABLES |= {"S3": _TABLES["S2"], "web": _TABLES["1"]}
_STATEMENTS = dict.fromkeys(("number", "kind", "title", "section", "equations", "chapter"), str)
_RELEASED = {"file": str, "key": str, "layers": int, "width": int, "parameters": "Int64"} | dict.fromkeys(
    ("s", "s_minus", "s_plus", "d", "d_minus", "d_plus"), float
)
_CURVES = {"layers": int, "part": str, "dataset": str} | dict.fromkeys(
    (
        *("loss_base", "loss_symmetric", "first_crossing_percent"),
        *("persistent_percent", "smoothed_percent", "baseline_itself_percent"),
    ),
    float,
)
_SPEED_UPS = {"source": str, "place": str, "layers": "Int64", "speed_up_percent": float}


TRAINED_TOKENS = 200_000 * 256 * 512  # updates of so many blocks (Section S2.3) of so many positions (Table S1)


def statements() -> pd.DataFrame:
    """Every statement, figure and table of the paper, in its order.

    Columns number (the index, unique), kind, title (in our words), section, equations, chapter; all text, empty where
    there is none.
    """
    return read_table("published/statements.csv", _STATEMENTS).set_index("number")


def printed_table(number: str) -> pd.DataFrame:
    """A printed table, row for row: ``1``, ``S1``, ``S2``, ``S3`` or ``web``.

    Tables 1 and web have ``symmetric_init`` as a bool and no speed-up (NaN) where none is printed.

    Raises:
        ParameterError: the paper has no such table.
        CheckoutError: the file is missing or damaged.
    """
    if number not in _TABLES:
        raise ParameterError(f"There is no transcribed table {number!r}; there are {', '.join(sorted(_TABLES))}.")
    file = "web_table" if number == "web" else f"table_{number.lower()}"
    frame = read_table(f"published/{file}.csv", _TABLES[number])
    if "symmetric_init" in frame:
        frame["symmetric_init"] = frame["symmetric_init"] == "yes"
    return frame


def trained_widths() -> dict[int, int]:
    """Width of the trained models by their number of layers (Table S1)."""
    layers, widths = (
        printed_table("S1").set_index("setting").loc[name].astype(int) for name in ("hidden_layers", "hidden_size")
    )
    return dict(zip(layers, widths, strict=True))


def released_medians() -> pd.DataFrame:
    """Medians over layers of the scores that the authors released, with more digits than they print.

    Columns file and key (unique together: the released file, and the model's name in it), layers, width, parameters,
    and s, s_minus, s_plus, d, d_minus, d_plus: median, median - Q1, Q3 - median, in the units of Tables S2 and S3. An
    audit read them from the released files; this project has not read those itself.
    """
    return read_table("published/released_medians.csv", _RELEASED)


def released_curves() -> pd.DataFrame:
    """Final losses and speed-ups of the authors' 24 released loss curves, a pair of runs in a row.

    Columns layers, part (encoder or decoder), dataset, loss_base and loss_symmetric (final training losses of the
    random and of the symmetric start), and in percent of the run: first_crossing (as Table 1 is made), persistent (from
    where on the loss stays below), smoothed (the same after a mean over 5,000 steps), and baseline_itself (how early
    the baseline first undercuts its own end). NaN where the end is never reached. An audit read them from the released
    file; this project has not read that itself.
    """
    return read_table("published/released_curves.csv", _CURVES)


def speed_ups_in_text() -> pd.DataFrame:
    """The speed-ups that sentences of the paper and of its web page state: source, place, layers, speed_up_percent."""
    return read_table("published/speed_ups_in_text.csv", _SPEED_UPS)
