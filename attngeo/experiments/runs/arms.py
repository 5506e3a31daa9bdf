"""Comparisons of recorded runs. An arm is a set of runs that differ only in their seed; a contrast compares two arms.

A *measure* is a number per run: a function of a `Run`, or a name for which `Run.last` is taken (``"held_out_loss"``,
``"symmetry"``).
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from attngeo.experiments.runs import estimates
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import Experiment, PlannedRun
from attngeo.experiments.runs.numbers_in_words import as_rate
from attngeo.experiments.runs.record import Run, RunError, read_runs

# Settings that change no result.
RECORDING = ("record_every", "evaluate_every", "picture_every", "checkpoint_every", "micro_batch", "device")
LOSS = "held_out_loss"
PARTS = {"mlm": "encoder", "clm": "decoder", "released-decoder": "decoder, masked positions only"}  # by objective
CORPORA = {"wikipedia": "Wikipedia", "jigsaw": "Jigsaw", "commoncrawl": "Common Crawl"}  # names in a run's record
Measure = str | Callable[[Run], float]


@dataclass(frozen=True, eq=False)
class Arm:
    """Runs that differ only in their seed, one run per seed, ordered by seed."""

    runs: tuple[Run, ...]
    label: str = ""  # what distinguishes it from other arms, such as "Wikipedia, characters"

    @property
    def config(self) -> dict:
        """The configuration. Its ``seed`` is that of the first run."""
        return self.runs[0].config

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in increasing order."""
        return tuple(run.config["seed"] for run in self.runs)

    def __len__(self) -> int:
        """The number of seeds."""
        return len(self.runs)

    def of(self, seeds: Iterable[int]) -> "Arm":
        """The arm with only these seeds."""
        kept = set(seeds)
        return replace(self, runs=tuple(run for run in self.runs if run.config["seed"] in kept))

    def curves(self, name: str) -> pd.DataFrame:
        """`Run.curve` of every run, at the steps that all runs recorded: a row per step, a column per seed."""
        return pd.DataFrame({run.config["seed"]: run.curve(name) for run in self.runs}).dropna()

    def values(self, measure: Measure) -> pd.Series:
        """The value of a measure for each seed."""
        of_run = (lambda run: run.last(measure)) if isinstance(measure, str) else measure
        return pd.Series([of_run(run) for run in self.runs], index=self.seeds, dtype=float)

    def mean(self, measure: Measure) -> float:
        """The mean of a measure over the seeds."""
        return float(self.values(measure).mean())

    def estimate(self, measure: Measure) -> Estimate:
        """The mean of a measure over the seeds, with a confidence interval if there are at least three seeds."""
        return estimates.over_seeds(self.values(measure))


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two arms, restricted to the seeds that both have.

    Raises:
        RunError: the arms have no seed in common.
    """

    first: Arm
    second: Arm
    label: str = ""  # what both arms have in common

    def __post_init__(self) -> None:
        seeds = set(self.first.seeds) & set(self.second.seeds)
        if not seeds:
            raise RunError(
                f"The arms of {self.first.runs[0].name} and {self.second.runs[0].name} have no seed in common; record"
                " both with the same seeds."
            )
        for side in ("first", "second"):
            object.__setattr__(self, side, getattr(self, side).of(seeds))

    def __len__(self) -> int:
        """The number of seeds that both arms have."""
        return len(self.first)

    def differences(self, measure: Measure = LOSS) -> pd.Series:
        """A measure of the first arm minus that of the second, for each seed."""
        return self.first.values(measure) - self.second.values(measure)

    def difference(self, measure: Measure = LOSS) -> Estimate:
        """The mean of `differences` over the seeds, with a confidence interval if there are at least three seeds."""
        return estimates.over_seeds(self.differences(measure))

    def outcome(self, measure: Measure = LOSS) -> str:
        """The outcome of the `difference` by its interval; see `attngeo.experiments.runs.estimates.outcome`."""
        return estimates.outcome(self.difference(measure))

    def curves(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The steps that both arms recorded, and the curves of each arm, (seeds, steps)."""
        a, b = self.first.curves(name), self.second.curves(name)
        steps = a.index.intersection(b.index)
        if steps.empty:
            raise RunError(
                f"The arms of {self.first.runs[0].name} and {self.second.runs[0].name} have no recorded {name} at the"
                " same steps; record it at the same steps in both."
            )
        return steps.to_numpy(), a.loc[steps].to_numpy().T, b.loc[steps].to_numpy().T


