"""The table of experiments: what is asked and what is run; and how far the runs are."""

from collections.abc import Iterable

from attngeo.runs.experiments import Experiment

START, END = "<!-- attngeo experiment --tables -->\n", "<!-- end -->\n"  # around the table in data/runs/README.md


def experiments_table(experiments: Iterable[Experiment]) -> str:
    """A Markdown table, a row for each experiment; what is recorded changes by the hour and stays out of it."""
    rows = ["| experiment | status | runs asked for | what is asked | arms and seeds |", "|---|---|---|---|---|"]
    for experiment in experiments:
        cells = (f"`{experiment.name}`", experiment.status.value, f"{len(experiment.runs)}", experiment.question)
        rows.append(f"| {' | '.join((*cells, _arms(experiment)))} |")
    return "\n".join(rows) + "\n"


def with_table(text: str, experiments: Iterable[Experiment]) -> str:
    """A page with its table of experiments made anew."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{experiments_table(experiments)}{END}{after}"


def _arms(experiment: Experiment) -> str:
    """``random 0 to 4, skew 0 to 2``; names alone where a run is no arm with a seed."""
    seeds: dict[str, list[int]] = {}
    for run in experiment.runs:
        arm, _, seed = run.name.rpartition("-")
        if seed.isdecimal():
            seeds.setdefault(arm, []).append(int(seed))
        else:
            seeds.setdefault(run.name, [])
    return ", ".join(f"`{arm}` {_extent(sorted(own))}".strip() for arm, own in seeds.items())


def _extent(seeds: list[int]) -> str:
    if len(seeds) > 1 and seeds == [*range(seeds[0], seeds[-1] + 1)]:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
