"""What stands on stderr beside a result: bars and lines of progress, none with --quiet."""

import logging
import sys

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

QUIET = "attngeo.quiet"  # of a command's context


def screen() -> Console:
    """Stderr where it is a terminal, for what moves; elsewhere nothing is shown."""
    return Console(stderr=True, quiet=is_quiet() or not sys.stderr.isatty())


def bars() -> Progress:
    """Bars on stderr where that is a terminal; a task says ``what`` is counted."""
    console, columns = screen(), (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *(*columns, TextColumn("{task.fields[what]}"), TimeElapsedColumn(), TimeRemainingColumn()),
        console=console,
        disable=console.quiet,
        redirect_stdout=sys.stdout.isatty(),  # or rich would print above the bars what is meant for a file
    )


def say(words: str) -> None:
    """A line on stderr, unless --quiet is given."""
    if not is_quiet():
        click.echo(words, err=True)


def mute_hub() -> None:
    """No word of retries; what fails is said in one sentence."""
    import huggingface_hub  # noqa: F401  importing it resets the level below

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def quiet_option() -> click.Option:
    """``--quiet``, which every command has."""
    return click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, value: context.meta.update({QUIET: value}),
        help="Suppress progress and the list of written files; print only errors, to stderr.",
    )


def is_quiet() -> bool:
    """Whether --quiet is given."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(QUIET, False)
