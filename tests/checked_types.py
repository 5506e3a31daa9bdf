"""Shapes are checked where an annotation has one, and elsewhere the types alone, which takes half of the time."""

import functools
from collections.abc import Callable
from types import FunctionType

import jaxtyping

jaxtyped = jaxtyping.jaxtyped


def checked(function: object = None, *, typechecker: Callable) -> object:
    """Stand in for `jaxtyping.jaxtyped`, which binds the arguments of every call, although only shapes need them."""
    if function is None:
        return functools.partial(checked, typechecker=typechecker)
    if not isinstance(function, FunctionType) or "jaxtyping" in repr(function.__annotations__):
        return jaxtyped(function, typechecker=typechecker)
    typed = typechecker(function)

    @functools.wraps(function)
    def called(*args, **kwargs):
        return (function if jaxtyping.config.jaxtyping_disable else typed)(*args, **kwargs)

    return called
