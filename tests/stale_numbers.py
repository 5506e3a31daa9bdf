"""Numbers that the prose of a chapter keeps when its figures change with a parameter.

Where a number is in the prose and in a figure or table at the usual parameters, it is one quantity. If the figure's
number is another one at other parameters, the same words of the prose may not keep the old one.
"""

import re
from collections import Counter

import nbformat

# With its interval, if it has one. Whole numbers and the ends of intervals agree by chance, and S1.4 is a name.
NUMBER = re.compile(r"(?<![\w./])[+−]?\d[\d,]*\.\d+(?: \[[^\]]*\])?")
TICK = re.compile(r"[+−\d.]+")  # of an axis
CONTEXT = 24  # characters before a number, by which it is found again


def numbers(text: str) -> list[tuple[str, str]]:
    """Numbers of a text, each after the words before it, in which other numbers are masked."""
    text = " ".join(text.replace("-", "−").split())
    found = []
    for match in NUMBER.finditer(text):
        before = NUMBER.sub("#", text[: match.start()])[-CONTEXT:]
        found.append((before, match[0].lstrip("+")))
    return found


def prose(notebook: nbformat.NotebookNode) -> str:
    """The text that a reader reads, without its code."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return re.sub(r"^```.*?^```", "", "\n\n".join(cells), flags=re.M | re.S)


def shown(notebook: nbformat.NotebookNode) -> str:
    """The text of figures (legends, captions, alternative texts) and tables."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data, ours = output.get("data", {}), output.get("metadata", {}).get("attngeo", {})
            if "figure" in ours:
                words = re.findall(r"<!-- (.*?) -->", data["image/svg+xml"])
                texts += [text for text in words if not TICK.fullmatch(text)]
                texts += [ours["figure"]["caption"], ours["figure"]["alt"]]
            if "table" in ours:
                texts.append(data["text/markdown"])
    return " | ".join(texts)


def stale(usual: nbformat.NotebookNode, other: nbformat.NotebookNode) -> list[str]:
    """Places of the prose that keep a number which the figures and tables of the other run no longer show."""
    figures, figures_now = numbers(shown(usual)), dict(numbers(shown(other)))
    moved = {}  # numbers of figures that stand at the same place with another value
    for place, number in figures:
        if figures_now.get(place, number) != number:
            moved[number] = figures_now[place]
    still_shown = Counter(number for _, number in numbers(shown(other)))
    now = set(numbers(prose(other)))
    return [
        f"{place}{number}, where a figure has {moved[number]}"
        for place, number in numbers(prose(usual))
        if number in moved and (place, number) in now and not still_shown[number]
    ]
