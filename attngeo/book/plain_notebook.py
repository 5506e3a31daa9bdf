"""A chapter that was run, as a notebook that reads well anywhere: MyST becomes Markdown, TeX that needs no macros."""

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import nbformat
from nbformat import NotebookNode

from attngeo.book.cache import Kept
from attngeo.book.notebooks import Book, Chapter
from attngeo.book.presentation import run_table
from attngeo.display.labels import METADATA_KEY

_FENCE = re.compile(r"(`{3,}|:{3,}|~{3,})(?:\{([\w:-]+)\} *(.*))?")
_ROLE = re.compile(r"\{([a-z][\w:-]*)\}`([^`]+)`")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|attachment:|data:)([^)\s]+)\)")
_LABEL = re.compile(r"\{prf:(\w+)\}[^\n]*\n[# ]*:label: (\S+)|^[# ]*\$\$ \(([\w-]+)\)", re.MULTILINE)
_DISPLAY = re.compile(r"\$\$(.+?)\$\$(?: \(([\w-]+)\))?", re.DOTALL)
_FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$`]+\$", re.DOTALL)
_BADGE = re.compile(r'<span class="verdict[^"]*">(?:<span[^>]*>(.*?)</span> )?(.*?)</span>')
# what the book's style sheet shows on narrow screens alone, and drawings, which front ends take out
_UNSTYLED = re.compile(r'<span class="check-label">.*?</span> |<svg\b.*?</svg>|</?span\b[^>]*>', re.DOTALL)
_HIDDEN = {"remove-cell", "remove-input", "hide-input", "hide-cell"}
ELSEWHERE = {"fig": "a figure of the book", "tab": "a table of the book"}


@dataclass(frozen=True)
class Markdown:
    """Turns MyST of one chapter into Markdown."""

    book: Book
    chapter: Chapter
    glued: Mapping[str, str]  # texts by the names of `attngeo.display.page.glue`
    numbered: Mapping[str, str]  # figures and tables of the chapter, by label

    def __call__(self, text: str) -> str:
        """The text with each directive, role, label and macro replaced."""
        return self._tex(self._inline("\n".join(self._blocks(text.split("\n")))))

    @cached_property
    def _labels(self) -> dict[str, str]:
        """What is referred to by label: numbers as in the book, and where it is not of this chapter, of which."""
        named = dict(self.numbered)
        for number, chapter in self.book.numbered_chapters():
            counts: Counter[str] = Counter()
            for kind, label, equation in _LABEL.findall(chapter.text):
                counts[kind] += 1
                place = f"{number}.{counts[kind]}" if number else f"{counts[kind]}"
                name = f"{kind.capitalize()} {place}" if kind else f"({place})"
                named[label or equation] = name if chapter == self.chapter else f"{name} of *{chapter.title}*"
        return named

    @cached_property
    def _macros(self) -> dict[str, list]:
        config = self.book.configuration()["sphinx"]["config"].get("mathjax3_config", {}).get("tex", {})
        return {name: tex if isinstance(tex, list) else [tex, 0] for name, tex in config.get("macros", {}).items()}

    @cached_property
    def _cited(self) -> dict[str, tuple[str, str]]:
        from pybtex.database import parse_file

        entries = parse_file(str(self.book.root / "book" / "references.bib")).entries
        last = {key: [" ".join(p.last_names) for p in entry.persons["author"]] for key, entry in entries.items()}
        names = {key: f"{n[0]} et al." if len(n) > 2 else " and ".join(n) for key, n in last.items()}
        return {key: (names[key], entry.fields.get("year", "")) for key, entry in entries.items()}

    def _blocks(self, lines: list[str]) -> Iterator[str]:
        while lines:
            line, *lines = lines
            fence = _FENCE.fullmatch(line.rstrip()) or re.fullmatch(r"(`{3,}|~{3,})()()\w+", line.rstrip())
            if not fence:
                yield line
                continue
            end = next((i for i, other in enumerate(lines) if other.rstrip() == fence[1]), len(lines))
            body, lines = lines[:end], lines[end + 1 :]
            yield from self._directive(fence[2], fence[3].strip(), body) if fence[2] else (line, *body, fence[1])

    def _directive(self, name: str, title: str, body: list[str]) -> Iterator[str]:
        options = {}
        while body and (option := re.fullmatch(r":(\w+): *(.*)", body[0])):
            options[option[1]] = option[2]
            body = body[1:]
        inside = "\n".join(self._blocks(body)).strip("\n")
        number = self._labels.get(options.get("label", ""), "")
        if name == "dropdown":
            inside = f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"
        elif name == "prf:proof":
            inside = f"*Proof.* {inside}"
        elif name == "table":
            inside = f"*{title}*\n\n{inside}"
        elif name != "div":
            head = f"{number or name.rpartition(':')[2].capitalize()}"
            # each formula on one line: the marks of a quotation must not get into it
            text = _FORMULA.sub(lambda found: " ".join(found[0].split()), inside)
            quoted = f"**{head}** ({title})\n\n{text}".splitlines()
            inside = "\n".join(f"> {line}".rstrip() for line in quoted)
        yield from ("", inside, "")

    def _inline(self, text: str) -> str:
        return _LINK.sub(lambda found: found[1] or self._title(found[2]), _ROLE.sub(self._role, text))

    def _title(self, page: str) -> str:
        chapters = {chapter.path.name: chapter.title for chapter in self.book.all_chapters()}
        return f"*{chapters.get(page.partition('#')[0], page)}*"

    def _role(self, found: re.Match) -> str:
        role, text = found.groups()
        if role.startswith("glue"):
            return self.glued.get(text.partition(":")[0] if role == "glue:text" else text, "…")
        if role.startswith("cite"):
            cited = [self._cited.get(key.strip(), (key, "")) for key in text.split(",")]
            if role == "cite:t":
                return "; ".join(f"{name} [{year}]" for name, year in cited)
            return f"[{'; '.join(f'{name}, {year}' for name, year in cited)}]"
        if role in ("prf:ref", "eq", "numref"):
            return self._labels.get(text, ELSEWHERE.get(text.partition("-")[0], text))
        return re.sub(r"\s*<[^>]*>$", "", text)

    def _tex(self, text: str) -> str:
        def display(found: re.Match) -> str:
            number = self._labels.get(found[2] or "", "").strip("()")
            tag = rf" \tag{{{number}}}" if number else ""
            return f"$${found[1].rstrip()}{tag}{found[1][len(found[1].rstrip()) :]}$$"

        pieces = re.split(r"(`[^`]*`)", _DISPLAY.sub(display, text))
        pieces[::2] = [self._expanded(piece) for piece in pieces[::2]]
        return "".join(pieces)

    def _expanded(self, tex: str) -> str:
        named = re.compile(rf"\\({'|'.join(self._macros)})(?![A-Za-z])")
        while self._macros and (found := named.search(tex)):
            body, count = self._macros[found[1]]
            rest = tex[found.end() :]
            for place in range(1, count + 1):
                argument, rest = _argument(rest)
                body = body.replace(f"#{place}", argument)
            tex = tex[: found.start()] + body + rest
        return tex


