"""Errors planted in *The theorem on positions*: the claim, what is replaced, by what, and what alone may fail."""

import torch
from notebook_code import notebook

from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.runs.estimates import Estimate

page = notebook("positions_theory")


def euler(start, n_hidden, time, n_steps=4):
    for _ in range(n_steps):
        by = page.step(start, n_hidden)
        start = page.Layer(*(w + time / n_steps * b for w, b in zip(start, by, strict=True)))
    return start


def without_row_mean(gamma, rate, scale=1.0):
    n = (len(gamma) + 1) // 2
    offsets = torch.arange(n) - torch.arange(n)[:, None]
    return scale * rate / n * torch.where(offsets == 0, 0.0, gamma[offsets + n - 1])


def both_ahead(right, read_out, covariances):
    gamma = right(read_out, covariances)
    return torch.cat([gamma[len(gamma) // 2 :].flip(0), gamma[len(gamma) // 2 + 1 :]])


def of_every_token(k, n):
    return page.hidden_pair_rate(len(k), n) * k[0]


LONGER = "longer_intervention"
UPDATE, GROW, FIRST = "update_between_positions", "from_zero_both_grow", "read_out_comes_first"
PLANTED = [
    (UPDATE, "hidden_pair_rate", lambda n, k: k * (n - k) / n**2, "masked"),
    (UPDATE, "masked_coefficients", without_row_mean, "masked"),
    (UPDATE, "causal_coefficients", lambda right, *at: right(*at) * torch.arange(1, 5)[:, None] / 4, "causal"),
    (UPDATE, "kernel", lambda right, read_out, covariances: right(read_out.T, covariances)),
    ("one_symmetric_factor", "kernel", both_ahead, "any text, skew"),
    ("one_symmetric_factor", "centred_score", lambda a, k: symmetry_score(page.masked(a, k))),
    ("border", "border_term", lambda c, p: torch.zeros(5, 5).double(), "$s$ without"),
    ("border", "outside", lambda right, gamma, n: right(gamma / 2, n), "$1 - s$ with the border term, compared"),
    ("one_sided_update", "seen", lambda n_hidden: torch.ones(4, 4, dtype=torch.bool)),
    (GROW, "flow", euler, "masked, 1 of 4 hidden: flow", "masked, 2"),
    (GROW, "between", lambda of, n: torch.eye(4).double()),
    ("first_read_out", "masked_read_out", lambda k, of: of / 2 * sum((4 - m) * k[m] for m in (1, 2, 3)), "masked"),
    ("first_read_out", "causal_read_out", lambda k: k[1:].mT.sum(0), "causal: step"),
    ("best_read_out", "shown_variance", of_every_token, "1 of 4 hidden: slope", "2 of 4 hidden: slope"),
    (FIRST, "evenness_before", lambda encoder: encoder["evenness"].iloc[0]),
    (FIRST, "read_outs", lambda right: right().assign(evenness=1.0), "evenness at the end"),
    ("one_sided_read_out", LONGER, lambda right: right()._replace(losses={"both": 2.7, "left": 2.2}), "stage 1 from"),
    ("one_sided_read_out", LONGER, lambda right: right()._replace(predicted_difference=Estimate(-0.2, -0.3, -0.1))),
    ("one_sided_read_out", LONGER, lambda right: right()._replace(difference=Estimate(-0.2, -0.3, -0.1))),
]
