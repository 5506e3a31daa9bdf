"""Errors planted in the claims of *Two scores*: the claim, what is replaced, by what."""

from chapters.two_scores.laws import chi, outlying_norm, threshold

from attngeo import symmetry_score
from attngeo.bilinear.random_matrices import directionality_sd, symmetry_sd
from attngeo.bilinear.scores import Convention


def with_a_mean(right, x, d_head, *gamma):
    return right(x, d_head) + chi.mean(d_head) - x


BETWEEN, HEADS = "symmetry_lies_between_minus_one_and_one", "directionality_of_heads"
DEFINED, RANDOM = "directionality_as_defined", "symmetry_of_random_matrices"
PLANTED = [
    ("factor_of_the_symmetry_score", "symmetry", lambda m: symmetry_score(m, "released")),
    ("squared_norm_splits", "parts", lambda m: (m + m.mT, m - m.mT)),
    (BETWEEN, "symmetry_score", lambda m, convention=None: symmetry_score(m, "printed")),
    (BETWEEN, "symmetry_score", lambda m, convention=None: symmetry_score(m)),
    (BETWEEN, "distance_from_the_end", lambda part, m: part.square().sum() / m.square().sum()),
    ("bounds_on_the_trace", "BOUND", 0.5),
    ("parts_without_their_halves", "LOST_HALVES", 1.0),
    (RANDOM, "symmetry_mean", lambda n: 1 / (n + 1)),
    (RANDOM, "negative_symmetry_share", lambda n: 0.0),
    ("scores_at_initialisation", "symmetry_mean", lambda d: 0.0),
    ("directionality_of_random_matrices", "directionality_sd", lambda right, n: 0.5 * right(n)),
    ("one_random_matrix_has_a_direction", "directionality_sd", lambda n: 1 / n),
    (DEFINED, "directionality", lambda right, m, gamma: right(m, gamma + 1)),
    (DEFINED, "released_directionality", lambda right, m, gamma: right(m, gamma * (1 - 1 / len(m)) ** 0.5)),
    ("other_formulas", "directionality_of", lambda right, norms, gamma, c: right(norms, gamma, Convention.DEFINITION)),
    (HEADS, "sum_influence", lambda x, d, *gamma: x * (x > threshold(d)) - outlying_norm(threshold(d), d)),
    ("equal_marginals_are_not_enough", "chance_of_outlying_rows", lambda n: 0.0),
    ("spread_of_symmetry", "symmetry_sd", lambda n, c=None: 2**0.5 / n),
    ("spread_of_symmetry", "symmetry_sd", lambda n, c=None: symmetry_sd(n)),
    (HEADS, "head_directionality_sd", lambda n, d_head: directionality_sd(n)),
    (HEADS, "influence", with_a_mean),
    (HEADS, "chapters.two_scores.laws.influence", with_a_mean),
    ("directionality_lies_between_minus_one_and_one", "directionality_score", lambda right, m: 0.9 * right(m)),
    ("extremes_of_directionality", "end_reached", lambda rows, columns: (columns > 0) - (rows > 0)),
]