def _argument(tex: str) -> tuple[str, str]:
    """What a macro takes from the text behind it, without its braces, and the rest."""
    tex = tex.lstrip()
    if not tex.startswith("{"):
        token = re.match(r"\\[A-Za-z]+|.?", tex)
        return token[0], tex[token.end() :]
    depth = 0
    for place, sign in enumerate(tex):
        depth += {"{": 1, "}": -1}.get(sign, 0) if tex[place - 1] != "\\" else 0
        if not depth:
            break
    return tex[1:place], tex[place + 1 :]


def plain_notebook(book: Book, chapter: Chapter, run: Kept) -> NotebookNode:
    """The executed notebook in Markdown and plain TeX; numbers are those of the book, code that it hides is folded."""
    notebook = copy.deepcopy(run.notebook)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    plain = Markdown(book, chapter, _glued(outputs), _numbered(outputs, book, chapter))
    cells = []
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", []))
        captions = []
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
        elif cell.cell_type == "code":
            if (tags & _HIDDEN and "injected-parameters" not in tags) or cell.source.startswith("show("):
                cell.metadata["jupyter"] = {"source_hidden": True}
            kept = [] if "remove-cell" in tags else cell.outputs
            captions = [caption for output in kept for caption in _readable(output, plain)]
            cell.outputs = [output for output in kept if "scrapbook" not in output.get("metadata", {})]
        cells += [cell, *(nbformat.v4.new_markdown_cell(caption) for caption in captions)]
    notebook.cells = [*cells, nbformat.v4.new_markdown_cell(plain(run_table(chapter, run.record)))]
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
    return notebook


def _readable(output: NotebookNode, plain: Markdown) -> Iterator[str]:
    """Make an output plain; of a figure the caption, which stands beside it."""
    ours = output.get("metadata", {}).pop(METADATA_KEY, {})
    if "text/markdown" in output.get("data", {}):
        text = output.data["text/markdown"]
        if "table" in ours:
            text = f"**{plain.numbered[ours['table']['name']]}.** {text}"
        text = _BADGE.sub(lambda found: f"**{found[1] or '!'} {found[2]}**", text)
        text = _UNSTYLED.sub("", re.sub(' <span class="check-(?:said|ours|count)">(?!</span>)', " · ", text))
        output.data["text/markdown"] = plain(text)
    if "figure" in ours:
        yield plain(f"**{plain.numbered[ours['figure']['name']]}.** {ours['figure']['caption']}")


def _glued(outputs: list[NotebookNode]) -> dict[str, str]:
    found: dict[str, Any] = {}
    for output in outputs:
        if mark := output.get("metadata", {}).get("scrapbook"):
            found[mark["name"]] = ast.literal_eval(output.data[f"{mark['mime_prefix']}text/plain"])
    return found


def _numbered(outputs: list[NotebookNode], book: Book, chapter: Chapter) -> dict[str, str]:
    number = next((number for number, other in book.numbered_chapters() if other == chapter), 0)
    found: dict[str, str] = {}
    for kind, word in (("figure", "Fig."), ("table", "Table")):
        ours = [output.get("metadata", {}).get(METADATA_KEY, {}).get(kind) for output in outputs]
        for i, name in enumerate((each["name"] for each in ours if each), start=1):
            found[name] = f"{word} {number}.{i}" if number else f"{word} {i}"
    return found
