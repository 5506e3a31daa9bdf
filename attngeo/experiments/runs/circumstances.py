"""The circumstances of recorded runs that their settings do not fix: precision, processor, version of the code."""

from collections.abc import Iterable
from typing import NamedTuple

from attngeo.experiments.runs.arms import Arm
from attngeo.experiments.runs.record import Run


class Made(NamedTuple):
    """How a run was made."""

    precision: str
    processor: str  # the GPU, if there was one
    commit: str  # of the code, its first eight digits


def made(run: Run) -> Made:
    """The circumstances of a run, from its ``run.json``."""
    hardware, commit = run.about["hardware"], (run.about.get("versions") or {}).get("commit") or "unknown"
    return Made(run.about.get("precision", "unknown"), hardware.get("gpu") or hardware["cpu"], commit[:8])


def made_alike(arms: Iterable[Arm]) -> bool:
    """Whether all runs of the arms were made in equal circumstances."""
    return len({made(run) for arm in arms for run in arm.runs}) == 1


def in_words(runs: Iterable[Run]) -> dict[str, str]:
    """For each field of `Made`, every value that occurs among the runs, in the order of the runs."""
    columns = zip(*map(made, runs), strict=True)
    return {field: ", ".join(dict.fromkeys(column)) for field, column in zip(Made._fields, columns, strict=True)}
