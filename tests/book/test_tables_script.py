"""book/_static/tables.js in headless Chromium, on a small page without a network."""

import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys

from attngeo.chapters.pretrained_survey.figures import results_in_figures
from attngeo.files.checkout import root
from attngeo.survey.released_results import released_results

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def page(tmp_path_factory, browser):
    """The table of released results as the book has it, and a short one, opened from a file."""
    long = results_in_figures(released_results()).to_html(index=False, classes="table", table_id="tab-released-results")
    short = pd.DataFrame({"a": [1, 2]}).to_html(index=False, classes="table")
    static = root() / "book/_static"
    scripts = "".join(f"<script src='{(static / name).as_uri()}'></script>" for name in ("interactive.js", "tables.js"))
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(
        f"<!doctype html><meta charset=utf-8>{scripts}<div class=bd-article>{long}{short}</div>",
        encoding="utf-8",
    )
    browser.get_log("browser")  # of other pages
    browser.get(file.as_uri())
    return browser


def column(page, number):
    rows = "Array.from(document.querySelectorAll('#tab-released-results tbody tr')).filter(r => !r.hidden)"
    return page.execute_script(f"return {rows}.map(r => r.cells[{number}].textContent.trim())")


def test_a_long_table_is_searched_and_sorted_by_keyboard(page):
    (box,) = page.find_elements("css selector", "input[type=search]")  # the short one has none
    box.send_keys("random-weights llama")
    assert column(page, 0) == ["Llama-3.2-1B", "Meta-Llama-3-8B"]
    assert page.find_element("css selector", "[role=status]").text.startswith("2 of ")
    box.send_keys(Keys.CONTROL, "a", Keys.DELETE)
    button = page.find_elements("css selector", "#tab-released-results th button")[4]  # s
    for key, order in (Keys.ENTER, 1), (Keys.SPACE, -1):
        button.send_keys(key)
        values = [float(v) for v in column(page, 4)]
        assert values == sorted(values)[::order] and len(values) == len(results_in_figures(released_results()))
    assert page.find_elements("css selector", "#tab-released-results th")[4].get_attribute("aria-sort") == "descending"
    assert [e for e in page.get_log("browser") if e["level"] != "INFO"] == []  # the theme of another page informs
