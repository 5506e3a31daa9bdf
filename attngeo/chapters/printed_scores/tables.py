"""Tables S2 and S3: their rows against our scores of the same checkpoints, and against each other."""

import math

import numpy as np
import pandas as pd

from attngeo.chapters.printed_scores.printed_rows import PrintedRow, printed_rows, read_rows
from attngeo.forms.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.paper.checks import Comparison, Comparisons, Judgement, Relation, check, compare, exact
from attngeo.paper.published import printed_table
from attngeo.records.checkout import data
from attngeo.survey.measured import named, read_records
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import layer_medians

HALF_UNIT = 0.005 + 1e-9  # of the second decimal: printed numbers are rounded to two
SIX_DIGITS = 1e-5  # single precision, summed over some thousand entries
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # standard error of a median of n normal values, times sqrt(n)
WORDS = ("median", "Q2 - Q1", "Q3 - Q2")


def recorded_medians() -> pd.DataFrame:
    """`layer_medians` of the recorded survey, by registry name."""
    table, _ = read_records(data("survey"))
    return layer_medians(named(table)[lambda t: t["head"] == -1])


@check(recorded_medians)
def table_s2_symmetry(medians: pd.DataFrame) -> Judgement:
    """Medians and quartile distances of ``s`` equal Table S2's to both decimals, the released ones to six digits."""
    rows = read_rows("S2", "symmetry", medians)
    return Judgement(*_as_printed(rows), *_as_released("released", rows), **_counts("S2", rows))


@check(recorded_medians)
def table_s3_directionality(medians: pd.DataFrame) -> Judgement:
    """Table S3 follows from the norms' logarithms (`Convention.TABLES`), to six digits, and from no other formula."""
    rows, definition, released = (
        read_rows("S3", f"directionality{variant}", medians) for variant in ("_tables", "", "_released")
    )
    return Judgement(
        *_as_printed(rows),
        *_as_released("released", rows),
        *_as_released("by the definition", definition, "≠"),
        *_as_released("by the released code", released, "≠"),
        by_definition=[
            f"{row.ours[0]:.2f} in place of {row.theirs[0]:.2f} ({row.model})"
            for row in {row.model: row for row in definition}.values()
        ],
        **_counts("S3", rows),
    )


def released_rows() -> dict[str, list[PrintedRow]]:
    """Every row of Tables S2 and S3, printed and as released."""
    none = pd.DataFrame(columns=["model", "part"])
    return {number: printed_rows(number, "symmetry", none) for number in ("S2", "S3")}


@check(released_rows)
def tables_round_the_released_results(tables: dict[str, list[PrintedRow]]) -> Comparisons:
    """Every printed number of Tables S2 and S3 is a released median or quartile distance, rounded."""
    gaps = {number: np.array([row.theirs - row.released for row in rows]) for number, rows in tables.items()}
    for number, gap in gaps.items():
        yield exact("gap", np.abs(gap).max(), 0, HALF_UNIT, count=gap.size, number=number)


@check(released_results)
def table_s2_distinct_checkpoints(results: pd.DataFrame) -> Judgement:
    """Rows that repeat another to all released digits, rows of no trained language model, and models that remain."""
    rows = results[results["row"] != ""]
    left = rows[rows["counted"]]["model"].nunique()
    vision, random, missing = (
        rows[rows["defects"].str.contains(code)] for code in ("vision", "random-weights", "no-such-model")
    )
    return Judgement(
        *_repeated(rows),
        *_random(rows),
        compare("vision", (vision["modality"] == "vision").sum(), ">", 0),
        compare("weights", len(random), ">", 0),
        compare("missing", (missing["model"] == "").sum(), ">", 0),
        compare("left", left, "<", len(rows)),
        n_rows=len(rows),
        left=left,
        vision=len(vision),
        random=len(random),
        missing=len(missing),
    )


def _counts(number: str, rows: list[PrintedRow]) -> dict[str, int]:
    checkpoints = len({row.model for row in rows})
    return {"n_rows": len(rows), "n_printed": len(printed_table(number)), "n_checkpoints": checkpoints}


def _as_printed(rows: list[PrintedRow]) -> list[Comparison]:
    return [
        exact("printed", ours, theirs, HALF_UNIT, row=row.row, printed_as=row.printed_as, what=what)
        for row in rows
        for what, theirs, ours in zip(WORDS, row.theirs, row.ours, strict=True)
    ]


def _as_released(key: str, rows: list[PrintedRow], relation: Relation = "=") -> list[Comparison]:
    """All three numbers where they shall agree, the median where it shall not; each checkpoint once."""
    once = {row.model: row for row in rows}.values()
    return [
        compare(key, ours, relation, theirs, SIX_DIGITS, model=row.model, what=what)
        for row in once
        for what, theirs, ours in zip(WORDS, row.released, row.ours, strict=True)
        if relation == "=" or what == "median"
    ]


def _repeated(rows: pd.DataFrame) -> tuple[Comparison, ...]:
    """Rows marked as repetitions lie within rounding of another row's symmetry; no other two rows come near."""
    symmetry, directionality = (rows[[x, f"{x}_minus", f"{x}_plus"]].to_numpy() for x in "sd")
    gaps = np.abs(symmetry[:, None] - symmetry[None, :]).max(-1)  # (rows, rows)
    np.fill_diagonal(gaps, np.inf)
    repeats = rows["defects"].str.contains("duplicate").to_numpy()
    same = np.abs(directionality - directionality[gaps.argmin(1)]).max(1)[repeats] < SIX_DIGITS
    other = rows["defects"].str.contains("duplicate.*other-formula").sum()
    return (
        exact("repeated", gaps[repeats].min(1).max(), 0, SIX_DIGITS, repeats=repeats.sum()),
        compare("distinct", gaps[np.ix_(~repeats, ~repeats)].min(), ">", 0, 10 * SIX_DIGITS),
        exact("other directionality", (~same).sum(), other, 0),
    )


def _random(rows: pd.DataFrame) -> list[Comparison]:
    """Medians of rows that scored random weights, against chance; of the same models once trained, beyond it."""
    comparisons = []
    random = rows[rows["defects"].str.contains("random-weights")]
    for row in rows[rows["model"].isin(random["model"])].itertuples():
        relation = "=" if "random-weights" in row.defects else "≠"
        at_random = (
            ("s", row.s, symmetry_mean(row.width), symmetry_sd(row.width)),
            ("d", row.d, 0.0, directionality_sd(row.width, convention="tables")),
        )
        for score, value, mean, sd in at_random:
            error = sd * MEDIAN_ERROR / math.sqrt(row.layers)
            fields = {"row": row.row, "model": row.model, "score": score}
            comparisons.append(Comparison("random", value, relation, mean, 4 * error, error, fields))
    return comparisons
