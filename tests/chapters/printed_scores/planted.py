"""Errors planted in the claims of *The printed scores*: the claim, what is replaced, and by what."""

from dataclasses import replace

from notebook_code import notebook

page = notebook("printed_scores")
released, rows, recorded = page.released_results, page.printed_rows, page.recorded_medians()


def medians(**columns):
    return lambda: recorded.assign(**columns)


def results(**columns):
    return lambda: released().assign(**columns)


def of_other_digits(number, score, medians):
    return [replace(row, theirs=row.theirs + 0.01 * (number == "S3")) for row in rows(number, score, medians)]


PLUS = "directionality_tables_plus"
S2 = "table_s2_distinct_checkpoints"
S3 = "table_s3_directionality"
RESULTS = "released_results"

PLANTED = [
    ("table_s2_symmetry", "recorded_medians", medians(symmetry=2 * recorded["symmetry"])),
    ("table_s2_symmetry", "recorded_medians", medians(symmetry=recorded["symmetry"] + 2e-5)),
    (S3, "recorded_medians", medians(directionality_tables=recorded["directionality_released"])),
    (S3, "recorded_medians", medians(directionality_tables_plus=recorded[PLUS] + 2e-5)),
    (S2, RESULTS, results(s=lambda known: known["s"] + 1e-3 * (known["row"] == "L1"))),
    (S2, RESULTS, results(d=lambda known: known["d"].mask(known["row"] == "R22", -0.6))),
    (S2, RESULTS, results(modality="text")),
    (S2, RESULTS, results(model=lambda known: known["model"].replace("", "Llama-3.2-8B"))),
    ("tables_round_the_released_results", "printed_rows", of_other_digits),
]
