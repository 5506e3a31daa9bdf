"""Tables S2 and S3: their rows against our scores of the same checkpoints, and against each other."""

import math

import numpy as np
import pandas as pd

from attngeo.forms.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.records.checkout import data
from attngeo.survey.models import released_results
from attngeo.survey.printed_rows import PrintedRow, layer_medians, printed_rows, read_rows
from attngeo.survey.record import named, read_records

HALF_UNIT = 0.005 + 1e-9  # of the second decimal: printed numbers are rounded to two
SIX_DIGITS = 1e-5  # single precision, summed over some thousand entries
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # standard error of a median of n normal values, times sqrt(n)
WORDS = ("median", "Q2 - Q1", "Q3 - Q2")


@claim
def table_s2_symmetry(medians: pd.DataFrame | None = None) -> Result:
    """Medians and quartile distances of ``s`` equal Table S2's to both decimals, and the released ones to six digits.

    Args:
        medians: `attngeo.survey.printed_rows.layer_medians` by registry name; the recorded survey by default.
    """
    rows = read_rows("S2", "symmetry", _recorded() if medians is None else medians)
    return Result(
        "Table S2",
        f"{len(rows)} of its 70 rows",
        "symmetry of the checkpoints whose weights were read",
        Verdict.HOLDS,
        (*_as_printed(rows, "s"), *_as_released(rows, "s", "=")),
        remark="The numbers are $s$ in $[-1, 1]$, without the factor 2 of Definition 3.1.",
        chapter="printed_scores",
    )


@claim
def table_s3_directionality(medians: pd.DataFrame | None = None) -> Result:
    """Table S3 follows from the norms' logarithms (`Convention.TABLES`), to six digits, and from no other formula.

    Args:
        medians: `attngeo.survey.printed_rows.layer_medians` by registry name; the recorded survey by default.
    """
    medians = _recorded() if medians is None else medians
    rows = {score: read_rows("S3", f"directionality{score}", medians) for score in ("", "_released", "_tables")}
    comparisons = (
        *_as_printed(rows["_tables"], "d from log norms"),
        *_as_released(rows["_tables"], "d from log norms", "="),
        *_as_released(rows[""], "d by Definition 3.2", "≠"),
        *_as_released(rows["_released"], "d by the released code", "≠"),
    )
    return Result(
        "Table S3",
        f"{len(rows['_tables'])} of its 68 rows",
        "directionality of the checkpoints whose weights were read",
        Verdict.CORRECTED,
        comparisons,
        printed="Directionality scores by Definition 3.2: sums of the norms above $\\mu + \\gamma\\sigma$.",
        corrected=(
            "The numbers are $d = (r - c)/(r + c)$ with $r = \\sum_k \\max(0, \\log\\lVert m_{k,\\cdot}\\rVert - "
            "\\mu_r - 2\\sigma_r)$ and $c$ likewise for columns, $\\mu$ and $\\sigma$ being those of the logarithms."
        ),
        remark="Neither the paper nor its released code (which sums the excess of the norms) mentions the logarithm.",
        flaw=Flaw.FAILURE,
        chapter="printed_scores",
    )


@claim
def tables_round_the_released_results() -> Result:
    """Every printed number of Tables S2 and S3 is a released median or quartile distance, rounded."""
    none = pd.DataFrame(columns=["model", "part"])
    comparisons = []
    for number, score in (("S2", "symmetry"), ("S3", "directionality_tables")):
        rows = printed_rows(number, score, none)
        gap = max(float(np.abs(r.theirs - r.released).max()) for r in rows)
        comparisons.append(
            Comparison(f"largest gap in {3 * len(rows)} numbers of Table {number}", gap, "=", 0.0, HALF_UNIT)
        )
    return Result(
        "Table S2",
        "and S3, all rows",
        "the printed numbers are those of the released result files",
        Verdict.HOLDS,
        tuple(comparisons),
        chapter="printed_scores",
    )


