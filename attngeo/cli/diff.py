"""``attngeo diff``: how W_qk changed from one checkpoint to others, layer by layer."""

from collections.abc import Sequence
from pathlib import Path

import click

from attngeo.cli import options
from attngeo.cli.formats import View, deliver, format_of
from attngeo.cli.terminal import mute_hub, screen
from attngeo.errors import ParameterError
from attngeo.inputs import local_path


@click.command
@click.argument("checkpoints", nargs=-1, type=options.CHECKPOINT, metavar="A B [C]...")
@options.scoring
@options.reading
def command(checkpoints, per_head, gamma, convention, asked, output, model_type) -> None:
    """Compare the scores and the matrix W_qk of each layer between checkpoint A and checkpoints B, C, and so on.

    The table contains the scores of all checkpoints, the change in each score relative to A, and the cosine and the
    relative change in W_qk. Each checkpoint is a folder, a weight file, or a Hub id, optionally followed by @REVISION.
    If you name a folder with LoRA weights, checkpoint A is compared with the result of merging this LoRA adapter into
    A. If you name the folder of a training run, all checkpoints of the run are compared. If A and B stand for the
    matrices W_qk of two checkpoints, the cosine is <A, B> / (||A|| ||B||) and the relative change is ||B - A|| / ||A||,
    where ||.|| is the Frobenius norm.
    """
    form = format_of(asked, output)
    from attngeo.checkpoints.differences import Compared, cells, difference_rows, require_alike, summary
    from attngeo.checkpoints.opening import open_checkpoint  # this imports torch

    mute_hub()
    names, compared = _spread(checkpoints), []
    for name in names:
        if compared and _is_adapter(local_path(name)):
            opened = open_checkpoint(names[0], adapter=name, model_type=model_type)
        else:
            opened = open_checkpoint(name, model_type=model_type)
        compared.append(Compared(name, opened))
    require_alike(compared, per_head)
    rows = []
    with screen().status(f"comparing {len(compared)} checkpoints"):
        for layers in zip(*(each.opened for each in compared), strict=True):
            rows += difference_rows(compared, layers, gamma, per_head, convention)
    letters = {name: chr(ord("A") + n % 26) + f"{n // 26 + 1 if n > 25 else ''}" for n, name in enumerate(names)}
    legend = [f"{letters[asked]} = {asked} {opened.revision[:12]}".strip() for asked, opened in compared]
    title = f"W_qk of {len(compared)} checkpoints, changes from A"
    deliver(rows, View(title, *cells(rows, letters), legend + summary(rows, letters)), form, output)


def _is_adapter(path: Path) -> bool:
    """Whether a folder contains LoRA weights without a model."""
    return (path / "adapter_config.json").is_file() and not (path / "config.json").is_file()


def _spread(checkpoints: Sequence[str]) -> list[str]:
    """The names of two or more checkpoints. The folder of a run is replaced by the checkpoints of its steps."""
    from attngeo.checkpoints.repositories import saved_steps

    steps = {name: saved_steps(local_path(name)) for name in checkpoints}
    if len(checkpoints) > 1:  # if several are named, a folder that is itself a model means only this model
        steps = {name: [] if local_path(name) in saved else saved for name, saved in steps.items()}
    each = [str(step) for name in steps for step in (steps[name] or [name])]
    if len(each) > 1:
        return list(dict.fromkeys(each))
    if len(checkpoints) > 1:
        raise ParameterError(
            f"{each[0]} was given {len(checkpoints)} times, but is a single checkpoint; give another one to compare it"
            " with."
        )
    if each and not local_path(each[0]).exists():
        raise ParameterError(
            f"there is no folder {each[0]} here, and a model with this id on the Hub would be a single checkpoint;"
            " check the path, or give a second checkpoint."
        )
    raise ParameterError(
        f"a comparison needs at least two checkpoints, but only {', '.join(each) or 'none'} was given; add another one,"
        " or give a run that was trained with --keep-checkpoints and with a --checkpoint-every below --steps."
    )
