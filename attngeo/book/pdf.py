"""The whole book as one PDF: Chromium prints the page that ``jupyter-book build book --builder singlehtml`` makes."""

import base64
import shutil
import sys
from pathlib import Path

from attngeo.book.notebooks import Book, find_book
from attngeo.errors import AttngeoError, needs
from attngeo.files.atomic import atomic_path, write_text

MINUTES = 10  # to typeset some thousand formulas
WIDTH = 870  # of a printed page, in pixels: 8.27 inches less the margins, over the scale
_A4 = {"paperWidth": 8.27, "paperHeight": 11.69, "scale": 0.78} | dict.fromkeys(
    ("marginTop", "marginBottom", "marginLeft", "marginRight"), 0.6
)
_FOOTER = '<div style="font-size: 8px; text-align: center; width: 100%"><span class="pageNumber"></span></div>'
_READY = Path(__file__).with_name("ready.js")


class PdfError(AttngeoError):
    """The book is not built, Chromium is not there, or what it shows is not whole."""


def print_book(book: Book) -> Path:
    """Print a book that was built as one page as A4: proofs unfolded, an outline of its headings, page numbers.

    Returns:
        ``book/_build/pdf/attngeo.pdf``.

    Raises:
        PdfError: the page is not there, Chromium is not installed, or a formula or an image is broken.
    """
    built = book.root / "book" / "_build"
    page = built / "singlehtml" / "notebooks" / f"{book.chapters()[0].name}.html"
    if not page.is_file():
        raise PdfError("The book is not built as one page: run make pdf, which does so first.")
    beside = built / "singlehtml" / "book.html"  # to which the page's links are relative
    write_text(beside, page.read_text(encoding="utf-8"))
    with atomic_path(built / "pdf" / "attngeo.pdf") as temporary:
        temporary.write_bytes(_printed(beside))
    return built / "pdf" / "attngeo.pdf"


def _printed(page: Path) -> bytes:
    binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not (binary and driver):
        raise PdfError("The PDF is printed by Chromium, which is not installed: install chromium and chromedriver.")
    with needs("pdf", "The PDF"):
        from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")  # whatever the book needs lies beside it
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        chrome.command_executor.client_config.timeout = 60 * MINUTES
        chrome.set_page_load_timeout(60 * MINUTES)
        chrome.set_script_timeout(60 * MINUTES)
        size = {"width": WIDTH, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        chrome.get(page.as_uri())
        if broken := chrome.execute_async_script(_READY.read_text("utf-8")):
            raise PdfError(f"The PDF was not printed, since the book shows something broken: {broken[0][:200]}.")
        words = {"displayHeaderFooter": True, "headerTemplate": "<span></span>", "footerTemplate": _FOOTER}
        outline = {"generateDocumentOutline": True, "generateTaggedPDF": True}
        found = chrome.execute_cdp_cmd("Page.printToPDF", _A4 | words | outline | {"printBackground": True})
    finally:
        chrome.quit()
    return base64.b64decode(found["data"])


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{print_book(find_book())}\n")
    except AttngeoError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
