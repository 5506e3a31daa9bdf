"""A tiny book, and a chapter of it run again, with the configuration of the real one. The tests run in order."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest
from print_pdf import print_book
from tiny_book import ROOT, chapter, tiny_book

from attngeo.errors import AttngeoError

pytestmark = pytest.mark.book

START = chapter("Start", "# It is in {numref}`fig-line`, {numref}`tab-one`,", "# {eq}`eq-one` and {prf:ref}`prop-2-1`.")
MIDDLE = chapter(
    "Middle",
    "# Of 1 < $W_q^{\\top}$.\n#\n# ```{prf:proposition} Prop. 2.1 of the paper: one\n# :label: prop-2-1\n"
    "#\n# $$\\Wqk = \\Wq \\Wk\\T$$ (eq-one)\n# ```",
    "import pandas as pd\nfrom livingpaper.display.interactive import Interactive\n"
    "from livingpaper.claims.results import Result, Verdict, exact",
    "from livingpaper.display.page import glue, show, table\n"
    "from attngeo.plot.style import CaptionedFigure, new_figure",
    "show(Result('2.1', '(1)', 'the $W$', Verdict.MISPRINT, (exact('trace', 1, 1),)))\nglue('number', 0.5, '.4f')\n"
    "print('printed between')\ntable(pd.DataFrame({'a': [n]}), 'tab-one', f'One `n`, $n = {n}$.')",
    "table(pd.DataFrame({'a': [n]}), 'tab-two', 'Another.', folded='All rows')",
    "figure, axes = new_figure(2, 2)\naxes.plot([0, n])\n"
    "still = CaptionedFigure(figure, 'fig-line', f'A line to {n}.', 'A line.')\n"
    "Interactive('dots', {'n': n}, still)",
    "# By {prf:ref}`lem-far`, [elsewhere](start.py), {eq}`eq-one` and {numref}`fig-line`, not {numref}`tab-far`,\n"
    "# it is {glue:text}`number`.",
    "caption = 'A hidden one.'\ntable(pd.DataFrame({'a': [n]}), 'tab-hidden', caption)",
    parameters="n: int = 1  # number; in [0, 9]",
    attngeo="{variants: {n: {3: three, 5: five}}}",
).replace("# %%\ncaption", '# %% tags=["remove-cell"]\ncaption')
LAST = chapter(
    "Last",
    "# ```{prf:lemma} far away\n# :label: lem-far\n#\n# There.\n# ```\n#\n# {glue:text}`known`",
    "import pandas as pd\nfrom livingpaper.display.page import glue, table",
    "glue('known', 1)\ntable(pd.DataFrame({'a': [1]}), 'tab-far', 'Far.')",
    "from livingpaper.display.verdicts import reported_checks\n"
    "print([(r['chapter'], r['verdict']) for r in reported_checks()])",
    attngeo="{after: all}",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    root = tmp_path_factory.mktemp("book")
    scripts = shutil.copytree(ROOT / "book" / "_static", root / "book" / "_static") / "interactives"
    (scripts / "dots.js").write_text("attngeo.interactive('dots', (stage, data) => stage.append(data.n));")
    (scripts / "other.js").write_text("")
    return tiny_book(root, {"smoke": "middle: {n: 7}"}, start=START, middle=MIDDLE, last=LAST)


def build(book, *options, profile="smoke"):
    """The run, and the chapters that it executed, in their order."""
    before = kept(book)
    run = subprocess.run(
        [Path(sys.executable).with_name("jupyter-book"), "build", "book", *options],
        cwd=book,
        env=os.environ | {"ATTNGEO_PROFILE": profile},
        capture_output=True,
        text=True,
    )
    new = {name: written for name, written in kept(book).items() if written != before.get(name)}
    return run, sorted(new, key=new.get)


def kept(book):
    """When each chapter's run was written, under the profile of the builds here."""
    return {path.stem: path.stat().st_mtime_ns for path in (book / "book/_build/runs/smoke").glob("*.ipynb")}


def page(book, name):
    return (book / "book/_build/html/notebooks" / f"{name}.html").read_text(encoding="utf-8")


