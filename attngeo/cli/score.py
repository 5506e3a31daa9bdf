"""``attngeo score``: both scores of the attention layers of a checkpoint, compared with random weights."""

from functools import partial
from pathlib import Path

import click

from attngeo.cli import options
from attngeo.cli.formats import PICTURES, View, deliver, format_of, require_place
from attngeo.cli.terminal import bars, mute_hub, say, screen
from attngeo.errors import CheckpointError, ParameterError, needs


@click.command
@click.argument("checkpoints", type=options.CHECKPOINT, metavar="PATH_OR_ID...", nargs=-1, required=True)
@options.scoring
@click.option("--plot", **options.once, help="Plot the scores, or W_qk of one layer, as .svg, .png or .pdf.")
@click.option(
    "--layer",
    type=click.IntRange(0),
    metavar="N",
    help="Score only the layer with this number in each part of the model.",
)
@click.option("--head", type=click.IntRange(0), metavar="N", help="Score only this head of the selected layer.")
@click.option(
    "--positions",
    is_flag=True,
    help="Split each symmetry score into parts inside and outside the space of the position embeddings.",
)
# the following options are those of open_checkpoint
@click.option("--revision", metavar="R", help="Read this branch, tag or commit of the Hub repository.")
@click.option("--subfolder", metavar="S", default="", show_default=False, help="Read this subfolder of PATH_OR_ID.")
@click.option("--adapter", type=options.CHECKPOINT, metavar="DIR", help="Merge this LoRA adapter into the weights.")
@options.reading
@click.option(
    "--heads", type=click.IntRange(1), metavar="N", help="Set the number of heads if there is no config.json."
)
@click.option(
    "--matrix",
    type=click.Choice(["qk", "ov"]),
    default="qk",
    help="Score W_qk (qk) or the value-output map W_o W_v^T (ov).",
)
@click.option(
    "--fold-norm",
    is_flag=True,
    help="Multiply the weights by the gains of the layer normalisation that precedes attention.",
)
@click.option(
    "--distance",
    type=int,
    metavar="M",
    help="Score W_q R_m W_k^T of a model with rotary positions, where m is the key position minus the query position.",
)
@click.option("--fold-qk-norm", is_flag=True, help="Multiply the weights by the gains of the query and key norms.")
def command(checkpoints, per_head, gamma, convention, asked, output, plot, layer, head, positions, **opening) -> None:
    """Score the symmetry and directionality of every attention layer of a model, and compare them with random weights.

    For several models, the table has one row per model and part, with medians over layers.

    PATH_OR_ID is a folder with config.json and weights, a weight file, or a Hub id, optionally followed by @REVISION.
    Only the query and key weights are read. A star marks a score outside the central 95 % of the scores of random
    weights of the same shape.
    """
    form = format_of(asked, output)
    if len(checkpoints) > 1:
        of_one = {"--per-head": per_head, "--plot": plot, "--layer": layer, "--head": head, "--positions": positions}
        of_one |= {f"--{name}": opening[name] for name in ("revision", "subfolder", "adapter")}
        _require_none_given(of_one, len(checkpoints))
        _several(checkpoints, gamma, convention, form, output, opening)
        return
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"the name {plot} does not end with the suffix of an image format; use one of {', '.join(PICTURES)}."
        )
    require_place(plot)
    if head is not None and layer is None:
        raise ParameterError("--head needs --layer, because heads are numbered within each layer.")
    if drawn := plot is not None or form == "html":
        with needs("plot", "a figure"):
            import attngeo.plot.score_figure  # noqa: F401  before anything is read
    from attngeo.bilinear.summary import cells, summary  # this imports torch, for which --help should not wait
    from attngeo.checkpoints.opening import open_checkpoint
    from attngeo.checkpoints.rows import notes, title

    mute_hub()
    (checkpoint,) = checkpoints
    with screen().status(f"Looking for {checkpoint}"):
        opened = open_checkpoint(checkpoint, **opening)
    unread = opened.unread
    if layer is not None:
        opened.plans = _selected(opened, layer, head)
    rows, missing = _scored(opened, gamma, per_head or head is not None, convention, positions)
    rows = [row for row in rows if head is None or row["head"] == head]
    remarks = [*missing, *notes(opened, convention, unread, rows if layer is None else ())]
    view = View(title(opened, gamma, convention), *cells(rows), [*summary(rows), *remarks])
    if drawn:
        figure = _figure(opened, rows, layer, head)
        if form == "html":
            view = view._replace(svg=figure.svg(), alt=figure.alt)
        if plot is not None:
            figure.save(plot)
            say(f"Figure written to {plot}")
    deliver(_with_remarks(rows, [remarks] * len(rows), form), view, form, output)


