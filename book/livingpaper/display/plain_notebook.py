"""An executed chapter as a notebook of plain Markdown, which Jupyter and editors show as a person expects.

The text of a chapter is MyST: numbers of the run, references and statements are roles and directives, and formulas use
macros of the book. Here each of them is replaced by what the book shows in its place.
"""

import ast
import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file

from attngeo.plot import METADATA_KEY
from livingpaper.display.page import GLUE_PREFIX

_FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,})(?:\{([\w:-]+)\})?\s*(.*)$")
_OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
_ROLE = re.compile(r"\{([\w:]+)\}`([^`]*)`")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LABEL_OF_EQUATION = re.compile(r"\$\$[ ]*\(([\w-]+)\)")
_LINK_TO_PAGE = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[\w./-]+\.(?:py|md|html))?(?:#[\w-]+)?\)")
_STATEMENT = re.compile(r"\{prf:[a-z]+\} *(.*)\n(?:# )?:label: *(\S+)")


@dataclass(frozen=True)
class _Page:
    """What the roles of one chapter stand for."""

    glued: Mapping[str, str]  # numbers and sentences of the run, by name
    numbers: Mapping[str, str]  # numbers of figures, tables and equations by label: Figure 1, Table 2, (3)
    statements: Mapping[str, str]  # names of definitions and theorems of all chapters, by label
    references: Mapping[str, Entry]
    macros: Mapping[str, Any]  # TeX macros: their text, or their text and the number of their arguments


def plain_notebook(run: NotebookNode, checkout: Path) -> NotebookNode:
    """A copy of an executed chapter whose text and outputs are plain Markdown with the numbers of the run in it.

    Figures, tables and equations are numbered from 1. Cells that the book does not show are folded.

    Args:
        run: the executed chapter.
        checkout: folder of the repository, whose configuration, bibliography and chapters the text refers to.
    """
    notebook = copy.deepcopy(run)
    config = yaml.safe_load((checkout / "_config.yml").read_text("utf-8"))
    page = _Page(
        glued=dict(_glued(notebook)),
        numbers=_numbers(notebook),
        statements=_statements(checkout, notebook),
        references=parse_file(str(checkout / "book" / "references.bib")).entries,
        macros=config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"],
    )
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _plain(cell.source, page)
        elif cell.cell_type == "code":
            cell.outputs = [shown for output in cell.outputs for shown in _outputs(output, page)]
            _fold(cell)
    return notebook


def _outputs(output: NotebookNode, page: _Page) -> Iterator[NotebookNode]:
    """An output with its number and caption; nothing for a number that the text holds."""
    if "scrapbook" in output.get("metadata", {}):
        return
    data, ours = output.get("data", {}), output.get("metadata", {}).get(METADATA_KEY, {})
    if "text/markdown" in data:
        data["text/markdown"] = _plain(data["text/markdown"], page)
    if "table" in ours:
        data["text/markdown"] = f"**{page.numbers[ours['table']['name']]}.** {data['text/markdown']}"
    yield output
    if "figure" in ours:
        number, caption = page.numbers[ours["figure"]["name"]], _plain(ours["figure"]["caption"], page)
        yield nbformat.v4.new_output("display_data", {"text/markdown": f"**{number}.** {caption}"})


def _fold(cell: NotebookNode) -> None:
    """Hide in Jupyter what the book does not show."""
    tags = cell.metadata.get("tags", [])
    if {"remove-cell", "remove-input"} & set(tags):
        cell.metadata["jupyter"] = {"source_hidden": True}


# what a chapter refers to


def _glued(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Names and texts of what the cells glued."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "scrapbook" in output.get("metadata", {}):
                text = ast.literal_eval(output.data[f"{GLUE_PREFIX}text/plain"])
                yield output.metadata["scrapbook"]["name"], text


def _numbers(notebook: NotebookNode) -> dict[str, str]:
    """Numbers of figures, tables and equations by their labels, in the order of the notebook."""
    figures: list[str] = []
    tables: list[str] = []
    equations: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            equations += _LABEL_OF_EQUATION.findall(cell.source)
        for output in cell.get("outputs", []):
            ours = output.get("metadata", {}).get(METADATA_KEY, {})
            figures += [ours["figure"]["name"]] if "figure" in ours else []
            tables += [ours["table"]["name"]] if "table" in ours else []
    return {
        **{label: f"Figure {n}" for n, label in enumerate(figures, 1)},
        **{label: f"Table {n}" for n, label in enumerate(tables, 1)},
        **{label: f"({n})" for n, label in enumerate(equations, 1)},
    }


def _statements(checkout: Path, notebook: NotebookNode) -> dict[str, str]:
    """Names of the statements of all chapters by label: *Prop. 2.1 of the paper*, or the whole title of one of ours."""
    texts = [path.read_text("utf-8") for path in sorted((checkout / "notebooks").glob("*.py"))]
    texts += [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return {label: title.partition(":")[0] for text in texts for title, label in _STATEMENT.findall(text)}


def _cited(entry: Entry) -> str:
    """``Vaswani et al., 2017``, as a link where the bibliography has an address."""
    names = [person.last_names[-1] for person in entry.persons["author"]]
    who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    words = f"{who}, {entry.fields['year']}".replace("{", "").replace("}", "")
    address = entry.fields.get("url") or (f"https://doi.org/{entry.fields['doi']}" if "doi" in entry.fields else "")
    return f"[{words}]({address})" if address else words


# Markdown


def _plain(text: str, page: _Page) -> str:
    """MyST as Markdown, block by block."""
    lines, blocks, waiting = text.splitlines(), [], []
    place = 0
    while place < len(lines):
        opening = _FENCE.match(lines[place])
        if opening is None:
            waiting.append(lines[place])
            place += 1
            continue
        blocks.append(_inline("\n".join(waiting), page))
        waiting = []
        fence, name, title = opening.groups()
        end = next((i for i in range(place + 1, len(lines)) if lines[i].rstrip() == fence), len(lines))
        body = lines[place + 1 : end]
        blocks.append(_directive(name, title, body, page) if name else "\n".join(lines[place : end + 1]))
        place = end + 1
    blocks.append(_inline("\n".join(waiting), page))
    return "\n".join(block for block in blocks if block)


def _directive(name: str, title: str, lines: Sequence[str], page: _Page) -> str:
    """A statement or a note under its title in bold, and what the book folds as an HTML element that unfolds."""
    body = list(lines)
    while body and _OPTION.match(body[0]):
        body.pop(0)
    content = _plain("\n".join(body).strip("\n"), page)
    title = _inline(title, page)
    if name == "dropdown":
        return f"\n<details><summary>{title}</summary>\n\n{content}\n\n</details>\n"
    if name in ("prf:proof", "div"):
        return f"\n{content}\n"
    if not title:
        title = name.rpartition(":")[2].capitalize()
    stop = "" if title.endswith((".", "?", "!")) else "."
    return f"\n**{title}{stop}**\n\n{content}\n"


def _inline(text: str, page: _Page) -> str:
    """Text without fences: roles, links to other pages, labels of equations, and macros."""
    text = _ROLE.sub(partial(_role, page=page), text)
    text = _LINK_TO_PAGE.sub(r"\1", text)
    text = _LABEL_OF_EQUATION.sub(lambda found: rf"\tag{{{page.numbers[found[1]].strip('()')}}}" + "\n$$", text)
    return _outside_code(text, lambda part: _expanded(part, page.macros))


def _role(found: re.Match, page: _Page) -> str:
    role, target = found.groups()
    if role.startswith("glue"):
        return page.glued[target.partition(":")[0]]
    if role.startswith("cite"):
        return "; ".join(_cited(page.references[key.strip()]) for key in target.split(","))
    if role == "prf:ref":
        return page.statements[target]
    if role in ("numref", "eq"):
        elsewhere = {"fig": "a figure of the book", "tab": "a table of the book"}
        kind = target.partition("-")[0]
        return page.numbers.get(target, elsewhere.get(kind, "an equation of the book"))
    return target


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with all changed but code between backticks."""
    pieces, end = [], 0
    for code in _CODE.finditer(text):
        pieces += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, change(text[end:])])


def _expanded(text: str, macros: Mapping[str, Any]) -> str:
    r"""TeX with each macro replaced by its text, ``\norm{M}`` by ``\lVert M \rVert``."""
    for name, meaning in macros.items():
        pattern = re.compile(rf"\\{name}(?![A-Za-z])")
        body, arguments = (meaning, 0) if isinstance(meaning, str) else meaning
        while found := pattern.search(text):
            end, values = found.end(), []
            for _ in range(arguments):
                value, end = _argument(text, end)
                values.append(value)
            written = body
            for number, value in enumerate(values, 1):
                written = written.replace(f"#{number}", value)
            # a command that ends in a letter needs a space before one that follows
            space = " " if re.search(r"\\[A-Za-z]+$", written) and text[end : end + 1].isalpha() else ""
            text = f"{text[: found.start()]}{written}{space}{text[end:]}"
    return text


def _argument(text: str, start: int) -> tuple[str, int]:
    """The argument of a macro, in braces or a single token, and where it ends."""
    while text[start].isspace():
        start += 1
    if text[start] != "{":
        token = re.compile(r"\\[A-Za-z]+|.").match(text, start)
        return token[0], token.end()
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 1 : place], place + 1
    raise ValueError(f"a macro's argument has no end: {text[start : start + 40]!r}")
