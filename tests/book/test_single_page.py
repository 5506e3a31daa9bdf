"""A chapter that is run again as one file: what it holds, and how it opens with nothing beside it."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from tiny_book import ROOT, chapter, tiny_book

pytestmark = pytest.mark.book

OTHER = chapter("Other", "# ```{prf:lemma} far away\n# :label: lem-far\n#\n# There.\n# ```\n#\n# {glue:text}`unknown`")
AGAIN = chapter(
    "Again",
    "# ```{prf:proposition} near\n# :label: prop-near\n#\n# $$\\Wqk = \\Wq \\Wk\\T$$ (eq-near)\n# ```\n#\n"
    "# By {prf:ref}`lem-far`, [elsewhere](other.py), {eq}`eq-near` and {numref}`fig-line`, not {numref}`tab-far`,\n"
    "# it is {glue:text}`number`.",
    "from attngeo.display.interactive import Interactive\nfrom attngeo.display.page import glue, show\n"
    "from attngeo.display.style import CaptionedFigure, new_figure\n"
    "from attngeo.claims.results import Result, Verdict, exact",
    "glue('number', n, 'd')\nshow(Result('2.1', '(1)', 'the $W$', Verdict.MISPRINT, (exact('trace', 1, 1),)))",
    "figure, axes = new_figure(2, 2)\naxes.plot([0, n])\n"
    "Interactive('dots', {'n': n}, CaptionedFigure(figure, 'fig-line', f'A line to {n}.', 'A line.'))",
    parameters="n: int = 1  # number; in [0, 9]",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    book = tiny_book(tmp_path_factory.mktemp("book"), start=chapter("Start"), again=AGAIN, other=OTHER)
    shutil.copytree(ROOT / "book" / "_static", book.root / "book" / "_static", dirs_exist_ok=True)
    script = "attngeo.interactive('dots', (stage, data) => stage.append(data.n));"
    (book.root / "book" / "_static" / "interactives" / "dots.js").write_text(script)
    return book


@pytest.fixture(scope="module")
def page(book, tmp_path_factory):
    output = tmp_path_factory.mktemp("here") / "again.html"
    command = [sys.executable, "-m", "attngeo", "run", "again", "-p", "n", "7", "-o", output]
    where = os.environ | {"ATTNGEO_BOOK": str(book.root), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=where, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return output


def test_the_page_asks_for_nothing_and_leads_nowhere(page):
    html = re.sub(r"<(script|style)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert {address[:5] for address in re.findall(r"""<[^>]+\s(?:src|href)=["']([^"']+)""", html)} == {"data:"} | {
        target for target in re.findall(r'href="(#[^"]{4})', html)
    }
    assert [path.name for path in page.parent.iterdir()] == ["again.html"]
    assert page.stat().st_size < 5e6


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
def test_the_page_follows_the_parameters_and_works(page, browser, theme, ground):
    wish = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    browser.get_log("browser")
    browser.get(page.as_uri())
    found = browser.execute_async_script(ALIVE)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert "Run again with n = 7 in place of 1." in found["text"] and "A line to 7." in found["text"]
    assert "By Lemma 2.1, elsewhere, (1.1) and Fig. 1.1, not a table of the book, it is 7." in found["text"]
    assert found["formulas"][0] == found["formulas"][1] >= 2 and not found["failed"]
    assert found["stage"] == "7" and found["image"] == ["A line."] and not found["folded"]
    assert found["ground"] == ground and not found["loaded"]
    assert [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")] == []
