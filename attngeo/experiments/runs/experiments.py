"""Experiments on disk: a plan, written before the runs, that states what to run and why, and the runs made so far.

<experiment>/experiment.yml    question, status, date, settings; arms and seeds, or runs; what else the plan says
             ARM-SEED/         a run that is being made (`attngeo.experiments.runs.record`)
             runs.json         the finished runs, with history.parquet, scores.parquet and images.npz

    status: confirmatory       # or exploratory, illustration
    settings: {steps: 1500}    # for every run; keys of attngeo.experiments.training.config
    arms: [random, warm: {init: random, warmup: 400}]    # an initialisation, or a name with settings
    seeds: [0, 1, 2]           # for every arm; or by arm; or for the primary contrast and for the other arms
    runs: {encoder: {objective: mlm, seed: 0}}           # instead of arms and seeds
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from attngeo.errors import AttngeoError
from attngeo.experiments.runs.record import FINISHED, PLAN, Run, is_recorded, read_about, read_runs
from attngeo.files.checkout import root
from attngeo.files.provenance import head
from attngeo.inputs import Setting, read_yaml

CONTRAST, OTHERS = "primary contrast", "other arms"  # keys of ``seeds``
START, END = "<!-- attngeo experiment --tables -->\n", "<!-- end -->\n"  # around the table in data/runs/README.md


class ExperimentError(AttngeoError):
    """A plan cannot be found, read or carried out."""


class Status(str, Enum):
    """What an experiment can be used for."""

    CONFIRMATORY = "confirmatory"  # planned before the first run, and judged by its plan
    EXPLORATORY = "exploratory"  # we chose settings or seeds after we had seen results
    ILLUSTRATION = "illustration"  # single runs that pages show; nothing is compared


class State(str, Enum):
    """The state of a planned run."""

    RECORDED = "recorded"
    CUT_OFF = "cut off"
    MISSING = "missing"


Name = Annotated[str, Meta(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]*$", max_length=100)]  # a folder name
Settings = dict[str, Setting]
Seeds = list[Annotated[int, Meta(ge=0, le=2**31 - 1)]]


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run of an experiment."""

    folder: Path  # where it is recorded: ARM-SEED
    settings: Mapping[str, Any]  # from the plan; keys of attngeo.experiments.training.config

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def arm(self) -> str:
        """The name of the run without its seed."""
        return self.name.rpartition("-")[0]

    @property
    def state(self) -> State:
        """Whether the run is recorded, cut off or missing.

        Raises:
            RunError: the record is damaged.
        """
        if not is_recorded(self.folder):
            return State.MISSING
        return State.RECORDED if read_about(self.folder)["status"] == FINISHED else State.CUT_OFF


@dataclass(frozen=True)
class PlannedContrast:
    """Two arms that a plan compares."""

    arm: str
    against: str
    isolates: str = ""  # what differs between them

    @property
    def name(self) -> str:
        """``released minus random``."""
        return f"{self.arm} minus {self.against}"


class _Plan(msgspec.Struct):
    """The entries of experiment.yml that are carried out. The others are for readers."""

    question: str
    status: Status
    date: str
    settings: Settings | None
    arms: list[Name | Annotated[dict[Name, Settings], Meta(min_length=1, max_length=1)]] = []
    seeds: Seeds | dict[str, Any] = []
    runs: dict[Name, Settings] | None = None
    contrast: PlannedContrast | None = msgspec.field(name=CONTRAST, default=None)
    others: list[PlannedContrast] = msgspec.field(name="other contrasts", default=[])


@dataclass(frozen=True)
class Experiment:
    """An experiment and its plan."""

    folder: Path
    question: str
    status: Status
    date: str
    runs: tuple[PlannedRun, ...]  # in the order in which they are to be made
    contrasts: tuple[PlannedContrast, ...] = ()  # the first one is primary and alone determines the outcome

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    def states(self) -> list[State]:
        """`PlannedRun.state` of each run, in the order of the plan."""
        return [run.state for run in self.runs]


def read_experiment(folder: Path) -> Experiment:
    """The experiment in a folder.

    Raises:
        ExperimentError: there is none, or its plan cannot be understood.
    """
    path = Path(folder) / PLAN
    if not path.exists():
        raise ExperimentError(
            f"There is no experiment {path.parent}, which would be a folder with {PLAN}; the command attngeo"
            " experiment lists all experiments."
        )
    written = path.stat()
    return _read(path, (written.st_mtime_ns, written.st_size))


@cache  # pages read the same plans many times
def _read(path: Path, written: tuple[int, int]) -> Experiment:
    def refuse(why: str) -> ExperimentError:
        return ExperimentError(f"{path} is not a valid plan ({why}); correct it.")

    plan = read_yaml(path, _Plan, refuse)
    try:
        runs = list(plan.runs.items()) if plan.runs else _arms_by_seed(plan)
    except KeyError as error:
        raise refuse(f"it does not contain {error.args[0]!r}") from error
    except ValueError as error:
        raise refuse(f"{error}") from error
    planned = tuple(PlannedRun(path.parent / name, (plan.settings or {}) | settings) for name, settings in runs)
    contrasts = (plan.contrast, *plan.others) if plan.contrast else ()
    return Experiment(path.parent, " ".join(plan.question.split()), plan.status, plan.date, planned, contrasts)


