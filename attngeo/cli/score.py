"""``attngeo score``: both scores of a checkpoint's attention layers beside what random weights give."""

import logging
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attngeo.cli import scoring_options
from attngeo.cli.formats import View, check_picture, deliver, format_of
from attngeo.cli.terminal import screen
from attngeo.forms.conventions import Convention

if TYPE_CHECKING:
    from attngeo.checkpoints.layers import Checkpoint


@click.command(name="score", short_help="both scores of a checkpoint's attention layers")
@click.argument("checkpoint", metavar="PATH_OR_ID")
@scoring_options.per_head
@scoring_options.gamma
@scoring_options.asked_format
@scoring_options.output
@click.option(
    "--plot",
    "plot",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also draw the scores over layers against random weights: .svg, .png or .pdf.",
)
@scoring_options.convention(
    "Formulas: of the definitions, of Def. 3.1 as printed, of the released code, or behind Table S3."
)
@click.option("--revision", metavar="R", help="Branch, tag or commit of a Hub repository.")
@click.option("--adapter", metavar="DIR", help="A LoRA adapter of peft (folder or Hub id) to merge into the model.")
def command(
    checkpoint: str,
    per_head: bool,
    gamma: float,
    asked: str | None,
    output: Path | None,
    plot: Path | None,
    convention: str,
    revision: str | None,
    adapter: str | None,
) -> None:
    """Symmetry and directionality of every attention layer of a model, beside what random weights give.

    PATH_OR_ID is a folder with config.json and weights, a weight file, or a Hub id. Only the query and key tensors are
    read. A star marks what lies outside the values of 95 % of random weights of the same shape.
    """
    form = format_of(asked, output)
    if plot is not None:
        check_picture(plot)
    from attngeo.checkpoints.layers import open_checkpoint  # torch comes with it, which no --help waits for

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its retries; what fails is said in one sentence
    with screen(stderr=True).status(f"looking for {checkpoint}"):  # shown on a terminal alone
        opened = open_checkpoint(checkpoint, revision, adapter)
    rows = _scored(opened, gamma, per_head, convention)
    view = _view(rows)
    if plot is not None or form == "html":
        from attngeo.display.score_figure import score_figure

        figure = score_figure(rows)
        view = view._replace(svg=figure.svg(), alt=figure.alt)
        if plot is not None:
            figure.save(plot)
    deliver(rows, view, form, output)


def _scored(checkpoint: "Checkpoint", gamma: float, per_head: bool, convention: str) -> list[dict]:
    """Rows of scores, with a progress bar on stderr where that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from attngeo.survey.rows import layer_rows

    console = screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("layers"))
    rows = []
    progress = Progress(
        *columns,
        TextColumn("{task.fields[read]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with progress, closing(iter(checkpoint)) as layers:
        task = progress.add_task(checkpoint.name, total=len(checkpoint), read="")
        for layer in layers:
            rows += layer_rows(checkpoint, layer, gamma, per_head, convention)
            progress.update(task, advance=1, read=f"{checkpoint.bytes_read / 1e6:.1f} MB read")
    return rows


def _view(rows: list[dict]) -> View:
    from attngeo.survey.summary import cells, summary

    first = rows[0]
    title = f"{first['model']} {first['revision'][:12]}".strip()
    kind = "" if first["convention"] == Convention.DEFINITION else f", scores as in convention {first['convention']!r}"
    names, found = cells(rows)
    return View(f"{title}, gamma = {first['gamma']:g}{kind}", names, found, summary(rows))
