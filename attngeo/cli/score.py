"""``attngeo score``: both scores of a checkpoint's attention layers, as a table, CSV or Parquet."""

import io
import logging
from contextlib import closing
from pathlib import Path

import click
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from attngeo.checkpoints.layers import Checkpoint, open_checkpoint
from attngeo.errors import ParameterError
from attngeo.forms.scores import GAMMA, SUM
from attngeo.records.atomic import atomic_path
from attngeo.survey.score_table import as_table, layer_rows

FORMATS = ("table", "csv", "parquet")


@click.command(short_help="both scores of a checkpoint's attention layers")
@click.argument("checkpoint", metavar="PATH_OR_ID")
@click.option("--per-head", is_flag=True, help="Also one row per head.")
@click.option(
    "--gamma",
    type=float,
    default=GAMMA,
    show_default=True,
    help="Threshold of the directionality score, in standard deviations.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=None,
    help="Default: by the suffix of FILE, else table. Parquet needs -o.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write there and not to stdout.")
@click.option("--revision", metavar="R", help="Branch, tag or commit of a Hub repository.")
def command(
    checkpoint: str, per_head: bool, gamma: float, form: str | None, output: Path | None, revision: str | None
) -> None:
    """Symmetry and directionality of every attention layer of a model.

    PATH_OR_ID is a folder with config.json and weights, a weight file, or a Hub id. Only the query and key tensors are
    read.
    """
    form = form or _by_suffix(output)
    if form == "parquet" and output is None:
        raise ParameterError("parquet is a binary format and needs a file: add -o FILE.")
    if output is not None and output.is_dir():
        raise ParameterError(f"{output} is a folder; -o needs a file name.")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # its retries; what fails is said in one sentence
    with Console(stderr=True).status(f"looking for {checkpoint}"):  # shown on a terminal alone
        opened = open_checkpoint(checkpoint, revision)
    table = _scored(opened, gamma, per_head)
    if output is None:
        _to_screen(table, form)
        return
    with atomic_path(output) as temporary:
        if form == "parquet":
            table.to_parquet(temporary, index=False)
        else:
            temporary.write_text(table.to_csv(index=False) if form == "csv" else _as_text(table), encoding="utf-8")
    click.echo(f"{len(table)} rows written to {output}", err=True)


def _by_suffix(output: Path | None) -> str:
    suffix = "" if output is None else output.suffix.removeprefix(".").lower()
    return suffix if suffix in FORMATS else "table"


def _scored(checkpoint: Checkpoint, gamma: float, per_head: bool) -> pd.DataFrame:
    """The score table, with a progress bar on stderr where that is a terminal."""
    console = Console(stderr=True)
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
            rows += layer_rows(checkpoint, layer, gamma, per_head)
            progress.update(task, advance=1, read=f"{checkpoint.bytes_read / 1e6:.1f} MB read")
    return as_table(rows)


def _to_screen(table: pd.DataFrame, form: str) -> None:
    if form == "csv":
        click.echo(table.to_csv(index=False), nl=False)
        return
    console = Console()
    if console.is_terminal:
        console.print(_as_rich(table))
    else:
        click.echo(_as_text(table), nl=False)


def _as_text(table: pd.DataFrame) -> str:
    text = io.StringIO()
    Console(file=text, width=120).print(_as_rich(table))
    return text.getvalue()


def _as_rich(table: pd.DataFrame) -> Table:
    heads = bool((table["head"] != SUM).any())
    layers = table[table["head"] == SUM]
    medians = layers.groupby("part", sort=False)[["symmetry", "directionality"]].median()
    caption = "; ".join(
        f"median over {part} layers: symmetry {row.symmetry:.4f}, directionality {row.directionality:.4f}"
        for part, row in medians.iterrows()
    )
    first = table.iloc[0]
    title = f"{first['model']} {first['revision'][:12]}".strip()
    rich = Table(title=f"{title}, gamma = {first['gamma']:g}", caption=caption)
    rich.add_column("part")
    for name in ("layer", *(["head"] if heads else []), "symmetry", "directionality", "rows over", "columns over"):
        rich.add_column(name, justify="right")
    for row in table.itertuples():
        head = [] if not heads else ["all" if row.head == SUM else str(row.head)]
        scores = (f"{row.symmetry:.4f}", f"{row.directionality:.4f}")
        rich.add_row(row.part, str(row.layer), *head, *scores, str(row.n_rows_over), str(row.n_cols_over))
    return rich
