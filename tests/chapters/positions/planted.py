"""Errors planted in what the page judges; the claim is to refuse each."""

import numpy as np

A = "a_table_makes_encoders_symmetric"


def of_scores(choose):
    return lambda run: float(np.median(choose(run.scores, run.config["steps"])["symmetry"]))


PLANTED = [
    (A, "s_of", of_scores(lambda rows, last: rows.query("head == -1 and step == 0"))),
    (A, "lower_end", lambda by_seed: -float(np.max(by_seed))),
    ("without_a_table", "s_of", of_scores(lambda rows, last: rows.query("head == -1 and step == 0"))),
]
