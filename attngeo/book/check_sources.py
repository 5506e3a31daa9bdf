"""The name of a check leads to its code: in the built book, and in the repository where that has an address."""

import re
from collections.abc import Iterator
from html import escape
from posixpath import join

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.viewcode import OUTPUT_DIRNAME
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform

from attngeo.book.takeaways import BRANCH

_SOURCE = re.compile(r'<p class="check-source">(.*)<code data-source="([\w.]+)\.(\w+)">\3(.*)</code></p>')


def note_code(app: Sphinx, doctree: nodes.document) -> None:
    """On ``doctree-read``: have sphinx.ext.viewcode show the modules of the page's checks, beside those of the API."""
    modules = app.env._viewcode_modules
    for _, (_, module, name, _) in _checks(doctree):
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.find_tags()
        if not modules.get(module) or modules[module][0] != analyzer.code:
            modules[module] = (analyzer.code, analyzer.tags, {}, module)
        if name in analyzer.tags:
            modules[module][2][name] = app.env.docname


class CheckSources(SphinxPostTransform):
    """Links the code of a page's checks. A book on paper, or of one page, has no pages of code."""

    default_priority = 5

    def run(self, **kwargs) -> None:
        """Link what the page shows."""
        if self.app.builder.name != "html":
            return
        shown: set[str] = set()
        for node, (before, module, name, given) in _checks(self.document):
            _, tags, used, _ = self.env._viewcode_modules[module]
            if name not in used:
                continue
            page = join(OUTPUT_DIRNAME, module.replace(".", "/"))
            href = f"{self.app.builder.get_relative_uri(self.env.docname, page)}#{name}"
            code = f'<code><a href="{href}">{name}</a>{given}</code>'
            if address := self.config.attngeo_repository:
                _, first, last = tags[name]
                href = f"{address}/blob/{BRANCH}/{module.replace('.', '/')}.py#L{first}-L{last}"
                code += f' · <a href="{escape(href)}">In the repository</a>'
            anchor = "" if f"{module}.{name}" in shown else f' id="{module}.{name}"'  # to which the code leads back
            shown.add(f"{module}.{name}")
            html = f'<p class="check-source"{anchor}>{before}{code}</p>'
            node.replace_self(nodes.raw("", html, format="html"))


def _checks(doctree: nodes.document) -> Iterator[tuple[nodes.raw, tuple]]:
    for node in list(doctree.findall(nodes.raw)):
        if match := _SOURCE.fullmatch(node.astext().strip()):
            yield node, match.groups()
