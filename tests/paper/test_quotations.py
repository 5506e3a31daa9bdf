"""What stands in quotation marks is the paper's, word for word, where we say it stands, with what it hedges with."""

import re

import jupytext
import pytest
import yaml
from quotations import contains, excerpt_of, hedges, passage_at, places, quotations, sentence_around, tokens

from attngeo.paper import published
from attngeo.paper.wording import FILE, wording
from attngeo.records.checkout import data, root

EXCERPTS = yaml.safe_load(data("published", "excerpts.yml").read_text("utf-8"))["excerpts"]
EVERY = [
    pytest.param(place, text, id=f"{place}-{i}") for place, texts in EXCERPTS.items() for i, text in enumerate(texts)
]
STATEMENTS = published.statements()
ROOMS = sorted(f"attngeo.chapters.{file.parent.name}" for file in root().glob(f"attngeo/chapters/*/{FILE}"))
PAGES = sorted([*root().glob("notebooks/*.py"), *root().glob("book/*.md")])
NUMBERED = ("proposition", "theorem", "definition", "remark", "corollary", "lemma")


def said_in_room(room):
    """Texts of a room's checks and where in the paper they are: of a check, its statement, its part and its place."""
    for words in wording(room).values():
        kind = STATEMENTS.kind[words.statement]
        at = f"{kind.title()} {words.statement}" if kind in NUMBERED else words.statement
        at = places(f"{at}; {words.part}; {filled(words, words.place)}")
        yield words.printed and filled(words, words.printed), at
        quantities = [quantity.says for quantity in words.quantities.values()]
        for text in (words.title, words.holds, words.remark, words.measured, *quantities):
            yield filled(words, text), at | places(text)
        for texts in words.verdicts.values():
            yield from ((filled(words, text), at | places(text)) for text in texts.values())


