import re

import pandas as pd
import pytest

from attngeo.chapters.errata import tables as errata
from attngeo.chapters.status import tables as status
from attngeo.display import verdicts
from attngeo.display.page import badge
from attngeo.paper import Flaw, Result, Verdict, published
from attngeo.paper.checks import exact


def report(statement="2.1", part="", verdict=Verdict.HOLDS, chapter="bilinear_form", supported=True, **words):
    comparison = exact("one", 1, 1 if supported else 2)
    result = Result(statement, part, "a title", verdict, (comparison,), **words)
    return result.to_dict() | {"chapter": chapter}


STATEMENTS = published.statements()
UNSUPPORTED = badge(Verdict.HOLDS.value, supported=False)


def state(*reports):
    return status.states(STATEMENTS, verdicts.findings(reports, STATEMENTS.index))


def test_without_reports_everything_waits():
    table = state()
    assert list(table.index) == list(STATEMENTS.index)
    assert set(table.state) == {status.NOT_YET} and (table.checks == 0).all() and (table.chapters == "").all()
    total = status.counts(table).loc["all"]
    assert total["in the paper"] == total[status.NOT_YET] == len(STATEMENTS) and total["checked"] == 0


def test_a_supported_check_gives_its_statement_a_verdict_and_a_link():
    table = state(report())
    assert table.state["2.1"] == badge(Verdict.HOLDS.value) and "(bilinear_form.py)" in table.chapters["2.1"]
    assert table.state["2.2"] == status.NOT_YET
    count = status.counts(table)
    assert count.loc["proposition", "checked"] == 1 and count.loc["all", "checked"] == 1


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_check_without_support_states_no_verdict(verdict):
    flaw = None if verdict is Verdict.HOLDS else Flaw.FAILURE
    unsupported = report(verdict=verdict, supported=False, flaw=flaw, printed="a", corrected="b")
    table = state(unsupported)
    assert table.state["2.1"] == UNSUPPORTED != badge(verdict.value)
    for group in Flaw:
        assert errata.errata(verdicts.findings([unsupported]), group).empty


def test_parts_are_counted_by_verdict():
    table = state(
        report(part="(1)"),
        report(part="(2)"),
        report(
            part="(3)", verdict=Verdict.CORRECTED, flaw=Flaw.MISPRINT, printed="a", corrected="b", chapter="two_scores"
        ),
        report(part="(4)", supported=False),
    )
    assert table.checks["2.1"] == 4
    holds, corrected = badge(Verdict.HOLDS.value), badge(Verdict.CORRECTED.value)
    assert table.state["2.1"] == f"{holds} ×2 {corrected} {UNSUPPORTED}"
    first, second = table.chapters["2.1"].split(", ")
    assert first.endswith("(bilinear_form.py)") and second.endswith("(two_scores.py)")


def test_a_check_that_two_chapters_show_is_one_finding():
    both = [report(chapter="bilinear_form"), report(chapter="two_scores")]
    (found,) = verdicts.findings(both)
    assert found.chapters == ("bilinear_form", "two_scores") and found.supported
    both[1] = report(chapter="two_scores", supported=False)
    assert not verdicts.findings(both)[0].supported
    # and two chapters that disagree support neither
    both[1] = report(chapter="two_scores", verdict=Verdict.CORRECTED)
    assert not verdicts.findings(both)[0].supported


def test_findings_follow_the_order_of_the_paper_and_keep_strangers():
    found = verdicts.findings([report("Not in the paper"), report("S1.17"), report("2.1")], STATEMENTS.index)
    assert [f.report["statement"] for f in found] == ["2.1", "S1.17", "Not in the paper"]
    assert state(report("Not in the paper")).loc["Not in the paper", "checks"] == 1


def test_errata_are_grouped_and_mark_what_may_be_a_copying_error():
    wrong = {"printed": "as it stands", "place": "Eq. 7", "corrected": "as it should", "verdict": Verdict.CORRECTED}
    found = verdicts.findings(
        [
            report(part="Eq. 1", flaw=Flaw.MISPRINT, maybe_copying=True, **wrong),
            report(part="Eq. 2", flaw=Flaw.FAILURE, **wrong),
            report(part="Eq. 3"),
            report(part="Eq. 4", flaw=Flaw.FAILURE, verdict=Verdict.FAILS, printed="a", remark="why not"),
        ]
    )
    misprints, failures = (errata.errata(found, flaw) for flaw in (Flaw.MISPRINT, Flaw.FAILURE))
    (entry,) = misprints.entry
    assert entry.startswith(f"**2.1 Eq. 1** {errata.MAYBE_COPYING}") and "(bilinear_form.py)" in entry
    assert badge(Verdict.CORRECTED.value) in entry
    assert re.search("Eq. 7.*as it stands.*<br>.*as it should$", misprints.iloc[0, 1])
    assert [e.split("**")[1] for e in failures.entry] == ["2.1 Eq. 2", "2.1 Eq. 4"]
    assert failures.iloc[1, 1].endswith("why not")
    assert isinstance(errata.errata(found, Flaw.ASSUMPTION), pd.DataFrame)
    assert errata.errata(found, Flaw.ASSUMPTION).empty
