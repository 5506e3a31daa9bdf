"""Pages of the variants of chapters, and the switch between them at the top of the page.

A variant has a page of its own beside the page of its chapter, such as ``directionality-gamma-3.html``. After the book
has been built, `write_variants` reads the chapter once more for each variant, with the variant's run instead of the
chapter's. So the labels, numbers and links of a variant are those of the chapter, and the search index, the inventory
and the table of contents, which have been written before, do not contain variants.
"""

import os
from html import escape
from pathlib import Path

import execute
from sphinx.application import Sphinx

CURRENT = ' aria-current="page"'


def add_switch(app: Sphinx, page: str, body: str) -> str:
    """The HTML of a page with links to its variants below the title."""
    chapter, here = Path(page).name, app.attngeo_variant
    lines = []
    for choice in app.attngeo_choices:
        if choice.chapter != chapter:
            continue
        current = here.value if here and here.parameter == choice.parameter else choice.own
        addresses = {choice.own: f"{chapter}.html"}
        addresses |= {variant.value: f"{chapter}-{variant.suffix}.html" for variant in choice.variants}
        links = [
            f'<a href="{escape(addresses[value])}"{CURRENT if value == current else ""}>{escape(name)}</a>'
            for value, name in choice.names.items()
        ]
        meaning = f" ({escape(choice.meaning)})" if choice.meaning else ""
        lines.append(f"<p>Choose <code>{choice.parameter}</code>{meaning}: {' '.join(links)}</p>")
    if not lines:
        return body
    explained = "<p>All numbers, figures and verdicts on this page are based on the value that you choose here.</p>"
    switch = f'<nav class="variants" aria-label="Values of parameters">{"".join(lines)}{explained}</nav>'
    return body.replace("</h1>", f"</h1>{switch}", 1)


def write_variants(app: Sphinx, error: Exception | None) -> None:
    """On ``build-finished``: write each variant's page unless it is newer than its run and the chapter's page."""
    if error or app.builder.name != "html" or app.config.single_run:
        return
    for choice in app.attngeo_choices:
        own = Path(app.outdir, "notebooks", f"{choice.chapter}.html")
        stale = []
        for variant in choice.variants:
            page = own.with_name(f"{choice.chapter}-{variant.suffix}.html")
            sources = (own, variant.run_file(app.config.chapter_profile))
            if not page.exists() or page.stat().st_mtime < max(source.stat().st_mtime for source in sources):
                stale.append(variant)
        if stale:
            _write_pages(app, f"notebooks/{choice.chapter}", stale)


def _write_pages(app: Sphinx, page: str, variants: list[execute.Variant]) -> None:
    builder, env, suffix = app.builder, app.env, app.builder.out_suffix
    doctree_file = Path(app.doctreedir, f"{page}.doctree")
    own_doctree, read_at = doctree_file.read_bytes(), doctree_file.stat()
    sections, figures = env.toc_secnumbers.get(page, {}), env.toc_fignumbers.get(page, {})
    builder.prepare_writing({page})
    try:
        for variant in variants:
            app.attngeo_variant, builder.out_suffix = variant, f"-{variant.suffix}{suffix}"
            app.emit("env-purge-doc", env, page)
            env.clear_doc(page)
            builder.read_doc(page)
            app.emit("env-updated", env)  # for the bibliography; it does not number sections and figures
            env.toc_secnumbers[page], env.toc_fignumbers[page] = sections, figures
            doctree = env.get_and_resolve_doctree(page, builder)
            builder.write_doc_serialized(page, doctree)
            builder.write_doc(page, doctree)
        builder.copy_image_files()
    finally:
        app.attngeo_variant, builder.out_suffix = None, suffix
        doctree_file.write_bytes(own_doctree)
        os.utime(doctree_file, ns=(read_at.st_atime_ns, read_at.st_mtime_ns))
