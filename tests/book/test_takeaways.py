import struct
import subprocess
from pathlib import Path

import pytest
from nbformat import v4

from attngeo.book.takeaways import PREVIEW, card, data_link, for_phones, line
from attngeo.display.labels import METADATA_KEY, NARROW_SVG
from attngeo.files.provenance import repository

SOURCE = Path("notebooks/one.py")


def test_without_an_address_there_is_nothing_to_edit_or_launch(tmp_path):
    assert repository(tmp_path) == ""
    (tmp_path / "CITATION.cff").write_text("title: a\n")
    assert repository(tmp_path) == ""
    assert line("notebooks/one", SOURCE, True, "").count("<a ") == 2


def test_the_address_is_gits_where_that_is_public_and_no_password_goes_along(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    remotes = {
        "git@github.com:a/b.git": "https://github.com/a/b",
        "https://u:t@gitlab.com/a/b/": "https://gitlab.com/a/b",
    }
    for remote, address in {**remotes, "https://code.example.org/a/b": "", str(tmp_path): ""}.items():
        subprocess.run(["git", "-C", tmp_path, "config", "remote.origin.url", remote], check=True)
        assert repository(tmp_path) == address


def test_an_address_gives_ways_to_edit_and_to_launch(tmp_path):
    (tmp_path / "CITATION.cff").write_text("repository-code: https://github.com/a/b.git/\n")
    made = line("notebooks/one", SOURCE, True, repository(tmp_path))
    assert 'href="https://github.com/a/b/edit/main/notebooks/one.py"' in made
    assert 'href="https://mybinder.org/v2/gh/a/b/main?urlpath=lab/tree/notebooks/one.py"' in made


def test_only_chapters_are_launched_and_only_from_where_binder_looks():
    assert "mybinder" not in line("notation", Path("notation.md"), False, "https://github.com/a/b")
    assert "/edit/main/book/notation.md" in line("notation", Path("notation.md"), False, "https://github.com/a/b")
    assert "mybinder" not in line("notebooks/one", SOURCE, True, "https://code.example.org/a/b")


@pytest.mark.parametrize("page, href", [("notebooks/one", "../figures/fig-x.csv"), ("one", "figures/fig-x.csv")])
def test_the_data_are_found_from_the_page(page, href):
    assert f'href="{href}" download' in data_link("fig-x", page)


def test_narrow_screens_get_the_one_column_form_of_each_figure():
    image = '<img alt="a" src="x.svg" />'
    body = f'<p>{image}</p><figure class="align-default" id="fig-x">\n{image}\n<figcaption>'
    source = '<source media="(max-width: 600px)" srcset="../figures/fig-x.svg" />'
    wide = body.replace("fig-x", "fig-wide")
    outputs = [
        v4.new_output("display_data", data, metadata={METADATA_KEY: {"figure": {"name": name}}})
        for name, data in (("fig-x", {NARROW_SVG: "<svg/>"}), ("fig-wide", {"image/svg+xml": "<svg/>"}))
    ]
    run = v4.new_notebook(cells=[v4.new_code_cell(outputs=outputs)])
    made = for_phones(body + wide, "notebooks/one", run)
    assert made == body.replace(f"\n{image}\n", f"\n<picture>{source}{image}</picture>\n") + wide


@pytest.mark.parametrize("base", ["https://example.org/book/", ""])
def test_a_link_to_a_page_shows_its_first_words_and_where_it_is_published_its_picture(base):
    made = card("notebooks/one", "A <em>page</em> &amp; more", 'One "word"\nof W_q^{\\top}.', base)
    assert '<meta name="description" content="One &quot;word&quot; of W_q." />' in made
    assert '<meta property="og:title" content="A page &amp; more" />' in made
    assert (f'"og:image" content="https://example.org/book/{PREVIEW}" />' in made) is bool(base)
    assert ('"og:url" content="https://example.org/book/notebooks/one.html" />' in made) is bool(base)
    picture = (Path(__file__).parents[2] / "book" / PREVIEW).read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
