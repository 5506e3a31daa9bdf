"""Errors planted in the claims of *Two scores*: the claim, what is replaced, by what."""

from notebook_code import notebook
from scipy.stats import norm

from attngeo import directionality_score, symmetry_score
from attngeo.bilinear.random_matrices import directionality_sd, symmetry_sd
from attngeo.chapters.two_scores.laws import chi, influence, outlying_norm, threshold

right, released = notebook("two_scores").directionality, notebook("two_scores").released_directionality


def printed(m, convention=None):
    return symmetry_score(m, "printed")


def without_error_in_the_sum(x, d_head, *gamma):
    return x * (x > threshold(d_head)) - outlying_norm(threshold(d_head), d_head)


PLANTED = [
    ("factor_of_the_symmetry_score", "symmetry", lambda m: 2 * symmetry_score(m)),
    ("factor_of_the_symmetry_score", "symmetry", lambda m: symmetry_score(m, "released")),
    ("squared_norm_splits", "parts", lambda m: (m + m.mT, m - m.mT)),
    ("squared_norm_splits", "parts", lambda m: (m.tril(), m - m.tril().mT)),
    ("symmetry_lies_between_minus_one_and_one", "symmetry_score", printed),
    ("symmetry_lies_between_minus_one_and_one", "symmetry_score", lambda m, convention=None: symmetry_score(m)),
    (
        "symmetry_lies_between_minus_one_and_one",
        "distance_from_the_end",
        lambda part, m: part.square().sum() / m.square().sum(),
    ),
    ("bounds_on_the_trace", "BOUND", 0.5),
    ("parts_without_their_halves", "LOST_HALVES", 1.0),
    ("parts_without_their_halves", "LOST_HALVES", 2.0),
    ("symmetry_of_random_matrices", "symmetry_mean", lambda n: 8 / n),
    ("symmetry_of_random_matrices", "symmetry_mean", lambda n: 2 / n),
    ("symmetry_of_random_matrices", "symmetry_mean", lambda n: 1 / (n + 1)),
    ("symmetry_of_random_matrices", "negative_symmetry_share", lambda n: 0.0),
    ("symmetry_of_random_matrices", "negative_symmetry_share", lambda n: 0.5),
    ("scores_at_initialisation", "symmetry_mean", lambda d: 8 / d),
    ("scores_at_initialisation", "symmetry_mean", lambda d: 0.0),
    ("directionality_of_random_matrices", "directionality_sd", lambda n: 1 / n),
    ("directionality_of_random_matrices", "directionality_sd", lambda n: 0.5 * directionality_sd(n)),
    ("one_random_matrix_has_a_direction", "directionality_sd", lambda n: 1 / n),
    ("directionality_as_defined", "directionality", lambda m, gamma: right(m, gamma + 1)),
    ("directionality_as_defined", "directionality", lambda m, gamma: right(m, gamma * (len(m) / (len(m) - 1)) ** 0.5)),
    (
        "directionality_as_defined",
        "released_directionality",
        lambda m, gamma: released(m, gamma * (1 - 1 / len(m)) ** 0.5),
    ),
    ("directionality_as_defined", "directionality", lambda m, gamma: -right(m, gamma)),
    ("sign_of_directionality", "one_column_limit", lambda n: -1.0),
    ("sign_of_directionality", "one_column_limit", lambda n: (0.107 * n - 1) / (0.107 * n + 1)),
    ("sign_of_directionality", "positive_share", lambda n: 1.0),
    ("sign_of_directionality", "positive_share", lambda n: norm.cdf((0.10723 * n**0.5 - 1) / 0.498)),
    ("directionality_of_heads", "sum_influence", without_error_in_the_sum),
    ("equal_marginals_are_not_enough", "chance_of_outlying_rows", lambda n: 0.0),
    ("spread_of_symmetry", "symmetry_sd", lambda n, c=None: 2**0.5 / n),
    ("spread_of_symmetry", "symmetry_sd", lambda n, c=None: symmetry_sd(n)),
    ("directionality_of_heads", "head_directionality_sd", lambda n, d_head: directionality_sd(n)),
    ("directionality_of_heads", "influence", lambda x, d_head, *gamma: influence(x, d_head) + chi.mean(d_head) - x),
    (
        "directionality_of_heads",
        "influence",
        lambda x, d_head, *gamma: influence(x, d_head) + 0.05 * (x**2 / d_head - 1),
    ),
    (
        "directionality_of_heads",
        "attngeo.chapters.two_scores.laws.influence",
        lambda x, d_head, *gamma: influence(x, d_head) + chi.mean(d_head) - x,
    ),
    ("directionality_lies_between_minus_one_and_one", "directionality_score", lambda m: 0.9 * directionality_score(m)),
    ("extremes_of_directionality", "end_reached", lambda rows, columns: (columns > 0) - (rows > 0)),
    ("extremes_of_directionality", "end_reached", lambda rows, columns: (rows > columns) - (columns > rows)),
]