def said_on_page(path):
    """Paragraphs of a chapter or page, and the places that they name."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        cells = jupytext.reads(text, fmt="py:percent").cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for paragraph in re.split(r"\n\s*\n", text):
        yield paragraph, places(paragraph)


def filled(words, text):
    """A text with the sentences that it shares with others."""
    while (longer := re.sub(r"<<(\w+)>>", lambda m: words.shared.get(m[1], m[0]), text)) != text:
        text = longer
    return text


def said():
    """All texts that may quote, by where they are written."""
    rooms = {room.rpartition(".")[2]: list(said_in_room(room)) for room in ROOMS}
    pages = {path.name: list(said_on_page(path)) for path in PAGES}
    return rooms | pages | {"statements.csv": [(title, set()) for title in STATEMENTS.title]}


SAID = said()


@pytest.mark.parametrize("source", SAID)
def test_every_quotation_is_an_excerpt_of_the_place_that_is_named(source):
    for text, at in SAID[source]:
        for quotation in quotations(text):
            found = excerpt_of(quotation, sorted(at), EXCERPTS)
            assert found, f"{quotation} is not at {', '.join(sorted(at)) or 'any place: none is named'}"
            assert hedges(found[1]) <= hedges(text), f"{text} leaves out words of {found[1]}"


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_check_has_as_printed_quotes_the_paper(room):
    for name, words in wording(room).items():
        for texts in ({"printed": words.printed}, *words.verdicts.values()):
            assert not texts.get("printed") or quotations(filled(words, texts["printed"])), name


@pytest.mark.parametrize("place, text", EVERY)
def test_every_excerpt_is_quoted(place, text):
    quoted = [(q, at) for texts in SAID.values() for t, at in texts if place in at for q in quotations(t)]
    assert any(contains(text, q) for q, at in quoted)


@pytest.mark.parametrize("place, text", EVERY)
def test_an_excerpt_stands_where_the_paper_has_it_with_what_its_sentence_hedges_with(place, text, paper):
    passage = passage_at(place, paper)
    assert contains(passage, text)
    assert hedges(sentence_around(text, passage)) <= hedges(text)


def spoilt(text):
    """A passage with one word changed, left out or exchanged with the next: every such error in turn."""
    words = " ".join(tokens(text)).replace("^ *", "^*").split(" ")  # without its ^ a star would be emphasis
    for i in range(len(words)):
        yield [*words[:i], "otherwise", *words[i + 1 :]]
        if 0 < i < len(words) - 1 and words[i] not in (words[i - 1], words[i + 1]):
            yield words[:i] + words[i + 1 :]
        if i and words[i] != words[i - 1]:
            yield [*words[: i - 1], words[i], words[i - 1], *words[i + 1 :]]


@pytest.mark.parametrize("place, text", EVERY)
def test_a_spoilt_quotation_is_not_found(place, text):
    if "..." in text:
        text = text.partition(" ...")[0]
    assert excerpt_of(" ".join(tokens(text)), [place], EXCERPTS)
    for words in spoilt(text):
        assert excerpt_of(" ".join(words), [place], EXCERPTS) is None, words


def test_a_quotation_is_not_found_at_another_place():
    excerpts = {"Eq. 5": ["the same words"], "Section 3": ["other words"]}
    assert excerpt_of("the same words", {"Section 3", "Eq. 5"}, excerpts) == ("Eq. 5", "the same words")
    assert excerpt_of("the same words", {"Section 3", "Eq. 6"}, excerpts) is None


@pytest.mark.parametrize(
    "one, other",
    [
        (r"the \mathbf{W}_{qk} , t^* and *this*", "the $W_{qk}$, $t^*$ and this"),
        (r"$\left\|\mathbf{x}\right\|_F \leq \mathbb{E}[x^\top y] \Big|_{i}$", r"$\lVert x \rVert_F \le E[x^T y] |_i$"),
        (r"mean μ – 50\%, the model’s Σ", r"mean $\mu$ - 50%, the model's $\Sigma$"),
        (r"$\text{Tr}(\Sigma) \quad \frac{1}{d}$", r"$\mathrm{Tr}(\Sigma)\, \tfrac{1}{d}$"),
    ],
)
def test_fonts_spaces_and_dashes_are_no_words(one, other):
    assert tokens(one) == tokens(other)


@pytest.mark.parametrize(
    "quotation, found",
    [
        ("we assume that it may hold", True),
        ("[W]e assume that it may hold", True),
        ("We assume that it may hold", False),
        ("we assume ... may hold", True),
        ("may hold ... we assume", False),
        ("assume that it <<x:.2f>> hold", True),
        ("we assume that it holds", False),
        ("e assume", False),
    ],
)
def test_what_a_quotation_may_leave_out(quotation, found):
    assert contains("Here, we assume that it may hold in 3 % of cases.", quotation) is found


def test_places_are_read_as_they_are_written():
    assert places("Section 2.3, after Eq. 12") == {"Section 2.3", "after Eq. 12", "Eq. 13"}
    assert places("Proof of Theorem S1.12, before Eq. S99") == {"Theorem S1.12", "Eq. S99", "after Eq. S98"}
    assert places("Sections 3 and S1.6, Figure S4 (a)") == {"Section 3", "Section S1.6", "Figure S4"}
    equations = {"Eq. S53", *(f"Eq. S{n}" for n in range(57, 61))}
    found = places("Proposition S1.8, Eqs. S53 and S57 to S60") | places("Eqs. S57-S60")
    assert {p for p in found if p.startswith("Eq")} == equations and "Proposition S1.8" in found
    assert places("web page, the sentence above its table") == {"web page"}


PAPER = r"""
2. Title of a section

Theorem 2.1. (Name) Let it be. It follows that

$$a = b. \quad (4)$$

Proof. Text between.

$$c = d, \quad (\text{S5})$$

Text behind.

2.1. Title of a part

Part.

Figure 3: The caption.

3. Another title
"""


@pytest.mark.parametrize(
    "place, inside, outside",
    [
        ("Eq. S5", "between", "behind"),
        ("Eq. S5", "c = d", "a = b"),
        ("after Eq. S5", "behind", "c = d"),
        ("Theorem 2.1", "a = b", "between"),
        ("Section 2", "Part", "Another"),
        ("Section 2.1", "Part", "behind"),
        ("Figure 3", "caption", "Part"),
    ],
)
def test_a_place_is_a_passage_of_the_text(place, inside, outside):
    assert inside in passage_at(place, PAPER) and outside not in passage_at(place, PAPER)
