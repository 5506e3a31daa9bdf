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


PLANTED = {
    "the factor 2": ("table_s2_symmetry", "recorded_medians", medians(symmetry=2 * recorded["symmetry"])),
    "the sixth digit of s": ("table_s2_symmetry", "recorded_medians", medians(symmetry=recorded["symmetry"] + 2e-5)),
    "the released code's formula": (
        "table_s3_directionality",
        "recorded_medians",
        medians(directionality_tables=recorded["directionality_released"]),
    ),
    "the sixth digit of a quartile": (
        "table_s3_directionality",
        "recorded_medians",
        medians(directionality_tables_plus=recorded["directionality_tables_plus"] + 2e-5),
    ),
    "a row that does not repeat": (
        "table_s2_distinct_checkpoints",
        "released_results",
        results(s=lambda known: known["s"] + 1e-3 * (known["row"] == "L1")),
    ),
    "random weights as if trained": (
        "table_s2_distinct_checkpoints",
        "released_results",
        results(d=lambda known: known["d"].mask(known["row"] == "R22", -0.6)),
    ),
    "vision models as if of language": (
        "table_s2_distinct_checkpoints",
        "released_results",
        results(modality="text"),
    ),
    "a model for every name": (
        "table_s2_distinct_checkpoints",
        "released_results",
        results(model=lambda known: known["model"].replace("", "Llama-3.2-8B")),
    ),
    "a rounding error": ("tables_round_the_released_results", "printed_rows", of_other_digits),
}
