"""Errors a user can mend: one sentence that names the thing, the cause and the way out."""

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
    """Names to choose from; another name is a `ParameterError`."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        known = ", ".join(choice.value for choice in cls)
        raise ParameterError(f"{value!r} is not a {cls.__name__.lower()}; use one of {known}.")


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Within it a package that is not installed is an error in one sentence.

    Args:
        extra: of attngeo, which installs the packages imported here; "" where the package alone is better.
        what: cannot be had without; the sentence starts with it.

    Raises:
        MissingExtra: a package of others is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "attngeo").partition(".")[0] == "attngeo":
            raise
        install = f"'attngeo[{extra}]'" if extra else error.name
        raise MissingExtra(f"{what} needs the package {error.name}: pip install {install}.") from error


def absent(name: str, missing: MissingExtra) -> type:
    """A class in place of one that needs an extra: it can be imported and asked for help, and refuses to be made."""

    def refuse(*arguments, **options) -> None:
        raise missing

    return type(name, (), {"__doc__": f"{missing}", "__new__": refuse})
