"""What make pdf says where it cannot print; what it prints is in test_sphinx."""

import pytest
from tiny_book import chapter, tiny_book

from attngeo.book.pdf import PdfError, print_book


def test_what_is_missing_is_said_in_a_sentence(tmp_path, monkeypatch):
    book = tiny_book(tmp_path, one=chapter("One"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PdfError, match=r"^[^\n]*\bbuilt\b[^\n]*\.$"):
        print_book(book)
    page = tmp_path / "book/_build/singlehtml/notebooks/one.html"
    page.parent.mkdir(parents=True)
    page.write_text("<h1>One</h1>")
    with pytest.raises(PdfError, match=r"^[^\n]*\bchromedriver\.$"):
        print_book(book)
    assert not list(tmp_path.rglob("*.pdf"))
