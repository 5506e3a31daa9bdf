"""Errors planted in the claims of *Symmetric updates*: the claim, what is replaced, by what, and what may fail."""

from notebook_code import notebook

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.first_update import expected_update, first_coefficients, first_update
from attngeo.gradients.norms import squared_norms
from attngeo.gradients.objectives import context_matrix
from attngeo.gradients.pair_symmetry import pair_score
from attngeo.gradients.rank_one import exact_coefficients

page, details = notebook("symmetric_updates"), notebook("symmetric_updates_details")
pair_by_parts, of_pairs, coefficients = page.pair_by_parts, page.of_pairs, page.coefficients
masked_in_turn = page.masked_in_turn
softmax_update, shifted_limit = details.softmax_update, details.shifted_limit
every_update, frozen_score = details.every_update, details.frozen_score


def tied_coefficients(*args, **named):
    beta = exact_coefficients(*args, **named)
    return beta + beta.T


def in_turn(**changed):
    """`masked_in_turn` with a field replaced by a function of it."""
    return lambda seed: [
        s._replace(**{field: change(getattr(s, field)) for field, change in changed.items()})
        for s in masked_in_turn(seed=seed)
    ]


PLANTED = {
    "S113 with the wrong sign": (
        "pair_decomposition",
        "pair_by_parts",
        lambda forward, backward, k: pair_by_parts(forward, backward, k) - (forward - backward) * (k - k.mT),
    ),
    "pair score without the angle": ("symmetry_of_a_pair", "pair_score", lambda rho, c: rho),
    "pair score with the factor 2": ("symmetry_of_a_pair", "pair_score", lambda rho, c: 2 * pair_score(rho, c)),
    "nearly parallel embeddings are enough": (
        "symmetry_of_a_pair",
        "pair_score",
        lambda rho, c: 1.0 if c > 0.99 else pair_score(rho, c),
    ),
    "frozen skew part without its 2": (
        "frozen_skew_part",
        "frozen_score",
        lambda start, now: (1 + frozen_score(start, now)) / 2,
    ),
    "the symmetric part is frozen": (
        "frozen_skew_part",
        "frozen_score",
        lambda start, now: float((start + start.T).square().sum() / 2 / now.square().sum() - 1),
    ),
    "updates change the skew part": ("frozen_skew_part", "frozen_score", lambda start, now: symmetry_score(start)),
    "every objective has both orders": (
        "law_of_the_transpose",
        "context_matrix",
        lambda objective, n: context_matrix("bidirectional", n),
        "autoregressive",
    ),
    "every objective has one order": (
        "law_of_the_transpose",
        "context_matrix",
        lambda objective, n: context_matrix("autoregressive", n),
        "bidirectional",
    ),
    "coefficients without the mean that a softmax takes off": (
        "variances_of_norms",
        "exact_coefficients",
        lambda weights, values, errors, scale: weights * (errors @ values.mT),
        "coefficients of a softmax: sums over j",
    ),
    "any update is symmetric": ("symmetry_of_an_update", "isotropic_score", lambda rho, d: 1.0),
    "isotropic embeddings as orthonormal ones": ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho),
    "half the correlation": ("symmetry_of_an_update", "isotropic_score", lambda rho, d: rho / 2),
    "coefficients made equal": ("agreement_at_random_weights", "exact_coefficients", tied_coefficients),
    "the score of a gradient is its correlation": (
        "other_causes_of_symmetry",
        "of_gradient",
        lambda gradient: of_pairs(coefficients(gradient)),
    ),
    "embeddings are not shared": (
        "other_causes_of_symmetry",
        "with_shared_embeddings",
        lambda gradient: symmetry_score(coefficients(gradient)),
        "masked, what it adds",
    ),
    "a position is no pair with itself": (
        "other_causes_of_symmetry",
        "of_positions",
        of_pairs,
        "pairs of a position",
    ),
    "pairs agree in both orders": (
        "agreement_at_random_weights",
        "masked_in_turn",
        in_turn(beta=lambda beta: beta + beta.T),
        "correlation of",
    ),
    "pairs are opposed": (
        "agreement_at_random_weights",
        "masked_in_turn",
        in_turn(beta=lambda beta: beta - beta.T),
        "the same from below",
    ),
    "masks in turn give what many give": (
        "other_causes_of_symmetry",
        "masked_in_turn",
        in_turn(gradient=lambda gradient: gradient + gradient.T),
        "that s",
    ),
    "columns and rows exchanged": ("variances_of_norms", "squared_norms", lambda u: squared_norms(u)[::-1]),
    "errors make exchangeable coefficients": (
        "variances_of_norms",
        "every_update",
        lambda: every_update() | {"bidirectional": every_update()["errors"]},
        "bidirectional, independent",
    ),
    "softmax update of linear attention": (
        "first_update_through_softmax",
        "softmax_update",
        lambda x, values: x.T @ x @ values @ x.T @ x / len(x),
    ),
    "softmax update without its term of rank 1": (
        "first_update_through_softmax",
        "softmax_update",
        lambda x, values: len(x) * x.T.cov(correction=0) @ values @ x.T.cov(correction=0),
    ),
    "the mean on the key side": (
        "first_update_through_softmax",
        "softmax_update",
        lambda x, values: softmax_update(x, values.T).T,
    ),
    "autoregressive without a shift": (
        "first_update_of_linear_attention",
        "first_coefficients",
        lambda tokens, embeddings, values, ahead: first_coefficients(tokens, embeddings, values),
        "autoregressive",
    ),
    "no query behind": (
        "symmetry_over_a_corpus",
        "first_update",
        lambda tokens, embeddings, values, contexts, ahead=0: first_update(tokens, embeddings, values, contexts),
    ),
    "expected update with queries and keys exchanged": (
        "symmetry_over_a_corpus",
        "expected_update",
        lambda *args: expected_update(*args).T,
    ),
    "expected update without a position's own term": (
        "expected_update_one_behind",
        "expected_update",
        lambda *args: expected_update(*args[:-1], args[-1] - 1),
    ),
    "Sigma V A": (
        "expected_update_one_behind",
        "shifted_limit",
        lambda chain, embeddings, values: shifted_limit(chain, embeddings, values.T).T,
    ),
    "S119 as a quarter": ("masked_shares", "both_to_one_masked", lambda p: 0.25),
    "p / (1 - p) as the score": (
        "masked_update_score",
        "masked_score",
        lambda rho, p, rounds: rho * p / (1 - p),
    ),
    "the share bounds what adds up": ("masked_update_score", "masked_score", lambda rho, p, *_: rho * p),
    "masked tokens keep their embeddings": ("masked_positions_hold_the_mask", "first_layer", lambda x, masked, mask: x),
}
