"""Sphinx extension that executes stale chapters and makes pages of the executed notebooks.

By the setting ``nb_custom_formats``, MyST-NB reads a chapter with `read`. Before this, `give_run` replaces the text of
the chapter by the executed notebook.
"""

import gc
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import yaml
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Jupyter Book adds only the folder of this file
import execute
import variant_pages
from cards import write_cards
from figure_forms import add_other_forms
from livingpaper.display.plain_notebook import elsewhere
from livingpaper.display.verdicts import reports
from page_head import citation, link_preview
from presentation import present
from takeaways import hand_out

from attngeo.errors import AttngeoError
from attngeo.files.atomic import write_text
from attngeo.files.checkout import current_profile, runs
from attngeo.files.provenance import repository

# The browser loads nothing from other hosts, whatever a page contains. "file:" is listed because some browsers do not
# count a folder on disk as 'self'.
POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline';"
    " img-src 'self' file: data:; font-src 'self' file: data:; connect-src 'self' file:; base-uri 'none';"
    " form-action 'self' file:"
)
SHARED_SCRIPT = "_static/interactive.js"
# Addresses of removed pages, and where their links lead now.
MOVED = {
    "notebooks/column_dominance.html": "column_dominance_details.html",
    "notebooks/context_and_prediction.html": "context_and_prediction_details.html",
    "notebooks/cost.html": "../use/score.html#what-it-costs",
    "notebooks/printed_scores.html": "printed_scores_details.html",
    "notebooks/trust.html": "../use/train.html",
    "notebooks/two_scores.html": "two_scores_details.html",
    "use/machines.html": "train.html#several-processes-or-machines",
}

logger = logging.getLogger(__name__)


def read(text: str) -> NotebookNode:
    """The notebook that MyST-NB renders. At this point the text of a chapter is its executed notebook."""
    return nbformat.reads(text, as_version=4)


def bring_up_to_date(app: Sphinx) -> None:
    """On ``builder-inited``: execute the chapters that are stale."""
    if app.config.single_run:
        app.builder.search = False  # a single page needs no search index
        return
    try:
        app.attngeo_choices = execute.choices(app.config.chapter_profile)
        execute.update(app.config.chapter_profile, logger.info)
    except AttngeoError as error:
        raise ExtensionError(execute.with_traceback(error)) from error


def is_chapter(app: Sphinx, page: str) -> bool:
    """Whether the page is made from a notebook."""
    return app.env.doc2path(page).endswith(".py")


def run_of(app: Sphinx, page: str) -> Path | None:
    """The executed notebook of a page, or None if there is none.

    In a build of a single page (`single_page`), only this page has one.
    """
    if not is_chapter(app, page):
        return None
    if app.attngeo_variant:
        return app.attngeo_variant.run_file(app.config.chapter_profile)
    if not app.config.single_run:
        return runs(execute.ROOT, app.config.chapter_profile) / f"{Path(page).name}.ipynb"
    single_run = Path(app.config.single_run)
    return single_run if single_run.stem == Path(page).name else None


def give_run(app: Sphinx, page: str, source: list[str]) -> None:
    """On ``source-read``: replace the text of a chapter by its executed notebook."""
    if not is_chapter(app, page):
        return
    chapter = Path(page).name
    run_path = run_of(app, page)
    if run_path is None:  # read only for its labels, to which the single page refers
        text = nbformat.writes(execute.notebook(chapter))
        source[0] = re.sub(r"\{glue:\w+\}`[^`]*`", "", text)
        return
    app.env.note_dependency(str(run_path))  # a new run makes the page out of date
    run = nbformat.read(run_path, as_version=4)
    source[0] = nbformat.writes(present(chapter, source[0], run))
    if app.attngeo_variant:  # its badges say what its run does not support
        return
    for result in reports(chapter, run):
        if not result["supported"]:
            name = f"{result['statement']} {result['part']}".strip()
            logger.warning(f"The check of {name} does not support its verdict.", location=page, type="attngeo")


def replace_number_of_other_page(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, text: nodes.Element
) -> nodes.Node | None:
    """On ``missing-reference``: in a single page, refer to figures of other pages in words instead of numbers."""
    if app.config.single_run and node.get("reftype") == "numref":
        return nodes.inline(text=elsewhere(node["reftarget"]))
    return None


