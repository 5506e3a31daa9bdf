import base64
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import yaml
from planting import drawn

from attngeo import chapters
from attngeo.chapters.introduction import citations
from attngeo.chapters.introduction.cards import cards
from attngeo.chapters.introduction.one_start import LAYER, SIDE, one_start
from attngeo.display.verdicts import account
from attngeo.paper.checks import Result, Verdict, exact
from attngeo.paper.wording import wording
from attngeo.records import checkout
from attngeo.runs.record import RunError, read_run


@pytest.fixture(scope="module")
def runs():
    return [read_run(checkout.data("runs", "one_start", name)) for name in ("encoder", "decoder")]


def test_the_page_carries_the_recorded_entries_and_scores(runs):
    data = one_start(*runs).data
    assert data["steps"] == list(range(0, 1501, 50)) and data["side"] == SIDE
    for name, run in zip(("encoder", "decoder"), runs, strict=True):
        levels = np.frombuffer(base64.b64decode(data[name]["levels"]), dtype=np.int8).reshape(31, SIDE, SIDE)
        np.testing.assert_array_equal(levels[-1], np.rint(run.pictures[LAYER, 1500][:SIDE, :SIDE] * 127))
        scores = run.layer_scores().query("layer == @LAYER and step == 1500")
        assert data[name]["s"][-1] == pytest.approx(scores["symmetry"].item(), abs=5e-5)
        assert data[name]["d"][-1] == pytest.approx(scores["directionality"].item(), abs=5e-5)
    assert data["encoder"]["s"][-1] > 4 * data["decoder"]["s"][-1]


def test_runs_that_do_not_start_equal_are_refused(runs):
    encoder, decoder = runs
    other = replace(decoder, pictures=decoder.pictures | {(LAYER, 0): decoder.pictures[LAYER, 50]})
    with pytest.raises(RunError, match="same weights"):
        one_start(encoder, other)
    fewer = replace(decoder, pictures={k: v for k, v in decoder.pictures.items() if k[1] != 50})
    with pytest.raises(RunError, match="different steps"):
        one_start(encoder, fewer)


def reported(statement, part, verdict, holds=True):
    result = Result(statement, part, "title", verdict, (exact("q", 0.0 if holds else 1.0),))
    return result.to_dict() | {"chapter": "somewhere"}


def test_the_readme_has_the_claims_of_the_cards_with_the_verdicts_of_their_checks():
    readme = (checkout.root() / "README.md").read_text("utf-8")
    by_statement = {(w.statement, w.part): check for check in chapters.all_checks().values() for w in [words_of(check)]}
    for card in yaml.safe_load(
        resources.files("attngeo.chapters.introduction").joinpath("cards.yml").read_text("utf-8")
    ):
        checks = {words: by_statement[tuple(of)] for words, of in card["verdicts"].items()}
        verdicts = {words: check.of(drawn(check)).verdict.value for words, check in checks.items()}
        said = "; ".join(f"{words}: {verdict}" if words else verdict for words, verdict in verdicts.items())
        assert f"| {card['claim']} | {said} |" in readme


def words_of(check):
    return wording(check.room)[check.__name__]


def test_a_card_shows_the_verdict_of_its_check_and_none_that_the_run_does_not_support():
    found = account(
        [reported("2.4", "", Verdict.ASSUMPTION), reported("S1.12", "Eqs. S101, S102", Verdict.HOLDS, False)]
    )
    page = cards(found)
    assert page.count("{div} front-card\n") == 5
    assert page.count("verdict-assumption") == 1 and page.count("verdict-holds") == 0
    assert page.count("verdict-unsupported") == 9  # of ten verdicts that the cards ask for


def test_every_verdict_that_a_card_asks_for_has_a_check():
    rooms = Path(chapters.__file__).parent
    told = [c for f in rooms.glob("*/checks.yml") for c in yaml.safe_load(f.read_text("utf-8"))["checks"].values()]
    judged = {(str(c["statement"]), c.get("part", "")) for c in told}
    asked = yaml.safe_load((rooms / "introduction" / "cards.yml").read_text("utf-8"))
    assert {tuple(of) for card in asked for of in card["verdicts"].values()} <= judged


def test_the_bibtex_is_that_of_the_two_files():
    from pybtex.database import parse_string

    paper = citations.of_the_paper(checkout.root() / "book" / "references.bib")
    book = citations.of_this_book(checkout.root() / "CITATION.cff", "0123456789")
    entries = parse_string(f"{paper}\n{book}", "bibtex").entries
    assert entries["saponati2025"].fields["year"] == "2025" and len(entries["saponati2025"].persons["author"]) == 5
    assert entries["attngeo"].fields["note"] == "commit 0123456789" and len(entries["attngeo"].persons["author"]) == 1
    assert (
        "note"
        not in parse_string(citations.of_this_book(checkout.root() / "CITATION.cff", None), "bibtex")
        .entries["attngeo"]
        .fields
    )
