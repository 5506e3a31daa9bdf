"""Errors planted in what the page judges; the claim is to refuse each."""

import numpy as np
from chapters import positions

JUDGED = {
    "positions_characters": "first_plan",
    "positions_characters_new_seeds": "plan_with_new_seeds",
    "positions_characters_third": "third_plan",
    "positions_pieces_longer": "plan_of_longer_runs",
    "positions_mini": "plan_of_the_papers_shape",
}


def of_scores(choose):
    return lambda run: float(np.median(choose(run.scores, run.config["steps"])["symmetry"]))


def whole(name):
    done, planned = positions.progress(name)
    return done == planned


at_the_start = of_scores(lambda rows, last: rows.query("head == -1 and step == 0"))
PLANTED = [
    ("plan_of_word_pieces", "held_out_loss", lambda run: float(run.history["held_out_loss"].iloc[-1]) - 1),
    ("without_a_table", "s_of", at_the_start),
]
for name, claim in JUDGED.items():
    if whole(name):
        PLANTED += [(claim, "s_of", at_the_start), (claim, "lower_end", lambda by_seed: -float(np.max(by_seed)))]
        PLANTED.append((claim, "recorded_and_planned", lambda name: (3, 4)))
    else:
        PLANTED.append((claim, "recorded_and_planned", lambda name: (4, 4)))
