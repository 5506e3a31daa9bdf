import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from chapters import introduction, positions
from chapters.introduction import citations, findings, told
from chapters.introduction.cards import cards
from livingpaper.claims.results import Result, Verdict, exact
from livingpaper.display.verdicts import account
from notebook_code import claims_of

from attngeo.experiments.survey.measured import read_records
from attngeo.files import checkout


def reported(statement, part, verdict, holds=True):
    result = Result(statement, part, "title", verdict, (exact("q", 0.0 if holds else 1.0),))
    return result.to_dict() | {"chapter": "somewhere"}


def test_the_readme_has_the_claims_of_the_cards_with_the_verdicts_of_their_checks():
    readme = (checkout.root() / "README.md").read_text("utf-8")
    pages = [path.stem for path in (checkout.root() / "notebooks").glob("*.py")]
    claims = {(w.statement, w.part): w.verdict for page in pages for w in claims_of(page).values()}
    for card in yaml.safe_load(Path(introduction.__file__).with_name("cards.yml").read_text("utf-8")):
        verdicts = {words: claims[tuple(of)].value for words, of in card["verdicts"].items()}
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


def printed():
    return checkout.data("sentence", told.OUTPUT).read_text("utf-8")


def test_the_output_that_is_shown_has_the_scores_of_the_survey():
    scores = read_records(checkout.data("survey"))
    layers = scores[(scores["model"] == told.SCORED) & (scores["head"] == -1)]["symmetry"]
    rows = [line.split() for line in printed().splitlines() if line.startswith("encoder")]
    np.testing.assert_allclose([float(row[2].rstrip("*")) for row in rows], layers, atol=6e-5)
    assert f"is {layers.median():.4f} for symmetry" in printed()
    terminal = told.terminal()
    assert all(line in terminal for line in printed().splitlines() if line)


def test_the_output_that_is_shown_is_that_of_the_command(weights, attngeo, monkeypatch):
    monkeypatch.chdir(weights)
    code, out, _ = attngeo("score", told.SCORED)
    assert code == 0 and out.strip() == printed().strip()


def test_there_is_a_card_for_every_page_of_the_reading_path():
    contents = yaml.safe_load((checkout.root() / "_toc.yml").read_text("utf-8"))
    files = [entry["file"].removeprefix("notebooks/") for entry in contents["parts"][0]["chapters"]]
    cards = told.cards_of_questions()
    assert re.findall(r"\[\]\((\w+)\.py\)", cards) == files and cards.count("front-no") == len(files) == 8


@pytest.mark.parametrize("planted", ["an experiment without an effect", "plans that are all dated"])
def test_the_outcomes_of_the_plans_are_told_only_if_the_runs_have_them(monkeypatch, planted):
    experiments = positions.all_recorded()
    said = "Of these experiments, three met the criterion, two showed a smaller or less certain effect"
    assert said in findings.learned_positions(experiments).text
    if planted == "plans that are all dated":
        monkeypatch.setattr(positions, "UNDATED", ())
    else:
        outcomes = {experiment.plan.name: experiment.outcome for experiment in experiments.values()}
        outcomes["positions_mini"] = positions.Outcome.FALLS
        monkeypatch.setattr(positions.Judged, "outcome", property(lambda judged: outcomes[judged.plan.name]))
    with pytest.raises(AssertionError):
        findings.learned_positions(experiments)


def test_a_finding_shows_its_number_its_label_and_its_page():
    finding = findings.Finding("99 %", "of pairs", "It is so.", "solid", "for text", "Because.", "why.py")
    page = findings.listed(finding, finding)
    assert page.count("[99 %]{.front-number}") == 2 and page.count("strength-solid") == 2 and "[More](why.py)" in page
    with pytest.raises(KeyError):
        findings.listed(finding._replace(label="sure"))
