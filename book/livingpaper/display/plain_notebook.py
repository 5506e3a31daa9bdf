"""An executed chapter as a notebook of plain Markdown, which Jupyter and editors show as a person expects.

The text of a chapter is MyST: numbers of the run, references and statements are roles and directives, and formulas use
macros of the book. Here each of them is replaced by what the book shows in its place.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file

from attngeo.plot import METADATA_KEY
from livingpaper.display.page import GLUE_PREFIX, outputs

_FENCED = re.compile(r"^(`{3,}|~{3,}|:{3,})(?:\{([\w:-]+)\})?[ ]*([^\n]*)\n(.*?)^\1[ ]*$", re.M | re.S)
_OPTIONS = re.compile(r"\A(:[\w-]+:.*\n)+")
_ROLE = re.compile(r"\{([\w:]+)\}`([^`]*)`")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_ARGUMENT = r"\s*\{((?:[^{}]|\{[^{}]*\})*)\}"  # of a TeX macro; it may contain braces, but no braces within braces
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
            cell.outputs = [shown for output in cell.outputs for shown in _shown(output, page)]
            if {"remove-cell", "remove-input"} & set(cell.metadata.get("tags", [])):
                cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def _shown(output: NotebookNode, page: _Page) -> Iterator[NotebookNode]:
    """An output with its number and caption; nothing for a number that the text contains."""
    if "scrapbook" in output.get("metadata", {}):
        return
    data, about = output.get("data", {}), output.get("metadata", {}).get(METADATA_KEY, {})
    if "text/markdown" in data:
        data["text/markdown"] = _plain(data["text/markdown"], page)
    if "table" in about:
        data["text/markdown"] = f"**{page.numbers[about['table']['name']]}.** {data['text/markdown']}"
    yield output
    if "figure" in about:
        number, caption = page.numbers[about["figure"]["name"]], _plain(about["figure"]["caption"], page)
        yield nbformat.v4.new_output("display_data", {"text/markdown": f"**{number}.** {caption}"})


def elsewhere(label: str) -> str:
    """Words for a figure, a table or an equation on another page, whose number is not known here."""
    kinds = {"fig": "a figure of the book", "tab": "a table of the book"}
    return kinds.get(label.partition("-")[0], "an equation of the book")


# what a chapter refers to


def _glued(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Names and texts of what the cells glued."""
    for output, _ in outputs(notebook):
        if "scrapbook" in output.get("metadata", {}):
            text = ast.literal_eval(output.data[f"{GLUE_PREFIX}text/plain"])
            yield output.metadata["scrapbook"]["name"], text


def _numbers(notebook: NotebookNode) -> dict[str, str]:
    """Numbers of figures, tables and equations by their labels, in the order of the notebook."""
    described = [about for _, about in outputs(notebook)]
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    labels = {
        "Figure {}": [about["figure"]["name"] for about in described if "figure" in about],
        "Table {}": [about["table"]["name"] for about in described if "table" in about],
        "({})": _LABEL_OF_EQUATION.findall(text),
    }
    return {label: words.format(n) for words, found in labels.items() for n, label in enumerate(found, 1)}


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
    blocks, end = [], 0
    for fenced in _FENCED.finditer(text):
        blocks.append(_inline(text[end : fenced.start()].removesuffix("\n"), page))
        _, name, title, content = fenced.groups()
        blocks.append(_directive(name, title, content, page) if name else fenced[0])
        end = fenced.end() + 1
    blocks.append(_inline(text[end:].removesuffix("\n"), page))
    return "\n".join(block for block in blocks if block)


def _directive(name: str, title: str, content: str, page: _Page) -> str:
    """A statement or a note under its title in bold, and what the book folds as an HTML element that unfolds."""
    content = _plain(_OPTIONS.sub("", content).strip("\n"), page)
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
    pieces, end = [], 0
    for code in _CODE.finditer(text):
        pieces += [_expanded(text[end : code.start()], page.macros), code[0]]
        end = code.end()
    return "".join([*pieces, _expanded(text[end:], page.macros)])


def _role(found: re.Match, page: _Page) -> str:
    role, target = found.groups()
    if role.startswith("glue"):
        return page.glued[target.partition(":")[0]]
    if role.startswith("cite"):
        return "; ".join(_cited(page.references[key.strip()]) for key in target.split(","))
    if role == "prf:ref":
        return page.statements[target]
    if role in ("numref", "eq"):
        return page.numbers.get(target) or elsewhere(target)
    return target


def _expanded(text: str, macros: Mapping[str, Any]) -> str:
    r"""TeX with each macro replaced by its text, ``\norm{M}`` by ``\lVert M \rVert``."""
    for name, meaning in macros.items():
        body, arguments = (meaning, 0) if isinstance(meaning, str) else meaning
        use = re.compile(rf"\\{name}(?![A-Za-z])" + arguments * _ARGUMENT)
        while found := use.search(text):
            written, rest = body, text[found.end() :]
            for number, value in enumerate(found.groups(), 1):
                written = written.replace(f"#{number}", value)
            if re.search(r"\\[A-Za-z]+$", written) and rest[:1].isalpha():
                written += " "  # otherwise the letter would become part of the command
            text = f"{text[: found.start()]}{written}{rest}"
    return text
