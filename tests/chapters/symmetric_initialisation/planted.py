"""Errors planted in the claims of *Symmetric initialisation*: the claim, what is replaced, by what."""

import torch
from chapters.symmetric_initialisation.reasons import INDEFINITE, SELF_ATTENTION
from chapters.symmetric_initialisation.starts import Setting
from notebook_code import assigned, notebook
from torch import nn

BELOW_ZERO = notebook("symmetric_initialisation").BELOW_ZERO


def indefinite(wq):
    return wq * torch.tensor([1.0, -1.0], dtype=wq.dtype).repeat(wq.shape[-1] // 2)


def berts(d, seed):
    linear = nn.Linear(d, d)
    nn.init.normal_(linear.weight, std=0.02)
    nn.init.zeros_(linear.bias)
    return linear, linear


def swap(setting, one, other):
    """A setting with the runs of two starts exchanged."""
    names = {one: other, other: one}
    return Setting({names.get(arm, arm): runs for arm, runs in setting.arms.items()}, setting.pairs, setting.plan)


def swapped(one, other="random"):
    """The settings that a function of the page gives, the runs of two starts exchanged."""
    return lambda right: [swap(setting, one, other) for setting in right()]


def text(percent):
    """Sentences that state other speed-ups."""
    return lambda right: right().replace({"speed_up_percent": percent})


touch = assigned(first_crossing_percent=lambda c: c["first_crossing_percent"] - 2)
never = assigned(persistent_percent=lambda c: c["persistent_percent"].where(c["part"] == "encoder", 0.0))
later = assigned(persistent_percent=lambda c: c["first_crossing_percent"] + 1)
loss = assigned(loss_symmetric=lambda c: c["loss_base"])
table_1, web = "table_1_follows_from_the_released_curves", "web_table_repeats_table_1"
flow, first = "flow_conserves_imbalance", "table_1_counts_the_first_touch"
EXPERIMENT = "chapters.symmetric_initialisation.reasons.experiment"
scale, plans = "scale_of_the_released_recipe", "symmetry_as_planned"

PLANTED = [
    ("symmetric_recipe", "tied_keys", indefinite),
    ("symmetric_recipe", "tied_keys", torch.rand_like),
    (scale, "scale_factor", lambda d: 1 / d / 0.02**2),
    (scale, "released_projections", berts),
    (plans, "of_plans", swapped("symmetric")),
    (plans, "BELOW_ZERO", (*BELOW_ZERO, "confirm_encoder_plain")),
    (plans, "BELOW_ZERO", BELOW_ZERO[1:]),
    ("self_attraction_helps", EXPERIMENT, lambda right, name: swap(right(name), INDEFINITE, "symmetric")),
    ("self_attraction_helps", EXPERIMENT, lambda right, name: swap(right(name), "random", "symmetric")),
    (
        "no_gain_with_rotary_positions",
        EXPERIMENT,
        lambda right, name: Setting(right(SELF_ATTENTION).arms, right(name).pairs),
    ),
    ("symmetry_at_equal_scale", "encoders", swapped("symmetric", "released")),
    ("released_start_on_recorded_runs", "encoders", swapped("released")),
    ("symmetrys_part_of_the_gain", "encoders", swapped("default-linear")),
    ("figure_s5_on_recorded_runs", "encoders", swapped("released")),
    (flow, "imbalance", lambda wq, wk: wq @ wq.T - wk @ wk.T),
    ("skew_recipe", "mixer", lambda a: a + a.mT),
    ("skew_recipe", "mixer", lambda a: (a - a.mT) / 2),
    (table_1, "released_curves", loss),
    (table_1, "released_curves", touch),
    (web, "released_curves", loss),
    (web, "released_curves", touch),
    (web, "released_curves", assigned(layers=24)),
    (first, "released_curves", later),
    (first, "released_curves", touch),
    ("decoders_in_the_released_curves", "released_curves", never),
    ("most_of_the_models", "printed_table", assigned(symmetric_init=lambda t: ~t["symmetric_init"])),
    ("sentences_of_section_4_2", "speed_ups_in_text", text({75: 73})),
    ("sentences_of_section_4_2", "speed_ups_in_text", text({35: 36})),
    ("sentences_of_the_web_page", "speed_ups_in_text", text({75: 69, 44: 34})),
    ("sentences_of_the_web_page", "speed_ups_in_text", text({70: 80})),
]
