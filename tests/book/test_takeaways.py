"""The links of a page, and what a link to it shows; the files themselves are in test_sphinx."""

import struct
import subprocess
from pathlib import Path

import pytest
from nbformat import v4

from attngeo.book.takeaways import PREVIEW, card, for_phones, line
from attngeo.display import METADATA_KEY, NARROW_SVG
from attngeo.files.provenance import repository


def test_the_address_is_gits_where_that_is_public_and_no_password_goes_along(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for remote, address in {
        "git@github.com:a/b.git": "https://github.com/a/b",
        "https://u:t@gitlab.com/a/b/": "https://gitlab.com/a/b",
        "https://code.example.org/a/b": "",
        str(tmp_path): "",
    }.items():
        subprocess.run(["git", "-C", tmp_path, "config", "remote.origin.url", remote], check=True)
        assert repository(tmp_path) == address


def test_a_page_is_edited_where_the_repository_has_it():
    made = line("notation", Path("notation.md"), False, "https://github.com/a/b")
    assert '"https://github.com/a/b/edit/main/book/notation.md"' in made and made.count("<a ") == 2


def test_narrow_screens_get_the_one_column_form_of_each_figure():
    image = '<img alt="a" src="x.svg" />'
    body = f'<p>{image}</p><figure class="align-default" id="fig-x">\n{image}\n<figcaption>'
    wide = body.replace("fig-x", "fig-wide")
    outputs = [
        v4.new_output("display_data", data, metadata={METADATA_KEY: {"figure": {"name": name}}})
        for name, data in (("fig-x", {NARROW_SVG: "<svg/>"}), ("fig-wide", {"image/svg+xml": "<svg/>"}))
    ]
    source = '<source media="(max-width: 600px)" srcset="../figures/fig-x.svg" />'
    made = for_phones(body + wide, v4.new_notebook(cells=[v4.new_code_cell(outputs=outputs)]))
    assert made == body.replace(f"\n{image}\n", f"\n<picture>{source}{image}</picture>\n") + wide


@pytest.mark.parametrize("base", ["https://example.org/book/", ""])
def test_a_link_to_a_page_shows_its_first_words_and_where_it_is_published_its_picture(base):
    made = card("notebooks/one", "A <em>page</em> &amp; more", 'One "word"\nof W_q^{\\top}.', base)
    assert '<meta name="description" content="One &quot;word&quot; of W_q." />' in made and "A page &amp; more" in made
    assert (f'"og:image" content="https://example.org/book/{PREVIEW}" />' in made) is bool(base)
    picture = (Path(__file__).parents[2] / "book" / PREVIEW).read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
