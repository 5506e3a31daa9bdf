"""The code of a claim as its page shows it: the function, its call with the values of the run, and what both use.

A reader can copy and run it, because it includes the imports, constants and functions of the notebook that it uses.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livingpaper.claims.claim import decoration
from livingpaper.display.check_line import CODE

MARK = re.compile(CODE.format(r"(\w+)"))  # the place in a check line for the code of a claim


@dataclass(frozen=True)
class Definition:
    """A function, a class or a constant of the notebook."""

    name: str
    node: ast.stmt
    text: str  # without the decorator that has the texts of a claim


@dataclass(frozen=True)
class NotebookCode:
    """The code of a notebook, looked up by name."""

    definitions: dict[str, Definition]
    calls: dict[str, ast.Call]  # the last call of each function, with values instead of variables
    imports: list[ast.Import | ast.ImportFrom]
    values: Mapping[str, Any]  # values of the parameters

    @classmethod
    def of(cls, cells: Sequence[str], values: Mapping[str, Any]) -> "NotebookCode":
        """The code of these cells, with these values of the notebook's parameters."""
        replaced = _VariablesReplaced(values)
        nodes = [node for source in cells for node in ast.walk(replaced.visit(ast.parse(source)))]
        calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        return cls(
            definitions={definition.name: definition for source in cells for definition in _definitions(source)},
            calls={call.func.id: call for call in calls},
            imports=[node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)],
            values=values,
        )

    def names_in(self, *nodes: ast.AST) -> set[str]:
        """The names in these nodes, and in the definitions that they use."""
        names: set[str] = set()
        waiting = list(nodes)
        while waiting:
            found = _names(waiting.pop())
            waiting += [self.definitions[name].node for name in found - names if name in self.definitions]
            names |= found
        return names


def with_code(markdown: str, code: NotebookCode) -> str:
    """Check lines with the code of their claims in place of each mark."""
    return MARK.sub(lambda mark: _claim_code(mark[1], code), markdown)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


class _VariablesReplaced(ast.NodeTransformer):
    """Replaces parameters and lower-case variables by their values, except within functions."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: dict[str, ast.expr] = {name: ast.Constant(value) for name, value in values.items()}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # its variables are its own

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        target = node.targets[0]
        if isinstance(target, ast.Name) and not target.id.isupper():
            self.values[target.id] = node.value
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _definitions(source: str) -> Iterator[Definition]:
    """The functions, classes and constants of a cell."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names, decorators = [node.name], node.decorator_list
        elif isinstance(node, ast.Assign):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            names, decorators = [name for name in targets if name.isupper()], []
        else:
            continue
        if isinstance(node, ast.FunctionDef) and (words := decoration(node)):
            decorators.remove(words)
        first_line = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        text = "\n".join(source.splitlines()[first_line - 1 : node.end_lineno])
        for name in names:
            yield Definition(name, node, text)


def _claim_code(name: str, code: NotebookCode) -> str:
    """The function and its call, and a fold with the code that they use."""
    call, claim = code.calls[name], code.definitions[name]
    names = code.names_in(call, claim.node)
    used = [definition for definition in code.definitions.values() if definition.name in names - {name}]
    constants = [definition for definition in used if definition.name.isupper()]
    functions = [definition.text for definition in used if not definition.name.isupper()]
    in_constants = {name for constant in constants for name in _names(constant.node)}
    values = [f"{parameter} = {value!r}" for parameter, value in code.values.items() if parameter in in_constants]
    constants_text = "\n".join([*values, *(constant.text for constant in constants)])
    blocks = ["\n".join(_imports_of(names, code)), constants_text, *functions]
    uses = "\n\n\n".join(block for block in blocks if block)
    shown = _fenced(f"{claim.text}\n\n\nlist({ast.unparse(call)})")
    if not uses:
        return shown
    return f'{shown}\n\n<details class="check-uses"><summary>What it uses</summary>\n\n{_fenced(uses)}\n\n</details>'


def _imports_of(names: set[str], code: NotebookCode) -> list[str]:
    """The import statements of the notebook, restricted to these names."""
    statements = []
    for statement in map(copy.copy, code.imports):
        statement.names = [alias for alias in statement.names if (alias.asname or alias.name) in names]
        if statement.names:
            statements.append(ast.unparse(statement))
    return statements


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
