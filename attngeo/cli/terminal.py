"""Output on stderr: progress bars and messages, which --quiet suppresses."""

import logging
import sys

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

QUIET = "attngeo.quiet"  # key in the context of a command


def screen() -> Console:
    """A console on stderr for moving output. It shows nothing if stderr is not a terminal."""
    return Console(stderr=True, quiet=is_quiet() or not sys.stderr.isatty())


def bars() -> Progress:
    """Progress bars on stderr if this is a terminal. The field ``what`` of a task says what is counted."""
    console, columns = screen(), (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *(*columns, TextColumn("{task.fields[what]}"), TimeElapsedColumn(), TimeRemainingColumn()),
        console=console,
        disable=console.quiet,
        redirect_stdout=sys.stdout.isatty(),  # otherwise rich would also redirect output to a file
    )


def say(words: str) -> None:
    """Write a line to stderr, unless --quiet is given."""
    if not is_quiet():
        click.echo(words, err=True)


def mute_hub() -> None:
    """Suppress the messages of huggingface_hub about retries, because failures are reported in one sentence."""
    import huggingface_hub  # noqa: F401  importing it resets the level below

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def quiet_option() -> click.Option:
    """The option ``--quiet`` of every command."""
    return click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, value: context.meta.update({QUIET: value}),
        help="Hide the progress display and the list of written files, and print only error messages (to stderr).",
    )


def is_quiet() -> bool:
    """Whether --quiet is given."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(QUIET, False)
