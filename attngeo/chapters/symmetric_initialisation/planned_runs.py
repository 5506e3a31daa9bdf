"""Confirmatory experiments, each judged as its plan said before its first run.

A plan (``data/runs/confirm_*/experiment.yml``) names one primary contrast and what its two measures count as; nothing
is compared before every seed of that contrast is recorded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import BASELINE, TEXTS
from attngeo.chapters.symmetric_initialisation.crossings import speed_up_of
from attngeo.chapters.symmetric_initialisation.numbers_of_seeds import seeds_needed
from attngeo.paper.checks import Judgement, check
from attngeo.paper.seed_intervals import Case, Training, judged
from attngeo.records.checkout import data
from attngeo.runs.arms import LOSS, Arm, Contrast
from attngeo.runs.estimates import Estimate
from attngeo.runs.experiments import Experiment, PlannedContrast, Status, read_experiments
from attngeo.runs.labels import PARTS
from attngeo.runs.numbers_in_words import as_millions, as_nats, as_percent, with_interval
from attngeo.runs.record import Run, read_runs

BAND = 0.01  # nats: a difference within counts for nothing
REPEATS = frozenset({"confirm_mini_new_seeds"})  # plans that ask again what another has answered
SHARE = 0.05  # of the steps: what counts as faster by a share that matters


class Outcome(Enum):
    """What a plan lets its primary contrast say."""

    SAME = "no difference that counts"
    MUCH_FASTER = "faster, by 5 % of steps or more"
    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"


def outcome_by_plan(loss: Estimate, share: Estimate) -> Outcome:
    """By the difference of final losses, in nats: ``SAME`` within ±`BAND`, judged first, or the side of zero.

    ``share`` is that of the steps saved.
    """
    if -BAND <= loss.low and loss.high <= BAND:
        return Outcome.SAME
    if loss.high < 0:
        return Outcome.MUCH_FASTER if share.low > SHARE else Outcome.FASTER
    return Outcome.SLOWER if loss.low > 0 else Outcome.UNDECIDED


@dataclass(frozen=True, eq=False)
class Planned:
    """A confirmatory experiment of which every run of the primary contrast is recorded."""

    plan: Experiment
    arms: Mapping[str, Arm]  # whole ones, by name

    @property
    def config(self) -> dict:
        """The configuration; start and seed are those of one run."""
        return self.arms[self.plan.contrasts[0].against].config

    @property
    def encoder(self) -> bool:
        """Whether its models are, and not decoders."""
        return self.config["objective"] == "mlm"

    @property
    def tokens(self) -> str:
        """``20.1 million tokens``, read by each run."""
        return f"{as_millions(Training.of(self.config).tokens)} tokens"

    @property
    def label(self) -> str:
        """``encoder, characters, 4 layers of width 128, 20.1 million tokens``, and ``new seeds`` of a repetition."""
        c = self.config
        again = ", new seeds" if self.plan.name in REPEATS else ""
        return f"{PARTS[c['objective']]}, {TEXTS[c['text']]}, {Training.of(c)}{again}"

    @cached_property
    def contrasts(self) -> dict[PlannedContrast, Contrast]:
        """Those of the plan whose arms are whole, the primary one first."""
        whole = [c for c in self.plan.contrasts if {c.arm, c.against} <= set(self.arms)]
        return {c: Contrast(self.arms[c.arm], self.arms[c.against], self.label) for c in whole}

    def less_random(self, arm: str) -> Contrast | None:
        """That of an arm with the random start, if it is planned and complete."""
        return next((k for c, k in self.contrasts.items() if (c.arm, c.against) == (arm, BASELINE)), None)

    @property
    def contrast(self) -> Contrast:
        """The primary one."""
        return self.contrasts[self.plan.contrasts[0]]

    @property
    def outcome(self) -> Outcome:
        """By the plan."""
        return outcome_by_plan(self.contrast.difference(), speed_up_of(self.contrast))

    @property
    def by_plan(self) -> str:
        """The outcome; with its sign where a difference that counts for nothing leaves out zero."""
        difference = self.contrast.difference()
        if self.outcome is Outcome.SAME and not difference.low <= 0 <= difference.high:
            return f"{self.outcome.value} ({'lower' if difference.value < 0 else 'higher'})"
        return self.outcome.value

    @property
    def seeds_asked(self) -> int:
        """Seeds for an interval of ±`BAND`, as the differences scatter."""
        return seeds_needed(self.contrast.differences().std(), BAND)


def planned(plans: Iterable[tuple[Experiment, Sequence[Run]]] | None = None) -> list[Planned]:
    """The confirmatory experiments that may be judged, by name; of ``data/runs`` unless plans with runs are given."""
    if plans is None:
        plans = [(p, read_runs(p.folder)) for p in read_experiments(data("runs")) if p.status is Status.CONFIRMATORY]
    found = [Planned(plan, _whole_arms(plan, runs)) for plan, runs in plans]
    return [p for p in found if {p.plan.contrasts[0].arm, p.plan.contrasts[0].against} <= set(p.arms)]


def _whole_arms(plan: Experiment, runs: Sequence[Run]) -> dict[str, Arm]:
    """Arms of which every planned seed is recorded."""
    recorded = {run.name.rpartition("/")[2]: run for run in runs}
    names: dict[str, list[str]] = {}
    for run in plan.runs:
        names.setdefault(run.arm, []).append(run.name)
    return {arm: Arm(tuple(recorded[n] for n in own)) for arm, own in names.items() if set(own) <= set(recorded)}


def about_symmetry(found: Iterable[Planned]) -> list[Planned]:
    """Those whose primary contrast is that of a symmetric start with a random one."""
    primary = ("symmetric", BASELINE)
    return [p for p in found if any((c.arm, c.against) == primary for c in p.plan.contrasts[:1])]


def first_asked(found: Iterable[Planned]) -> list[Planned]:
    """Those that repeat no other."""
    return [p for p in found if p.plan.name not in REPEATS]


def named(found: Iterable[Planned], name: str) -> Planned | None:
    """The one of that name, if it may be judged."""
    return next((p for p in found if p.plan.name == name), None)


def spread(found: Planned) -> float:
    """How far the final losses of runs lie apart that differ in nothing but their seed: the larger of both arms'."""
    ends = [arm.values(LOSS) for arm in (found.contrast.first, found.contrast.second)]
    return float(max(of_arm.max() - of_arm.min() for of_arm in ends))