def words(book, name):
    """The text of a page, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page(book, name))).split())


def edit(book, name, old, new):
    path = book / "notebooks" / f"{name}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_cold_build_executes_all_and_is_free_of_warnings(book):
    run, names = build(book, "-n", "-W", "--keep-going")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "WARNING" not in run.stderr
    assert sorted(names) == ["last", "middle", "start"] and names[-1] == "last"


def test_the_page_has_numbers_that_others_cite_captions_descriptions_and_the_run(book):
    html = page(book, "middle")
    assert 'alt="A line."' in html and "dark-light" in html
    assert len(re.findall(r'caption-number">\w+\.? 1\.1 *</span>', html)) == 3  # proposition, figure and table
    assert "(1.1)" in html and 'class="verdict verdict-misprint"' in html
    assert re.search(r"it is <[^>]*>0.5000<", html)
    assert "smoke" in html and "<code" in html and ">7<" in html
    assert "n = 7" in html and "# Parameters" not in html and "hidden" not in words(book, "middle")
    in_order = r"Prop\. 2\.1 of.*printed between.*Table 1\.1 *One n.* All rows Table 1\.2 "
    assert re.search(in_order, words(book, "middle"))
    assert "It is in Fig. 1.1, Table 1.1, (1.1) and Proposition 1.1." in words(book, "start")
    assert "[('middle', 'misprint')]" in words(book, "last")
    script = re.compile(r'<script src="\.\./_static/((?:interactives/)?(?:interactive|dots|other)\.js)')
    assert script.findall(page(book, "middle")) == ["interactive.js", "interactives/dots.js"]
    assert script.findall(page(book, "start")) == ["interactive.js"]


def test_a_page_hands_out_its_notebook_and_its_source_has_figures_for_phones_and_says_what_it_is_about(book):
    html, built = page(book, "middle"), book / "book/_build/html"
    assert re.findall(r'<a href="([^"]+)" download>', html) == ["middle.ipynb", "middle.py"]
    for kind, form in ("for-light", ""), ("for-dark", "-dark"):
        narrow = f'<source media="(max-width: 600px)" srcset="../figures/fig-line-narrow{form}.svg" />'
        assert f'<picture class="{kind}">{narrow}<img' in html
        assert (built / f"figures/fig-line-narrow{form}.svg").is_file()
    assert '<meta name="description" content="Of 1 &lt; W_q^T." />' in html
    notebook = nbformat.read(built / "notebooks/middle.ipynb", 4)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "By far away, elsewhere, (1) and Figure 1, not a table of the book, it is 0.5000." in " ".join(text.split())
    assert "**Prop. 2.1 of the paper" in text and not re.search(r"\{(glue|prf:|numref|eq\}|cite)|\\\\Wqk", text)
    outputs = [o for c in notebook.cells for o in c.get("outputs", [])]
    assert any("image/svg+xml" in o.get("data", {}) for o in outputs)
    assert (built / "notebooks/middle.py").read_text() == (book / "notebooks/middle.py").read_text()
    assert not re.search("Edit this page|Launch|In the repository", html)  # the code has no address


def test_a_variant_of_a_chapter_is_a_page_beside_it_that_nothing_else_lists(book):
    built = book / "book/_build/html"
    assert sorted(path.name for path in (built / "notebooks").glob("middle*.html")) == [
        "middle-n-3.html",
        "middle.html",
    ]
    for name, value in ("middle", 7), ("middle-n-3", 3):
        assert re.search(rf"Table 1\.1 One n, \W+n = {value}\W+\.", words(book, name)) and "(1.1)" in page(book, name)
        switch = re.search('<nav class="variants".*?</nav>', page(book, name))[0]
        links = [f'<a href="middle.html"{" aria-current=#page#" * (value == 7)}>7</a>']
        links += [f'<a href="middle-n-3.html"{" aria-current=#page#" * (value == 3)}>three</a>']
        assert f"Choose <code>n</code> (number): {' '.join(links)}".replace("#", '"') in switch
    assert "Take away" in words(book, "middle-n-3") and "It is in Fig. 1.1, Table 1.1" in words(book, "start")
    variant = nbformat.read(built / "notebooks/middle-n-3.ipynb", 4)
    assert variant.metadata.papermill.parameters == {"n": 3}
    assert len({(built / f"figures/fig-line-narrow{end}.svg").read_text() for end in ("", "-n-3", "-dark")}) == 3
    for image in re.findall(r'(?:src|srcset)="\.\./(_images/[^"]+|figures/[^"]+)"', page(book, "middle-n-3")):
        assert (built / image).is_file()
    assert "n-3" not in (built / "searchindex.js").read_text() and "middle-n" not in page(book, "start")


def test_the_switch_between_variants_keeps_the_place(book, browser):
    browser.get((book / "book/_build/html/notebooks/middle.html").as_uri())
    top = "return document.getElementById('tab-one').getBoundingClientRect().top"
    browser.execute_script("document.body.style.paddingBottom = '3000px'; scrollTo(0, 150)")
    before = browser.execute_script(top)
    browser.execute_script("document.querySelector('.variants a:not([aria-current])').click()")
    assert browser.current_url.endswith("middle-n-3.html")
    settled = "const done = arguments[0]; MathJax.startup.promise.then(() => setTimeout(done, 200))"
    browser.execute_async_script(settled)
    assert abs(browser.execute_script(top) - before) < 3 or browser.execute_script(
        "return scrollY + innerHeight >= document.documentElement.scrollHeight - 1"
    )
    assert browser.execute_script("return sessionStorage.getItem('attngeo-place')") is None


CARD = "const card = document.getElementById('attngeo-card'); return card.hidden ? '' : card.innerText"
SETTLED = "const done = arguments[0]; MathJax.startup.promise.then(() => setTimeout(done, 500))"


def card(browser, act):
    """The text of the card after an act on the link ``at``."""
    browser.execute_script(
        f"const at = document.querySelectorAll('.bd-article a.internal')[arguments[0]]; {act[1]}", act[0]
    )
    browser.execute_async_script(SETTLED)
    return " ".join(browser.execute_script(CARD).split())


def test_a_link_shows_a_card_with_what_it_leads_to_on_focus_and_on_the_first_tap(book, browser):
    """On another page the links of *Start* lead to a figure, a table, an equation and a proposition."""
    tap = "at.dispatchEvent(new PointerEvent('pointerdown', {pointerType: 'touch', bubbles: true})); at.click()"
    browser.get((book / "book/_build/html/notebooks/start.html").as_uri())
    browser.execute_async_script(SETTLED)
    browser.get_log("browser")
    figure, table, equation, proposition = range(4)
    assert card(browser, (figure, "at.focus()")).endswith("A line to 7.")
    assert browser.execute_script(
        "return [...document.querySelectorAll('#attngeo-card img')].map(i => i.naturalWidth > 0)"
    )
    assert (
        card(browser, (figure, "at.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")) == ""
    )
    assert card(browser, (table, "at.focus()")) == ""
    assert card(browser, (proposition, tap)).startswith("Proposition 1.1") and "start.html" in browser.current_url
    formulas = "return document.querySelectorAll('#attngeo-card mjx-container').length"
    assert browser.execute_script(formulas) >= 1
    assert card(browser, (equation, tap)).endswith("(1.1)") or browser.execute_script(formulas) == 1
    assert not [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    browser.execute_script(f"const at = document.querySelectorAll('.bd-article a.internal')[{equation}]; {tap}")
    assert browser.current_url.endswith("middle.html#equation-eq-one")


def test_a_symbol_shows_its_meaning_and_is_one_tab_stop(book, browser):
    """The tiny book has no page *Notation*, so its symbols are written here."""
    built = book / "book/_build/html"
    meanings = (
        r"""attngeoSymbols({"W_q^{\\top}": "<p>keys and <a href='ROOT/notebooks/start.html'>queries</a></p>"});"""
    )
    (built / "_static/symbols_data.js").write_text(meanings)
    browser.get((built / "notebooks/middle.html").as_uri())
    browser.execute_async_script(SETTLED)
    assert browser.execute_script("return document.querySelectorAll('.symbol[tabindex=\"0\"]').length") == 1
    browser.execute_script("document.querySelector('.symbol').focus()")
    browser.execute_async_script(SETTLED)
    assert browser.execute_script(CARD) == "keys and queries"
    link = browser.execute_script("return document.querySelector('#attngeo-card a').href")
    assert link == (built / "notebooks/start.html").as_uri()


@pytest.fixture(scope="module")
def again(book, tmp_path_factory):
    """A chapter that is run again as one file."""
    output = tmp_path_factory.mktemp("here") / "again.html"
    command = [sys.executable, "-m", "attngeo", "run", "middle", "-p", "n", "7", "-o", output]
    done = subprocess.run(command, env=os.environ | {"ATTNGEO_BOOK": str(book)}, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return output


def test_a_page_alone_asks_for_nothing_and_leads_nowhere(again):
    html = re.sub(r"<(script|style)\b.*?</\1>", "", again.read_text(encoding="utf-8"), flags=re.DOTALL)
    addresses = re.findall(r"""<[^>]+\s(?:src|srcset|href)=["']([^"']+)""", html)
    assert {address[:5] for address in addresses} == {"data:", *re.findall(r'href="(#[^"]{4})', html)}
    assert [path.name for path in again.parent.iterdir()] == ["again.html"]
    assert again.stat().st_size < 5e6


ALIVE = """
const done = arguments[0];
MathJax.startup.promise.then(() => done({
  text: document.querySelector('article').innerText.replace(/\\s+/g, ' '),
  failed: document.querySelectorAll('mjx-merror, [data-mjx-error]').length,
  formulas: [document.querySelectorAll('.math').length, document.querySelectorAll('.math mjx-container').length],
  stage: document.querySelector('figure#fig-line.ia-live .interactive')?.textContent,
  image: [...document.images].map(image => image.naturalWidth > 0 && image.alt),
  folded: document.querySelector('details.check').open,
  ground: getComputedStyle(document.body).backgroundColor,
  loaded: performance.getEntriesByType('resource').map(e => e.name.slice(0, 5)).filter(n => n !== 'data:'),
}));
"""


@pytest.mark.parametrize(("theme", "ground"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 18, 18)")])
def test_a_page_alone_follows_the_parameters_and_works(again, browser, theme, ground):
    wish = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    browser.get_log("browser")
    browser.get(again.as_uri())
    found = browser.execute_async_script(ALIVE)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert "This page was run again with n = 7 instead of 1." in found["text"] and "A line to 7." in found["text"]
    assert "By Lemma 2.1, elsewhere, (1.1) and Fig. 1.1, not a table of the book, it is 0.5000." in found["text"]
    assert found["formulas"][0] == found["formulas"][1] >= 2 and not found["failed"]
    assert found["stage"] == "7" and found["image"] == ["A line."] * 2 and not found["folded"]
    assert found["ground"] == ground and not found["loaded"]
    assert [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")] == []


def test_a_second_build_executes_nothing_and_reads_nothing(book):
    def read():
        return {p: p.stat().st_mtime_ns for p in (book / "book/_build").rglob("*.doctree")}

    before = read()
    run, names = build(book)
    assert run.returncode == 0 and names == []
    assert len(before) == 3 and read() == before


def test_another_profile_makes_other_pages_and_with_the_address_of_the_code_each_can_be_edited(book):
    (book / "CITATION.cff").write_text("repository-code: https://github.com/a/b")
    assert build(book, profile="cpu")[1] == [] and "n = 1" in page(book, "middle")
    for name in ("start", "middle", "last"):
        assert f'"https://github.com/a/b/edit/main/notebooks/{name}.py">Edit this page</a>' in page(book, name)
    (book / "CITATION.cff").unlink()


def test_an_edit_executes_one_chapter_and_the_one_that_shows_all_checks(book):
    """The runs of this profile are still there after the build with another one."""
    edit(book, "middle", "0.5", "0.25")
    assert build(book)[1] == ["middle", "last"]
    assert "0.2500" in page(book, "middle") and "n = 7" in page(book, "middle")


def test_a_failing_cell_fails_the_build_and_leaves_the_book(book):
    def digest():
        files = sorted(p for p in (book / "book/_build/html").rglob("*") if p.is_file())
        return hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()

    before = digest()
    edit(book, "start", "# It is", "# Now it is")
    edit(book, "start", "{prf:ref}`prop-2-1`", "[there](nowhere.md)")
    edit(book, "middle", "glue('number'", "raise RuntimeError('broken on purpose')\nglue('number'")
    run, _ = build(book)
    assert run.returncode != 0
    output = run.stdout + run.stderr
    assert "Chapter middle failed: RuntimeError: broken on purpose. " in output and "Traceback" in output
    assert digest() == before
    edit(book, "middle", "raise RuntimeError('broken on purpose')\n", "")
    run, names = build(book)
    assert names == ["last"] and "Now it is" in page(book, "start")
    lines = (book / "notebooks/start.py").read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "nowhere" in text)  # the warning names it
    assert run.returncode == 0 and re.search(rf"start\.py:{line}: WARNING.*nowhere", run.stderr)


def test_the_book_is_printed_with_formulas_and_an_outline_and_links_within(book, browser):
    """After ``browser``, which skips where there is no Chromium."""
    from pypdf import PdfReader

    with pytest.raises(AttngeoError, match=r"^The book has not been built as one page.*\.$"):
        print_book(book / "book/_build", "start")
    assert build(book, "--builder", "singlehtml")[0].returncode == 0
    printed = PdfReader(print_book(book / "book/_build", "start"))
    titles = re.findall(r"'/Title': '(\d\. \w+)'", str(printed.outline))
    assert titles[-2:] == ["1. Middle", "2. Last"]
    text = "\n".join(page.extract_text() for page in printed.pages)
    assert "Proposition 1.1" in text and "smoke" in text
    assert not re.search(r"\\Wqk|Take away|Search", text)
    actions = [note.get_object().get("/A") for page in printed.pages for note in page.get("/Annots", [])]
    assert not [action for action in actions if action and "file:" in str(action.get_object().get("/URI"))]


def test_the_folder_that_is_built_holds_links():
    for name in ("_config.yml", "_toc.yml", "notebooks"):
        link = ROOT / "book" / name
        assert link.is_symlink() and os.readlink(link) == f"../{name}" and link.exists()
