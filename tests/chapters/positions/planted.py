"""Errors planted in what the page judges; the claim is to refuse each."""

from chapters import positions

from attngeo.experiments.runs.estimates import Estimate

JUDGED = {
    "positions_characters": "first_plan",
    "positions_characters_new_seeds": "plan_with_new_seeds",
    "positions_characters_third": "third_plan",
    "positions_pieces_longer": "plan_of_longer_runs",
    "positions_mini": "plan_of_the_papers_shape",
}


def whole(name):
    done, planned = positions.progress(name)
    return done == planned


def at_the_start(run):
    return run.first("symmetry")


PROGRESS = "chapters.positions.progress"
PLANTED = [
    ("plan_of_word_pieces", "LOSS", lambda run: run.last("held_out_loss") - 1),
    ("without_a_table", "SYMMETRY", at_the_start),
]
for name, claim in JUDGED.items():
    if whole(name):
        PLANTED += [(claim, "SYMMETRY", at_the_start), (claim, "over_seeds", lambda e: Estimate(0.0, -max(e), 0.0))]
        PLANTED.append((claim, PROGRESS, lambda name: (3, 4)))
    else:
        PLANTED.append((claim, PROGRESS, lambda name: (4, 4)))
