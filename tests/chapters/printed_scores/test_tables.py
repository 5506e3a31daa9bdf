"""Tables S2 and S3: supported by the recorded and released scores, refused once these are changed."""

from dataclasses import replace

import pytest
from planting import drawn, supported

from attngeo.chapters.printed_scores import tables

CHANGED = {
    "the factor 2": (tables.table_s2_symmetry, lambda m: m.assign(symmetry=2 * m["symmetry"])),
    "the sixth digit of s": (tables.table_s2_symmetry, lambda m: m.assign(symmetry=m["symmetry"] + 2e-5)),
    "the released code's formula": (
        tables.table_s3_directionality,
        lambda m: m.assign(directionality_tables=m["directionality_released"]),
    ),
    "the sixth digit of a quartile": (
        tables.table_s3_directionality,
        lambda m: m.assign(directionality_tables_plus=m["directionality_tables_plus"] + 2e-5),
    ),
    "a row that does not repeat": (
        tables.table_s2_distinct_checkpoints,
        lambda results: results.assign(s=results["s"] + 1e-3 * (results["row"] == "L1")),
    ),
    "random weights as if trained": (
        tables.table_s2_distinct_checkpoints,
        lambda results: results.assign(d=results["d"].mask(results["row"] == "R22", -0.6)),
    ),
    "vision models as if of language": (
        tables.table_s2_distinct_checkpoints,
        lambda results: results.assign(modality="text"),
    ),
    "a model for every name": (
        tables.table_s2_distinct_checkpoints,
        lambda results: results.assign(model=results["model"].replace("", "Llama-3.2-8B")),
    ),
    "a rounding error": (
        tables.tables_round_the_released_results,
        lambda rows: rows | {"S3": [replace(row, theirs=row.theirs + 0.01) for row in rows["S3"]]},
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_numbers_are_refused(name):
    check, change = CHANGED[name]
    assert supported(check)
    assert not check.of(change(drawn(check))).supported
