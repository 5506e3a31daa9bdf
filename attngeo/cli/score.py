"""``attngeo score``: both scores of a checkpoint's attention layers beside what random weights give."""

from contextlib import closing

import click

from attngeo.bilinear.conventions import Convention
from attngeo.cli import options
from attngeo.cli.formats import PICTURES, View, deliver, format_of, require_place
from attngeo.cli.terminal import bars, mute_hub, say, screen
from attngeo.errors import ParameterError, needs


@click.command
@click.argument("checkpoint", type=options.CHECKPOINT, metavar="PATH_OR_ID")
@options.scoring
@click.option("--plot", type=options.FILE, help="Also draw the scores, or W_qk of --layer: .svg, .png or .pdf.")
@click.option("--layer", type=click.IntRange(0), metavar="N", help="This layer alone, of every part.")
@click.option("--head", type=click.IntRange(0), metavar="N", help="This head of --layer alone.")
@click.option("--positions", is_flag=True, help="Split each s by the space of the positions: in it, outside, mixed.")
# the others are those of open_checkpoint
@click.option("--revision", metavar="R", help="Branch, tag or commit of a Hub repository.")
@click.option("--subfolder", metavar="S", default="", show_default=False, help="Folder in PATH_OR_ID with the model.")
@click.option("--adapter", type=options.CHECKPOINT, metavar="DIR", help="A LoRA adapter of peft to merge in.")
@options.reading
@click.option(
    "--matrix", type=click.Choice(["qk", "ov"]), default="qk", help="W_qk, or what a head writes for what it reads."
)
@click.option("--fold-norm", is_flag=True, help="Fold in the gain of the layer normalisation before queries and keys.")
def command(checkpoint, per_head, gamma, convention, asked, output, plot, layer, head, positions, **opening) -> None:
    """Symmetry and directionality of every attention layer of a model, beside what random weights give.

    PATH_OR_ID is a folder with config.json and weights, a weight file, or a Hub id, also with @REVISION. Only the query
    and key tensors are read. A star marks what lies outside the values of 95 % of random weights of the same shape.
    """
    form = format_of(asked, output)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise ParameterError(f"{plot} cannot hold a figure; end its name in one of {', '.join(PICTURES)}.")
    require_place(plot)
    if head is not None and layer is None:
        raise ParameterError("--head is one of a layer; add --layer.")
    if plot is not None or form == "html":
        with needs("plot", "a figure"):
            from attngeo.plot.score_figure import matrix_figure, score_figure
    from attngeo.bilinear.summary import cells, summary  # torch comes with it, which no --help waits for
    from attngeo.checkpoints.layers import open_checkpoint

    mute_hub()
    with screen().status(f"looking for {checkpoint}"):
        opened = open_checkpoint(checkpoint, **opening)
    unread = opened.unread
    if layer is not None:
        opened.plans = [plan for plan in opened.plans if plan.layer == layer and head in (None, *plan.numbers)]
        if not opened.plans:
            what = f"layer {layer}" + ("" if head is None else f" with a head {head}")
            raise ParameterError(f"{opened.name} has no {what}; numbers begin with 0.")
    rows, notes = _scored(opened, gamma, per_head or head is not None, convention, positions)
    rows = [row for row in rows if head is None or row["head"] == head]
    if convention != Convention.DEFINITION:
        notes.append("another formula than the definition's: compare with numbers of that formula alone")
    if opened.fold_norm:
        without = ", ".join(dict.fromkeys(plan.part for plan in opened.plans if not plan.norm))
        but = f", but for {without} layers, which have none that is known" if without else ""
        scored, inputs = ("W_qk", "queries and keys") if opened.matrix == "qk" else ("W_o W_v^T", "values")
        notes.append(f"{scored} with the gain of the layer normalisation before {inputs}{but}")
    if opened.matrix == "ov":
        notes.append("the value-output maps W_o W_v^T in the place of W_qk: rows are written, columns are read")
    if opened.left_out:
        notes.append(f"left out of W_qk, and so of the scores: {', '.join(opened.left_out)}")
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        notes.append(f"not read, though named as queries are: {unread[0]}{more}")
    notes += opened.remarks
    if opened.taken_for:
        known = f"{opened.model_type} is no architecture that the installed package gguf knows"
        taken = f"its queries and keys are found by the usual names, its layers taken for those of {opened.taken_for}s"
        notes.append(f"{known}: {taken}")
    title = f"{opened.name} {opened.revision[:12]}".strip() + f", gamma = {gamma:g}, formulas: {convention}"
    view = View(title, *cells(rows), [*notes, *summary(rows)])
    if plot is not None or form == "html":
        forms = {}
        for plan in opened.plans if layer is not None else ():
            whole = opened.read(plan).form
            forms[plan.part] = whole if head is None else whole.alone(plan.numbers.index(head))
        if layer is None:
            figure = score_figure(rows)
        else:
            figure = matrix_figure(opened.name, forms, layer, head, opened.matrix)
        view = view._replace(svg=figure.svg(), alt=figure.alt)
        if plot is not None:
            figure.save(plot)
            say(f"figure written to {plot}")
    deliver(rows, view, form, output)


def _scored(checkpoint, gamma: float, per_head: bool, convention: str, positions: bool) -> tuple[list[dict], list[str]]:
    """Rows of scores, and which parts could not be split by positions."""
    from attngeo.bilinear.rows import with_split
    from attngeo.checkpoints.rows import layer_rows, position_spaces

    rows: list[dict] = []
    spaces, missing = position_spaces(checkpoint) if positions else ({}, [])
    with bars() as progress, closing(iter(checkpoint)) as layers:
        task = progress.add_task(checkpoint.name, total=len(checkpoint), what="layers")
        for plan, layer in zip(checkpoint.plans, layers, strict=True):
            scored = layer_rows(checkpoint, layer, gamma, per_head, convention)
            space = spaces.get((plan.part, plan.positions))
            rows += with_split(scored, layer.form, space) if positions else scored
            progress.update(task, advance=1, what=f"layers, {checkpoint.bytes_read / 1e6:.1f} MB read")
    return rows, missing