def add_to_head(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """On ``html-page-context``: add the policy on what the page may load, the preview of a link, and how to cite."""
    tags = [context.get("metatags", "")]
    if not app.config.single_run:  # `single_page` writes a stricter policy
        tags.insert(0, f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />')
    first_paragraph = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if first_paragraph is not None:
        address = app.config.html_baseurl or ""
        tags.append(link_preview(page, context["title"], first_paragraph.astext(), address))
        tags.append(citation(page, context["title"], facts_for_citing(), address))
    context["metatags"] = "".join(tags)


def facts_for_citing() -> dict[str, Any]:
    """What CITATION.cff states about the book; nothing where the book has no such file."""
    file = Path(execute.ROOT, "CITATION.cff")
    return yaml.safe_load(file.read_text("utf-8")) if file.is_file() else {}


def choose_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """On ``html-page-context``: of the scripts for interactive figures, load those that this page needs."""
    html = "".join(node.astext() for node in doctree.findall(nodes.raw)) if doctree else ""
    wanted = {f"_static/interactives/{name}.js" for name in re.findall(r'data-interactive="(\w+)"', html)}
    scripts = context["script_files"]
    for missing in sorted(wanted - {str(script.filename) for script in scripts}):
        logger.warning(f"An interactive figure needs book/{missing}, which is missing.", location=page, type="attngeo")
    kept = [s for s in scripts if s.filename in wanted or "/interactives/" not in str(s.filename)]
    context["script_files"] = sorted(kept, key=lambda script: script.filename != SHARED_SCRIPT)


def add_to_body(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """On ``html-page-context``: add forms of figures, the switch between variants, and files to download."""
    if doctree is None:  # the search page and the index have no source file
        return
    # The role that docutils writes is deprecated.
    context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
    if app.builder.name != "html":  # a printed page has no downloads
        return
    run_path, folder = run_of(app, page), Path(app.outdir)
    run = nbformat.read(run_path, as_version=4) if run_path else None
    suffix = f"-{app.attngeo_variant.suffix}" if app.attngeo_variant else ""
    if run is not None:
        context["body"] = add_other_forms(folder, context["body"], run, suffix)
    if not app.config.single_run:
        context["body"] = variant_pages.add_switch(app, page, context["body"])
    source, address = Path(app.env.doc2path(page)), app.config.code_address
    context["body"] += hand_out(folder, page, source, run, address, suffix)


def write_redirects(app: Sphinx, error: Exception | None) -> None:
    """On ``build-finished``: write a page that redirects readers at the address of each removed page."""
    if error or app.builder.name != "html" or app.config.single_run:
        return
    for old, new in MOVED.items():
        write_text(
            Path(app.outdir, old),
            f'''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="{POLICY}" />
<meta http-equiv="refresh" content="0; url={new}" />
<title>This page has moved</title>
</head>
<body><h1>This page has moved</h1><p><a href="{new}">Go to its new address</a></p></body>
</html>
''',
        )


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    # Another profile makes every page out of date.
    app.add_config_value("chapter_profile", current_profile(), "env", str)
    # The path of the executed notebook, in a build of a single page.
    app.add_config_value("single_run", "", "", str)
    app.add_config_value("code_address", repository(execute.ROOT), "html", str)
    app.attngeo_variant = None  # the variant whose page is being made
    app.connect("builder-inited", bring_up_to_date)
    # Pages are trees of many small objects, so the garbage collector would slow down the build by searching them for
    # cycles again and again. Chapters are executed before, with the garbage collector.
    app.connect("builder-inited", lambda app: gc.disable())
    app.connect("build-finished", lambda app, error: gc.enable(), priority=1000)
    app.connect("build-finished", variant_pages.write_variants)
    app.connect("build-finished", write_cards)
    app.connect("source-read", give_run)
    app.connect("missing-reference", replace_number_of_other_page)
    app.connect("build-finished", write_redirects)
    for change in (add_to_head, choose_scripts, add_to_body):
        app.connect("html-page-context", change)
    return {"version": "3", "parallel_read_safe": False, "parallel_write_safe": True}