def _require_none_given(options: dict, n_models: int) -> None:
    """Refuse options that can only be used for one model."""
    for name, value in options.items():
        if value not in (None, False, ""):
            raise ParameterError(
                f"{name} can only be used for one model, but {n_models} models are named; score one at a time."
            )


def _selected(opened, layer: int, head: int | None) -> list:
    """The plans for one layer of each part of the checkpoint. If a head is given, they contain this head."""
    numbers = {plan.layer for plan in opened.plans}
    if layer not in numbers:
        raise ParameterError(f"{opened.name} has no layer {layer}. {_there('layer', numbers)}")
    plans = [plan for plan in opened.plans if plan.layer == layer]
    heads = {number for plan in plans for number in plan.numbers}
    if head is None:
        return plans
    if head not in heads:
        raise ParameterError(f"Layer {layer} of {opened.name} has no head {head}. {_there('head', heads)}")
    return [plan for plan in plans if head in plan.numbers]


def _there(what: str, numbers: set[int]) -> str:
    """A sentence with the numbers of the layers or heads that exist."""
    if len(numbers) == 1:
        return f"Its only {what} has the number {min(numbers)}."
    return f"Its {what}s have the numbers {min(numbers)} to {max(numbers)}."


def _figure(opened, rows: list[dict], layer: int | None, head: int | None):
    """The scores of all layers, or the matrix of the selected layer or head of each part."""
    from attngeo.plot.score_figure import matrix_figure, score_figure

    if layer is None:
        return score_figure(rows)
    forms = {}
    for plan in opened.plans:
        form = opened.read(plan).form
        forms[plan.part] = form if head is None else form.alone(plan.numbers.index(head))
    return matrix_figure(opened.name, forms, layer, head, opened.reading.matrix)


def _scored(checkpoint, gamma: float, per_head: bool, convention: str, positions: bool) -> tuple[list[dict], list[str]]:
    """The rows of scores, and sentences about the parts that could not be split by positions."""
    from attngeo.checkpoints.rows import position_spaces, table_rows

    rows: list[dict] = []
    spaces, missing = position_spaces(checkpoint) if positions else (None, [])
    with bars() as progress:
        task = progress.add_task(checkpoint.name, total=len(checkpoint), what="layers")
        for layer in table_rows(checkpoint, gamma, per_head, convention, spaces):
            rows += layer
            progress.update(task, advance=1, what=f"layers, {checkpoint.bytes_read / 1e6:.1f} MB read")
    return rows, missing


def _several(checkpoints, gamma: float, convention: str, form: str, output: Path | None, opening: dict) -> None:
    """Write one row for each part of each model, and raise an error at the end if a model cannot be read."""
    from attngeo.checkpoints.opening import open_checkpoint
    from attngeo.checkpoints.tables import models_table

    mute_hub()
    with screen().status(f"Scoring {len(checkpoints)} models"):
        table, unread, remarks = models_table(checkpoints, partial(open_checkpoint, **opening), gamma, convention)
    said = [sentence for sentence in table.sentences() if sentence not in unread]
    rows = _with_remarks([vars(row) for row in table], remarks, form)
    deliver(rows, View(table.title, *table.cells(), said), form, output)
    if unread:
        raise CheckpointError(" ".join(unread))


def _with_remarks(rows: list[dict], remarks: list[list[str]], form: str) -> list[dict]:
    """In JSON, whose cells may be lists, add to each row the sentences about its model."""
    return [row | {"remarks": said} for row, said in zip(rows, remarks, strict=True)] if form == "json" else rows
