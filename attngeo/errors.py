"""Errors that a user can fix. Each message is one sentence that names the problem, its cause and a solution."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class AttngeoError(Exception):
    """Base class of all errors that are caused by invalid input.

    The message is one sentence. The command line prints the message and exits with ``exit_code``.
    """

    exit_code = 2


class CheckpointError(AttngeoError):
    """A checkpoint cannot be found, read or interpreted."""


class ParameterError(AttngeoError, ValueError):
    """A parameter is unknown, has the wrong type or is out of range."""


class MatrixError(AttngeoError, ValueError):
    """A matrix or form cannot be scored because it has the wrong shape, is empty or is not finite."""


class MissingExtra(AttngeoError, ImportError):
    """A feature requires packages that only an optional extra of attngeo installs."""


class Choice(str, Enum):
    """A set of names to choose from. Any other name raises a `ParameterError`."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        known = ", ".join(choice.value for choice in cls)
        raise ParameterError(f"{value!r} is not a {cls.__name__.lower()}; use one of {known}.")


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn the import of a package that is not installed into an error of one sentence.

    Args:
        extra: the extra of attngeo that installs the packages imported here, or "" if it is better to install only the
            package.
        what: the feature that needs the packages. The sentence begins with it.

    Raises:
        MissingExtra: a package other than attngeo is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "attngeo").partition(".")[0] == "attngeo":
            raise
        install = f"'attngeo[{extra}]'" if extra else error.name
        raise MissingExtra(f"{what} needs the package {error.name}: pip install {install}.") from error


def absent(name: str, missing: MissingExtra) -> type:
    """A class that can be imported in place of one that needs an extra. Creating an instance raises the error."""

    def refuse(*arguments, **options) -> None:
        raise missing

    return type(name, (), {"__doc__": f"{missing}", "__new__": refuse})
