"""The terminal, if there is one."""

import os
import sys

import click
from rich.console import Console

QUIET = "attngeo.quiet"  # of a command's context


def screen(stderr: bool = False) -> Console:
    """What is printed to; a notebook's cell counts as a file, and so does what FORCE_COLOR alone calls a terminal.

    With --quiet stderr is none, so that no progress is drawn there.
    """
    stream = sys.stderr if stderr else sys.stdout
    shown = stream.isatty() and "JPY_PARENT_PID" not in os.environ and not (stderr and _is_quiet())
    return Console(stderr=stderr, force_terminal=shown)


def say(words: str) -> None:
    """A line on stderr, unless --quiet is given."""
    if not _is_quiet():
        click.echo(words, err=True)


def quiet_option() -> click.Option:
    """``--quiet``, which every command has."""

    def note(context: click.Context, option: click.Parameter, value: bool) -> None:
        context.meta[QUIET] = value

    words = "No progress, and no word of what was written; errors alone on stderr."
    return click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=note, help=words)


def _is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(QUIET, False)
