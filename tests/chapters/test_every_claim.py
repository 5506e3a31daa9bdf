"""The claims of every notebook: each supports its verdict, and is refused with an error planted (``planted.py``)."""

import inspect
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from livingpaper.claims import Verdict, published
from livingpaper.claims.results import Standing
from notebook_code import claims_of, notebook, refused_by, result

from attngeo.files.checkout import root

STATEMENTS = published.statements()
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted((root() / "notebooks").glob("*.py"))}
by_page = pytest.mark.parametrize("page", [pytest.param(p, id=f"{p}.claims") for p in TEXTS if claims_of(p)])


@by_page
def test_the_claims_of_a_page_support_their_verdicts_and_are_shown(page):
    assert [fault for name in claims_of(page) for fault in faults(page, name)] == []


def faults(page, name):
    """What is wrong with a claim, each in a line with its name."""
    given = result(page, name)
    if not given.supported:
        yield name, [c for c in given.comparisons if not c.holds] or "no comparisons"
    if given.statement not in STATEMENTS.index:
        yield name, given.statement
    missed = [c for c in given.comparisons if c.claim and c.standing is Standing.CONTRADICTS]
    if given.verdict is Verdict.CHANGES and not missed:
        yield name, "a conclusion changes, and no number of the paper's is missed"
    if not re.search(rf"^show\(.*\b{name}\(", TEXTS[page], re.M):
        yield name, "is not shown"
    if any(p.default is p.empty for p in inspect.signature(getattr(notebook(page), name)).parameters.values()):
        yield name, "a parameter without a default"


@by_page
def test_every_claim_is_refused_with_an_error_planted(page):
    folder = Path(__file__).parent / page.removesuffix("_details")
    planted = runpy.run_path(str(folder / "planted.py"))["PLANTED"]
    mine = [error for error in planted if error[0] in claims_of(page)]
    assert {claim for claim, *_ in mine} == set(claims_of(page))
    for number, (claim, target, wrong, *only) in enumerate(mine):
        failed = refused_by(page, claim, target, wrong)
        assert failed and all(q.startswith(tuple(only or [""])) for q in failed), (number, claim, target, failed)


def test_a_statement_is_followed_by_its_proof():
    without = []
    for text in TEXTS.values():
        _, *blocks = re.split(r"`\{prf:(?!ref)", text)  # each begins with its kind
        for block, following in pairwise([*blocks, ""]):
            kind = block.partition("}")[0]
            if kind in ("theorem", "proposition", "lemma", "corollary") and not following.startswith("proof}"):
                without.append(block[:200])
    assert without == []


def test_no_two_claims_are_about_the_same():
    about = [(words.statement, words.part) for page in TEXTS for words in claims_of(page).values()]
    assert len(about) == len(set(about))


def test_a_slip_is_repeated_by_claims_of_its_verdict_alone():
    results = {name: result(page, name) for page in TEXTS for name in claims_of(page)}
    for name, again in ((name, r) for name, r in results.items() if r.repeats):
        assert results[again.repeats].verdict is again.verdict and not results[again.repeats].repeats, name
