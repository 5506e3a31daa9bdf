"""What stands in quotation marks is the paper's, word for word, where we say it stands, with what it hedges with."""

import re
from functools import cache

import jupytext
import yaml
from livingpaper.claims import published
from notebook_code import claims_of, result
from quotations import contains, excerpt_of, hedges, passage_at, places, quotations, sentence_around, tokens

from attngeo.files.checkout import data, root

EXCERPTS = yaml.safe_load(data("published", "excerpts.yml").read_text("utf-8"))["excerpts"]
EVERY = [(place, text) for place, texts in EXCERPTS.items() for text in texts]
STATEMENTS = published.statements()
PAGES = sorted([*root().glob("notebooks/*.py"), *root().glob("book/*.md")])
FULL = {"2.3": "S1.12", "2.4": "S1.14"}  # theorems that the paper first states informally
NUMBERED = ("proposition", "theorem", "definition", "remark", "corollary", "lemma")


def said_in_claims(page):
    """Texts of a notebook's claims and where in the paper they are: of a claim, its statement, part and place."""
    for given in (result(page, name) for name in claims_of(page)):
        at = places(f"{named(given.statement)}; {given.part}; {given.place}")
        yield given.printed, at
        for text in (given.title, given.corrected, given.remark, *(c.quantity for c in given.comparisons)):
            yield text, at | places(text)


def named(number):
    """A statement as the paper calls it."""
    return f"{kind.title()} {number}" if (kind := STATEMENTS.kind[number]) in NUMBERED else number


def said_on_page(path):
    """Paragraphs of a chapter or page, and the places that they name."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        cells = jupytext.reads(text, fmt="py:percent").cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for paragraph in re.split(r"\n\s*\n", text):
        yield paragraph, places(paragraph)


@cache
def said():
    """All texts that may quote, by where they are written."""
    pages = {path.name: [*said_on_page(path), *said_in_claims(path.stem)] for path in PAGES}
    slips = [(slip.printed, places(slip.place)) for slip in published.read_published("slips").itertuples()]
    return pages | {"statements.csv": [(title, set()) for title in STATEMENTS.title], "slips.csv": slips}


def test_every_quotation_is_an_excerpt_of_the_place_that_is_named():
    assert [
        (source, *fault) for source, texts in said().items() for text, at in texts for fault in strayed(text, at)
    ] == []


def strayed(text, at):
    """Quotations of a text that are of no excerpt at some places, or leave out its hedges."""
    for quotation in quotations(text):
        excerpt = excerpt_of(quotation, sorted(at), EXCERPTS)
        if excerpt is None:
            yield quotation, "is not at", sorted(at) or "any place: none is named"
        elif not hedges(excerpt[1]) <= hedges(text):
            yield text, "leaves out words of", excerpt[1]


def test_what_a_check_has_as_printed_quotes_the_paper():
    claims = [(name, result(path.stem, name).printed) for path in PAGES for name in claims_of(path.stem)]
    printed = [(name, text) for name, text in claims if text]
    assert [(name, text) for name, text in printed if not quotations(text)] == [] and printed


def test_every_excerpt_is_quoted():
    quoted = [(q, at) for texts in said().values() for t, at in texts for q in quotations(t)]
    assert [(p, text) for p, text in EVERY if not any(p in at and contains(text, q) for q, at in quoted)] == []


def test_an_excerpt_stands_where_the_paper_has_it_with_what_its_sentence_hedges_with(paper):
    assert [(place, text) for place, text in EVERY if not contains(passage_at(place, paper), text)] == []
    around = [(text, sentence_around(text, passage_at(place, paper))) for place, text in EVERY]
    assert [(text, sentence) for text, sentence in around if not hedges(sentence) <= hedges(text)] == []


def around(number):
    """Where the paper speaks of a statement: itself, its section, its equations, and those of its full form."""
    for stated in {number, FULL.get(number, number)}:
        section, equations = STATEMENTS.loc[stated, ["section", "equations"]]
        yield from places(f"{named(stated)}; Section {section}" + f"; Eqs. {equations}" * bool(equations))


def missing():
    """Assumptions that the paper is said not to state: what holds, words for them, and where these would be."""
    for page in PAGES:
        for name in claims_of(page.stem):
            given = result(page.stem, name)
            at = {*around(given.statement), *places(f"{given.part}; {given.place}")}
            yield from ((name, given.corrected, phrase, at) for phrase in given.missing)


def test_a_missing_assumption_is_named_in_what_holds_and_not_in_the_paper():
    every = [*missing()]
    unnamed = [(n, phrase) for n, holds, phrase, _ in every if not contains(holds, phrase)]
    quoted = [(n, phrase, p) for n, _, phrase, at in every for p, text in EVERY if p in at and contains(text, phrase)]
    assert (unnamed, quoted) == ([], []) and every


def test_a_missing_assumption_is_nowhere_in_the_passages_that_would_have_it(paper):
    assert [
        (n, phrase, p) for n, _, phrase, at in missing() for p in at if contains(passage_at(p, paper), phrase)
    ] == []


def test_an_assumption_that_stands_before_the_full_theorem_is_not_missing_from_the_informal_one():
    at = set(around("2.4"))
    assert [text for place, text in EVERY if place in at and contains(text, "correlated")]


def spoilt(text):
    """A passage with one word changed, left out or exchanged with the next: every such error in turn."""
    words = " ".join(tokens(text)).replace("^ *", "^*").split(" ")  # without its ^ a star would be emphasis
    for i in range(len(words)):
        yield [*words[:i], "otherwise", *words[i + 1 :]]
        if 0 < i < len(words) - 1 and words[i] not in (words[i - 1], words[i + 1]):
            yield words[:i] + words[i + 1 :]
        if i and words[i] != words[i - 1]:
            yield [*words[: i - 1], words[i], words[i - 1], *words[i + 1 :]]


def test_a_spoilt_quotation_is_not_found():
    cut = [(place, text.partition(" ...")[0]) for place, text in EVERY]
    assert [text for place, text in cut if not excerpt_of(" ".join(tokens(text)), [place], EXCERPTS)] == []
    every = [(place, " ".join(words)) for place, text in cut for words in spoilt(text)]
    assert [words for place, words in every if excerpt_of(words, [place], EXCERPTS)] == [] and every
