"""Errors planted in the claims of *And directionality?*: the claim, what is replaced, by what."""

from scipy.stats import norm

SIGN, THRESHOLD = "sign_of_directionality", "the_threshold_decides"
PLANTED = [
    (SIGN, "one_column_limit", lambda n, gamma: (0.107 * n - 1) / (0.107 * n + 1)),
    (SIGN, "positive_share", lambda n, gamma: 1.0),
    (SIGN, "positive_share", lambda n, gamma: norm.cdf((0.10723 * n**0.5 - 1) / 0.498)),
    (THRESHOLD, "stacks", lambda right, gamma: right(2.0)),
    (THRESHOLD, "turning", lambda right, part, low, high, formula: right(part, low, low, formula)),
    (THRESHOLD, "random_median", lambda right, model, gamma: 2 * right(model, gamma)),
    (THRESHOLD, "turning_beyond_chance", lambda part, low, high: []),
    (THRESHOLD, "layer_scores", lambda right, gamma: right(gamma + 0.1)),
]
