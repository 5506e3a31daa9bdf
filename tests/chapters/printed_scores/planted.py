"""Errors planted in the claims of *The printed scores*: the claim, what is replaced, and by what."""

from dataclasses import replace

from notebook_code import assigned, notebook

recorded = notebook("printed_scores_details").recorded_medians()


def of_other_digits(right, number, score, medians):
    return [replace(row, theirs=row.theirs + 0.01 * (number == "S3")) for row in right(number, score, medians)]


PLUS, S2, S3 = "directionality_tables_plus", "table_s2_distinct_checkpoints", "table_s3_directionality"
PLANTED = [
    ("table_s2_symmetry", "recorded_medians", assigned(symmetry=recorded["symmetry"] + 2e-5)),
    (S3, "recorded_medians", assigned(directionality_tables=recorded["directionality_released"])),
    (S3, "recorded_medians", assigned(directionality_tables_plus=recorded[PLUS] + 2e-5)),
    (S2, "released_results", assigned(s=lambda known: known["s"] + 1e-3 * (known["row"] == "L1"))),
    (S2, "released_results", assigned(d=lambda known: known["d"].mask(known["row"] == "R22", -0.6))),
    (S2, "released_results", assigned(modality="text")),
    (S2, "released_results", assigned(model=lambda known: known["model"].replace("", "Llama-3.2-8B"))),
    ("tables_round_the_released_results", "printed_rows", of_other_digits),
]
