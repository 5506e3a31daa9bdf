"""Errors planted in the claims of *Symmetric updates*: the claim, what is replaced, by what, and what may fail."""

from notebook_code import notebook

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.objectives import context_matrix

details = notebook("symmetric_updates_details")
EXACT = "chapters.symmetric_updates.exact_coefficients"


def in_turn(**changed):
    """`masked_in_turn` with a field replaced by a function of it."""
    return lambda right, **sizes: [
        s._replace(**{field: change(getattr(s, field)) for field, change in changed.items()}) for s in right(**sizes)
    ]


FROZEN, LAW, OTHER = "frozen_skew_part", "law_of_the_transpose", "other_causes_of_symmetry"
SOFTMAX, NORMS, RANDOM = "first_update_through_softmax", "variances_of_norms", "agreement_at_random_weights"
BEHIND = "expected_update_one_behind"
PLANTED = [
    ("pair_decomposition", "pair_by_parts", lambda right, a, b, k: right(a, b, k) - (a - b) * (k - k.mT)),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: rho),
    ("symmetry_of_a_pair", "pair_score", lambda right, rho, c: 1.0 if c > 0.99 else right(rho, c)),
    ("first_direction", "grown", lambda right, factors, g, time: right(factors, (g + g.T) / 2, time), "$s$ after"),
    ("first_direction", "rested", lambda right, target, decay, *at: right(target, 3 * decay, *at), "at a fixed point"),
    (FROZEN, "frozen_score", lambda right, start, now: (1 + right(start, now)) / 2),
    (LAW, "context_matrix", lambda objective, n: context_matrix("bidirectional", n), "autoregressive"),
    (LAW, "context_matrix", lambda objective, n: context_matrix("autoregressive", n), "bidirectional"),
    (
        NORMS,
        "exact_coefficients",
        lambda w, v, errors, scale: w * (errors @ v.mT),
        "coefficients of a softmax: norm of the sums over",
    ),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho),
    (RANDOM, EXACT, lambda right, *at, **of: right(*at, **of) + right(*at, **of).T),
    (OTHER, "of_gradient", lambda gradient: details.of_pairs(details.coefficients(gradient))),
    (
        OTHER,
        "with_shared_embeddings",
        lambda g: symmetry_score(details.coefficients(g)),
        "every third position masked: what",
    ),
    (OTHER, "of_positions", details.of_pairs, "including pairs"),
    (RANDOM, "masked_in_turn", in_turn(beta=lambda beta: beta + beta.T), "upper bound"),
    (RANDOM, "masked_in_turn", in_turn(beta=lambda beta: beta - beta.T), "lower bound"),
    (OTHER, "masked_in_turn", in_turn(gradient=lambda gradient: gradient + gradient.T), "this score"),
    (NORMS, "squared_norms", lambda right, u: right(u)[::-1]),
    (NORMS, "every_update", lambda right: right() | {"bidirectional": right()["errors"]}, "bidirectional, independent"),
    (SOFTMAX, "softmax_update", lambda right, x, values: right(x, values.T).T),
    ("first_update_of_linear_attention", "first_coefficients", lambda right, *at: right(*at[:3]), "autoregressive"),
    ("symmetry_over_a_corpus", "first_update", lambda right, *at, **ahead: right(*at[:4])),
    ("symmetry_over_a_corpus", "expected_update", lambda right, *at: right(*at).T),
    (BEHIND, "expected_update", lambda right, *at: right(*at[:-1], at[-1] - 1)),
    (BEHIND, "shifted_limit", lambda right, chain, embeddings, values: right(chain, embeddings, values.T).T),
    ("masked_shares", "both_to_one_masked", lambda p: 0.25),
    ("masked_update_score", "masked_score", lambda rho, p, *_: rho * p),
    ("masked_positions_hold_the_mask", "first_layer", lambda x, masked, mask: x),
]
