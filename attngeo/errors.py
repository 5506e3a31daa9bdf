"""Errors a user can mend: one sentence that names the thing, the cause and the way out."""


class AttngeoError(Exception):
    """Bad input. The message is one sentence; the command line prints it and exits with code 2."""


class CheckpointError(AttngeoError):
    """A checkpoint cannot be found, read or understood."""


class ParameterError(AttngeoError, ValueError):
    """A parameter has the wrong type, is out of range or is unknown."""


class MatrixError(AttngeoError, ValueError):
    """A matrix or a form cannot be scored: wrong shape, empty, or not finite."""
