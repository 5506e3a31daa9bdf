"""The links of a page; the files themselves are in test_sphinx."""

import struct
import subprocess
from pathlib import Path

import pytest
from takeaways import PREVIEW, hand_out, in_dark_theme, link_preview

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
    assert '<meta name="description" content="One &quot;word&quot; of W_q." />' in made and "A page &amp; more" in made
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
