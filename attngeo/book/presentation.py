"""An executed chapter made ready for the book: numbered figures and tables, descriptions of images, the code of claims.

The code of a claim stands where the page unfolds it: its function as it is called, and what that uses of the same
notebook and imports. Copied together it runs.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import nbformat
import pandas as pd
from nbformat import NotebookNode

from attngeo.book.execution import RECORD
from attngeo.book.notebooks import Chapter
from attngeo.claims.claim import decoration
from attngeo.display import METADATA_KEY, NARROW_SVG
from attngeo.display.check_line import CODE
from attngeo.display.interactive import container
from attngeo.display.tables import markdown_table

_MARK = re.compile(CODE.format(r"(\w+)"))
_REMOVED = {"remove-cell", "remove_cell", "remove-output", "remove_output"}


def present(chapter: Chapter, run: NotebookNode) -> NotebookNode:
    """The notebook as MyST-NB shall read it."""
    page = copy.deepcopy(run)
    code = [cell.source for cell in page.cells if cell.cell_type == "code"]
    marks = (i for i, line in enumerate(chapter.text.splitlines()) if line.startswith("# %%"))
    cells, lines = [], [0]
    for cell in page.cells:
        tags = cell.metadata.get("tags", [])
        line = lines[-1] if "injected-parameters" in tags else next(marks, lines[-1])
        if "parameters" in tags:  # they stand under *This run*
            cell.metadata["tags"] = [*tags, "remove-cell"]
        pieces = _pieces(cell)
        for piece in pieces:
            if _MARK.search(piece.source):
                piece.source = with_code(piece.source, code, run.metadata[RECORD]["values"])
        cells += pieces
        lines += [line] * len(pieces)
    page.cells = [*cells, nbformat.v4.new_markdown_cell(run_table(chapter, run.metadata[RECORD]))]
    for i, cell in enumerate(page.cells):
        cell.id = f"cell-{i}"
    page.metadata = nbformat.from_dict({k: page.metadata[k] for k in ("kernelspec", "language_info")})
    page.metadata["source_map"] = [*lines[1:], lines[-1]]  # so that a warning names the chapter's line
    return page


def run_table(chapter: Chapter, record: dict[str, Any]) -> str:
    """End of a page, folded: what the chapter was given, where it ran, how long, with which versions."""
    values = [
        {
            "parameter": f"`{name}`",
            "value": f"`{record['values'].get(name)}`",
            "default": f"`{parameter.default}`",
            "meaning": parameter.description,
            "range": parameter.interval or " | ".join(parameter.choices),
        }
        for name, parameter in chapter.parameters.items()
    ]
    facts = {
        "profile": record["profile"],
        "device": record["device"],
        "time": f"{record['seconds']:g} s",
        "executed": record["executed"],
        "commit": record["commit"] or "not known",
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    blocks = ["::::{dropdown} This run", markdown_table(pd.DataFrame(facts.items(), columns=["fact", "value"]))]
    if values:
        example = f"attngeo run {chapter.name} -p {next(iter(chapter.parameters))} VALUE"
        blocks += [f"Its parameters, which `{example}` changes:", markdown_table(pd.DataFrame(values))]
    return "\n\n".join([*blocks, "::::"])


def _pieces(cell: NotebookNode) -> list[NotebookNode]:
    """A cell and, as cells of their own, what it showed: MyST-NB captions cells, and only cells of text hold labels."""
    tags = cell.metadata.get("tags", [])
    if cell.cell_type != "code" or not cell.outputs or _REMOVED & set(tags):
        return [cell]
    outputs, cell.outputs = cell.outputs, []
    pieces = [cell]
    for output in outputs:
        ours = output.get("metadata", {}).get(METADATA_KEY, {})
        if "figure" in ours:
            output.data.pop(NARROW_SVG, None)  # `attngeo.book.takeaways` puts it beside the page
            pieces.append(_figure(output, **ours["figure"]))
            if "interactive" in ours:
                html = container(**ours["interactive"], figure=ours["figure"]["name"])
                pieces.append(nbformat.v4.new_markdown_cell(html))  # an output would get a ground and margins
        elif "table" in ours:
            pieces.append(nbformat.v4.new_markdown_cell(_table(output.data["text/markdown"], **ours["table"])))
        elif "results" in ours:
            cell.metadata["tags"] = [*tags, "remove-input"]  # the line has its code
            pieces.append(nbformat.v4.new_markdown_cell(output.data["text/markdown"]))
        else:
            if pieces[-1].cell_type != "code" or "mystnb" in pieces[-1].metadata:
                pieces.append(_code_cell())
            pieces[-1].outputs.append(output)
    return pieces


def _figure(output: NotebookNode, name: str, caption: str, alt: str) -> NotebookNode:
    output.data.pop("text/plain", None)
    cell = _code_cell(output)
    cell.metadata["mystnb"] = {
        "figure": {"name": name, "caption": caption},
        "image": {"alt": alt, "classes": "dark-light"},  # custom.css has its colours on the dark page
    }
    return cell


def _table(markdown: str, name: str, caption: str, folded: str = "") -> str:
    body = markdown.removeprefix(f"*{caption}*\n\n")
    fence = "~~~~"  # a caption behind backticks may hold none (CommonMark)
    block = f"{fence}{{table}} {caption}\n:name: {name}\n\n{body}\n{fence}"
    return f"::::{{dropdown}} {folded}\n{block}\n::::" if folded else block


def _code_cell(*outputs: NotebookNode) -> NotebookNode:
    source = "# shown above"  # MyST-NB skips empty cells
    return nbformat.v4.new_code_cell(source, metadata={"tags": ["remove-input"]}, outputs=list(outputs))


def with_code(markdown: str, cells: Sequence[str], values: Mapping[str, Any]) -> str:
    """The lines of checks with each mark replaced by the code of that claim, which the cells hold.

    ``values`` are those of the notebook's parameters, with which its claims are called.
    """
    defined = {name: definition for source in cells for name, definition in _definitions(source)}
    given = _Given(values)
    nodes = [node for source in cells for node in ast.walk(given.visit(ast.parse(source)))]
    calls = {n.func.id: n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return _MARK.sub(lambda mark: _code(mark[1], defined, imports, values, calls[mark[1]]), markdown)


class _Given(ast.NodeTransformer):
    """Values in place of the names of parameters, and what a variable of the page was given in place of its name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: dict[str, ast.expr] = {name: ast.Constant(value) for name, value in values.items()}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:  # its names are its own
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        if isinstance(node.targets[0], ast.Name) and not node.targets[0].id.isupper():
            self.values[node.targets[0].id] = node.value
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


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


