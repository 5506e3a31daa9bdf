"""``attngeo experiment``: list the recorded runs of an experiment, and make the missing ones."""

from pathlib import Path

import click

from attngeo.cli import options
from attngeo.errors import AttngeoError, needs
from attngeo.files.atomic import write_text
from attngeo.files.checkout import data


@click.command
@click.argument("name", required=False)
@click.option("--dry-run", is_flag=True, help="List recorded and missing runs without starting any.")
@click.option("--missing", is_flag=True, help="Start only missing runs and skip interrupted ones.")
@options.working
@click.option(
    "--tables", is_flag=True, help="Move finished runs into the tables of their experiment without starting any runs."
)
@click.option("--any-code", is_flag=True, help="Allow new runs at a different commit from that of the recorded runs.")
def command(name, dry_run, missing, workers, scheduler, tables, any_code) -> None:
    """Carry out those runs of the experiment NAME that have not been recorded yet, in the order given in the plan.

    NAME is a folder in data/runs that contains an experiment.yml, or a path to such a folder. Without NAME, the command
    lists all experiments. Interrupted runs continue from their last checkpoint. Runs already in progress in another
    process are skipped, so several copies of the command can run in parallel.

    With --tables, the command does not start any runs. It moves finished runs from their own folders into the tables of
    the experiment. Without NAME, this option does the same for all experiments and updates the table of experiments in
    data/runs/README.md.
    """
    with needs("train", "attngeo experiment"):  # this imports pandas, for which --help should not wait
        from attngeo.experiments.runs import experiments
        from attngeo.experiments.runs.experiments import State, read_experiment, read_experiments

    if name is None:
        all_experiments = read_experiments(data("runs"))
        if tables:
            for experiment in all_experiments:
                _merge(experiment)
            readme = data("runs", "README.md")
            write_text(readme, experiments.with_table(readme.read_text("utf-8"), all_experiments))
            return
        for listed in all_experiments:
            recorded = f"{listed.states().count(State.RECORDED)} of {len(listed.runs)} recorded"
            click.echo(f"{listed.name:36} {listed.status.value:13} {recorded}")
        return
    experiment = read_experiment(Path(name) if Path(name).is_dir() else data("runs", name))
    if tables:
        _merge(experiment)
        return
    states = experiment.states()
    todo = []
    for run, state in zip(experiment.runs, states, strict=True):
        if dry_run or state is not State.RECORDED:
            click.echo(f"{run.name}: {state.value}")
        if state is State.MISSING or (state is State.CUT_OFF and not missing):
            todo.append(run)
    click.echo(f"{states.count(State.RECORDED)} of {len(states)} runs of {experiment.name} are recorded.")
    if dry_run or not todo:
        return
    if not any_code:
        experiments.require_one_code(experiment)
    with needs("train", "attngeo experiment"):
        from attngeo.experiments.training.experiments import make_runs

    failed = 0
    for run, outcome in make_runs(experiment, todo, workers or 0, scheduler):
        failed += isinstance(outcome, AttngeoError)
        click.echo(f"{run.name}: {outcome if isinstance(outcome, AttngeoError) else outcome.value}")
    if failed:
        raise experiments.ExperimentError(
            f"{failed} of {len(todo)} runs of {experiment.name} failed; the other runs are recorded."
        )


def _merge(experiment) -> None:
    from attngeo.experiments.runs.writing import merge_runs

    if moved := merge_runs(experiment.folder):
        click.echo(f"{experiment.name}: {len(moved)} runs moved into its tables.")
