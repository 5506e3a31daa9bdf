"""Errors planted in *Why does W_qk become symmetric?*; the claim is to refuse each."""

from notebook_code import notebook

from attngeo.chapters.why import Planned

page = notebook("why")


def at_the_start(measured):
    """The same measure, of the scores before the first step."""

    def of_start(run, *given):
        run.scores["step"]  # the run is read as it is
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


PLANTED = [
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
