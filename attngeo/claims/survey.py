"""Tables S2 and S3 against the scores this project measured on the same checkpoints."""

import pandas as pd

from attngeo.checkout import data
from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim
from attngeo.comparison import layer_medians, printed_rows
from attngeo.registry import registry
from attngeo.survey_record import named, read_records

HALF_UNIT = 0.005 + 1e-9  # of the second decimal: printed numbers are rounded to two


@claim
def table_s2_symmetry(medians: pd.DataFrame | None = None) -> Result:
    """Medians and quartile distances of ``s`` over layers equal the printed rows of Table S2, to their two decimals.

    Args:
        medians: `attngeo.comparison.layer_medians` by registry name; the recorded survey by default.
    """
    rows = printed_rows("S2", "symmetry", _recorded() if medians is None else medians, registry())
    comparisons = tuple(
        Comparison(f"{row.printed_as}: {what}", ours, "=", theirs, HALF_UNIT)
        for row in rows
        for what, theirs, ours in zip(("median", "Q2 - Q1", "Q3 - Q2"), row.theirs, row.ours, strict=True)
    )
    return Result(
        "Table S2",
        f"{len(rows)} of its 70 rows",
        "symmetry of the checkpoints whose weights were read",
        Verdict.HOLDS,
        comparisons,
        remark="The printed numbers are $s$ in $[-1, 1]$, without the factor 2 of Definition 3.1.",
        chapter="pretrained_survey",
    )


@claim
def table_s3_directionality(medians: pd.DataFrame | None = None) -> Result:
    """The printed rows of Table S3 follow from the norms' logarithms (`Convention.TABLES`), not from Definition 3.2.

    Args:
        medians: `attngeo.comparison.layer_medians` by registry name; the recorded survey by default.
    """
    medians = _recorded() if medians is None else medians
    comparisons = []
    for score, relation, words in (
        ("directionality", "≠", "by Definition 3.2"),
        ("directionality_tables", "=", "from the excess of log norms"),
    ):
        for row in printed_rows("S3", score, medians, registry()):
            comparisons.append(
                Comparison(f"{row.printed_as}: median d {words}", row.ours[0], relation, row.theirs[0], HALF_UNIT)
            )
    return Result(
        "Table S3",
        f"{len(comparisons) // 2} of its 68 rows",
        "directionality of the checkpoints whose weights were read",
        Verdict.CORRECTED,
        tuple(comparisons),
        printed="Directionality scores by Definition 3.2: sums of the norms above $\\mu + \\gamma\\sigma$.",
        corrected=(
            "The numbers are $d = (r - c)/(r + c)$ with $r = \\sum_k \\max(0, \\log\\lVert m_{k,\\cdot}\\rVert - "
            "\\mu_r - 2\\sigma_r)$ and $c$ likewise for columns, $\\mu$ and $\\sigma$ being those of the logarithms."
        ),
        remark="Neither the paper nor its released code (which sums the excess of the norms) mentions the logarithm.",
        flaw=Flaw.FAILURE,
        chapter="pretrained_survey",
    )


def _recorded() -> pd.DataFrame:
    table, _ = read_records(data("survey"))
    return layer_medians(named(table)[lambda t: t["head"] == -1])
