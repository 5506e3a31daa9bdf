"""One executed chapter as a single HTML file, which contains everything that its page in the book loads."""

import re
from base64 import b64encode
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urljoin

import nbformat
from bs4 import BeautifulSoup
from execute import ROOT
from jupyter_book.sphinx import build_sphinx
from nbformat import NotebookNode

from attngeo.errors import AttngeoError

# The parts of a page that lead to other pages, and the scripts that these parts need.
NAVIGATION = (
    ".bd-header-article, .bd-sidebar-primary, .bd-footer, .prev-next-footer, .page-files, #pst-search-dialog,"
    " .pst-async-banner-revealer"
)
NAVIGATION_SCRIPTS = re.compile(r"fontawesome|bootstrap|searchtools|language_data|searchindex|sphinx-book-theme")
ICON_FONTS = ("fa-solid-900.woff2",)
# The browser loads nothing from outside of the file, whatever the file contains.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
URL = re.compile(r"""url\((["']?)(?!["']?data:)([^)"']+)\1\)""")
IMPORT = re.compile(r"""@import ["']([^"']+)["'];""")


class PageError(AttngeoError):
    """Sphinx could not make the page of an executed chapter."""


def single_page(chapter: str, run: NotebookNode) -> str:
    """The HTML page of an executed chapter.

    The other chapters are read, because the page refers to their theorems and formulas, but not executed. If
    ``html: baseurl`` in _config.yml has the address of the published book, links to other pages lead there. Otherwise
    they become text.

    Raises:
        PageError: Sphinx failed and has printed the reason.
    """
    with TemporaryDirectory() as folder:
        executed = Path(folder, f"{chapter}.ipynb")
        nbformat.write(run, executed)
        html = Path(folder, "html")
        failed = build_sphinx(
            ROOT / "book",
            html,
            path_config=ROOT / "book" / "_config.yml",
            noconfig=True,
            confoverrides={"single_run": str(executed), "latex_individualpages": False, "html_sidebars": {}},
            filenames=[ROOT / "book" / "notebooks" / f"{chapter}.py"],
            quiet=True,
        )
        page = html / "notebooks" / f"{chapter}.html"
        if failed or not page.is_file():
            raise PageError(
                f"Chapter {chapter} was executed, but its page could not be made; write it to an .ipynb file."
            )
        return self_contained(page)


def self_contained(page: Path) -> str:
    """The HTML of a built page that contains its style sheets, scripts, fonts and images, and no navigation."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    for part in soup.select(NAVIGATION):
        part.decompose()
    published = soup.find("link", rel="canonical")
    _put_styles_inside(soup, page)
    _put_scripts_inside(soup, page)
    for image in soup.find_all(["img", "source"]):
        attribute = "src" if image.name == "img" else "srcset"
        image[attribute] = _data(_file(page, image[attribute]))
    for link in soup.find_all("a", href=re.compile(r"^(?!#|[a-z]+:)")):  # links to other pages of the book
        if published:
            link["href"] = urljoin(published["href"], link["href"])
        else:
            link.name, link.attrs = "span", {"title": "on another page of the book"}
    policy = soup.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY})
    soup.find("meta", charset=True).insert_after(policy)
    return str(soup)


def _put_styles_inside(soup: BeautifulSoup, page: Path) -> None:
    for link in soup.find_all("link"):
        if "stylesheet" in link.get("rel", []):
            style = soup.new_tag("style")
            style.string = _style(_file(page, link["href"]))
            link.replace_with(style)
        else:
            link.decompose()
    soup.select_one(".bd-main")["style"] = "margin: auto; max-width: 70rem"  # there is no navigation beside it


def _put_scripts_inside(soup: BeautifulSoup, page: Path) -> None:
    for script in soup.find_all("script", src=True):
        source = script.attrs.pop("src")
        if NAVIGATION_SCRIPTS.search(source):
            script.decompose()
            continue
        # MathJax has to draw with SVG here, because its other output loads fonts from files.
        path = _file(page, source.replace("tex-chtml.js", "tex-svg.js"))
        script.string = path.read_text("utf-8").replace("</script", "<\\/script")
        if script.has_attr("defer"):  # only scripts in files can be deferred
            del script["defer"]
            soup.body.append(script.extract())


def _file(page: Path, address: str) -> Path:
    return page.parent / unquote(address.partition("?")[0])


def _style(path: Path) -> str:
    """A style sheet with the sheets that it imports, its images, and the fonts of the book and of its icons."""

    def inside(url: re.Match) -> str:
        target = _file(path, url[2])
        used = target.name in ICON_FONTS or target.parent.name == "fonts" or target.suffix == ".png"
        return f"url({_data(target)})" if used else "url(data:,)"

    text = URL.sub(inside, path.read_text("utf-8"))
    return IMPORT.sub(lambda statement: _style(_file(path, statement[1])), text)


def _data(path: Path) -> str:
    return f"data:{guess_type(path.name)[0]};base64,{b64encode(path.read_bytes()).decode('ascii')}"
