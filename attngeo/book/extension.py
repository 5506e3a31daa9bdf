"""Sphinx extension: executes what is stale before anything is read, and gives MyST-NB executed chapters to read."""

import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from attngeo.book import takeaways
from attngeo.book.build import update
from attngeo.book.cache import Kept
from attngeo.book.execution import ChapterFailed
from attngeo.book.notebooks import Book, Chapter, current_profile
from attngeo.book.paper_links import PaperLinks, places
from attngeo.book.presentation import present
from attngeo.claims.published import statements
from attngeo.display.labels import METADATA_KEY
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
        self.kept: dict[str, Kept] = {}

    def execute(
        self, app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
    ) -> list[str]:
        """On ``env-get-outdated``: run what is stale; the pages to read again are those whose run is another.

        Where ``attngeo_rerun`` gives a run (of one chapter, with other parameters), nothing is executed.
        """
        paths = {name: Path(env.doc2path(name)) for name in sorted(env.found_docs)}
        self.chapters = {name: Chapter(path.resolve()) for name, path in paths.items() if path.suffix == ".py"}
        env.attngeo_places = places({name: chapter.text for name, chapter in self.chapters.items()}, statements())
        if app.config.attngeo_rerun:
            given = app.config.attngeo_rerun
            self.kept = {name: given[chapter.name] for name, chapter in self.chapters.items() if chapter.name in given}
            app.builder.search = False  # of one page
            return []
        book = Book(Path(app.srcdir).resolve().parent)
        try:
            kept = update(book, current_profile(), list(self.chapters.values()), logger.info)
        except ChapterFailed as failure:
            raise _end(f"{failure}\n{failure.traceback}") from None
        except AttngeoError as error:
            raise _end(str(error)) from None
        self.kept = {name: kept[chapter.name] for name, chapter in self.chapters.items()}
        mark = Path(app.outdir) / UNWRITTEN
        if mark.exists():  # the last build was killed: what it has read may be written nowhere, or by half
            return sorted(env.found_docs)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        read_from = _kept_on(env, "attngeo_read_from")
        return [name for name, run in self.kept.items() if read_from.get(name) != run.fingerprint()]

    def give(self, app: Sphinx, docname: str, source: list[str]) -> None:
        """On ``source-read``: the executed chapter in place of its text."""
        if docname not in self.kept:
            if docname in self.chapters:  # its labels are wanted, and it has no numbers
                source[0] = _GLUE.sub("", nbformat.writes(self.chapters[docname].notebook()))
            return
        chapter, run = self.chapters[docname], self.kept[docname]
        source[0] = nbformat.writes(present(chapter, run))
        _kept_on(app.env, "attngeo_read_from")[docname] = run.fingerprint()
        for result in (r for c in run.notebook.cells for o in c.get("outputs", []) for r in _results(o)):
            if not result["supported"]:
                name = f"{result['statement']} {result['part']}".strip()
                logger.warning(f"the check of {name} does not support its verdict", location=docname, type="attngeo")

    def hand_out(
        self, app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
    ) -> None:
        """On ``html-page-context``: the page's files beside it, and their links at its end."""
        if doctree is None or app.builder.name != "html":  # nothing is handed out on paper
            return
        source, run = Path(app.env.doc2path(pagename)), self.kept.get(pagename)
        takeaways.write(Path(app.outdir), pagename, source, run and run.notebook)
        address = app.config.attngeo_repository
        context["body"] = takeaways.for_phones(context["body"], pagename, run.notebook) if run else context["body"]
        context["body"] += takeaways.line(pagename, source, run is not None, address)


def all_written(app: Sphinx, exception: Exception | None) -> None:
    """On ``build-finished``: what was read is written; else the next build writes every page."""
    if exception is None:
        (Path(app.outdir) / UNWRITTEN).unlink(missing_ok=True)


def configure(app: Sphinx, config: Config) -> None:
    """On ``config-inited``: another address of the code means that every page is written anew."""
    config.attngeo_repository = repository(Path(app.srcdir).resolve().parent)


def scripts_of_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On ``html-page-context``: a page loads what interactives share, first of all, and the scripts of its own ones."""
    raw = "".join(node.astext() for node in doctree.findall(nodes.raw)) if doctree else ""
    wanted = {f"_static/interactives/{name}.js" for name in re.findall(r'data-interactive="(\w+)"', raw)}
    for missing in sorted(wanted - {str(script.filename) for script in context["script_files"]}):
        logger.warning(f"book/{missing} is missing, which an interactive needs", location=pagename, type="attngeo")
    kept = [s for s in context["script_files"] if s.filename in wanted or "/interactives/" not in str(s.filename)]
    context["script_files"] = sorted(kept, key=lambda script: script.filename != SHARED_SCRIPT)


def security_policy(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On ``html-page-context``: from where a page may load, said before it does; one alone has its own policy."""
    if not app.config.attngeo_rerun:
        policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />'
        context["metatags"] = policy + context.get("metatags", "")


def card_of_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On ``html-page-context``: what a link to the page shows; picture and address where ``html: baseurl`` has one."""
    opening = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if opening is not None:
        tags = takeaways.card(pagename, context["title"], opening.astext(), app.config.html_baseurl or "")
        context["metatags"] = context.get("metatags", "") + tags


def elsewhere(app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element) -> nodes.Node | None:
    """On ``missing-reference``: a page alone has no number for the figures of others, which were not run."""
    if not app.config.attngeo_rerun or node.get("reftype") != "numref":
        return None
    return nodes.inline(text=ELSEWHERE.get(node["reftarget"].partition("-")[0], node["reftarget"]))


def roles_of_references(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On ``html-page-context``: entries of a list of references are its items; the role docutils gives is outdated."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def _end(reason: str) -> SystemExit:
    """Ends the build before anything is written: the last good book stays. Jupyter Book buries other exceptions."""
    return SystemExit(f"\nThe book was not built. {reason.rstrip()}")


def _results(output: NotebookNode) -> list[dict]:
    return output.get("metadata", {}).get(METADATA_KEY, {}).get("results", [])


def _kept_on(env: BuildEnvironment, attribute: str) -> dict:
    """A dict that Sphinx stores with the environment between builds."""
    if not hasattr(env, attribute):
        setattr(env, attribute, {})
    return getattr(env, attribute)


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    pages = _Pages()
    app.add_config_value("attngeo_rerun", {}, "")
    app.add_config_value("attngeo_repository", "", "html", str)
    app.connect("config-inited", configure)
    app.connect("env-get-outdated", pages.execute)
    app.connect("source-read", pages.give)
    app.connect("missing-reference", elsewhere)
    app.connect("html-page-context", scripts_of_page)
    app.connect("html-page-context", card_of_page)
    app.connect("html-page-context", security_policy)
    app.connect("html-page-context", pages.hand_out)
    app.connect("html-page-context", roles_of_references)
    app.connect("build-finished", all_written)
    app.add_post_transform(PaperLinks)
    return {"version": "2", "parallel_read_safe": False, "parallel_write_safe": True}
