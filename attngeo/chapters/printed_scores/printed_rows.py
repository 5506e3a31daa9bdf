"""The paper's printed scores beside ours: medians and quartile distances over layers, row by row, with a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attngeo.paper.published import printed_table
from attngeo.survey.released_results import released_results

# what keeps a printed row from being a score of the model it names, whatever weights are read
_OBSTACLES = {
    "no-such-model": "no such model",
    "random-weights": "random weights were scored",
}
NOT_READ = "weights not read here"


@dataclass(frozen=True)
class PrintedRow:
    """One printed row beside ours: median, median - Q1, Q3 - median."""

    row: str  # place in the table: "L34" is the 34th row on the left
    printed_as: str
    model: str  # name in the registry, "" where there is no such model
    defects: str  # codes of `attngeo.survey.released_results.DEFECTS`
    theirs: np.ndarray  # as printed, two decimals
    released: np.ndarray  # as the authors' released files have them
    ours: np.ndarray | None  # None where no weights were read

    @property
    def obstacle(self) -> str:
        """What keeps the row from being a score of trained weights; nothing for most."""
        return next((words for code, words in _OBSTACLES.items() if code in self.defects.split()), "")

    @property
    def verdict(self) -> str:
        """``reproduced`` where the three numbers agree after rounding to the printed decimals; else what is wrong."""
        if self.obstacle or self.ours is None:
            return self.obstacle or NOT_READ
        gap = np.abs(np.round(self.ours, 2) - self.theirs).max()
        return "reproduced" if gap < 0.005 else f"differs by {gap:.2f}"


def printed_rows(number: str, score: str, medians: pd.DataFrame) -> list[PrintedRow]:
    """Every row of Table S2 or S3, beside our ``score`` (of `attngeo.survey.rows.SCORES`) where weights were read.

    ``medians`` are `attngeo.survey.score_table.layer_medians`, models named as in the registry.
    """
    results = released_results().set_index("row")
    ours = {(m["model"], m["part"]): m for m in medians.to_dict("records")}
    letter = "s" if number == "S2" else "d"
    rows = []
    for printed in printed_table(number).itertuples():
        place = f"{printed.side}{printed.row}"
        result = results.loc[place]
        found = ours.get((result["model"], result["part"]))
        theirs = np.array([printed.median, printed.iqr_minus, printed.iqr_plus])
        numbers = theirs, _three(result, letter), None if found is None else _three(found, score)
        rows.append(PrintedRow(place, printed.model, result["model"], result["defects"], *numbers))
    return rows


def read_rows(number: str, score: str, medians: pd.DataFrame) -> list[PrintedRow]:
    """The rows of `printed_rows` that can be compared: weights were read, and the row is a score of trained weights."""
    return [row for row in printed_rows(number, score, medians) if row.ours is not None and not row.obstacle]


def beside_printed(number: str, scores: dict[str, str], medians: pd.DataFrame) -> pd.DataFrame:
    """The printed rows for which weights were read, beside our numbers, with a verdict for each way to score.

    ``scores`` are those of `printed_rows` by heading, under which stand our median [minus, plus] and the verdict.
    """
    columns = {}
    for heading, score in scores.items():
        rows = read_rows(number, score, medians)
        columns[heading] = [f"{triple(r.ours)}: {r.verdict}" for r in rows]
    places = [(r.row, r.printed_as, triple(r.theirs)) for r in rows]
    return pd.DataFrame(places, columns=["row", "printed as", "printed"]).assign(**columns)


def whole_table(number: str, score: str, medians: pd.DataFrame) -> pd.DataFrame:
    """Table ``number`` with every row: printed, recomputed (a dash where no weights were read), verdict."""
    rows = printed_rows(number, score, medians)
    return pd.DataFrame(
        {
            "row": [r.row for r in rows],
            "printed as": [r.printed_as for r in rows],
            "checkpoint": [r.model or "none" for r in rows],
            "printed": [triple(r.theirs, "\u00a0") for r in rows],
            "recomputed": ["–" if r.ours is None else triple(r.ours, "\u00a0") for r in rows],
            "verdict": [r.verdict for r in rows],
            "known against it": [r.defects.replace(" ", ", ") for r in rows],
        }
    )


def triple(values: np.ndarray, space: str = " ") -> str:
    """``median [minus, plus]`` as the tables print it."""
    return f"{values[0]:.2f} [{values[1]:.2f}, {values[2]:.2f}]".replace(" ", space)


def _three(numbers: Mapping | pd.Series, score: str) -> np.ndarray:
    return np.array([numbers[score], numbers[f"{score}_minus"], numbers[f"{score}_plus"]], dtype=float)
