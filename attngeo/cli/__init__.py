"""The command line: ``attngeo score | diff | survey | train | ...``. Each command is in the module of the same name."""

import errno
import os
import sys
from importlib import import_module

import click

from attngeo import __version__
from attngeo.cli.terminal import quiet_option
from attngeo.errors import AttngeoError

COMMANDS = {
    "score": "Score the attention layers of a model.",
    "diff": "Compare W_qk between checkpoints.",
    "survey": "Score many models and record the scores with the origin of the weights.",
    "train": "Train an encoder or a decoder and record its scores.",
    "experiment": "Carry out the runs of an experiment that have not been recorded yet.",
    "run": "Run a chapter of the book with different parameters.",
    "cache": "Show or delete the stored queries and keys from the Hub.",
}


EXPERIMENTS = ("survey", "train", "experiment")  # the rest of the package does not import these commands


def _module(name: str) -> str:
    """The module of a command."""
    room = "experiments.commands" if name in EXPERIMENTS else "cli"
    return f"attngeo.{room}.{name}"


class _Commands(click.Group):
    """Subcommands that are imported only when they are called or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(_module(name)).command
        if command.short_help is None:
            command.name, command.short_help = name, COMMANDS[name]
            command.params.append(quiet_option())
        return command


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(cls=_Commands, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="attngeo")
def cli() -> None:
    """Measure the symmetry and directionality of query-key matrices in Transformers."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Invalid input ends with one sentence on stderr and with exit code 2."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        sys.exit(cli.main(words, prog_name="attngeo", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        command = " ".join(["attngeo", *(word for word in words[:1] if word in COMMANDS)])
        _refuse(f"{error.format_message().rstrip('.?')}; see {command} --help.")
    except (click.ClickException, AttngeoError) as error:
        _refuse(f"{error}", error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _refuse("interrupted.", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the program that read our output has ended
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _refuse(f"{error.filename or 'the output'} cannot be used ({error.strerror}); choose another place.")


def _refuse(sentence: str, code: int = 2) -> None:
    click.echo(f"attngeo: {' '.join(sentence.split())}", err=True)
    sys.exit(code)
