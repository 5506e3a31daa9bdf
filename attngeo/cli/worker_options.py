"""Options that every command with work for several processes has: who does it."""

from typing import Any

import click

from attngeo.errors import ParameterError


def _alone(context: click.Context, option: click.Parameter, value: Any) -> Any:
    if value and any(context.params.get(name) for name in ("workers", "scheduler")):
        raise ParameterError("--workers starts processes here and --scheduler uses those of a cluster; give one.")
    return value


workers = click.option(
    "--workers", type=click.IntRange(1, 1024), callback=_alone, help="Processes on this machine, one core each."
)
scheduler = click.option(
    "--scheduler", metavar="ADDRESS", callback=_alone, help="Address of a dask scheduler, whose workers do the work."
)
