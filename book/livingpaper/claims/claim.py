"""A claim: a statement of the paper or of ours, our verdict, and the comparisons behind it, in one notebook cell.

::

    @claim("S1.8", "Eq. S57", "which independence removes the cross terms", Verdict.MISPRINT, printed=..., holds=...)
    def independence_of_vectors(d=64):
        left, right = ...
        yield exact("left side minus right side of Eq. S57", left - right)

    show(independence_of_vectors(d))

If the verdict is that the statement holds, every number compared counts as claimed by the paper. Otherwise, the paper
is taken to claim equality wherever we compare with ``≠``, and nothing in other comparisons. ``exact(..., paper="= 0")``
overrides this, and ``paper=""`` means that the paper has no number here.

Texts that contain computed numbers are returned after the last comparison, as in
``return {"holds": f"... {value:.0f} ..."}``, and so is a ``verdict`` that follows from the numbers.
"""

import ast
import re
from collections.abc import Callable, Generator, Mapping
from functools import wraps
from typing import Any

from livingpaper.claims.results import (
    Comparison,
    Result,
    Verdict,
    WordingError,
    compare,
    exact,
    monte_carlo,
    printed_twice,
)

__all__ = ["Comparisons", "Verdict", "claim", "compare", "exact", "monte_carlo", "printed_twice"]

OURS = "This statement is ours, not the paper's."
QUOTED = ("printed", "place")
NEEDED = {
    Verdict.HOLDS: (),
    Verdict.STATED: (*QUOTED, "remark"),  # quotes the assumption, and explains what depends on it
    Verdict.MISPRINT: (*QUOTED, "holds"),
    Verdict.ASSUMPTION: (*QUOTED, "holds", "missing"),  # words for the assumption, which the paper does not have there
    Verdict.CHANGES: QUOTED,
    Verdict.UNDECIDED: (*QUOTED, "remark"),
    Verdict.SHORT: ("remark",),  # explains what we had planned and what we found
}
Comparisons = Generator[Comparison, None, dict[str, Any] | None]


def claim(
    statement: str,
    part: str,
    title: str,
    verdict: Verdict | None = None,
    *,
    printed: str = "",
    place: str = "",
    holds: str = "",
    missing: tuple[str, ...] = (),
    remark: str = "",
    ours: bool = False,
    maybe_copying: bool = False,
    repeats: str = "",
) -> Callable[[Callable[..., Comparisons]], Callable[..., Result]]:
    """Turn a generator of comparisons into a check, which returns a `Result` with these texts.

    ``holds`` becomes the result's ``corrected``. ``verdict`` is None if the function returns the verdict.
    """
    words = {"title": title, "printed": printed, "place": place, "holds": holds, "remark": remark}

    def register(compared: Callable[..., Comparisons]) -> Callable[..., Result]:
        @wraps(compared)
        def judged(*args: Any, **kwargs: Any) -> Result:
            seen, generator = [], compared(*args, **kwargs)
            try:
                while True:
                    seen.append(next(generator))
            except StopIteration as end:
                said = {"verdict": verdict, **words, **(end.value or {})}
            found = said.pop("verdict")
            if found is None or said.keys() != words.keys():
                known = ", ".join(["verdict", *words])
                raise WordingError(f"{judged.__name__} must have a verdict, and may return only these texts: {known}.")
            _check_texts(judged.__name__, found, said | {"missing": missing}, ours)
            said = {key: re.sub("[ \n]+", " ", text).strip(" ") for key, text in said.items()}
            said["corrected"] = said.pop("holds")
            if ours:
                said["remark"] = f"{OURS} {said['remark']}".rstrip()
            return Result(
                statement,
                part,
                verdict=found,
                comparisons=tuple(c.claimed(found, ours) for c in seen),
                maybe_copying=maybe_copying,
                repeats=repeats,
                ours=ours,
                missing=missing,
                source=judged.__name__,
                **said,
            )

        return judged

    return register


def _check_texts(name: str, verdict: Verdict, texts: Mapping[str, Any], ours: bool) -> None:
    """Refuse a verdict that lacks a text or has one that contradicts it. A statement of ours has nothing to quote."""
    if verdict is Verdict.SHORT and not ours:
        raise WordingError(
            f"The verdict {verdict.value!r} of {name} is for plans of ours only; write ours=True or choose another one."
        )
    needed, barred = list(NEEDED[verdict]), []
    if ours:
        needed = [key for key in needed if key not in QUOTED]
    if verdict is Verdict.CHANGES:  # if there is no correction, a remark explains why
        needed.append("holds" if texts["holds"] else "remark")
    if verdict is Verdict.UNDECIDED:
        barred.append("holds")
    if verdict is not Verdict.ASSUMPTION:
        barred.append("missing")
    for key in needed:
        if not texts[key]:
            raise WordingError(f"The verdict {verdict.value!r} of {name} needs the text {key!r}; add it.")
    for key in barred:
        if texts[key]:
            raise WordingError(f"The verdict {verdict.value!r} of {name} excludes the text {key!r}; remove it.")


def decoration(function: ast.FunctionDef) -> ast.Call | None:
    """The call of `claim` that decorates a function, or None."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == claim.__name__:
            return decorator
    return None
