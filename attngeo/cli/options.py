"""Options that several commands share: what is scored, by which formulas, where the result goes, and who does the
work."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path

import click

from attngeo.bilinear.conventions import GAMMA, Convention, require_gamma
from attngeo.cli.formats import SUFFIXES
from attngeo.errors import ParameterError

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
CHECKPOINT = click.Path()  # a path or a Hub id; the shell completes paths


def several(*options: Callable) -> Callable:
    """Combine several decorators into one, in the order of the help text."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def _threshold(context: click.Context, option: click.Parameter, value: float) -> float:
    require_gamma(value)
    return value


def _once(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> Path | None:
    if len(files) > 1:
        raise ParameterError(
            f"{option.opts[0]} was given {len(files)} times ({', '.join(map(str, files))}), but it can be given only"
            " once."
        )
    return files[0] if files else None


# for output files; without the callback, click would silently take the last one
once = {"type": FILE, "multiple": True, "callback": _once}


gamma = click.option(
    "--gamma",
    default=GAMMA,
    callback=_threshold,
    help="Set the threshold of the directionality score, in standard deviations.",
)
scoring = several(
    click.option("--per-head", is_flag=True, help="Add one row per head."),
    gamma,
    click.option(
        "--convention",
        type=click.Choice([c.value for c in Convention]),
        default=Convention.DEFINITION.value,
        help="Choose the formulas for the scores: Defs. 3.1 and 3.2 without the factor of 2 in Def. 3.1 (definition),"
        " Defs. 3.1 and 3.2 as printed (printed), the formulas in the authors' code (released), or the formulas in"
        " Table S3 (tables).",
    ),
    click.option(
        "--format",
        "asked",
        type=click.Choice(list(SUFFIXES)),
        help="Set the output format. By default, the suffix of the output file determines the format.",
    ),
    click.option("-o", "--output", **once, help="Write the result to this file instead of stdout."),
)


def _register(context: click.Context, option: click.Parameter, paths: tuple[Path, ...]) -> None:
    for path in paths:
        # this imports torch, for which --help should not wait
        from attngeo.checkpoints.architectures import register_file

        register_file(path)


reading = several(
    click.option(
        "--register",
        type=FILE,
        multiple=True,
        expose_value=False,
        callback=_register,
        help="Register the model types that are described in this YAML file. This option can be repeated.",
    ),
    click.option(
        "--as",
        "model_type",
        metavar="TYPE",
        help="Read the checkpoint as this supported model type. Use this option if the model type of the checkpoint"
        " differs from the supported type only in name.",
    ),
)
working = several(
    click.option("--workers", type=click.IntRange(1), help="Use this many processes with one core each."),
    click.option(
        "--scheduler",
        default="",
        show_default=False,
        help="Distribute the work over the workers of this dask scheduler.",
    ),
)