@claim
def table_s2_distinct_checkpoints(results: pd.DataFrame | None = None) -> Result:
    """Rows that repeat another to all released digits, rows that score random weights, and how many remain.

    Args:
        results: `attngeo.survey.models.released_results` by default.
    """
    results = released_results() if results is None else results
    rows = results[results["row"] != ""]
    comparisons = [*_repeated(rows), *_random(rows)]
    left = rows[rows["counted"]]["model"].nunique()
    comparisons.append(
        Comparison("language checkpoints, trained and rightly extracted", float(left), "<", float(len(rows)), 0.0)
    )
    return Result(
        "Table S2",
        "and S3, what the rows are",
        "70 rows are not 70 models",
        Verdict.CORRECTED,
        tuple(comparisons),
        printed="Table S2 lists the scores of 70 open-source pretrained language models.",
        corrected=(
            f"Of its {len(rows)} rows, {left} score a trained language checkpoint that no other row repeats, with "
            "queries and keys taken rightly."
        ),
        remark=(
            "Repeated rows and random weights show in the released numbers themselves. Wrong extractions show in the "
            "released code, which an audit read and this project did not."
        ),
        flaw=Flaw.FAILURE,
        chapter="printed_scores",
    )


def _as_printed(rows: list[PrintedRow], score: str) -> list[Comparison]:
    return [
        Comparison(f"{row.row} {row.printed_as}: {what} of {score}", ours, "=", theirs, HALF_UNIT)
        for row in rows
        for what, theirs, ours in zip(WORDS, row.theirs, row.ours, strict=True)
    ]


def _as_released(rows: list[PrintedRow], score: str, relation: str) -> list[Comparison]:
    """All three numbers where they shall agree, the median where it shall not; each checkpoint once."""
    once = {row.model: row for row in rows}.values()
    return [
        Comparison(f"{row.model}: {what} of {score}, released", ours, relation, theirs, SIX_DIGITS)
        for row in once
        for what, theirs, ours in zip(WORDS, row.released, row.ours, strict=True)
        if relation == "=" or what == "median"
    ]


def _repeated(rows: pd.DataFrame) -> list[Comparison]:
    """Rows marked as repetitions lie within rounding of another row's symmetry; no other two rows come near."""
    symmetry, directionality = (rows[[x, f"{x}_minus", f"{x}_plus"]].to_numpy() for x in "sd")
    gaps = np.abs(symmetry[:, None] - symmetry[None, :]).max(-1)  # (rows, rows)
    np.fill_diagonal(gaps, np.inf)
    repeats = rows["defects"].str.contains("duplicate").to_numpy()
    nearest = gaps.argmin(1)
    same = np.abs(directionality - directionality[nearest]).max(1)[repeats] < SIX_DIGITS
    distinct = gaps[np.ix_(~repeats, ~repeats)].min()
    other = rows["defects"].str.contains("duplicate.*other-formula").sum()
    return [
        Comparison(
            f"largest gap between {repeats.sum()} repeated rows of symmetry and their originals",
            float(gaps[repeats].min(1).max()),
            "=",
            0.0,
            SIX_DIGITS,
        ),
        Comparison("smallest gap between any two other rows", float(distinct), ">", 0.0, 10 * SIX_DIGITS),
        Comparison(
            "repeated rows that print another directionality for the same weights",
            float((~same).sum()),
            "=",
            float(other),
            0.0,
        ),
    ]


def _random(rows: pd.DataFrame) -> list[Comparison]:
    """Medians of rows that scored random weights, against chance; of the same models once trained, beyond it."""
    comparisons = []
    random = rows[rows["defects"].str.contains("random-weights")]
    for row in rows[rows["model"].isin(random["model"])].itertuples():
        relation = "=" if "random-weights" in row.defects else "≠"
        errors = MEDIAN_ERROR / math.sqrt(row.layers)
        at_random = (
            ("s", row.s, symmetry_mean(row.width), symmetry_sd(row.width)),
            ("d", row.d, 0.0, directionality_sd(row.width, convention="tables")),
        )
        for score, value, mean, sd in at_random:
            quantity = f"{row.row} {row.model}: median {score} against random matrices of its width"
            comparisons.append(Comparison(quantity, value, relation, mean, 4 * sd * errors, sd * errors))
    return comparisons


def _recorded() -> pd.DataFrame:
    table, _ = read_records(data("survey"))
    return layer_medians(named(table)[lambda t: t["head"] == -1])
