from pathlib import Path

import yaml
from chapters import introduction
from chapters.introduction import citations
from chapters.introduction.cards import cards
from livingpaper.claims.claim import claims_of
from livingpaper.claims.results import Result, Verdict, exact
from livingpaper.display.verdicts import account
from notebook_code import result

from attngeo.files import checkout


def reported(statement, part, verdict, holds=True):
    result = Result(statement, part, "title", verdict, (exact("q", 0.0 if holds else 1.0),))
    return result.to_dict() | {"chapter": "somewhere"}


def test_the_readme_has_the_claims_of_the_cards_with_the_verdicts_of_their_checks():
    readme = (checkout.root() / "README.md").read_text("utf-8")
    pages = [path.stem for path in (checkout.root() / "notebooks").glob("*.py")]
    claims = {(w.statement, w.part): (page, name) for page in pages for name, w in claims_of(page).items()}
    for card in yaml.safe_load(Path(introduction.__file__).with_name("cards.yml").read_text("utf-8")):
        verdicts = {words: result(*claims[tuple(of)]).verdict.value for words, of in card["verdicts"].items()}
        said = "; ".join(f"{words}: {verdict}" if words else verdict for words, verdict in verdicts.items())
        assert f"| {card['claim']} | {said} |" in readme


def test_a_card_shows_the_verdict_of_its_check_and_none_that_the_run_does_not_support():
    found = account(
        [reported("2.4", "", Verdict.ASSUMPTION), reported("S1.12", "Eqs. S101, S102", Verdict.HOLDS, False)]
    )
    page = cards(found)
    assert page.count("{div} front-card\n") == 5
    assert page.count("verdict-assumption") == 1 and page.count("verdict-holds") == 0
    assert page.count("verdict-unsupported") == 9  # of ten verdicts that the cards ask for


def test_the_bibtex_is_that_of_the_two_files():
    from pybtex.database import parse_string

    paper = citations.of_the_paper(checkout.root() / "book" / "references.bib")
    book = citations.of_this_book(checkout.root(), "0123456789")
    entries = parse_string(f"{paper}\n{book}", "bibtex").entries
    assert entries["saponati2025"].fields["year"] == "2025" and len(entries["saponati2025"].persons["author"]) == 5
    assert entries["attngeo"].fields["note"] == "commit 0123456789" and len(entries["attngeo"].persons["author"]) == 1
