"""An executed chapter in the form that MyST-NB renders.

Figures and tables get numbers and captions, images get descriptions, and checks get the code of their claims. The end
of the page tells how the page was made.
"""

import copy
from typing import Any

import nbformat
import pandas as pd
import papermill
from claim_code import MARK, NotebookCode, with_code
from execute import RECORD
from livingpaper.display.interactive import container
from livingpaper.display.tables import markdown_table
from nbformat import NotebookNode
from parameters import defaults

from attngeo.plot import METADATA_KEY, NARROW_SVG


def present(chapter: str, text: str, run: NotebookNode) -> NotebookNode:
    """The notebook of a chapter's page.

    Args:
        chapter: its name.
        text: its source, whose lines warnings shall name.
        run: the executed notebook.
    """
    page = copy.deepcopy(run)
    values = defaults(run) | run.metadata.papermill.parameters
    first_lines = iter([number for number, line in enumerate(text.splitlines()) if line.startswith("# %%")])
    cells, lines, line = [], [], 0
    for cell in page.cells:
        tags = cell.metadata.get("tags", [])
        if "injected-parameters" in tags:
            continue
        line = next(first_lines, line)
        if "parameters" in tags:  # the table at the end of the page shows them
            continue
        for piece in _pieces(cell):
            cells.append(piece)
            lines.append(line)
    if any(MARK.search(cell.source) for cell in cells):
        code = NotebookCode.of([cell.source for cell in run.cells if cell.cell_type == "code"], values)
        for cell in cells:
            cell.source = with_code(cell.source, code)
    page.cells = [*cells, nbformat.v4.new_markdown_cell(run_table(chapter, run, values))]
    page.metadata = nbformat.from_dict({key: page.metadata[key] for key in ("kernelspec", "language_info")})
    page.metadata["source_map"] = [*lines, line]
    return page


def run_table(chapter: str, run: NotebookNode, values: dict[str, Any]) -> str:
    """The fold at the end of a page: the parameters, device, time, duration, commit and versions of the run."""
    record, timing = run.metadata[RECORD], run.metadata.papermill
    facts = {
        "profile": record["profile"],
        "device": record["device"],
        "time": f"{timing.duration:.1f} s",
        "executed": f"{timing.start_time[:16].replace('T', ' ')} UTC",
        "commit": record["commit"] or "not known",
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    blocks = ["::::{dropdown} This run", markdown_table(pd.DataFrame(facts.items(), columns=["fact", "value"]))]
    parameters = papermill.inspect_notebook(run)
    if parameters:
        rows = [
            {
                "parameter": f"`{name}`",
                "value": f"`{values[name]}`",
                "default": f"`{parameter['default']}`",
                "meaning": parameter["help"],
            }
            for name, parameter in parameters.items()
        ]
        example = f"attngeo run {chapter} -p {next(iter(parameters))} VALUE"
        blocks += [
            f"To regenerate this page with a different parameter value, run `{example}`:",
            markdown_table(pd.DataFrame(rows)),
        ]
    return "\n\n".join([*blocks, "::::"])


def _pieces(cell: NotebookNode) -> list[NotebookNode]:
    """A cell, followed by further cells with its outputs.

    In MyST-NB, captions belong to cells instead of outputs, and labels need a Markdown cell.
    """
    tags = cell.metadata.get("tags", [])
    if cell.cell_type != "code" or not cell.outputs or "remove-cell" in tags:
        return [cell]
    outputs, cell.outputs = cell.outputs, []
    pieces = [cell]
    for output in outputs:
        described = output.get("metadata", {}).get(METADATA_KEY, {})
        if "figure" in described:
            pieces.append(_figure(output, **described["figure"]))
            if "interactive" in described:
                html = container(**described["interactive"], figure=described["figure"]["name"])
                # as a cell, because MyST-NB would give an output a background and margins
                pieces.append(nbformat.v4.new_markdown_cell(html))
        elif "table" in described:
            pieces.append(nbformat.v4.new_markdown_cell(_table(output.data["text/markdown"], **described["table"])))
        elif "results" in described:
            cell.metadata["tags"] = [*tags, "remove-input"]  # the check line has the code
            pieces.append(nbformat.v4.new_markdown_cell(output.data["text/markdown"]))
        else:
            if pieces[-1].cell_type != "code" or "mystnb" in pieces[-1].metadata:
                pieces.append(_code_cell())
            pieces[-1].outputs.append(output)
    return pieces


def _figure(output: NotebookNode, name: str, caption: str, alt: str) -> NotebookNode:
    del output.data["text/plain"]
    output.data.pop(NARROW_SVG, None)  # figure_forms.py writes the narrow version beside the page
    cell = _code_cell(output)
    cell.metadata["mystnb"] = {
        "figure": {"name": name, "caption": caption},
        "image": {"alt": alt, "classes": "dark-light"},  # custom.css looks for this class
    }
    return cell


def _table(markdown: str, name: str, caption: str, folded: str = "") -> str:
    body = markdown.removeprefix(f"*{caption}*\n\n")
    fence = "~~~~"  # after a fence of backticks, a caption could not contain backticks (CommonMark)
    block = f"{fence}{{table}} {caption}\n:name: {name}\n\n{body}\n{fence}"
    return f"::::{{dropdown}} {folded}\n{block}\n::::" if folded else block


def _code_cell(*outputs: NotebookNode) -> NotebookNode:
    source = "# shown above"  # MyST-NB skips cells without code
    return nbformat.v4.new_code_cell(source, metadata={"tags": ["remove-input"]}, outputs=list(outputs))
