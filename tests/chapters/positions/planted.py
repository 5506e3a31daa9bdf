"""Errors planted in what the page judges; the claim is to refuse each."""

from attngeo.experiments.runs.estimates import Estimate

JUDGED = (
    "first_plan",
    "plan_with_new_seeds",
    "third_plan",
    "plan_of_longer_runs",
    "plan_of_the_papers_shape",
)


def at_the_start(run):
    return run.first("symmetry")


PLANTED = [
    ("plan_of_word_pieces", "LOSS", lambda run: run.last("held_out_loss") - 1),
    ("without_a_table", "SYMMETRY", at_the_start),
]
for claim in JUDGED:
    PLANTED += [(claim, "SYMMETRY", at_the_start), (claim, "over_seeds", lambda e: Estimate(0.0, -max(e), 0.0))]
