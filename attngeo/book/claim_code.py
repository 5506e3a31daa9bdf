"""The code of a claim, put where the page unfolds it: its function, and what that uses of the same notebook."""

import ast
import re
from collections.abc import Iterable, Iterator

from attngeo.claims.claim import decoration
from attngeo.display.check_line import CODE

_MARK = re.compile(CODE.format(r"(\w+)"))


def with_code(markdown: str, cells: Iterable[str]) -> str:
    """The lines of checks with each mark replaced by the code of that claim, which the cells hold."""
    defined = {name: definition for source in cells for name, definition in _definitions(source)}
    return _MARK.sub(lambda mark: _code(mark[1], defined), markdown)


def _definitions(source: str) -> Iterator[tuple[str, tuple[ast.stmt, str]]]:
    """Functions, classes and constants of a cell, without the words of its claims."""
    for node in ast.parse(source).body:
        names = [n.id for n in getattr(node, "targets", ()) if isinstance(n, ast.Name) and n.id.isupper()]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
            if isinstance(node, ast.FunctionDef) and (words := decoration(node)):
                node.decorator_list.remove(words)
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
        yield from ((name, (node, text)) for name in names)


def _code(name: str, defined: dict[str, tuple[ast.stmt, str]]) -> str:
    used, waiting = {name}, [name]
    while waiting:
        names = {n.id for n in ast.walk(defined[waiting.pop()][0]) if isinstance(n, ast.Name)}
        waiting += (new := (names & defined.keys()) - used)
        used |= new
    others = {other: defined[other][1] for other in defined if other in used - {name}}
    constants, functions = ([o for n, o in others.items() if n.isupper() is kind] for kind in (True, False))
    before = "\n\n\n".join(filter(None, ["\n".join(constants), *functions]))
    folded = f'<details class="check-uses"><summary>What it uses</summary>\n\n{_fenced(before)}\n\n</details>'
    return f"{_fenced(defined[name][1])}\n\n{folded if before else ''}".rstrip()


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