def matched(runs: Iterable[Run], differ: Sequence[str]) -> list[list[Run]]:
    """Groups of runs with the same text and the same settings apart from the named ones, the largest group first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        config = {k: v for k, v in run.config.items() if k not in differ}
        groups.setdefault(json.dumps([config, run.about["corpus"]["sha256"]], sort_keys=True), []).append(run)
    return sorted(groups.values(), key=len, reverse=True)


def arms(runs: Iterable[Run]) -> list[Arm]:
    """Runs grouped into arms, labelled by what distinguishes the arms; the largest arm comes first."""
    found: list[tuple[Run, ...]] = []
    for group in matched(runs, differ=("seed", *RECORDING)):
        by_seed = {run.config["seed"]: run for run in group}
        found.append(tuple(by_seed[seed] for seed in sorted(by_seed)))
    labels = distinct_labels([runs[0] for runs in found])
    return [Arm(runs, label) for runs, label in zip(found, labels, strict=True)]


def whole_arms(plan: Experiment, runs: Iterable[Run] | None = None) -> dict[str, Arm]:
    """The arms of a plan for which every planned seed is recorded, by name. ``runs`` defaults to those in its folder.

    Raises:
        RunError: a run was made with a setting that differs from its plan.
    """
    runs = read_runs(plan.folder) if runs is None else runs
    recorded = {run.name.rpartition("/")[2]: run for run in runs}
    names: dict[str, list[str]] = {}
    for planned in plan.runs:
        names.setdefault(planned.arm, []).append(planned.name)
        if planned.name in recorded:
            _require_settings(planned, recorded[planned.name])
    return {arm: Arm(tuple(recorded[n] for n in own)) for arm, own in names.items() if set(own) <= set(recorded)}


def all_arms(plan: Experiment) -> dict[str, Arm]:
    """The arms of a plan whose runs are all recorded, by name.

    Raises:
        RunError: a run of the plan is missing, or was made with a setting that differs from its plan.
    """
    arms = whole_arms(plan)
    if missing := {run.arm for run in plan.runs} - set(arms):
        raise RunError(
            f"Runs of the arm {min(missing)} of {plan.name} are missing; make them with attngeo experiment {plan.name}."
        )
    return arms


def _require_settings(planned: PlannedRun, run: Run) -> None:
    for key, value in planned.settings.items():
        if run.config.get(key) != value:
            raise RunError(
                f"{planned.name} has {key} {run.config.get(key)!r}, which differs from its plan; record it again."
            )


def contrasts(
    runs: Iterable[Run], setting: str, first: str, second: str, free: tuple[str, ...] = (), once: bool = False
) -> list[Contrast]:
    """Contrasts of arms that differ in one setting.

    Each first arm is compared with the second arm that has most seeds in common with it and, among these, the most
    similar number of steps.

    Args:
        runs: the runs to group into arms.
        setting: the setting in which the arms differ.
        first: its value in the first arm of each contrast.
        second: its value in the second arm.
        free: settings in which the arms may differ as well.
        once: use no second arm in two contrasts, because its noise would be counted twice.
    """
    found: list[Contrast] = []
    for group in matched(runs, differ=(setting, "seed", *free, *RECORDING)):
        first_arms = arms([run for run in group if run.config[setting] == first])
        second_arms = arms([run for run in group if run.config[setting] == second])
        possible = [(a, b, Contrast(a, b)) for a in first_arms for b in second_arms if set(a.seeds) & set(b.seeds)]
        taken: set[Arm] = set()
        for a, b, contrast in sorted(possible, key=lambda pair: _weight(pair[2]), reverse=True):
            if a not in taken and not (once and b in taken):
                taken |= {a, b}
                found.append(contrast)
    found.sort(key=_weight, reverse=True)
    labels = distinct_labels([contrast.first.runs[0] for contrast in found])
    return [replace(contrast, label=label) for contrast, label in zip(found, labels, strict=True)]


def _weight(contrast: Contrast) -> tuple[int, ...]:
    steps = [arm.config["steps"] for arm in (contrast.first, contrast.second)]
    return (len(contrast), min(steps) - max(steps), *steps)


def text(run: Run) -> str:
    """``Wikipedia, characters``, or ``Wikipedia, subword tokens (vocabulary of 160)`` for text that is not split up."""
    corpus = run.about["corpus"]["name"]
    tokens = "characters"
    if run.config["text"] != "spaced":
        tokens = f"subword tokens (vocabulary of {run.config['vocab_size']:,})"
    return f"{CORPORA.get(corpus, corpus)}, {tokens}"


def distinct_labels(runs: Sequence[Run]) -> list[str]:
    """For each run its text, and the settings that distinguish it from the other runs on the same text."""
    labels = []
    for run in runs:
        same_text = [_details(other) for other in runs if text(other) == text(run)]
        label = [text(run)]
        for setting, words in _details(run).items():
            if len({details[setting] for details in same_text}) > 1:
                label.append(words)
        labels.append(", ".join(label))
    return labels


def _details(run: Run) -> dict[str, str]:
    """The settings that labels may name, in words."""
    config = run.config
    return {
        "layers": f"{config['layers']} layers",
        "width": f"hidden size {config['d_model']}",
        "block": f"sequence length {config['block_size']}",
        "batch": f"batch size {config['batch_size']}",
        "dropout": f"dropout {config['dropout']:g}" if config["dropout"] else "no dropout",
        "rate": f"learning rate {as_rate(config['lr'])}",
        "steps": f"{config['steps']:,} steps",
    }
