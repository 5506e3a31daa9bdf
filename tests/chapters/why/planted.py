"""Errors planted in *Why does W_qk become symmetric?* and in its details: the claim, what is replaced, by what.

What follows is how the comparisons begin that alone may fail.
"""

import torch
from chapters.why import Planned
from notebook_code import notebook

page, details = notebook("why"), notebook("why_details")


def at_the_start(measured):
    """The same measure, of the scores before the first step."""

    def of_start(run, *given):
        first = run.scores[run.scores["step"] == 0].assign(step=run.config["steps"])
        return measured(type(run)(run.name, run.about, run.history, first, run.pictures), *given)

    return of_start


def turned(by_seed):
    low, high = interval(by_seed)
    return -high, -low


interval = page.interval
sides, coefficients = page.runs_of("why_sides"), page.runs_of("why_agreement")
contrast = ("n16-q100", "n16-q000")


def mask_above_random(run):
    return (2.0 + run.config["seed"] ** 2 / 1e6) * (run.config["hidden_share"] == 1)


def by_coins(part):
    """The record with the ranks of one part as coins would give them."""

    def of_record(right):
        layers = right()
        return layers.assign(coin_rank=layers["coin_rank"].where(layers["part"] != part, 0.5))

    return of_record


PLANTED = [
    ("heads_among_coins", "recorded_coherence", by_coins("decoder")),
    ("heads_among_coins", "recorded_coherence", by_coins("encoder")),
    ("waves_turn", "interval", turned),
    ("waves_turn", "s_on_waves", at_the_start(page.s_on_waves)),
    ("slow_and_fast_tables", "last_loss", lambda run: 1.9),
    ("slow_and_fast_tables", "interval", lambda by_seed: (1.0, 2.0)),
    ("decoders_with_a_window", "s_on_slowest_wave", lambda run: -1.0 - run.config["seed"] ** 2 / 1e6),
    ("tokens_that_ask", "interval", turned),
    ("tokens_that_ask", "s_of_layers", mask_above_random),
]
if sides.is_whole(*contrast):
    PLANTED.append(("two_sides", "interval", turned))
else:
    arms = page.runs_of("why_hidden").runs
    both = dict(zip(contrast, (arms["table-mask"], arms["table-mixed"]), strict=True))
    PLANTED.append(("two_sides", "runs_of", lambda name: Planned(name, both, dict.fromkeys(contrast, 5))))
if coefficients.is_whole(*coefficients.planned):
    PLANTED.append(("coefficients_of_pairs", "interval", lambda by_seed: (0.0, 0.1)))
else:
    PLANTED.append(("coefficients_of_pairs", "runs_of", lambda name: Planned(name, coefficients.runs, {"table": -9})))

# the details


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
    (RANDOM, "skewed_pair", lambda right: (right()[0] - 1, right()[1]), "two heads of mean 0 and uneven law: ratio"),
    (RANDOM, "skewed_pair", lambda right: (right()[0], right()[1] ** 0), "two heads of mean 0 and uneven law: mean"),
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
    (CAUSAL, "causal_block", without_causal_mean, "falling by half, periods", "text and read-out, periods"),
    (CAUSAL, "causal_block", details.masked_block, "falling by half, periods", "text and read-out, periods"),
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
        "three subspaces, different tokens: $s$ less the formula of the b",
        "three",
    ),
    (
        ASKS,
        "score_by_lengths",
        lambda beta, lengths: 0.25,
        "three subspaces, different tokens: $s$ less the formula of the l",
    ),
    (
        ASKS,
        "mean_over_drawn_queries",
        lambda beta, of, words: details.update(beta, details.hidden(of), of.tokens),
        "queries hold",
    ),
]
