"""Where the chapters are, what each can be given, and which values a profile gives it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jupytext
import yaml
from nbformat import NotebookNode

from attngeo.book.parameters import Parameter, parse
from attngeo.errors import ParameterError
from attngeo.files.checkout import root
from attngeo.inputs import read_yaml


@dataclass(frozen=True)
class Chapter:
    """One notebook, kept as jupytext percent text. Its header may declare, under ``attngeo``:

    - ``reads``: paths below the repository, or names of environment variables that hold a path; a change in any of
      them makes the last run stale. Without it that is all of ``data``.
    - ``after: all``: run when every other chapter is done, since it shows `reported_checks`.
    """

    path: Path

    @property
    def name(self) -> str:
        """The file's name without its suffix, by which a user calls it."""
        return self.path.stem

    @cached_property
    def text(self) -> str:
        """The file's text."""
        return self.path.read_text(encoding="utf-8")

    def notebook(self) -> NotebookNode:
        """The chapter, not executed, with cell ids made from the order of the cells."""
        notebook = jupytext.reads(self.text, fmt="py:percent")
        for i, cell in enumerate(notebook.cells):
            cell.id = f"cell-{i}"
        return notebook

    @cached_property
    def _header(self) -> Mapping[str, Any]:
        mark, _, text = self.text.partition("# ---\n")
        head = "" if mark else text.partition("# ---\n")[0]  # read alone: a build asks for it often
        said = yaml.safe_load(re.sub("^# ", "", head, flags=re.M)) or {}
        return said.get("jupyter", {}).get("attngeo", {})

    @property
    def title(self) -> str:
        """Its first heading."""
        match = re.search(r"^# # (.+)$", self.text, flags=re.MULTILINE)
        return match.group(1).strip() if match else self.name

    @property
    def reads(self) -> list[str]:
        """What the chapter declares to read."""
        return list(self._header.get("reads", ["data"]))

    @property
    def comes_last(self) -> bool:
        """Whether it shows what the other chapters found."""
        return self._header.get("after") == "all"

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters it can be given.

        Raises:
            ParameterError: its parameters cell cannot be understood.
        """
        cells = [c.source for c in self.notebook().cells if "parameters" in c.metadata.get("tags", [])]
        try:
            return parse(cells[0]) if cells else {}
        except (SyntaxError, TypeError, ValueError) as error:
            raise ParameterError(f"The parameters of chapter {self.name} cannot be read: {error}") from error

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name.

        Raises:
            ParameterError: there is none.
        """
        if name not in self.parameters:
            known = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
            raise ParameterError(f"Chapter {self.name} has no parameter {name!r}; {known}.")
        return self.parameters[name]


@dataclass(frozen=True)
class Book:
    """A folder with ``notebooks/``, ``_toc.yml`` and, for its output, ``book/``."""

    root: Path

    @property
    def cache(self) -> Path:
        """Where executed chapters are kept."""
        return self.root / "book" / "_build" / ".attngeo"

    def chapters(self) -> list[Chapter]:
        """The chapters that stand in the table of contents, in its order.

        Raises:
            ParameterError: a chapter that it names is not there.
        """
        contents = (self.root / "_toc.yml").read_text("utf-8")
        return [self.chapter(name) for name in re.findall(r"^[ -]*(?:root|file): notebooks/(\S+)", contents, re.M)]

    def chapter(self, name: str) -> Chapter:
        """The chapter of that name.

        Raises:
            ParameterError: there is none.
        """
        name = name.removeprefix("notebooks/").removesuffix(".py")
        return Chapter(_file(self.root / "notebooks", "chapter", name, ".py"))

    def values(self, chapter: Chapter, profile: str) -> dict[str, Any]:
        """The values that a profile gives a chapter, checked; the chapter's own defaults hold for the rest.

        Raises:
            ParameterError: there is no such profile, its file is not ``CHAPTER: {name: value}``, or it names a chapter
                or a parameter that is not there, or a value that cannot be taken.
        """
        path = _file(self.root / "notebooks" / "profiles", "profile", profile, ".yml")
        kind: Any = dict[str, dict[str, Any]] | None
        refused = f"{path.name} is not of its form ({{}}); mend it."
        content = read_yaml(path, kind, lambda why: ParameterError(refused.format(why))) or {}
        for name in content:
            self.chapter(name)
        try:
            return {name: chapter.parameter(name).check(value) for name, value in content.get(chapter.name, {}).items()}
        except ParameterError as error:
            raise ParameterError(f"Profile {profile}: {error}") from error


def _file(folder: Path, what: str, name: str, suffix: str) -> Path:
    path = folder / f"{name}{suffix}"
    if not re.fullmatch(r"\w+", name) or not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob(f"*{suffix}")))
        raise ParameterError(f"There is no {what} {name!r}; the {what}s are {known}.")
    return path


def current_profile() -> str:
    """The profile that ``ATTNGEO_PROFILE`` names; cpu unless set."""
    return os.environ.get("ATTNGEO_PROFILE") or "cpu"


def find_book() -> Book:
    """The book of the checkout at hand.

    Raises:
        CheckoutError: there is none, as when the package was installed without its repository.
    """
    return Book(root())
