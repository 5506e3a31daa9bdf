"""Options that every command with scores of checkpoints has: what is scored, by which formulas, and where it goes."""

from collections.abc import Callable
from pathlib import Path

import click

from attngeo.bilinear.conventions import GAMMA, Convention
from attngeo.cli.formats import SUFFIXES

per_head = click.option("--per-head", is_flag=True, help="Also one row per head.")
gamma = click.option(
    "--gamma",
    type=float,
    default=GAMMA,
    show_default=True,
    help="Threshold of the directionality score, in standard deviations.",
)
asked_format = click.option(
    "--format",
    "asked",
    type=click.Choice(list(SUFFIXES)),
    help="Default: by the suffix of FILE, else table. parquet and html need -o.",
)
output = click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write there and not to stdout."
)


def convention(words: str) -> Callable:
    """``--convention``, with what its help says of the formulas."""
    names = [c.value for c in Convention]
    return click.option(
        "--convention", type=click.Choice(names), default=Convention.DEFINITION.value, show_default=True, help=words
    )
