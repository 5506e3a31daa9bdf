"""A claim: what the paper says, what we hold beside it, and the comparisons that decide, in one cell of a notebook.

::

    @claim("S1.8", "Eq. S57", "which independence removes the cross terms", Verdict.MISPRINT, printed=..., holds=...)
    def independence_of_vectors(d=64):
        left, right = ...
        yield exact("left less right of Eq. S57", left - right)

    show(independence_of_vectors(d))

The paper claims each number compared if the statement holds; if it does not, the number from which it is to differ
(``≠``), and of other comparisons nothing. ``exact(..., paper="= 0")`` says otherwise, ``paper=""`` that it has nothing.
Words that hold a number are returned when all is compared: ``return {"holds": f"... {value:.0f} ..."}``; so is a
``verdict`` that follows from the numbers.
"""

import ast
import inspect
import re
from collections.abc import Callable, Generator, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple

from attngeo.files.checkout import root
from livingpaper.claims.results import Comparison, Result, Verdict, WordingError, compare, exact, monte_carlo

__all__ = ["Comparisons", "Verdict", "claim", "claims_of", "compare", "exact", "monte_carlo"]

OURS = "This is a statement of ours, not of the paper."
QUOTED = ("printed", "place")
NEEDED = {
    Verdict.HOLDS: (),
    Verdict.STATED: (*QUOTED, "remark"),  # quotes the assumption where it stands, and says what rests on it
    Verdict.MISPRINT: (*QUOTED, "holds"),
    Verdict.ASSUMPTION: (*QUOTED, "holds", "missing"),  # words for it, which the paper does not have there
    Verdict.CHANGES: QUOTED,
    Verdict.UNDECIDED: (*QUOTED, "remark"),
    Verdict.SHORT: ("remark",),  # says what the plan asked and what was found
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
    """Make a generator of comparisons a check: called, it gives its `Result`, which has these words.

    ``holds`` is its ``corrected``. ``verdict`` is None where the function returns it.
    """
    words = {"title": title, "printed": printed, "place": place, "holds": holds, "remark": remark}

    def register(compared: Callable[..., Comparisons]) -> Callable[..., Result]:
        signature = inspect.signature(compared)

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
                raise WordingError(f"{judged.__name__} has no verdict, or returns words that are none of a claim.")
            _check_texts(judged.__name__, found, said | {"missing": missing}, ours)
            said = {key: re.sub("[ \n]+", " ", text).strip(" ") for key, text in said.items()}
            said["corrected"] = said.pop("holds")
            if ours:
                said["remark"] = f"{OURS} {said['remark']}".rstrip()
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
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
                parameters={k: v for k, v in given.arguments.items() if isinstance(v, str | int | float)},
                **said,
            )

        return judged

    return register


def _check_texts(name: str, verdict: Verdict, texts: Mapping[str, Any], ours: bool) -> None:
    """Refuse texts that a verdict does not go with, or that it lacks. A statement of ours has nothing to quote."""
    if verdict is Verdict.SHORT and not ours:
        raise WordingError(f"{name} is {verdict!s}, which can be said of a plan of ours alone; give ours=True.")
    needed, barred = NEEDED[verdict], () if verdict is Verdict.ASSUMPTION else ("missing",)
    if ours:
        needed = tuple(key for key in needed if key not in QUOTED)
    if verdict is Verdict.CHANGES:  # without a remedy it says why instead
        needed = (*needed, "holds" if texts["holds"] else "remark")
    if verdict is Verdict.UNDECIDED:
        barred = (*barred, "holds")
    for key in (*needed, *barred):
        if bool(texts[key]) is (key in barred):
            raise WordingError(f"{name} is {verdict!s} and {'must have no' if key in barred else 'has no'} {key}.")


class Written(NamedTuple):
    """What a claim is about, as its notebook writes it."""

    statement: str
    part: str
    title: str
    verdict: Verdict | None  # None where it follows from the numbers


@cache
def claims_of(page: str) -> dict[str, Written]:
    """The claims that a notebook makes, by the name of their functions, read and not run; none if it is not there."""
    path = root() / "notebooks" / f"{page}.py"
    body = ast.parse(path.read_text("utf-8")).body if path.is_file() else ()
    calls = {node.name: call for node in body if isinstance(node, ast.FunctionDef) and (call := decoration(node))}
    verdicts = {name: Verdict[call.args[3].attr] for name, call in calls.items() if call.args[3:]}
    return {n: Written(*map(ast.literal_eval, call.args[:3]), verdicts.get(n)) for n, call in calls.items()}


def decoration(function: ast.FunctionDef) -> ast.Call | None:
    """The call of `claim` above a function, if there is one."""
    calls = (d for d in function.decorator_list if isinstance(d, ast.Call))
    return next((d for d in calls if getattr(d.func, "id", "") == claim.__name__), None)
