"""The figure of scores and the page that carries it, from rows as `attngeo score` makes them."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from random_forms import gaussian
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from attngeo import BilinearForm
from attngeo.bilinear.rows import form_rows
from attngeo.bilinear.summary import SHOWN, cells, outside, summary
from attngeo.plot.report import report
from attngeo.plot.score_figure import score_figure

NAME = "made <of> random layers"


@pytest.fixture(scope="module")
def rows():
    """An encoder of three layers, the last of them tied, and a decoder of one."""
    forms = [BilinearForm(gaussian(4, 96, 16, seed=i), gaussian(4, 96, 16, seed=i + 9)) for i in range(4)]
    forms[2] = BilinearForm(forms[2].wq, forms[2].wq)
    places = [*(("encoder", i) for i in range(3)), ("decoder", 0)]
    abouts = [{"model": NAME, "revision": "", "part": part, "layer": layer, "source": ""} for part, layer in places]
    return [row for form, about in zip(forms, abouts, strict=True) for row in form_rows(form, about)]


@pytest.fixture(scope="module")
def page(rows):
    figure = score_figure(rows)
    return report(NAME, *cells(rows), summary(rows), figure.svg(), figure.alt, "made by a test")


def test_layers_heads_and_band_are_drawn_where_they_are(rows):
    panels = score_figure(rows).figure.axes
    assert len(panels) == 4  # two scores, two parts
    encoder = [row for row in rows if row["part"] == "encoder"]
    for panel, score in ((panels[0], "symmetry"), (panels[2], "directionality")):
        band, heads, out, within = panel.collections
        line = panel.lines[-1].get_xydata()
        layers = [row for row in encoder if row["head"] == -1]
        np.testing.assert_allclose(line, [(row["layer"], row[score]) for row in layers])
        np.testing.assert_allclose(heads.get_offsets()[:, 1], [row[score] for row in encoder if row["head"] != -1])
        assert len(out.get_offsets()) == sum(outside(row, score) for row in layers)
        assert len(out.get_offsets()) + len(within.get_offsets()) == 3
        corners = band.get_paths()[0].vertices[:, 1]
        assert all((corners.min() <= row[score] <= corners.max()) is not outside(row, score) for row in layers)
        assert (corners.max() + corners.min()) / 2 == pytest.approx(layers[0][f"{score}_null_mean"])
        assert corners.max() - corners.min() >= 2 * 1.95 * layers[0][f"{score}_null_sd"]


def test_the_page_asks_for_nothing(page):
    names_of_svg = {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\"'<> ]+", page)) <= names_of_svg
    assert not re.search(r"<script src|<link|<img|@import|url\((?!#)", page)
    assert NAME not in page and "made &lt;of&gt; random layers" in page


def test_the_table_has_a_row_for_each_and_marks_what_is_outside(page, rows):
    inside, _, below = page.partition("<table>")[2].partition("</table>")
    table = ElementTree.fromstring(f"<table>{inside.replace('class=outside', '')}</table>")
    assert len(table.findall("tbody/tr")) == len(rows)
    marked = sum(outside(row, score) for row in rows for score in ("symmetry", "directionality"))
    assert page.count("<td class=outside>") == marked
    names = ["".join(heading.itertext()) for heading in table.findall("thead/tr/th")]
    assert len(set(names)) == len(names) and {"symmetry z", "directionality p"} <= {*names}
    assert "<p>A star marks " in below


@pytest.mark.book
def test_the_page_reads_on_either_ground(page, browser, tmp_path):
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    grounds = {}
    for scheme in ("light", "dark"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        browser.get((tmp_path / "report.html").as_uri())
        colours = browser.execute_script(
            "const of = (e, what) => getComputedStyle(document.querySelector(e))[what];"
            "return [of('body', 'backgroundColor'), of('td', 'color'), of('svg', 'fill')]"
        )
        grounds[scheme] = [np.mean([int(n) for n in re.findall(r"\d+", colour)[:3]]) for colour in colours]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    (paper, ink, drawing), (dark_paper, light_ink, light_drawing) = grounds.values()
    assert paper > 240 > 60 > ink == drawing and dark_paper < 40 < 200 < light_ink == light_drawing
    assert not browser.get_log("browser")


def test_rows_are_filtered_and_sorted_by_keyboard(page, rows, tmp_path, browser):
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    browser.get(f"file://{tmp_path / 'page.html'}")

    def shown() -> list[list[str]]:
        own = browser.find_elements(By.CSS_SELECTOR, "tbody tr")
        return [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in own if row.is_displayed()]

    box = browser.find_element(By.ID, "words")
    box.send_keys("decoder all")
    assert [row[:3] for row in shown()] == [["decoder", "0", "all"]]
    box.send_keys(Keys.CONTROL, "a", Keys.DELETE)
    assert len(shown()) == len(rows)
    symmetry = browser.find_elements(By.CSS_SELECTOR, "th button")[3]
    for order in (1, -1):
        symmetry.send_keys(Keys.ENTER)
        values = [float(row[3].strip("*")) for row in shown()]
        assert values == sorted(values)[::order]
        arrow = browser.execute_script("return getComputedStyle(arguments[0], '::after').content", symmetry)
        assert arrow == ('" ↑"' if order == 1 else '" ↓"')
    assert symmetry.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    assert browser.get_log("browser") == []


@pytest.mark.book
def test_all_columns_of_a_report_are_seen_in_a_window_of_1100_pixels(tmp_path, browser):
    names = ["part", "layer", "head", *(f"{score}{of}" for score in SHOWN for of in ("", " z", " p")), "c_S", "c_N"]
    line = ["encoder", "11", "all", *["-0.6399*", "+1173.1", "<1e-9"] * 2, "11.72*", "11.12*", "0.2627"]
    (tmp_path / "wide.html").write_text(report(NAME, [*names, "rank"], [line], []), encoding="utf-8")
    before = browser.get_window_size()
    browser.set_window_size(1100, 900)
    browser.get((tmp_path / "wide.html").as_uri())
    hidden = "const e = document.querySelector('.wide'); return e.scrollWidth - e.clientWidth"
    assert browser.execute_script(hidden) == 0
    browser.set_window_size(before["width"], before["height"])
