"""The smoke book, built with warnings as errors and read in headless Chromium without a network."""

import os
import re
import subprocess
import sys
from html import unescape
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from bs4 import BeautifulSoup
from chapter_pages import MOVED
from filelock import FileLock
from livingpaper.display.verdicts import reports
from selenium.webdriver.common.keys import Keys
from sphinx.util.inventory import InventoryFile
from stale_numbers import stale

import attngeo
from attngeo.cli import COMMANDS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def built_book(tmp_path_factory, worker_id):
    """The pages of the smoke book, built from nothing as CI does, by one worker for all."""
    base = tmp_path_factory.getbasetemp()
    output = (base if worker_id == "master" else base.parent) / "book"
    with FileLock(f"{output}.lock"):
        if not output.exists():
            program, *options = "jupyter-book build book --all -n -W --keep-going --path-output".split()
            run = subprocess.run(
                [Path(sys.executable).with_name(program), *options, output],
                cwd=ROOT,
                env=os.environ | {"ATTNGEO_PROFILE": "smoke"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert run.returncode == 0, run.stdout[-6000:]
    return output / "_build" / "html"


def pages_of(book):
    """Its pages, without those that only send the reader on to another page."""
    pages = [p for p in sorted(book.rglob("*.html")) if not {"_static", "_sphinx_design_static"} & set(p.parts)]
    assert len(pages) > 30
    return [p for p in pages if p.relative_to(book).as_posix() not in {"index.html", *MOVED}]


# What moves is brought to its end, since no frame is drawn for the sake of something invisible, which would never end.
SETTLED = """
const done = arguments[arguments.length - 1];
setTimeout(() => done(['it is not at rest after a minute']), 60000);
const settled = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
const moves = change => change.playState === 'running' && change.effect.getComputedTiming().endTime < Infinity;
const rest = frames => {
  const moving = document.getAnimations().filter(moves);
  for (const change of moving) change.finish();
  if (frames === 0) done([]);
  else requestAnimationFrame(() => rest(moving.length ? 4 : frames - 1));
};
const images = () => Promise.allSettled([...document.images].map(image => image.decode()));
settled.then(() => document.fonts.ready).then(images).then(() => rest(4));
"""
FOUND = """
const done = arguments[arguments.length - 1];
const settled = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
settled.then(() => done({
  title: [...document.querySelectorAll('main h1, article h1')].map(h => h.innerText).join(''),
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


def broken(browser, name):
    """What of a page that was opened is not there, not described or not silent."""
    found = browser.execute_async_script(FOUND)
    errors = [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    if name not in ("genindex.html", "search.html", "prf-prf.html") and not found["title"]:  # which have none of ours
        errors.append("no heading")
    if found["rendered"] < found["formulas"] or found["failed"]:
        errors.append(f"{found['rendered']} of {found['formulas']} formulas, {found['failed']} failed")
    for kind in ("images", "alt", "remote", "asleep", "unresolved"):
        errors += [f"{kind}: {what}" for what in found[kind]]
    return errors + ["a traceback is shown"] * found["tracebacks"]


def test_no_page_may_ask_another_host(built_book):
    """The policy stands before whatever loads something, and its sources name no host."""
    for page in pages_of(built_book):
        text = page.read_text("utf-8")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        assert policy.startswith("default-src 'none'; ")
        allowed = {source for directive in policy.split(";") for source in directive.split()[1:]}
        assert allowed <= {"'none'", "'self'", "'unsafe-inline'", "data:", "file:"}
        assert not re.search("<(script|link|style|img)", text.partition(policy)[0])


SHAPE = """
const wide = [...document.querySelectorAll('.bd-article .pst-scrollable-table-container')]
  .filter(box => box.scrollWidth > box.clientWidth + 1 && box.offsetParent);
for (const box of wide) box.scrollLeft = box.scrollWidth;
const stays = box => [...box.querySelectorAll('tr > :first-child')]
  .every(cell => !cell.offsetParent || cell.getBoundingClientRect().left >= box.getBoundingClientRect().left - 1);
const leaves = wide.filter(box => !stays(box));
for (const box of wide) box.scrollLeft = 0;  // as a reader finds it: a scrolled table hides part of its buttons
const edge = document.documentElement.clientWidth;
const cut = box => {
  for (let at = box; at && at !== document.body; at = at.parentElement) {
    const scrolls = /auto|scroll/.test(getComputedStyle(at).overflowX);
    if (scrolls && at.getBoundingClientRect().right <= edge + 1) return false;
  }
  return box.getBoundingClientRect().right > edge + 1;
};
const name = e => e.id || e.outerHTML.slice(0, 80);
const visible = [...document.querySelectorAll('.bd-article :is(mjx-container[display], figure > img, table, pre)')]
  .filter(e => e.offsetParent);
const labels = [...document.querySelectorAll('.bd-article figure:not(.ia-live) img')].filter(i => i.offsetParent);
return {
  wide: document.documentElement.scrollWidth > edge + 1 ? [`${document.documentElement.scrollWidth} px`] : [],
  leaves: leaves.map(name),
  cut: visible.filter(cut).map(name),
  captions: [...document.querySelectorAll('.bd-article caption')]
    .filter(e => e.offsetWidth > e.closest('div').clientWidth).map(e => name(e.parentElement)),
  // of a figure's labels the smallest are 8 points at its own size, 10.7 px
  small: labels.filter(i => edge < 500 && i.naturalWidth && i.clientWidth / i.naturalWidth < 10 / 10.7).map(name),
  stops: [...document.querySelectorAll('mjx-container[tabindex="0"], .math[tabindex="0"]')]
    .filter(e => e.scrollWidth <= e.clientWidth + 1 && !e.matches('.symbol')).map(name),
  shadeless: [...document.querySelectorAll('mjx-container[tabindex="0"]')]
    .filter(e => edge < 500 && getComputedStyle(e).boxShadow === 'none').map(name),
};
"""
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
JUDGED = """
const done = arguments[arguments.length - 1], [looks, only] = arguments;
// Most elements of a page are glyphs of formulas, which are not judged, so only the places of formulas are left to axe.
const formulas = [...document.querySelectorAll('mjx-container')].map(box => {
  const {width, height} = box.getBoundingClientRect();
  return {box, width, height, style: box.style.cssText, glyphs: [...box.children]};
});
for (const {box, width, height, glyphs} of formulas) {
  box.replaceChildren(...glyphs.filter(child => child.matches('mjx-assistive-mml')));
  box.style.cssText += `; display: inline-block; width: ${width}px; height: ${height}px`;
}
const rules = {'label-content-name-mismatch': {enabled: true}};
for (const rule of looks) rules[rule] = {enabled: only !== 'structure'};
const options = {resultTypes: ['violations'], rules};
if (only === 'looks') { options.runOnly = {type: 'rule', values: looks}; delete options.rules; }
axe.run({exclude: [['mjx-container']]}, options).then(found => {
  for (const {box, style, glyphs} of formulas) {
    box.replaceChildren(...glyphs);
    box.style.cssText = style;
  }
  done(found.violations.flatMap(v => v.nodes.map(node => `${v.id}: ${node.html.slice(0, 160)}`)));
});
"""
# what depends on the theme or the width, and takes nine tenths of the time of axe
LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
KINDS = {"introduction", "positions", "errata", "score", "search"}  # pages of each kind, for both themes and widths


PHONE, LAPTOP = (390, ("dark", "light")), (1280, ("light", "dark"))
PARTS = 16  # of similar size, so that no core waits long for another


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_opens_offline_and_can_be_used_by_everybody(built_book, browser, part):
    """No console error, formulas and images there and described; axe-core objects to nothing; nothing is cut off."""
    problems = []
    try:
        for page in sorted(pages_of(built_book), key=lambda page: page.stat().st_size)[part::PARTS]:
            for width, themes in PHONE, LAPTOP:
                found = problems_of(browser, page, width, themes)
                problems += [f"{page.relative_to(built_book)}, {width} px{what}" for what in found]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert not problems, "\n".join(problems)


def problems_of(browser, page, width, themes):
    """What is wrong with a page at a width. The pages in `KINDS` are judged in both themes, others in the first one.

    Pages in `KINDS` and pages with interactives are loaded at each width. All other pages are loaded at the width of a
    phone, after which the window becomes wide.
    """
    both = page.stem in KINDS
    special = both or "data-interactive=" in page.read_text("utf-8")
    phone = width == PHONE[0]
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    show_in(browser, themes[0])
    if special or phone:
        browser.get_log("browser")
        browser.get(page.as_uri())
    problems = []
    for theme in themes[: 2 if both else 1]:
        show_in(browser, theme)
        problems += [f", {theme}: {what}" for what in browser.execute_async_script(SETTLED)]
        if theme == themes[0]:
            problems += [f": {what}" for what in broken(browser, page.name)]
        found = browser.execute_script(SHAPE)
        problems += [f", {theme}: {kind}: {what}" for kind in found for what in found[kind]]
        # the structure of every page once; the looks of pages of each kind and of those with interactives
        structure = not phone and theme == themes[0]
        if structure or special:
            only = "looks" if not structure else "" if special else "structure"
            browser.execute_script(AXE)
            problems += [f", {theme}: {what}" for what in browser.execute_async_script(JUDGED, LOOKS, only)]
    return problems


def show_in(browser, theme):
    """With less motion the theme's buttons take their colours at once: halfway, a contrast is nobody's."""
    wishes = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
    media = {"features": [{"name": name, "value": value} for name, value in wishes.items()]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.mark.parametrize(
    "page", ["bilinear_form_details", "column_dominance_details", "context_and_prediction_details"]
)
def test_what_a_page_shows_of_its_checks_gives_its_numbers(built_book, page, as_user):
    """The code of each, with what it uses before it, as a reader copies it."""
    soup = BeautifulSoup((built_book / "notebooks" / f"{page}.html").read_text("utf-8"), "html.parser")
    run = nbformat.read(built_book / "notebooks" / f"{page}.ipynb", 4)
    shown, told = soup.select(".check"), reports(page, run)
    assert len(shown) == len(told) > 2
    for check, report in zip(shown, told, strict=True):
        code, *uses = (block.get_text() for block in check.select(".highlight pre"))
        function, _, call = code.rstrip().rpartition("\n\n\n")
        exec("\n\n\n".join((*uses, function)), names := {"__name__": page})
        measured = [comparison.measured for comparison in eval(call, names)]
        assert measured == pytest.approx([c["measured"] for c in report["comparisons"]], rel=1e-6, abs=1e-12), call


def test_the_prose_of_a_variant_follows_its_parameter_as_its_figures_do(built_book):
    variants = sorted((built_book / "notebooks").glob("*-*.ipynb"))
    assert variants
    for variant in variants:
        chapter = variant.with_name(f"{variant.stem.partition('-')[0]}.ipynb")
        assert not stale(nbformat.read(chapter, 4), nbformat.read(variant, 4)), variant.name


def test_a_long_table_is_searched_and_sorted_by_keyboard(built_book, browser):
    browser.get((built_book / "notebooks/pretrained_survey_details.html").as_uri())
    table = browser.find_element("id", "tab-released-results")
    tools = table.find_element("xpath", "preceding::div[@class='table-tools'][1]")

    def column(number):
        rows = "Array.from(arguments[0].tBodies[0].rows).filter(row => !row.hidden)"
        return browser.execute_script(f"return {rows}.map(row => row.cells[{number}].textContent.trim())", table)

    box = tools.find_element("css selector", "input[type=search]")
    box.send_keys("random-weights llama")
    assert column(0) == ["Llama-3.2-1B", "Meta-Llama-3-8B"]
    assert tools.find_element("css selector", "[role=status]").text.startswith("2 of ")
    box.send_keys(Keys.CONTROL, "a", Keys.DELETE)
    heading = table.find_elements("css selector", "th")[4]  # s
    for key, order in (Keys.ENTER, 1), (Keys.SPACE, -1):
        heading.find_element("css selector", "button").send_keys(key)
        values = [float(v.replace("\N{MINUS SIGN}", "-")) for v in column(4)]
        assert values == sorted(values)[::order] and len(values) > 100
    assert heading.get_attribute("aria-sort") == "descending"
    assert not browser.find_elements("css selector", "#tab-same-models th button")  # a short one has none


def test_links_lead_somewhere(built_book):
    """Every link within the book has a file, and its fragment an element, at the other end."""
    ids, links = {}, []
    for page in built_book.rglob("*.html"):
        if "_static" in page.parts:
            continue
        html = page.read_text(encoding="utf-8")
        ids[page.resolve()] = set(re.findall(r'\bid="([^"]+)"', html))
        links += [(page, unescape(href)) for href in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', html)]
    front = re.search(r'url=([^"]+)"', (built_book / "index.html").read_text("utf-8"))[1]
    broken = [] if (built_book / front).is_file() else ["the front door"]
    assert all((built_book / old).is_file() for old in MOVED)  # their links are among those below
    for page, href in links:
        if re.match(r"[a-z]+:", href) or href in ("#", ""):
            continue
        path, _, fragment = href.partition("#")
        target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page.resolve()
        if not target.exists() or (fragment and target in ids and unquote(fragment) not in ids[target]):
            broken.append(f"{page.relative_to(built_book)} -> {href}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_the_inventory_has_every_public_name_and_command(built_book):
    """Other projects can refer to them."""
    with (built_book / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    objects = {name for kind, found in inventory.items() if kind.startswith("py:") for name in found}
    assert {f"attngeo.{name}" for name in dir(attngeo)} <= objects
    assert {f"attngeo-{name}" for name in COMMANDS} <= {name.partition(".")[0] for name in inventory["std:cmdoption"]}
