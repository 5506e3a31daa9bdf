"""Errors planted in the claims of *Symmetric updates*: the claim, what is replaced, by what, and what may fail."""

from notebook_code import notebook

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.first_update import expected_update, first_coefficients, first_update
from attngeo.gradients.norms import squared_norms
from attngeo.gradients.objectives import attended_matrix, context_matrix
from attngeo.gradients.pair_symmetry import pair_score
from attngeo.gradients.rank_one import exact_coefficients

page, details = notebook("symmetric_updates"), notebook("symmetric_updates_details")
pair_by_parts, of_pairs, coefficients = page.pair_by_parts, page.of_pairs, page.coefficients
positioned_corpus, masked_in_turn = page.positioned_corpus, page.masked_in_turn
softmax_update, causal_softmax_update = details.softmax_update, details.causal_softmax_update
skew_share, masked_score, shifted_limit = details.skew_share, details.masked_score, details.shifted_limit
every_update, frozen_score = details.every_update, details.frozen_score


def tied_coefficients(*args, **named):
    beta = exact_coefficients(*args, **named)
    return beta + beta.T


def centred_both_ways(*args, **named):
    beta = exact_coefficients(*args, **named)
    beta = beta - beta.mean(1, keepdim=True)
    return beta - beta.mean(0)


def covariance(x):
    return x.T.cov(correction=0)


def in_turn(**changed):
    """`masked_in_turn` with a field replaced by a function of it."""
    return lambda seed: [
        s._replace(**{field: change(getattr(s, field)) for field, change in changed.items()})
        for s in masked_in_turn(seed=seed)
    ]


SOFTMAX = "first_update_through_softmax"
COEFFICIENTS = "sums_of_exact_coefficients"
LAW = "law_of_the_transpose"
OTHER = "other_causes_of_symmetry"
BOTH, LINEAR = "bidirectional", "first_update_of_linear_attention"
BEHIND = "expected_update_one_behind"

PLANTED = [
    ("pair_decomposition", "pair_by_parts", lambda i, j, k: pair_by_parts(i, j, k) - (i - j) * (k - k.mT)),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: rho),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: 2 * pair_score(rho, c)),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: 1.0 if c > 0.99 else pair_score(rho, c)),
    ("equal_coefficients", "equal_pair", lambda beta, k: beta * (k + k.T) / 2),
    ("frozen_skew_part", "frozen_score", lambda start, now: (1 + frozen_score(start, now)) / 2),
    ("first_direction", "grown", lambda w, g, t, right=details.grown: right(w, (g + g.T) / 2, t), "$s$ after"),
    ("first_direction", "rested", lambda m, decay, *at, right=details.rested: right(m, 3 * decay, *at), "at rest"),
    ("frozen_skew_part", "frozen_score", lambda m, now: float((m + m.T).square().sum() / 2 / now.square().sum() - 1)),
    ("frozen_skew_part", "frozen_score", lambda start, now: symmetry_score(start)),
    (LAW, "context_matrix", lambda o, n: context_matrix("bidirectional", n), "autoregressive"),
    (LAW, "context_matrix", lambda o, n: context_matrix("autoregressive", n), "bidirectional"),
    (COEFFICIENTS, "exact_coefficients", centred_both_ways, "sums over i"),
    (COEFFICIENTS, "exact_coefficients", lambda w, values, errors, scale: w * (errors @ values.mT), "sums over j"),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: 1.0),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho / 2),
    ("agreement_at_random_weights", "exact_coefficients", tied_coefficients),
    (OTHER, "of_gradient", lambda gradient: of_pairs(coefficients(gradient))),
    (OTHER, "with_shared_embeddings", lambda g: symmetry_score(coefficients(g)), "masked, what it adds"),
    (OTHER, "of_positions", of_pairs, "pairs of a position"),
    ("agreement_at_random_weights", "masked_in_turn", in_turn(beta=lambda beta: beta + beta.T), "correlation of"),
    ("agreement_at_random_weights", "masked_in_turn", in_turn(beta=lambda beta: beta - beta.T), "the same from below"),
    (OTHER, "masked_in_turn", in_turn(gradient=lambda gradient: gradient + gradient.T), "that s"),
    ("variances_of_norms", "squared_norms", lambda u: squared_norms(u)[::-1]),
    ("variances_of_norms", "every_update", lambda: every_update() | {BOTH: every_update()["errors"]}, f"{BOTH}, ind"),
    (SOFTMAX, "softmax_update", lambda x, values: x.T @ x @ values @ x.T @ x / len(x)),
    (SOFTMAX, "softmax_update", lambda x, v: len(x) * covariance(x) @ v @ covariance(x)),
    (SOFTMAX, "softmax_update", lambda x, values: softmax_update(x, values.T).T),
    (SOFTMAX, "causal_softmax_update", lambda x, v: causal_softmax_update(x.roll(1, 0), v)),
    (SOFTMAX, "causal_softmax_update", lambda x, v: x[:-1].T @ x[1:] @ v @ covariance(x)),
    (SOFTMAX, "skew_share", lambda x, values: skew_share(x, values) / 2),
    (LINEAR, "first_coefficients", lambda *at, **ahead: first_coefficients(*at[:3]), "autoregressive"),
    (LINEAR, "random_value_score", lambda moment: 1.0),
    ("positions_over_a_corpus", "attended_matrix", lambda objective, n: attended_matrix("bidirectional", n)),
    ("positions_over_a_corpus", "first_coefficients", lambda *at, **ahead: first_coefficients(*at[:3])),
    ("positions_over_a_corpus", "positioned_corpus", lambda seed: positioned_corpus(symmetric=False, seed=seed)),
    ("symmetry_over_a_corpus", "first_update", lambda *at, **ahead: first_update(*at[:4])),
    ("symmetry_over_a_corpus", "expected_update", lambda *args: expected_update(*args).T),
    (BEHIND, "expected_update", lambda *args: expected_update(*args[:-1], args[-1] - 1)),
    (BEHIND, "shifted_limit", lambda chain, e, values: shifted_limit(chain, e, values.T).T),
    ("masked_shares", "both_to_one_masked", lambda p: 0.25),
    ("masked_update_score", "masked_score", lambda rho, p, rounds, visible: rho * p / (1 - p)),
    ("masked_update_score", "masked_score", lambda rho, p, *_: rho * p),
    ("masked_update_score", "masked_score", lambda rho, p, rounds, visible: masked_score(rho, p, rounds)),
    ("masked_positions_hold_the_mask", "first_layer", lambda x, masked, mask: x),
]