def require_one_code(experiment: Experiment) -> None:
    """Refuse to finish a confirmatory experiment with code that differs from the code with which it was begun.

    Raises:
        ExperimentError: its recorded runs were made with another commit of this package.
    """
    recorded = [read_about(run.folder) for run in experiment.runs if run.state is State.RECORDED]
    commits = {(about.get("versions") or {}).get("commit") for about in recorded} - {None, ""}
    here = head(root())
    if experiment.status is Status.CONFIRMATORY and commits and here and here not in commits:
        commit = min(commits)[:10]
        raise ExperimentError(
            f"the recorded runs of {experiment.name} were made with the code of commit {commit}; make the remaining"
            f" runs with the same code (git worktree add ../plan {commit}), or give --any-code."
        )


def read_experiments(folder: Path) -> list[Experiment]:
    """All experiments below a folder, by name.

    Raises:
        ExperimentError: one of the plans cannot be understood.
    """
    return [read_experiment(path.parent) for path in sorted(Path(folder).glob(f"*/{PLAN}"))]


def recorded_runs(
    folder: Path,
    keep: Callable[[dict[str, Any]], bool] = lambda config: True,
    statuses: Iterable[Status] = (Status.EXPLORATORY,),
) -> list[Run]:
    """All finished runs of the experiments in a folder whose configuration ``keep`` accepts, by experiment and name.

    Confirmatory experiments are judged by their own plans, so their runs are included only if ``statuses`` asks for
    them.

    Raises:
        ExperimentError: a plan cannot be understood.
        RunError: a record is damaged.
    """
    asked = [experiment for experiment in read_experiments(folder) if experiment.status in set(statuses)]
    return [run for experiment in asked for run in read_runs(experiment.folder, keep)]


def _arms_by_seed(plan: _Plan) -> list[tuple[str, Settings]]:
    """The runs in their order: the primary contrast seed by seed, then the other arms; without a contrast, by seed."""
    arms: dict[str, Settings] = {}
    for arm in plan.arms:
        arms |= {arm: {"init": arm}} if isinstance(arm, str) else arm
    contrast = []
    if plan.contrast:
        contrast = [plan.contrast.against, plan.contrast.arm]
    if not arms or not plan.seeds:
        raise ValueError("it contains neither runs nor both arms and seeds")
    if unknown := [arm for arm in contrast if arm not in arms]:
        raise ValueError(f"its primary contrast contains {unknown[0]!r}, which is not an arm")
    seeds: dict[str, set[int]] = {}
    for arm in arms:
        own: Any = plan.seeds
        if isinstance(own, dict):
            group = CONTRAST if arm in contrast else OTHERS
            own = own[arm if arm in own else group]
        seeds[arm] = set(msgspec.convert(own, Seeds))
    first = contrast or list(arms)
    pairs: list[tuple[str, int]] = []
    for seed in sorted(set().union(*(seeds[arm] for arm in first))):
        pairs += [(arm, seed) for arm in first if seed in seeds[arm]]
    for arm in arms:
        if arm not in first:
            pairs += [(arm, seed) for seed in sorted(seeds[arm])]
    return [(f"{arm}-{seed}", arms[arm] | {"seed": seed}) for arm, seed in pairs]


def with_table(text: str, experiments: Iterable[Experiment]) -> str:
    """A page with an updated table of experiments. The table does not say which runs are already recorded."""
    rows = ["| experiment | status | planned runs | question | arms and seeds |", "|---|---|---|---|---|"]
    for experiment in experiments:
        cells = (f"`{experiment.name}`", experiment.status.value, f"{len(experiment.runs)}", experiment.question)
        rows.append(f"| {' | '.join((*cells, _arms(experiment)))} |")
    before, _, rest = text.partition(START)
    return "\n".join([f"{before}{START}{rows[0]}", *rows[1:], END + rest.partition(END)[2]])


def _arms(experiment: Experiment) -> str:
    """The arms with their seeds, ``random 0 to 4, skew 0 to 2``, or the names of runs that have no seed."""
    seeds: dict[str, list[int]] = {}
    for run in experiment.runs:
        arm, _, seed = run.name.rpartition("-")
        if seed.isdecimal():
            seeds.setdefault(arm, []).append(int(seed))
        else:
            seeds.setdefault(run.name, [])
    return ", ".join(f"`{arm}` {_extent(sorted(numbers))}".strip() for arm, numbers in seeds.items())


def _extent(seeds: list[int]) -> str:
    if len(seeds) > 1 and seeds == [*range(seeds[0], seeds[-1] + 1)]:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
