"""Differences between starts as cases of a claim, and what they amount to in words."""

from collections.abc import Sequence
from dataclasses import replace

from chapters.symmetric_initialisation.starts import BASELINE, PAPERS, Setting, encoders
from livingpaper.claims.claim import Comparisons
from livingpaper.claims.seed_intervals import Case, too_small
from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import over_seeds
from attngeo.experiments.runs.numbers_in_words import as_nats, with_interval
from attngeo.experiments.training.config import DEFAULTS


def loss_case(setting: Setting, arm: str, against: str = BASELINE) -> Case:
    """Final held-out loss of one start minus that of another, which is negative if the paper is right."""
    difference = setting.minus(arm, against)
    what = f"final loss with {arm} minus final loss with {against} initialisation"
    words = f"{setting.label}: {what} ({len(difference)} seeds)"
    if setting.plan:
        words = f"{setting.short.removeprefix('encoder, ')} ({len(difference)} seeds): {setting.said}"
    estimate = difference.difference()
    return Case(setting.label, words, estimate, -1, as_nats, training=setting.training, what=what)


def gain_case(setting: Setting) -> Case:
    """``(D - R) - (r - D)`` by seed, of the final losses of default-linear (D), released (R) and random (r).

    Above 0, equal queries and keys contribute more to the gain of the released start than scale, biases and values.
    """
    losses = [setting.arms[start].values(LOSS) for start in ("default-linear", "released", BASELINE)]
    gains = ((losses[0] - losses[1]) - (losses[2] - losses[0])).dropna()
    what = "gain from equal queries and keys minus gain from scale, biases and values"
    return Case(setting.label, "gain", over_seeds(gains), form=as_nats, what=what, training=setting.training)


def ends(case: Case, lies: str) -> Comparisons:
    """`Case.ends`, which decide only for models that are as large as the paper's and read as much."""
    yield from (replace(end, decides=case.training.reaches(PAPERS)) for end in case.ends(lies))


def one_by_one(cases: Sequence[Case], *beside: Case) -> str:
    """How to read the cases, for runs whose settings were chosen while they were made, and the differences ``beside``."""
    told = [f"{case.what} ({case.label}): {with_interval(case.estimate, case.form)}" for case in beside]
    further = f" We also measured the following differences: {'; '.join(told)}." if told else ""
    share = max(setting.config["steps"] for setting in encoders()) / DEFAULTS["steps"]
    return (
        f"{too_small(cases, PAPERS)} We trained these models for at most {100 * share:.1f} % of the paper's training"
        f" steps.{further} All losses are held-out losses. The intervals are 95 % confidence intervals over seeds."
        " They are slightly too narrow, because we did not fix all settings and seeds in advance."
    )
