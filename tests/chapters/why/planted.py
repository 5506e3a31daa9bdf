"""Errors planted in *Why?* and in its theorems: the claim, what is replaced, by what.

What follows is how the comparisons begin that alone may fail.
"""

from dataclasses import replace

import torch
from chapters import positions
from chapters.positions import crossing
from notebook_code import notebook

details = notebook("why_details")


def of_other_positions(judgement, kind):
    """Encoder minus decoder with the other kind of positions."""
    return encoder_minus_decoder(judgement, {"learned": "rotary", "rotary": "learned"}[kind])


def of_the_other_objective(name):
    """An experiment whose encoders and decoders are exchanged."""
    judgement = recorded(name)
    other = {"mlm": "clm", "clm": "mlm"}
    arms = {f"{other[arm[:3]]}{arm[3:]}": found for arm, found in judgement.arms.items()}
    return replace(judgement, arms=arms)


recorded, encoder_minus_decoder = positions.recorded, crossing.encoder_minus_decoder
PLANTED = [
    ("who_is_more_symmetric", "chapters.positions.crossing.S", lambda run: run.first("symmetry")),
    ("who_is_more_symmetric", "chapters.positions.crossing.encoder_minus_decoder", of_other_positions),
    ("who_is_more_symmetric", "chapters.positions.recorded", of_the_other_objective),
]

# the theorems


def turned_whole(layer, turned):
    """Heads multiplied by -1 instead of transposed."""
    return details.negated(layer, turned)


def positive_weights(right, n_heads, n_kv_heads):
    return right(n_heads, n_kv_heads).abs()


def half_of_the_block(g, n):
    """A block in the place of the circle."""
    return details.on_a_block(g, n)


DIRECTIONS, RANDOM, COINS = "heads_and_directions", "coherence_of_random_heads", "tossed_heads"
WAVE = "kernel_on_a_wave"
PLANTED += [
    (DIRECTIONS, "score_by_directions", lambda of_heads, symmetric, skew: of_heads),
    (DIRECTIONS, "score_by_directions", lambda right, h, symmetric, skew: right(h, symmetric, 1.0)),
    (DIRECTIONS, "coherences", lambda right, heads: right(heads)[::-1]),
    (RANDOM, "heads_of_signs", positive_weights, "weights"),
    (
        RANDOM,
        "skewed_pair",
        lambda right: (right()[0] - 1, right()[1]),
        "two heads with mean 0 and an asymmetric distribution: ratio",
    ),
    (
        RANDOM,
        "skewed_pair",
        lambda right: (right()[0], right()[1] ** 0),
        "two heads with mean 0 and an asymmetric distribution: mean",
    ),
    (COINS, "transposed", turned_whole, "largest change of $c_S$", "mean of $s$"),
    (COINS, "transposed", lambda layer, turned: layer),
    (COINS, "negated", lambda layer, turned: layer, "heads that share keys"),
    (WAVE, "wave_score", lambda g, w: float(torch.cos(details.transfer(g, w).angle()))),
    (WAVE, "transfer", lambda right, g, w: right(g.flip(0), w)),
    (WAVE, "on_a_circle", half_of_the_block),
    (WAVE, "reach", lambda g: float(details.offsets(g).mul(g).sum()) / 4, "slowest wave"),
    (WAVE, "mean_over_waves", lambda right, g, a, periods, n: right(g, a**0.5, periods, n), "a table"),
]
ENDS, CAUSAL = "ends_of_a_block", "causal_waves"


def cut_at_the_diagonal(gamma, n):
    c = details.on_a_block(gamma, n).tril()
    seen = torch.ones(n, n).tril()
    return c - seen * c.sum(1, keepdim=True) / seen.sum(1, keepdim=True)


def without_causal_mean(gamma, n):
    places = torch.arange(1, n + 1)[:, None]
    return details.on_a_block(details.left_of(gamma), n) / places


PLANTED += [
    (ENDS, "masked_block", cut_at_the_diagonal),
    (ENDS, "reach", lambda g: 0.01 * float((details.offsets(g) * g).abs().sum())),
    (
        ENDS,
        "kernel_of_text",
        lambda right: right() + 0.9 * right().flip(0),
        "text and read-out: $s$ of the whole",
    ),
    (
        CAUSAL,
        "causal_block",
        without_causal_mean,
        "halved at each step to the left, periods",
        "text and read-out, periods",
    ),
    (
        CAUSAL,
        "causal_block",
        details.masked_block,
        "halved at each step to the left, periods",
        "text and read-out, periods",
    ),
    (CAUSAL, "causal_limit", lambda right, f, **given: right(f + 1, **given)),
    (CAUSAL, "left_of", lambda gamma: gamma, "text and read-out, periods"),
]
SIDES, GAIN, ASKS = "both_sides_tell_alike", "best_gain_is_even", "who_asks_must_answer"


def noisy_on_the_right(right, steps, w):
    """Half of the tokens on the right of the predicted one are replaced by random ones."""
    law = right(steps, w)
    for place in range(w + 1, 2 * w + 1):
        law = law / 2 + law.mean(place, keepdim=True) / 2
    return law


PLANTED += [
    (SIDES, "stationary_pairs", lambda steps: torch.tensor([[6.0, 0, 0], [1, 1, 0], [0, 1, 1]]).double() / 10),
    (SIDES, "around", noisy_on_the_right),
    (SIDES, "random_steps", lambda right, order: right(1), "order 2, offsets 1 and 3", "order 2: $s$ of"),
    (GAIN, "stationary_pairs", lambda steps: torch.tensor([[6.0, 0, 0], [1, 1, 0], [0, 1, 1]]).double() / 10),
    (GAIN, "around", noisy_on_the_right),
    (GAIN, "best_gain", lambda right, *at: right(*at) / 2),
    (ASKS, "hidden", lambda of: of.tokens + of.positions),
    (ASKS, "agreeing", lambda right, n, seed: right(n, seed).triu()),
    (
        ASKS,
        "score_by_blocks",
        lambda of: 0.25,
        "three subspaces, different tokens: $s$ minus the formula of the b",
        "three",
    ),
    (
        ASKS,
        "score_by_lengths",
        lambda beta, lengths: 0.25,
        "three subspaces, different tokens: $s$ minus the formula of the l",
    ),
    (
        ASKS,
        "mean_over_drawn_queries",
        lambda beta, of, words: details.update(beta, details.hidden(of), of.tokens),
        "queries computed",
    ),
]
