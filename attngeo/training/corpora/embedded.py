"""Text that every installation has: the language reference, docstrings, and the descriptions of installed packages."""

import ast
import hashlib
import platform
import re
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from attngeo.training.corpora.documents import Corpus, limited

NAME = "embedded"
MAX_CHARACTERS = 3_000_000  # default: a few seconds of reading
SHORTEST = 200  # characters of a document; shorter docstrings say little
SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}


def embedded_corpus(max_characters: int | None = None) -> Corpus:
    """Documentation text of Python's standard library and of the packages that attngeo needs; no network.

    In this order: the topics of the language reference, the docstrings of the standard library, then for each package
    its description and its docstrings. The text follows from the installed versions; the digest is that of the text.
    """
    documents = tuple(limited(_documents(), max_characters or MAX_CHARACTERS))
    digest = hashlib.sha256("\0".join(documents).encode("utf-8", "surrogatepass"))
    sources = [{"package": "python", "version": platform.python_version()}]
    sources += [{"package": name, "version": distribution(name).version} for name in _packages()]
    return Corpus(NAME, digest.hexdigest(), lambda: iter(documents), tuple(sources))


def _documents() -> Iterator[str]:
    from pydoc_data import topics

    yield from (text for _, text in sorted(topics.topics.items()))
    yield from _docstrings(Path(sysconfig.get_path("stdlib")))
    for name in _packages():
        found = distribution(name)
        yield str(found.metadata.get_payload() or found.metadata.get("Description") or "")
        folders = sorted({file.parts[0] for file in found.files or () if file.suffix == ".py" and len(file.parts) > 1})
        for folder in folders:
            if folder != ".." and not folder.endswith(".dist-info"):
                yield from _docstrings(Path(found.locate_file(folder)))


def _packages() -> list[str]:
    """Distributions that attngeo requires, in alphabetical order; none where it is not installed itself."""
    with suppress(PackageNotFoundError):
        names = {re.split(r"[^\w.-]", wanted)[0] for wanted in requires("attngeo") or () if "extra ==" not in wanted}
        return sorted(names, key=str.lower)
    return []


def _docstrings(folder: Path) -> Iterator[str]:
    """The docstrings of every module under a folder, one document per module, modules in the order of their paths."""
    files = (file for file in folder.rglob("*.py") if not SKIPPED & set(file.relative_to(folder).parts))
    for file in sorted(files, key=lambda file: file.relative_to(folder).as_posix()):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of other people's source
                tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
        document = "\n".join(text for text in texts if text)
        if len(document) >= SHORTEST:
            yield re.sub(r"\n\s*\n", "\n", document)