def _code(
    name: str,
    defined: dict[str, tuple[ast.stmt, str]],
    imports: Sequence[ast.Import | ast.ImportFrom],
    values: Mapping[str, Any],
    call: ast.Call,
) -> str:
    used, waiting, words, parameters = {name}, [call, defined[name][0]], set(), set()
    while waiting:
        node = waiting.pop()
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        new = (names & defined.keys()) - used
        waiting += [defined[n][0] for n in new]
        used, words = used | new, words | names
        parameters |= names & values.keys() if isinstance(node, ast.Assign) else set()
    imported = []
    for statement in map(copy.copy, imports):
        statement.names = [alias for alias in statement.names if (alias.asname or alias.name) in words]
        imported += [ast.unparse(statement)] if statement.names else []
    others = {other: defined[other][1] for other in defined if other in used - {name}}
    constants, functions = ([o for n, o in others.items() if n.isupper() is kind] for kind in (True, False))
    constants = [f"{name} = {values[name]!r}" for name in values if name in parameters] + constants
    before = "\n\n\n".join(filter(None, ["\n".join(imported), "\n".join(constants), *functions]))
    folded = f'<details class="check-uses"><summary>What it uses</summary>\n\n{_fenced(before)}\n\n</details>'
    shown = _fenced(f"{defined[name][1]}\n\n\nlist({ast.unparse(call)})")
    return f"{shown}\n\n{folded if before else ''}".rstrip()


def _fenced(code: str) -> str:
    return f"```python\n{code}\n```"
