import inspect

import pytest

from attngeo.chapters import all_claims
from attngeo.paper import Flaw, Result, Verdict, published
from attngeo.paper.checks import Comparison

CLAIMS = all_claims()
STATEMENTS = published.statements()


@pytest.fixture(scope="module", params=CLAIMS)
def claim(request):
    return request.param, CLAIMS[request.param]()


def test_every_registered_claim_supports_its_verdict_and_is_fit_for_the_book(claim):
    name, result = claim
    assert isinstance(result, Result)
    assert result.supported, [c for c in result.comparisons if not c.holds] or "no comparisons"
    assert all(isinstance(c, Comparison) for c in result.comparisons)
    assert result.statement in STATEMENTS.index, f"{name}: data/published/statements.csv has no {result.statement!r}"
    assert result.title and result.chapter in set(STATEMENTS.chapter)
    if result.verdict is Verdict.HOLDS:
        assert result.flaw is None and not result.printed and not result.corrected
    elif result.verdict is Verdict.UNDECIDED:
        assert result.printed and result.remark and result.flaw is None and not result.corrected
    else:
        assert result.printed
        # what fails without a remedy says why instead
        assert result.corrected or (result.verdict is Verdict.FAILS and result.remark)
        # no flaw: the assumptions under which the statement holds are the paper's own
        assert isinstance(result.flaw, Flaw) or result.verdict is Verdict.ASSUMPTIONS
    assert result.verdict is not Verdict.FAILS or result.flaw is Flaw.FAILURE


def test_every_claim_has_defaults_and_a_docstring():
    for name, check in CLAIMS.items():
        parameters = inspect.signature(check).parameters.values()
        assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters), name
        assert inspect.getdoc(check), name


def test_no_two_claims_judge_the_same_thing():
    seen = {}
    for name, check in CLAIMS.items():
        source = inspect.getsource(check)
        key = tuple(line.strip() for line in source.splitlines() if line.strip().startswith(("statement=", "part=")))
        assert key not in seen or not key, f"{name} and {seen[key]} have the same statement and part"
        seen[key] = name