@check(planned)
def symmetry_as_planned(found: list[Planned]) -> Judgement:
    """Encoders that start symmetric, at the random start's scale, end lower: runs planned before they were made."""
    encoders = [p for p in about_symmetry(found) if p.encoder]
    cases = [
        Case(
            p.label,
            "loss",
            p.contrast.difference(),
            -1,
            len(p.contrast),
            as_nats,
            {"pair": p.plan.contrasts[0].name, "by_plan": p.by_plan},
            Training.of(p.config),
        )
        for p in encoders
    ]
    return judged(cases, spoken_of=Training.of_paper(4))


def planned_table(found: Iterable[Planned]) -> pd.DataFrame:
    """One row per experiment of one primary contrast: both its measures, and what its plan lets it say."""
    rows = pd.DataFrame(
        [
            _measured(p, *primary) | {"by the plan": p.by_plan, f"seeds for ±{BAND}": p.seeds_asked}
            for p in found
            for primary in [next(iter(p.contrasts.items()))]
        ]
    )
    return rows.drop(columns="pair")


def others_table(found: Iterable[Planned]) -> pd.DataFrame:
    """One row per further contrast that is complete; none of them decides the question of its plan."""
    return pd.DataFrame(
        [
            _measured(p, c, contrast) | {"what it isolates": c.isolates}
            for p in found
            for c, contrast in list(p.contrasts.items())[1:]
        ]
    )


def _measured(found: Planned, compared: PlannedContrast, contrast: Contrast) -> dict[str, Any]:
    return {
        "setting": found.label,
        "pair": compared.name,
        "seeds": len(contrast),
        "difference of final losses (nats)": with_interval(contrast.difference(), as_nats),
        "steps saved": with_interval(speed_up_of(contrast), as_percent),
    }
