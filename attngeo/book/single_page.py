"""A chapter that was run again as one HTML file: its page of the book, with all that this loads inside it."""

import re
from base64 import b64encode
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urljoin

from nbformat import NotebookNode

from attngeo.book.notebooks import Book, Chapter
from attngeo.errors import AttngeoError

# of a page what leads to other pages, and the scripts that serve it
AROUND = (
    ".bd-header-article, .bd-sidebar-primary, .bd-footer, .prev-next-footer, .page-files, #pst-search-dialog,"
    " .pst-async-banner-revealer"
)
SCRIPTS_AROUND = re.compile(r"fontawesome|bootstrap|searchtools|language_data|searchindex|sphinx-book-theme")
ICONS = ("fa-solid-900.woff2",)
# nothing outside the file is asked for, whatever is in it
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
_URL = re.compile(r"""url\((["']?)(?!["']?data:)([^)"']+)\1\)""")
_IMPORT = re.compile(r"""@import ["']([^"']+)["'];""")


class PageError(AttngeoError):
    """A chapter ran, and Sphinx could not make its page."""


def single_page(book: Book, chapter: Chapter, run: NotebookNode) -> str:
    """The chapter's page from this run. Of the other chapters the texts are read alone, for what it refers to.

    Links to other pages lead to where the book is published (``html: baseurl`` of its configuration), or are text.

    Raises:
        PageError: Sphinx ended with an error, which it has printed.
    """
    from jupyter_book.sphinx import build_sphinx

    with TemporaryDirectory() as folder:
        html = Path(folder, "html")
        failed = build_sphinx(
            book.root / "book",
            html,
            path_config=book.root / "_config.yml",
            noconfig=True,
            confoverrides={"attngeo_rerun": {chapter.name: run}, "latex_individualpages": False, "html_sidebars": {}},
            filenames=[book.root / "book" / "notebooks" / f"{chapter.name}.py"],
            quiet=True,
        )
        page = html / "notebooks" / f"{chapter.name}.html"
        if failed or not page.is_file():
            raise PageError(f"Chapter {chapter.name} ran, but its page could not be made; an .ipynb can.")
        return _inlined(page)


def _inlined(page: Path) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    for tag in soup.select(AROUND):
        tag.decompose()
    published = soup.find("link", rel="canonical")
    for link in soup.find_all("link"):
        if "stylesheet" in link.get("rel", []):
            style = soup.new_tag("style")
            style.string = _style(_file(page, link["href"]))
            link.replace_with(style)
        else:
            link.decompose()
    for script in soup.find_all("script"):
        late, source = script.attrs.pop("defer", None) is not None, script.attrs.pop("src", "")
        if SCRIPTS_AROUND.search(source):
            script.decompose()
        elif source:
            # MathJax loads the fonts of its other output from files
            path = _file(page, source.replace("tex-chtml.js", "tex-svg.js"))
            script.string = path.read_text(encoding="utf-8").replace("</script", "<\\/script")
            if late:
                soup.body.append(script.extract())
    for image in soup.find_all(["img", "source"]):
        address = "src" if image.name == "img" else "srcset"
        image[address] = _data(_file(page, image[address]))
    for link in soup.find_all("a", href=re.compile(r"^(?!#|[a-z]+:)")):
        if published:
            link["href"] = urljoin(published["href"], link["href"])
        else:
            link.name, link.attrs = "span", {"title": "on another page of the book"}
    soup.head.append(BeautifulSoup("<style>.bd-main { margin: auto; max-width: 70rem }</style>", "html.parser"))
    policy = soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY})
    soup.find("meta", charset=True).insert_after(policy)
    return str(soup)


def _file(near: Path, href: str) -> Path:
    return near.parent / unquote(href.partition("?")[0])


def _style(path: Path) -> str:
    """A style sheet with the sheets that it imports, its pictures and the one font of icons that a chapter has."""

    def inside(found: re.Match) -> str:
        target = _file(path, found[2])
        return f"url({_data(target)})" if target.name in ICONS or target.suffix == ".png" else "url(data:,)"

    text = _URL.sub(inside, path.read_text(encoding="utf-8"))
    return _IMPORT.sub(lambda found: _style(_file(path, found[1])), text)


def _data(path: Path) -> str:
    return f"data:{guess_type(path.name)[0]};base64,{b64encode(path.read_bytes()).decode('ascii')}"
