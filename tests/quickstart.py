"""What the cells of quickstart.ipynb show, for the real queries and keys of the models that it names.

ATTNGEO_WEIGHTS=... PYTHONPATH=tests python tests/quickstart.py    # writes the outputs into the notebook
"""

import ast
import os
import tempfile
from pathlib import Path

import hub_server
import nbformat
import pytest

from attngeo.plot.style import CaptionedFigure

NOTEBOOK = Path(__file__).parents[1] / "quickstart.ipynb"
FOLDERS = {"openai-community/gpt2": "gpt2-small", "sentence-transformers/all-MiniLM-L6-v2": "minilm-l6-v2"}
GPT2 = "607a30d783dfa663caf39e06633721c8d4cfcd7e"  # the commit of openai-community/gpt2, which the notebook shows


def values(notebook: nbformat.NotebookNode) -> list:
    """What each code cell shows after the first one, which installs the package."""
    names, shown = {}, []
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code"][1:]:
        *lines, last = ast.parse(cell.source).body
        exec(compile(ast.Module(lines, []), "quickstart", "exec"), names)
        shown.append(eval(compile(ast.Expression(last.value), "quickstart", "eval"), names))
    return shown


def output(value: object) -> dict[str, str]:
    """What Jupyter stores of a value, by type; of a figure without its copy for narrow screens."""
    if isinstance(value, CaptionedFigure):
        data, _ = value._repr_mimebundle_()
        return {kind: data[kind] for kind in ("image/svg+xml", "text/plain")}
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {**html, "text/plain": repr(value)}


def outputs(notebook: nbformat.NotebookNode, weights: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list:
    """The `output` of each cell, if the Hub has the weights of a folder."""
    for name, own in FOLDERS.items():
        (folder / "hub" / name).parent.mkdir(parents=True)
        (folder / "hub" / name).symlink_to(weights / own)
    monkeypatch.setattr(hub_server, "COMMIT", GPT2)
    hub = hub_server.FakeHub(folder / "hub")
    hub.stand_in(monkeypatch, folder)
    try:
        return list(map(output, values(notebook)))
    finally:
        hub.close()


if __name__ == "__main__":
    notebook = nbformat.read(NOTEBOOK, 4)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        shown = outputs(notebook, Path(os.environ["ATTNGEO_WEIGHTS"]), Path(folder), patch)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, (cell, data) in enumerate(zip(cells, [None, *shown], strict=True), 1):
        cell.execution_count = count
        cell.outputs = [] if data is None else [nbformat.v4.new_output("execute_result", data, execution_count=count)]
    nbformat.write(notebook, NOTEBOOK)
