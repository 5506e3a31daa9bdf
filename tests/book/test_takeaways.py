"""The links of a page; the files themselves are in test_sphinx."""

import struct
import subprocess
from pathlib import Path

import pytest
from figure_forms import in_dark_theme
from page_head import LONGEST_DESCRIPTION, PREVIEW, citation, link_preview
from takeaways import hand_out

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


def test_a_page_is_edited_where_the_repository_has_it(tmp_path):
    (tmp_path / "notation.md").write_text("# Notation")
    made = hand_out(tmp_path / "html", "notation", tmp_path / "notation.md", None, "https://github.com/a/b")
    assert '"https://github.com/a/b/edit/main/book/notation.md"' in made and made.count("<a ") == 2


@pytest.mark.parametrize("base", ["https://example.org/book/", ""])
def test_a_link_to_a_page_shows_its_first_words_and_where_it_is_published_its_picture(base):
    made = link_preview("notebooks/one", "A <em>page</em> &amp; more", 'One "word"\nof W_q^{\\top}.', base)
    assert (
        '<meta name="description" content="One &quot;word&quot; of W_q^T." />' in made and "A page &amp; more" in made
    )
    assert (f'"og:image" content="https://example.org/book/{PREVIEW}" />' in made) is bool(base)
    picture = (Path(__file__).parents[2] / "book" / PREVIEW).read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)


def test_the_dark_form_of_a_figure_turns_ink_and_ground_and_keeps_images_of_data():
    image = '<image xlink:href="data:image/png;base64,iVBORw0K" clip-path="url(#abcdef)"/>'
    figure = f'<svg width="9pt"><path style="fill: #ffffff"/><use style="stroke: #000000"/>{image}<path d="M 0"/></svg>'
    dark = in_dark_theme(figure)
    assert '<path style="fill: #131313"/><use style="stroke: #ececec"/>' in dark and image in dark
    assert dark.startswith('<svg fill="#ececec" width="9pt">')  # of what has no colour, which is black
    red, green, blue = (int(in_dark_theme("<svg>: #0072b2")[-6:][i : i + 2], 16) for i in (0, 2, 4))
    assert blue > green > red  # blue stays blue


def description(opening):
    return link_preview("one", "One", opening, "").split('name="description" content="')[1].split('"')[0]


def test_a_description_has_whole_sentences_and_formulas_as_they_are_typed():
    assert (
        description(r"Scores $x_i^\top W_{qk}\, x_j$ of $\Wqk = \Wq \Wk\T$.")
        == "Scores x_i^T W_qk x_j of W_qk = W_q W_k^T."
    )
    first, second = "A" * 200 + ".", "B" * 200 + "."
    assert description(f"{first} {second}") == first
    assert description("word " * 100).endswith(" ...") and len(description("word " * 100)) <= LONGEST_DESCRIPTION


def test_reference_managers_find_title_authors_date_and_address():
    facts = {"title": "The book", "authors": [{"name": "A & B"}, {"name": "C"}], "date-released": "2026-11-22"}
    made = citation("notebooks/one", "A <em>page</em>", facts, "https://example.org/book/")
    names = {line.split('"')[1]: line.split('"')[3] for line in made.splitlines()}
    assert names == {
        "citation_title": "A page",
        "citation_inbook_title": "The book",
        "citation_author": "C",
        "citation_publication_date": "2026/11/22",
        "citation_fulltext_html_url": "https://example.org/book/notebooks/one.html",
    }
    assert '"citation_author" content="A &amp; B"' in made
    assert "url" not in citation("one", "One", facts, "") and citation("one", "One", {}, "") == ""
