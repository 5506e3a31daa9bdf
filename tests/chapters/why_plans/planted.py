"""Errors planted in the planned experiments on why W_qk is symmetric: the claim, what is replaced, by what."""

import numpy as np
from chapters.why import Planned, findings
from notebook_code import notebook

page = notebook("why_plans")


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
sides = page.runs_of("why_sides")
contrast = findings.SIDES


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
    PLANTED += [("two_sides", "interval", turned), ("two_sides", "last_loss", lambda run: 9.0)]
else:
    arms = page.runs_of("why_hidden").runs
    both = dict(zip(contrast, (arms["table-kept"], arms["table-mixed"]), strict=True))
    PLANTED.append(("two_sides", "runs_of", lambda name: Planned(name, both, dict.fromkeys(contrast, 5))))
close = np.array([-1e-3, -1e-3, 0.0, 1e-3, 1e-3])
PLANTED.append(("coefficients_of_pairs", "correlations", lambda arm: 0.9 + close))
