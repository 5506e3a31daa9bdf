"""Sphinx extension: executes what is stale before anything is read, and gives MyST-NB executed chapters to read."""

import gc
import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from attngeo.book import cache, takeaways
from attngeo.book.build import reports, update
from attngeo.book.notebooks import Book, Chapter, current_profile
from attngeo.book.presentation import present
from attngeo.errors import AttngeoError
from attngeo.files.provenance import repository

# Of a page, whatever is in it, nothing is asked of another host. 'self' is no folder to every browser: file: is.
POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline';"
    " img-src 'self' file: data:; font-src 'self' file: data:; connect-src 'self' file:; base-uri 'none';"
    " form-action 'self' file:"
)
UNWRITTEN = ".unwritten"  # lies beside the pages while they are written
SHARED_SCRIPT = "_static/interactive.js"
ELSEWHERE = {"fig": "a figure of the book", "tab": "a table of the book"}
_GLUE = re.compile(r"\{glue:\w+\}`[^`]*`")

logger = logging.getLogger(__name__)


def read(text: str) -> NotebookNode:
    """What MyST-NB calls for a chapter (``nb_custom_formats``): the text is the executed notebook by then."""
    return nbformat.reads(text, as_version=4)


class _Pages:
    """The chapters of one build. The environment keeps the fingerprint of what each page was read from."""

    def __init__(self) -> None:
        self.chapters: dict[str, Chapter] = {}
        self.kept: dict[str, NotebookNode] = {}

    def execute(
        self, app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
    ) -> list[str]:
        """On ``env-get-outdated``: run what is stale; the pages to read again are those whose run is another.

        Where ``attngeo_rerun`` gives a run (of one chapter, with other parameters), nothing is executed.
        """
        paths = {name: Path(env.doc2path(name)) for name in sorted(env.found_docs)}
        self.chapters = {name: Chapter(path.resolve()) for name, path in paths.items() if path.suffix == ".py"}
        env.attngeo_read_from = getattr(env, "attngeo_read_from", {})
        if given := app.config.attngeo_rerun:
            self.kept = {name: given[chapter.name] for name, chapter in self.chapters.items() if chapter.name in given}
            app.builder.search = False  # of one page
            return []
        book = Book(Path(app.srcdir).resolve().parent)
        try:
            kept = update(book, current_profile(), list(self.chapters.values()), logger.info)
        except AttngeoError as error:  # before anything is written: the last good book stays
            reason = f"{error}\n{getattr(error, 'traceback', '')}".rstrip()
            raise SystemExit(f"\nThe book was not built. {reason}") from None  # Jupyter Book buries other exceptions
        self.kept = {name: kept[chapter.name] for name, chapter in self.chapters.items()}
        gc.disable()  # what Sphinx reads stays until its end: to look through it takes a quarter of its time
        mark = Path(app.outdir) / UNWRITTEN
        if mark.exists():  # the last build was killed: what it has read may be written nowhere, or by half
            return sorted(env.found_docs)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        return [name for name, run in self.kept.items() if env.attngeo_read_from.get(name) != cache.fingerprint(run)]

    def give(self, app: Sphinx, docname: str, source: list[str]) -> None:
        """On ``source-read``: the executed chapter in place of its text."""
        if docname not in self.kept:
            if docname in self.chapters:  # its labels are wanted, and it has no numbers
                source[0] = _GLUE.sub("", nbformat.writes(self.chapters[docname].notebook()))
            return
        chapter, run = self.chapters[docname], self.kept[docname]
        source[0] = nbformat.writes(present(chapter, run))
        app.env.attngeo_read_from[docname] = cache.fingerprint(run)
        for result in reports({chapter.name: run}):
            if not result["supported"]:
                name = f"{result['statement']} {result['part']}".strip()
                logger.warning(f"the check of {name} does not support its verdict", location=docname, type="attngeo")

    def finish(
        self, app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
    ) -> None:
        """On ``html-page-context``: the page's head and scripts, its files beside it, and their links at its end."""
        if "body" in context:  # entries of a list of references are its items; the role docutils gives is outdated
            context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        tags = [context.get("metatags", "")]
        if not app.config.attngeo_rerun:  # a page alone has its own policy
            tags.insert(0, f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />')
        raw = "".join(node.astext() for node in doctree.findall(nodes.raw)) if doctree else ""
        context["script_files"] = _scripts(pagename, raw, context["script_files"])
        opening = next(doctree.findall(nodes.paragraph), None) if doctree else None
        if opening is not None:
            tags.append(takeaways.card(pagename, context["title"], opening.astext(), app.config.html_baseurl or ""))
        context["metatags"] = "".join(tags)
        if doctree is not None and app.builder.name == "html":  # nothing is handed out on paper
            source, run = Path(app.env.doc2path(pagename)), self.kept.get(pagename)
            folder, address = Path(app.outdir), app.config.attngeo_repository
            context["body"] = takeaways.for_phones(folder, context["body"], run) if run else context["body"]
            context["body"] += takeaways.hand_out(folder, pagename, source, run, address)


def _scripts(page: str, raw: str, scripts: list[Any]) -> list[Any]:
    """What interactives share, first of all, and the scripts of the page's own ones."""
    wanted = {f"_static/interactives/{name}.js" for name in re.findall(r'data-interactive="(\w+)"', raw)}
    for missing in sorted(wanted - {str(script.filename) for script in scripts}):
        logger.warning(f"book/{missing} is missing, which an interactive needs", location=page, type="attngeo")
    kept = [s for s in scripts if s.filename in wanted or "/interactives/" not in str(s.filename)]
    return sorted(kept, key=lambda script: script.filename != SHARED_SCRIPT)


def all_written(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: what was read is written; else the next build writes every page."""
    gc.enable()
    if exception is None:
        (Path(app.outdir) / UNWRITTEN).unlink(missing_ok=True)


def elsewhere(app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element) -> nodes.Node | None:
    """On ``missing-reference``: a page alone has no number for the figures of others, which were not run."""
    if not app.config.attngeo_rerun or node.get("reftype") != "numref":
        return None
    return nodes.inline(text=ELSEWHERE.get(node["reftarget"].partition("-")[0], node["reftarget"]))


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    pages = _Pages()
    app.add_config_value("attngeo_rerun", {}, "")
    # another address of the code means that every page is written anew
    app.add_config_value("attngeo_repository", repository(Path(app.srcdir).resolve().parent), "html", str)
    app.connect("env-get-outdated", pages.execute)
    app.connect("source-read", pages.give)
    app.connect("missing-reference", elsewhere)
    app.connect("html-page-context", pages.finish)
    app.connect("build-finished", all_written)
    return {"version": "2", "parallel_read_safe": False, "parallel_write_safe": True}
