"""Errors planted in the claims of *Symmetric updates*: the claim, what is replaced, by what, and what may fail."""

from notebook_code import notebook

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.first_update import expected_update, first_coefficients, first_update
from attngeo.gradients.objectives import context_matrix
from attngeo.gradients.random_updates import pair_score, squared_norms
from attngeo.gradients.rank_one import exact_coefficients

page, details = notebook("symmetric_updates"), notebook("symmetric_updates_details")
pair_by_parts, of_pairs, coefficients = page.pair_by_parts, page.of_pairs, page.coefficients
masked_in_turn = page.masked_in_turn
softmax_update, shifted_limit = details.softmax_update, details.shifted_limit
every_update, frozen_score = details.every_update, details.frozen_score
grown, rested = details.grown, details.rested


def tied_coefficients(*args, **named):
    beta = exact_coefficients(*args, **named)
    return beta + beta.T


def in_turn(**changed):
    """`masked_in_turn` with a field replaced by a function of it."""
    return lambda seed: [
        s._replace(**{field: change(getattr(s, field)) for field, change in changed.items()})
        for s in masked_in_turn(seed=seed)
    ]


PLANTED = [
    (
        "pair_decomposition",
        "pair_by_parts",
        lambda forward, backward, k: pair_by_parts(forward, backward, k) - (forward - backward) * (k - k.mT),
    ),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: rho),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: 2 * pair_score(rho, c)),
    ("symmetry_of_a_pair", "pair_score", lambda rho, c: 1.0 if c > 0.99 else pair_score(rho, c)),
    (
        "first_direction",
        "grown",
        lambda factors, g, time: grown(factors, (g + g.T) / 2, time),  # keys that follow G, not its transpose
        "$s$ after",
    ),
    ("first_direction", "rested", lambda target, decay, *at: rested(target, 3 * decay, *at), "at rest"),
    ("frozen_skew_part", "frozen_score", lambda start, now: (1 + frozen_score(start, now)) / 2),
    (
        "frozen_skew_part",
        "frozen_score",
        lambda start, now: float((start + start.T).square().sum() / 2 / now.square().sum() - 1),
    ),
    ("frozen_skew_part", "frozen_score", lambda start, now: symmetry_score(start)),
    (
        "law_of_the_transpose",
        "context_matrix",
        lambda objective, n: context_matrix("bidirectional", n),
        "autoregressive",
    ),
    (
        "law_of_the_transpose",
        "context_matrix",
        lambda objective, n: context_matrix("autoregressive", n),
        "bidirectional",
    ),
    (
        "variances_of_norms",
        "exact_coefficients",
        lambda weights, values, errors, scale: weights * (errors @ values.mT),
        "coefficients of a softmax: sums over j",
    ),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: 1.0),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho),
    ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho / 2),
    ("agreement_at_random_weights", "exact_coefficients", tied_coefficients),
    ("other_causes_of_symmetry", "of_gradient", lambda gradient: of_pairs(coefficients(gradient))),
    (
        "other_causes_of_symmetry",
        "with_shared_embeddings",
        lambda gradient: symmetry_score(coefficients(gradient)),
        "masked, what it adds",
    ),
    ("other_causes_of_symmetry", "of_positions", of_pairs, "pairs of a position"),
    ("agreement_at_random_weights", "masked_in_turn", in_turn(beta=lambda beta: beta + beta.T), "correlation of"),
    ("agreement_at_random_weights", "masked_in_turn", in_turn(beta=lambda beta: beta - beta.T), "that correlation"),
    ("other_causes_of_symmetry", "masked_in_turn", in_turn(gradient=lambda gradient: gradient + gradient.T), "that s"),
    ("variances_of_norms", "squared_norms", lambda u: squared_norms(u)[::-1]),
    (
        "variances_of_norms",
        "every_update",
        lambda: every_update() | {"bidirectional": every_update()["errors"]},
        "bidirectional, independent",
    ),
    ("first_update_through_softmax", "softmax_update", lambda x, values: x.T @ x @ values @ x.T @ x / len(x)),
    (
        "first_update_through_softmax",
        "softmax_update",
        lambda x, values: len(x) * x.T.cov(correction=0) @ values @ x.T.cov(correction=0),
    ),
    ("first_update_through_softmax", "softmax_update", lambda x, values: softmax_update(x, values.T).T),
    (
        "first_update_of_linear_attention",
        "first_coefficients",
        lambda tokens, embeddings, values, ahead: first_coefficients(tokens, embeddings, values),
        "autoregressive",
    ),
    (
        "symmetry_over_a_corpus",
        "first_update",
        lambda tokens, embeddings, values, contexts, ahead=0: first_update(tokens, embeddings, values, contexts),
    ),
    ("symmetry_over_a_corpus", "expected_update", lambda *args: expected_update(*args).T),
    ("expected_update_one_behind", "expected_update", lambda *args: expected_update(*args[:-1], args[-1] - 1)),
    (
        "expected_update_one_behind",
        "shifted_limit",
        lambda chain, embeddings, values: shifted_limit(chain, embeddings, values.T).T,
    ),
    ("masked_shares", "both_to_one_masked", lambda p: 0.25),
    ("masked_update_score", "masked_score", lambda rho, p, rounds: rho * p / (1 - p)),
    ("masked_update_score", "masked_score", lambda rho, p, *_: rho * p),
    ("masked_positions_hold_the_mask", "first_layer", lambda x, masked, mask: x),
]
