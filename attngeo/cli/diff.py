"""``attngeo diff``: what changed in W_qk from one checkpoint to others, layer by layer."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attngeo.cli import options
from attngeo.cli.formats import View, deliver, format_of
from attngeo.cli.terminal import mute_hub, screen
from attngeo.errors import ParameterError
from attngeo.inputs import local_path

if TYPE_CHECKING:
    from attngeo.survey.differences import Compared


@click.command
@click.argument("checkpoints", nargs=-1, metavar="A B [C]...")
@options.scoring
def command(
    checkpoints: tuple[str, ...],
    per_head: bool,
    gamma: float,
    convention: str,
    asked: str | None,
    output: Path | None,
) -> None:
    """Both scores of A, B, ... layer by layer, their change from A, and the cosine and the relative change of W_qk.

    Each of them is a folder, a weight file, or a Hub id, also with @REVISION. A folder of LoRA weights stands for A
    with that adapter; the folder of a run for its checkpoints, step by step. W_qk is compared by its factors,
    ||B - A|| / ||A|| and <A, B> / ||A|| ||B||, with Frobenius norms.
    """
    form = format_of(asked, output)
    from attngeo.survey.differences import difference_rows, require_alike  # torch comes with it

    mute_hub()
    compared = _opened(_spread(checkpoints))
    require_alike(compared, per_head)
    rows = []
    with screen(stderr=True).status(f"comparing {len(compared)} checkpoints"):  # shown on a terminal alone
        for layers in zip(*(each.opened for each in compared), strict=True):
            rows += difference_rows(compared, layers, gamma, per_head, convention)
    deliver(rows, _view(rows, compared), form, output)


def _spread(checkpoints: Sequence[str]) -> list[str]:
    """Names of two or more single checkpoints: a run's folder becomes those of its steps."""
    if not checkpoints:
        raise ParameterError("no checkpoint is named; a comparison needs two or more: attngeo diff A B.")
    from attngeo.checkpoints.layers import open_checkpoint
    from attngeo.checkpoints.repositories import saved_steps

    steps = {name: saved_steps(local_path(name)) for name in checkpoints}
    if len(checkpoints) > 1:  # beside others, a folder that is a model stands for that alone
        steps = {name: [] if local_path(name) in found else found for name, found in steps.items()}
    each = [str(step) for name in checkpoints for step in (steps[name] or [name])]
    if len(each) < 2:
        open_checkpoint(each[0])  # what is no checkpoint at all says so
        raise ParameterError(
            f"{checkpoints[0]} holds one checkpoint, and a comparison needs two or more; name another, or train with"
            " --keep-checkpoints and a --checkpoint-every below --steps."
        )
    if twice := next((name for name in each if each.count(name) > 1), None):
        raise ParameterError(f"{twice} is named twice; name each checkpoint once.")
    return each


def _opened(names: Sequence[str]) -> "list[Compared]":
    from attngeo.checkpoints.layers import open_checkpoint
    from attngeo.survey.differences import Compared

    first = Compared(names[0], open_checkpoint(names[0]))
    others = []
    for name in names[1:]:
        path = local_path(name)
        adapter = (path / "adapter_config.json").is_file() and not (path / "config.json").is_file()
        others.append(Compared(name, open_checkpoint(names[0], adapter=name) if adapter else open_checkpoint(name)))
    return [first, *others]


def _view(rows: list[dict], compared: "Sequence[Compared]") -> View:
    from attngeo.survey.differences import cells, summary

    letters = {each.asked: _letter(number) for number, each in enumerate(compared)}
    names, found = cells(rows, letters)
    legend = [
        f"{letters[each.asked]} = {each.asked}"
        + (f" ({each.opened.revision[:12]})" if each.opened.revision[:12] not in each.asked else "")
        for each in compared
    ]
    return View(f"W_qk of {len(compared)} checkpoints, changes from A", names, found, legend + summary(rows, letters))


def _letter(number: int) -> str:
    """A to Z, then A2, B2, ..."""
    return chr(ord("A") + number % 26) + ("" if number < 26 else str(number // 26 + 1))
