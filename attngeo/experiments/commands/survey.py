"""``attngeo survey``: score pretrained models and record the scores with their provenance."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from attngeo.cli import options
from attngeo.cli.terminal import bars, is_quiet, mute_hub, say
from attngeo.errors import CheckpointError, ParameterError
from attngeo.files.checkout import CheckoutError, data


@click.command
@click.argument("models", nargs=-1, type=options.CHECKPOINT, metavar="[MODEL]...")
@click.option("--group", "label", metavar="G", default="", show_default=False, help="Score all models of this group.")
@click.option("--resume", is_flag=True, help="Skip models that already have a record.")
@click.option("-o", "--output", type=options.FOLDER, help="Write the records to this folder.")
@options.reading
@options.working
@options.gamma
@click.option("--quantise", is_flag=True, help="Also score the weights after rounding them to 16, 8 and 4 bits.")
@click.option("--list", "listing", is_flag=True, help="Print the groups and models without reading any weights.")
def command(models, label, resume, output, model_type, workers, scheduler, gamma, quantise, listing) -> None:
    """Score MODELS by layer and by head, and write one record per model.

    MODEL is a name or Hub id from the built-in list, a path, or any other Hub id, optionally followed by @REVISION.
    Without MODEL, the command scores all checkpoints in the folder specified by the variable ATTNGEO_WEIGHTS. In a
    checkout of attngeo, the records of models in the built-in list go to data/survey. For all other models, specify a
    folder with -o. An existing record is not overwritten if it was computed from different weights.

    If a model fails, the remaining models are still recorded, and the error is printed at the end. The work can be
    distributed over several workers, each of which scores one model at a time. This needs the packages that
    attngeo[cluster] installs.
    """
    folder = output
    with suppress(CheckoutError):
        folder = output or data("survey")
    if listing:
        click.echo(_listing(models, label, folder))
        return
    if folder is None:
        raise ParameterError(
            "the records need a folder; add -o FOLDER (in a checkout of attngeo, the default is data/survey)."
        )
    from attngeo.experiments.survey.record import is_recorded
    from attngeo.experiments.survey.run import chosen_models, require_registered, survey

    asked = [replace(model, model_type=model_type or "") for model in chosen_models(models, label)]
    if output is None:
        require_registered(asked, folder)
    todo = [model for model in asked if not (resume and is_recorded(model, folder, gamma, quantise))]
    if len(todo) < len(asked):
        say(f"{len(asked) - len(todo)} of {len(asked)} models already have a record")
    mute_hub()
    failed = {}
    with bars() as progress:
        task = progress.add_task("survey", total=len(todo), what="models")

        def on_layer(checkpoint, done: int) -> None:
            megabytes = checkpoint.bytes_read / 1e6
            layers = f"{done} of {len(checkpoint)} layers, {megabytes:.1f} MB read"
            progress.update(task, what=f"models; {checkpoint.name}: {layers}")

        for model, outcome in survey(todo, folder, gamma, quantise, on_layer, workers or 0, scheduler):
            progress.advance(task)
            if not isinstance(outcome, Path):
                failed[model.name] = " ".join(f"{outcome}".split())
            elif not is_quiet():
                print(outcome, flush=True)
    for name, why in failed.items():
        click.echo(f"{name}: {why.removeprefix(f'{Path(name).name}: ')}", err=True)
    if failed:
        raise CheckpointError(
            f"{len(failed)} of {len(asked)} models could not be recorded; run the command again with --resume."
        )


def _listing(models: tuple[str, ...], label: str, folder: Path | None) -> str:
    """The groups with their sizes, and parts of models: name, Hub id, part, printed rows, access, record."""
    from attngeo.experiments.survey.models import group, groups, registry
    from attngeo.experiments.survey.record import record_folder

    wanted = {*models, *(group(label) if label else ())}
    lines = []
    if not wanted:
        lines += [f"  {name:18}{len(members):4} models" for name, members in groups().items()]
    for m in registry():
        if wanted and not wanted & {m.name, m.hub_id}:
            continue
        sources = [source for source in (m.hub_id, m.weights_folder) if source and folder]
        recorded = any((record_folder(source, folder) / "record.json").is_file() for source in sources)
        source = f"{m.hub_id or 'on no Hub':52} {m.part:8} {m.printed or '-':18} {m.access or 'open':6}"
        lines.append(f"  {m.name:30} {source} {'recorded' if recorded else '-'}")
    if not lines:
        raise ParameterError(
            f"the built-in list has no model {models[0]!r}; --list without a name prints the whole list."
        )
    return "\n".join(lines)
