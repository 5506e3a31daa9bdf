"""What a built page asks of a reader: numbers and words by the sentence, in its head; what its sections open with."""

import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, NavigableString, Tag

NUMBERS_IN_SENTENCE, NUMBERS_IN_HEAD, WORDS_IN_HEAD, WORDS_BY_SENTENCE = 2, 6, 90, 25
NOT_READ = "pre, table, figure, script, style, svg, .check, .page-files, .headerlink, .sd-card, .proof"
ABBREVIATED = re.compile(r"\b(Fig|Figs|Eq|Eqs|Def|Defs|Prop|Props|Thm|Sect|resp|vs|cf|al|e\.g|i\.e)\.")
NUMBERED = re.compile(
    r"(Fig|Figs|Eq|Eqs|Def|Prop|Props|Table|Tables|Theorem|Theorems|Lemma|Section|Sections|Chapter)\.?\s+\(?S?\d[\d.]*\)?"
)
NUMBER = re.compile(r"(?<![\w.(-])[+\u2212±-]?\d+(?:[.,]\d+)*(?![\w-])")


def faults(html: str) -> list[str]:
    """What of a page is over the budget, a line each."""
    article = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    openings = [f"{s.h2 or s.h3}" for s in article.select("section") if opens_with_badge(s)]
    found = [f"a section opens with a badge: {BeautifulSoup(h, 'html.parser').get_text()}" for h in openings]
    for unread in article.select(NOT_READ):
        unread.decompose()
    for formula in article.select(".math"):
        formula.replace_with("x")
    for link in article.select("a, .bibtex-citation"):  # the number of a page or a statement is no measurement
        link.replace_with(re.sub(r"\d", "x", link.get_text()))
    said = [
        sentence
        for block in article.select("p, li")
        if not block.select("p, li")
        for sentence in sentences(block.get_text())
    ]
    found += [f"{n} numbers: {s}" for s in said if (n := len(numbers(s))) > NUMBERS_IN_SENTENCE]
    head = " ".join(block.get_text() for block in head_of(article))
    measured = {
        "words a sentence": (sum(len(s.split()) for s in said) / max(1, len(said)), WORDS_BY_SENTENCE),
        "words in the head": (len(head.split()), WORDS_IN_HEAD),
        "numbers in the head": (len(numbers(head)), NUMBERS_IN_HEAD),
    }
    found += [f"{value:.0f} {words}" for words, (value, most) in measured.items() if value > most]
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; an abbreviation ends none."""
    text = ABBREVIATED.sub(r"\1", " ".join(text.split()))
    return [s for s in re.split(r"(?<=[.!?:])\s+(?=[^a-z])", text) if len(s.split()) > 1]


def numbers(text: str) -> list[str]:
    """Its numbers, but for those of statements and figures, and those in names."""
    return NUMBER.findall(NUMBERED.sub("x", text))


def head_of(article: Tag) -> Iterator[Tag]:
    """The paragraphs and lists between the title and what comes first besides them."""
    for block in article.h1.find_next_siblings():
        empty = block.name == "div" and not block.get_text(strip=True) and not block.find("img")
        if block.name not in ("p", "ul", "ol") and not empty:
            return
        yield block


def opens_with_badge(section: Tag) -> bool:
    """Whether the first words after its heading are a badge, or the line of a check."""
    heading = section.find(["h2", "h3"], recursive=False)
    after = (t for t in heading.next_siblings) if heading else ()
    for node in after:
        texts = [node] if isinstance(node, NavigableString) else node.find_all(string=True)
        first = next((t for t in texts if t.strip() and t.parent.name not in ("script", "style")), None)
        if first is not None:
            return any({"verdict", "check"} & set(p.get("class", ())) for p in first.parents if p is not section)
    return False
