"""The name of a check leads to its code: in the built book, and in the repository where that has an address."""

import re
from collections.abc import Iterator
from functools import cache
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform

from attngeo.book.takeaways import BRANCH

_SOURCE = re.compile(r'<p class="check-source">(.*)<code data-source="([\w.]+)\.(\w+)">\3(.*)</code></p>')


class CheckSources(SphinxPostTransform):
    """Links the code of a page's checks. A book of one page, to be printed, has no pages of code."""

    default_priority = 5

    def run(self, **kwargs) -> None:
        """Link what the page shows."""
        if self.app.builder.name != "html":
            return
        for node, (before, module, name, given) in _checks(self.document):
            _, first, last = _analysed(module).tags[name]
            href = f"{self.app.builder.get_relative_uri(self.env.docname, _page(module))}#line-{first}"
            html = f'{before}<code><a href="{href}">{name}</a>{given}</code>'
            if address := self.config.attngeo_repository:
                href = f"{address}/blob/{BRANCH}/{module.replace('.', '/')}.py#L{first}-L{last}"
                html += f' · <a href="{escape(href)}">In the repository</a>'
            node.replace_self(nodes.raw("", f'<p class="check-source">{html}</p>', format="html"))


def note_modules(app: Sphinx, doctree: nodes.document) -> None:
    """On ``doctree-read``: in which modules the checks of the page are."""
    app.env.metadata[app.env.docname]["attngeo_modules"] = {module for _, (_, module, *_) in _checks(doctree)}


def pages_of_code(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """On ``html-collect-pages``: a page for each module with checks, whose lines can be linked."""
    for module in sorted(set().union(*(page.get("attngeo_modules", ()) for page in app.env.metadata.values()))):
        code = app.builder.highlighter.highlight_block(_analysed(module).code, "python", linespans="line")
        yield _page(module), {"title": module, "body": f"<h1>The code of <code>{module}</code></h1>{code}"}, "page.html"


def _checks(doctree: nodes.document) -> Iterator[tuple[nodes.raw, tuple]]:
    for node in list(doctree.findall(nodes.raw)):
        if match := _SOURCE.fullmatch(node.astext().strip()):
            yield node, match.groups()


def _page(module: str) -> str:
    return f"code/{module.replace('.', '/')}"


@cache
def _analysed(module: str) -> ModuleAnalyzer:
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.find_tags()
    return analyzer
