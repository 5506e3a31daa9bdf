"""Print the book as book/_build/pdf/attngeo.pdf: ``python book/print_pdf.py``.

Run ``jupyter-book build book --builder singlehtml`` first, which makes one page of the book. We do not use Jupyter
Book's builder pdfhtml, because it prints before MathJax has typeset the formulas, and without style sheets.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from attngeo.errors import AttngeoError
from attngeo.files.checkout import chapters, root

PATIENCE = 10 * 60 * 1000  # milliseconds; there are several thousand formulas
MARGINS = dict.fromkeys(("top", "bottom", "left", "right"), "15mm")
MAKE_READY = """
() => {
  for (const fold of document.querySelectorAll("details:not(.check)")) fold.open = true;
  for (const image of document.images) image.loading = "eager";
  for (const link of document.querySelectorAll("a[href]"))
    if (link.protocol === "file:" && !link.getAttribute("href").startsWith("#")) link.removeAttribute("href");
  return MathJax.startup.promise.then(() => Promise.all([...document.images].map((image) => image.decode())));
}
"""


def print_book(built: Path, first_chapter: str) -> Path:
    """Print the single page below ``built``, the folder ``_build`` of the book.

    Raises:
        AttngeoError: the page has not been built.
    """
    page_file = built / "singlehtml" / "notebooks" / f"{first_chapter}.html"
    if not page_file.is_file():
        raise AttngeoError("The book has not been built as one page: run make pdf, which does that first.")
    beside_styles = built / "singlehtml" / "book.html"  # addresses in the page are relative to this folder
    shutil.copy(page_file, beside_styles)
    pdf = built / "pdf" / "attngeo.pdf"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))  # None means playwright's own
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(PATIENCE)
        page.goto(beside_styles.as_uri())
        page.evaluate(MAKE_READY)
        page.pdf(path=pdf, format="A4", margin=MARGINS, scale=0.78, outline=True, tagged=True, print_background=True)
        browser.close()
    return pdf


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{print_book(root() / 'book' / '_build', next(iter(chapters(root()))))}\n")
    except AttngeoError as error:
        sys.exit(f"{error}")
