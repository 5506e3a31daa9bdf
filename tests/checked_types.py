"""Types are checked at every call, and shapes where an annotation has one, in less time than jaxtyping takes."""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import is_dataclass
from types import FunctionType

import jaxtyping

jaxtyped = jaxtyping.jaxtyped


def checked(function: object = None, *, typechecker: Callable) -> object:
    """Stand in for `jaxtyping.jaxtyped`, which checks the parameters twice, so that its messages name all axes.

    A function is prepared at its first call, since most are never called. Functions within functions are made again
    and again: mypy alone checks their types, unless these have shapes.
    """
    if function is None:
        return functools.partial(checked, typechecker=typechecker)
    if is_dataclass(function) and not hasattr(function.__init__, "__wrapped__"):
        function.__init__ = checked(function.__init__, typechecker=typechecker)
    if not isinstance(function, FunctionType):
        return function if isinstance(function, type) else jaxtyped(function, typechecker=typechecker)
    shapes = "jaxtyping" in repr(function.__annotations__)
    if "<locals>" in function.__qualname__ and not shapes:
        return function
    typed = functools.cache(functools.partial(typechecker, function))
    own_axes = functools.partial(jaxtyped, "context") if shapes else nullcontext

    @functools.wraps(function)
    def called(*args, **kwargs):
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        with own_axes():
            return typed()(*args, **kwargs)

    return called
