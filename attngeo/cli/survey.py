"""``attngeo survey``: score pretrained models and record the scores with their provenance."""

import os
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from attngeo.errors import CheckpointError


@click.command(name="survey")
@click.argument("models", nargs=-1, metavar="[PATH_OR_ID]...")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of the records.")
@click.option("--gamma", type=float, default=2.0, show_default=True, help="Threshold of directionality, in sd.")
def command(models: tuple[str, ...], output: Path | None, gamma: float) -> None:
    """Score MODELS, per layer and per head, and record each in a folder of its own.

    Without MODELS, every checkpoint in the folder that ATTNGEO_WEIGHTS names. Records go to data/survey.
    A model that fails is reported at the end; the others are recorded.
    """
    from attngeo.checkout import data
    from attngeo.survey_record import survey_model

    folder = output or data("survey")
    failed = {}
    console = Console(stderr=True)
    for model in track(models or local_models(), "models", console=console, disable=not console.is_terminal):
        try:
            record = survey_model(model, folder, gamma)
        except CheckpointError as error:
            failed[model] = str(error)
        else:
            click.echo(f"{record}")
    if failed:
        sentences = " ".join(failed.values())
        raise CheckpointError(f"{len(failed)} of {len(models) or len(local_models())} models not recorded: {sentences}")


def local_models() -> list[str]:
    """Folders with a config.json under ATTNGEO_WEIGHTS."""
    folder = os.environ.get("ATTNGEO_WEIGHTS")
    if not folder:
        raise CheckpointError("no model is named and ATTNGEO_WEIGHTS is not set; name models or the folder of weights.")
    found = sorted(str(path.parent) for path in Path(folder).glob("*/config.json"))
    if not found:
        raise CheckpointError(f"ATTNGEO_WEIGHTS names {folder}, which holds no checkpoint (no */config.json).")
    return found
