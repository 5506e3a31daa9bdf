"""``attngeo survey``: score pretrained models and record the scores with their provenance."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress, TaskID

from attngeo.cli import options
from attngeo.cli.terminal import bars, is_quiet, mute_hub, say
from attngeo.errors import CheckpointError, ParameterError

JOBS = min(4, os.cpu_count() or 1)


@click.command
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@click.option(
    "--from", "ids", metavar="FILE", type=click.File(encoding="utf-8"), help="Further MODELs, one a line; - for stdin."
)
@click.option("--group", "label", metavar="G", default="", help="Every model of a group: see --list.")
@click.option("--resume", is_flag=True, help="Pass over models with a finished record.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of the records.")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=JOBS, show_default=True, help="Models at once.")
@options.working
@options.gamma
@click.option("--quantise", is_flag=True, help="Also score the weights rounded to 16, 8 and 4 bits.")
@click.option("--list", "listing", is_flag=True, help="Print the groups and models, and read nothing.")
def command(
    models: tuple[str, ...],
    ids: Any,
    label: str,
    resume: bool,
    output: Path | None,
    jobs: int,
    workers: int,
    scheduler: str,
    gamma: float,
    quantise: bool,
    listing: bool,
) -> None:
    """Score MODELS, per layer and per head, and record each in a folder of its own.

    MODEL is a name or Hub id of the register, a path, or another Hub id, also with @REVISION. Without any, every
    checkpoint in the folder that ATTNGEO_WEIGHTS names. In a checkout of attngeo records of the register's models go to
    data/survey; else -o names their folder. A finished record of other weights is not replaced.

    A model that fails is reported at the end; the others are recorded. With --workers or --scheduler (extra: cluster)
    each worker scores one model at a time and another takes up what a killed one leaves; models with a finished record
    are passed over.
    """
    folder = output or _recorded_survey()
    if ids is not None:
        try:
            models += tuple(name for line in ids if (name := line.partition("#")[0].strip()))
        except UnicodeDecodeError as error:
            raise ParameterError(f"{ids.name} is no text in UTF-8; write one model a line.") from error
        if not models:
            raise ParameterError(f"{ids.name} names no model; write one a line.")
    if listing:
        click.echo(_listing(models, label, folder), nl=False)
        return
    if folder is None:
        raise ParameterError("the records need a folder: add -o FOLDER (in a checkout of attngeo it is data/survey).")
    if not 0 <= gamma < math.inf:
        raise ParameterError(f"gamma is {gamma!r}; it must be a finite number of standard deviations, 0 or more.")
    import torch

    from attngeo.survey.run import chosen_models, is_done, require_registered, survey, survey_on_workers

    asked = chosen_models(models, label)
    if output is None:
        require_registered(asked, folder)
    resume = resume or bool(workers or scheduler)
    todo = [m for m in asked if not (resume and is_done(m, folder, gamma, quantise))]
    if len(todo) < len(asked):
        say(f"{len(asked) - len(todo)} of {len(asked)} models have a record already")
    mute_hub()

    def start(on_layer):
        if workers or scheduler:
            return survey_on_workers(todo, folder, gamma, quantise, workers, scheduler)
        torch.set_num_threads(max(1, torch.get_num_threads() // min(jobs, max(1, len(todo)))))
        return survey(todo, folder, gamma, jobs, on_layer, quantise)

    failed = _run(start, len(todo))
    if len(failed) == 1:
        raise CheckpointError(f"1 of {len(asked)} models not recorded: {next(iter(failed.values()))}")
    for name, why in failed.items():
        click.echo(f"{name}: {why}", err=True)
    if failed:
        names = ", ".join(list(failed)[:5]) + (", ..." if len(failed) > 5 else "")
        raise CheckpointError(f"{len(failed)} of {len(asked)} models not recorded ({names}); --resume tries again.")


def _recorded_survey() -> Path | None:
    """The folder of records in a checkout; None elsewhere."""
    from attngeo.files.checkout import CheckoutError, data

    try:
        return data("survey")
    except CheckoutError:
        return None


def _run(start: Callable, models: int) -> dict[str, str]:
    """Survey, with a bar on a terminal and a line per record; returns what failed, with the reason."""
    failed = {}
    with bars() as progress:
        watch = _Watch(progress, models)
        for model, outcome in start(watch.layer):
            watch.ended(model.name)
            if not isinstance(outcome, Path):
                failed[model.name] = outcome
            elif not is_quiet():
                print(outcome, flush=True)
    return failed


class _Watch:
    """The bars: one for all models with the bytes of those opened, one for each model at work with its layers."""

    def __init__(self, progress: Progress, models: int) -> None:
        self._progress = progress
        self._all = progress.add_task("all models", total=models, what="")
        self._one: dict[str, TaskID] = {}
        self._read: dict[str, int] = {}  # bytes
        self._in_all: dict[str, int] = {}

    def layer(self, model, checkpoint, done: int) -> None:
        """A layer of a model was scored; called from the threads of the models."""
        if model.name not in self._one:
            self._one[model.name] = self._progress.add_task(model.name, total=len(checkpoint), what="layers")
            self._in_all[model.name] = checkpoint.bytes_in_all
        self._read[model.name] = checkpoint.bytes_read
        read, in_all = (sum(list(of.values())) / 1e6 for of in (self._read, self._in_all))
        self._progress.update(self._one[model.name], completed=done)
        self._progress.update(self._all, what=f"models, {read:.1f} of {in_all:.1f} MB read")

    def ended(self, name: str) -> None:
        """A model is recorded or has failed."""
        if name in self._one:
            self._progress.remove_task(self._one.pop(name))
        self._progress.advance(self._all)


def _listing(models: tuple[str, ...], label: str, folder: Path | None) -> str:
    """Groups with their sizes, and models: name, Hub id, parts, printed rows, access, whether recorded."""
    from attngeo.survey.models import ModelPart, group, groups, registry
    from attngeo.survey.record import record_folder

    entries = registry()
    if unknown := sorted(set(models) - {name for model in entries for name in (model.name, model.hub_id)}):
        raise ParameterError(f"{unknown[0]!r} is no model of the register; --list without a name prints them all.")
    wanted = set(models) | set(group(label) if label else ())
    lines = [] if wanted else ["Groups"]
    if not wanted:
        lines += [f"  {name:18}{len(members):4} models" for name, members in groups().items()]
        lines += ["", "Models: name, Hub id, parts, rows in Tables S2 and S3, access, record"]
    parts: dict[str, list[ModelPart]] = {}
    for entry in entries:
        if not wanted or wanted & {entry.name, entry.hub_id}:
            parts.setdefault(entry.name, []).append(entry)
    for name, own in parts.items():
        first = own[0]
        rows = " ".join(dict.fromkeys(p.split(":")[1] for entry in own for p in entry.printed.split())) or "-"
        sources = filter(None, (first.hub_id, first.weights_folder)) if folder else ()
        recorded = any((record_folder(source, folder) / "record.json").is_file() for source in sources)
        cells = (f"{name:30}", f"{first.hub_id or 'on no Hub':52}", f"{','.join(e.part for e in own):16}", f"{rows:8}")
        lines.append("  " + " ".join((*cells, f"{first.access or 'open':6}", "recorded" if recorded else "-")))
    return "\n".join(lines) + "\n"
