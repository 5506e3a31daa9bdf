"""The smoke book, built with warnings as errors and read in headless Chromium without a network."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def built_book(tmp_path_factory):
    """The pages of the smoke book, built from nothing as CI does."""
    output = tmp_path_factory.mktemp("book")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "book", "--all", "-n", "-W", "--keep-going"]
    run = subprocess.run(
        [*command, "--path-output", str(output)],
        cwd=ROOT,
        env=os.environ | {"ATTNGEO_PROFILE": "smoke"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-6000:]
    return output / "_build" / "html"


FOUND = """
const done = arguments[arguments.length - 1];
const settled = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
settled.then(() => done({
  title: document.querySelector('main h1, article h1')?.innerText || '',
  formulas: document.querySelectorAll('.math').length,
  rendered: document.querySelectorAll('.math mjx-container').length,
  failed: document.querySelectorAll('mjx-merror, .mjx-error, [data-mjx-error]').length,
  images: [...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src),
  alt: [...document.querySelectorAll('article img')]
    .filter(i => !i.alt.trim() || i.alt.includes('_images/')).map(i => i.src),
  remote: performance.getEntriesByType('resource').map(e => e.name).filter(n => /^(https?|wss?):/.test(n)),
  tracebacks: document.body.innerText.includes('Traceback (most recent call last)'),
  asleep: [...document.querySelectorAll('[data-interactive]')].map(e => e.dataset)
    .filter(d => !document.querySelector(`figure#${d.figure}.ia-live`)).map(d => d.interactive),
  unresolved: [...document.querySelectorAll('article .problematic, article .xref.std-numref')].map(e => e.innerText),
}));
"""


def test_every_page_opens_offline(built_book, browser):
    """Every page loads with no console error, its mathematics rendered, every image there and described."""
    pages = [p for p in sorted(built_book.rglob("*.html")) if not {"_static", "_sphinx_design_static"} & set(p.parts)]
    assert len(pages) > 8
    problems = []
    for page in pages:
        name = page.relative_to(built_book).as_posix()
        if name == "index.html":
            continue  # sends the reader on to the first page, which has its turn
        browser.get_log("browser")
        browser.get(page.as_uri())
        found = browser.execute_async_script(FOUND)
        errors = [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
        if name in ("genindex.html", "search.html", "prf-prf.html"):
            found["title"] = found["title"] or name  # redirections and generated pages have no heading of ours
        problems += [f"{name}: {what}" for what in errors]
        problems += [f"{name}: no heading"] * (not found["title"])
        if found["rendered"] < found["formulas"] or found["failed"]:
            problems.append(f"{name}: {found['rendered']} of {found['formulas']} formulas, {found['failed']} failed")
        for kind in ("images", "alt", "remote", "asleep", "unresolved"):
            problems += [f"{name}: {kind}: {what}" for what in found[kind]]
        problems += [f"{name}: a traceback is shown"] * found["tracebacks"]
    assert not problems, "\n".join(problems)


def test_links_lead_somewhere(built_book):
    """Every link within the book has a file, and its fragment an element, at the other end."""
    ids, links = {}, []
    for page in built_book.rglob("*.html"):
        if "_static" in page.parts:
            continue
        html = page.read_text(encoding="utf-8")
        ids[page.resolve()] = set(re.findall(r'\bid="([^"]+)"', html))
        links += [(page, unescape(href)) for href in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', html)]
    broken = []
    for page, href in links:
        if re.match(r"[a-z]+:", href) or href in ("#", ""):
            continue
        path, _, fragment = href.partition("#")
        target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page.resolve()
        if not target.exists() or (fragment and target in ids and unquote(fragment) not in ids[target]):
            broken.append(f"{page.relative_to(built_book)} -> {href}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_the_front_door_leads_to_the_first_page(built_book):
    """The file that a reader opens sends them on to a page that is there."""
    target = re.search(r'url=([^"]+)"', (built_book / "index.html").read_text(encoding="utf-8")).group(1)
    assert (built_book / target).is_file()
