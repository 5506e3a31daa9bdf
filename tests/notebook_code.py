"""The code of a notebook as a module, without its page: what it imports and defines, shapes checked, nothing shown."""

import ast
import types
from collections.abc import Callable
from functools import cache, partial
from pkgutil import resolve_name
from typing import NamedTuple
from unittest.mock import patch

import torch
from beartype import beartype
from jaxtyping import jaxtyped
from livingpaper.claims.claim import decoration
from livingpaper.claims.results import Result, Verdict

from attngeo.files.checkout import root

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AnnAssign)  # the last: parameters


@cache
def notebook(name: str) -> types.ModuleType:
    """Imports, functions, classes, parameters and CAPITALS of ``notebooks/NAME.py``; errors can be planted in it."""
    path = root() / "notebooks" / f"{name}.py"
    module = types.ModuleType(name)
    module.__file__, module._checked = str(path), jaxtyped(typechecker=beartype)
    exec(compile(definitions(path.read_text("utf-8")), path, "exec"), vars(module))
    return module


def definitions(text: str) -> ast.Module:
    """The statements of a notebook that define something, each function with its shapes checked."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS) or _is_constant(node)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list.append(ast.copy_location(ast.Name("_checked", ast.Load()), node))
    return ast.fix_missing_locations(tree)


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id.isupper() for t in node.targets)


@cache
def result(page: str, claim: str) -> Result:
    """What a claim gives as the page has it, with the defaults of its function: judged once for all that is asked."""
    before = torch.get_rng_state()
    judged = getattr(notebook(page), claim)()
    assert torch.equal(before, torch.get_rng_state()), f"{claim} draws from torch's global generator"
    return judged


def assigned(**columns: object) -> Callable:
    """An error for `refused_by`: the frame that a function gives, with columns made anew."""
    return lambda right, *at: right(*at).assign(**columns)


def refused_by(page: str, claim: str, name: str, wrong: object) -> list[str]:
    """What a claim compares that does not hold with ``name`` replaced by something wrong; its verdict, if that changes.

    Args:
        page: the notebook.
        claim: the claim's function. It is judged without the error first, so that what cached functions draw is drawn.
        name: what is replaced, of the page; ``module.attribute`` with its full path elsewhere.
        wrong: what it is replaced by; a function whose first parameter is ``right`` is given what it replaces.
    """
    before, module = result(page, claim), notebook(page)
    if isinstance(wrong, types.FunctionType) and wrong.__code__.co_varnames[:1] == ("right",):
        wrong = partial(wrong, resolve_name(name) if "." in name else getattr(module, name))
    with patch(name, wrong) if "." in name else patch.object(module, name, wrong):
        judged = getattr(module, claim)()
    verdict = [] if judged.verdict is before.verdict else [str(judged.verdict)]
    return [c.quantity for c in judged.comparisons if not c.holds] + verdict


class Written(NamedTuple):
    """The subject of a claim, as its notebook states it."""

    statement: str
    part: str
    title: str
    verdict: Verdict | None  # None if the verdict follows from the numbers


@cache
def claims_of(page: str) -> dict[str, Written]:
    """The claims in the source of a notebook, by the names of their functions; empty if there is no such notebook."""
    path = root() / "notebooks" / f"{page}.py"
    body = ast.parse(path.read_text("utf-8")).body if path.is_file() else ()
    calls = {node.name: call for node in body if isinstance(node, ast.FunctionDef) and (call := decoration(node))}
    verdicts = {name: Verdict[call.args[3].attr] for name, call in calls.items() if call.args[3:]}
    return {n: Written(*map(ast.literal_eval, call.args[:3]), verdicts.get(n)) for n, call in calls.items()}
