"""What the user reads where ``--compile`` cannot be used."""

from collections.abc import Iterator
from contextlib import contextmanager

from attngeo.errors import ParameterError
from attngeo.inputs import cause


@contextmanager
def compilable(compiled: bool) -> Iterator[None]:
    """One sentence where torch.compile fails, without the output of the compiler, which may have hundreds of lines.

    Args:
        compiled: whether the model is compiled. If not, every error passes.

    Raises:
        ParameterError: torch.compile failed.
    """
    if not compiled:
        yield
        return
    from torch._dynamo.exc import TorchDynamoException  # takes a second to import

    try:
        yield
    except TorchDynamoException as error:
        raise ParameterError(f"torch.compile could not build code for the model: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """Why torch.compile failed, and the way out."""
    inner = getattr(error, "inner_exception", error)
    name = type(inner).__name__
    if "Triton" in name:
        return "it needs Triton and found none that works on this device; leave --compile out, or install Triton"
    if name == "InvalidCxxCompiler" or "Failed to find C compiler" in str(inner):
        return (
            "it found no working C++ compiler; leave --compile out, or install one, such as g++ (the environment"
            " variables CC and CXX name another)"
        )
    if command := getattr(inner, "cmd", None):
        return (
            f"the compiler {command[0]} ended with an error; leave --compile out, or install a compiler that works,"
            " such as g++ (the environment variables CC and CXX name another)"
        )
    return f"{name}: {cause(inner)}; leave --compile out"
