import re

from chapters.errata import tables as errata
from chapters.status import tables as status
from livingpaper.claims import Result, Verdict, published
from livingpaper.claims.published import of_the_paper
from livingpaper.claims.results import exact
from livingpaper.display import verdicts
from livingpaper.display.page import badge


def report(statement="2.1", part="", verdict=Verdict.HOLDS, chapter="bilinear_form", supported=True, **words):
    comparison = exact("one", 1, 1 if supported else 2)
    result = Result(statement, part, "a title", verdict, (comparison,), **words)
    return result.to_dict() | {"chapter": chapter}


STATEMENTS = published.statements()
UNSUPPORTED = badge(Verdict.HOLDS.value, supported=False)


def state(*reports):
    return status.states(STATEMENTS, verdicts.account(reports).findings)


def test_without_reports_everything_waits_and_a_supported_check_gives_a_verdict_and_a_link():
    table = state()
    assert list(table.index) == list(STATEMENTS.index)
    assert set(table.state) == {status.NOT_YET} and (table.checks == 0).all() and (table.chapters == "").all()
    total = status.counts(table).loc["all"]
    assert total["in the paper"] == total[status.NOT_YET] == len(STATEMENTS) and total["checked"] == 0
    table = state(report())
    assert table.state["2.1"] == badge(Verdict.HOLDS.value) and "(bilinear_form.py)" in table.chapters["2.1"]
    assert table.state["2.2"] == status.NOT_YET
    assert status.counts(table).loc[["proposition", "all"], "checked"].tolist() == [1, 1]


def test_our_own_statements_are_listed_with_the_statement_of_the_paper_beside_them():
    found = verdicts.account([report(), report("Section 4.1", "(positions)", ours=True)]).findings
    (row,) = status.ours([finding for finding in found if finding.report["ours"]]).itertuples(index=False)
    assert row[0] == of_the_paper("Section 4.1", "(positions)") and row[2] == badge(Verdict.HOLDS.value)


def test_a_check_without_support_states_no_verdict():
    for verdict in Verdict:
        unsupported = report(verdict=verdict, supported=False, printed="a", corrected="b")
        assert state(unsupported).state["2.1"] == UNSUPPORTED != badge(verdict.value)
        found = verdicts.account([unsupported])
        assert errata.errata(found.findings, verdict).empty
        assert not found.counts() and found.verdict("2.1") is None and len(found.findings) == found.checked == 1


def test_parts_are_counted_by_verdict():
    wrong = report(part="(3)", verdict=Verdict.MISPRINT, printed="a", corrected="b", chapter="two_scores")
    table = state(report(part="(1)"), report(part="(2)"), wrong, report(part="(4)", supported=False))
    assert table.checks["2.1"] == 4
    holds, misprint = badge(Verdict.HOLDS.value), badge(Verdict.MISPRINT.value)
    assert table.state["2.1"] == f"{misprint} {holds} ×2 {UNSUPPORTED}"
    first, second = table.chapters["2.1"].split(", ")
    assert first.endswith("(bilinear_form.py)") and second.endswith("(two_scores.py)")


def test_a_check_that_two_chapters_show_is_one_finding_which_both_must_support():
    for other, supported in (({}, True), ({"supported": False}, False), ({"verdict": Verdict.MISPRINT}, False)):
        (found,) = verdicts.account([report(), report(chapter="two_scores", **other)]).findings
        links = "[bilinear form](bilinear_form.py), [two scores](two_scores.py)"
        assert found.links == links and found.supported is supported


def test_findings_follow_the_order_of_the_paper_and_keep_strangers():
    found = verdicts.account([report("Not in the paper"), report("S1.17"), report("2.1")]).findings
    assert [f.report["statement"] for f in found] == ["2.1", "S1.17", "Not in the paper"]
    assert state(report("Not in the paper")).loc["Not in the paper", "checks"] == 1


def test_errata_are_grouped_and_mark_what_may_be_a_copying_error():
    wrong = {"printed": "as it stands", "place": "Eq. 7", "corrected": "as it should"}
    reports = [
        report(part="Eq. 1", verdict=Verdict.MISPRINT, maybe_copying=True, **wrong),
        report(part="Eq. 2", verdict=Verdict.CHANGES, **wrong),
        report(part="Eq. 3"),
        report(part="Eq. 4", verdict=Verdict.CHANGES, printed="a", remark="why not"),
    ]
    findings = verdicts.account(reports).findings
    misprints, changes = (errata.errata(findings, verdict) for verdict in (Verdict.MISPRINT, Verdict.CHANGES))
    (entry,) = misprints.entry
    assert entry.startswith(f"**{of_the_paper('2.1', 'Eq. 1')}** {errata.MAYBE_COPYING}")
    assert "(bilinear_form.py)" in entry
    assert re.search(r"Eq. 7.*as it stands.*<br>.*as it should\.$", misprints.iloc[0, 1])
    assert [e.split("**")[1] for e in changes.entry] == [of_the_paper("2.1", part) for part in ("Eq. 2", "Eq. 4")]
    assert changes.iloc[1, 1].endswith("why not")
    assert errata.errata(findings, Verdict.ASSUMPTION).empty


def test_slips_found_by_reading_quote_the_paper_at_a_place_and_have_the_columns_of_the_errata():
    slips = errata.slips_found_by_reading()
    assert list(slips) == list(errata.errata([], Verdict.MISPRINT)) and slips.entry.is_unique
    assert slips.entry.str.contains(r"Eqs?\. S?\d").all()
    assert slips.iloc[:, 1].str.fullmatch(r'\*The paper states\*: ".+".*<br>\*Correction\*: .+').all()


def test_what_repeats_a_slip_shares_its_entry_while_both_are_supported():
    def entries(supported=True):
        wrong = {"verdict": Verdict.MISPRINT, "printed": "a", "place": "Eq. 7", "corrected": "b"}
        first = report(part="Eq. 2", source="slip", supported=supported, **wrong)
        again = report(part="Eq. 1", source="again", repeats="slip", **wrong)
        return errata.errata(verdicts.account([again, first]).findings, Verdict.MISPRINT)

    (both,) = entries().itertuples(index=False)
    names = [of_the_paper("2.1", part) for part in ("Eq. 2", "Eq. 1")]
    assert re.findall(r"\*\*(.*?)\*\*", both[0]) == names and both[1].count("*Correction*:") == 2
    (alone,) = entries(supported=False).entry
    assert re.findall(r"\*\*(.*?)\*\*", alone) == names[1:]


def test_every_page_counts_the_same_findings():
    both = [report(), report(chapter="two_scores"), report("S1.17", verdict=Verdict.CHANGES), report("S1.17", "(1)")]
    paper = verdicts.account([*both, report("3.1", supported=False)])
    assert (len(paper.findings), len(paper.supported), paper.checked, paper.numbers) == (4, 3, 3, 4)
    assert paper.counts() == {Verdict.CHANGES: 1, Verdict.HOLDS: 2} and paper.statements == len(STATEMENTS)
    assert paper.counts("2.1", "3.1") == {Verdict.HOLDS: 1}
    assert paper.about(Verdict.HOLDS) == ("2.1", "S1.17") and paper.about(Verdict.MISPRINT) == ()
    assert paper.verdict("S1.17") is Verdict.CHANGES and paper.verdict("S1.17", "(1)") is Verdict.HOLDS
    assert paper.verdict("3.1") is None
    total = status.counts(status.states(STATEMENTS, paper.findings)).loc["all"]
    assert total["checked"] == paper.checked and total["in the paper"] == paper.statements
    tables = [errata.errata(paper.findings, verdict) for verdict in Verdict]
    assert sum(map(len, tables)) == len(paper.supported)


def test_the_pages_tell_in_whole_sentences_what_is_checked_supported_and_omitted():
    assert status.told_coverage(48, 48) == "Each of the 48 entries has at least one check."
    assert status.told_coverage(48, 45).endswith("The number of entries without a check is 3.")
    assert status.told_support(195, 195) == "This run supports all 195 verdicts."
    assert status.told_support(195, 193).endswith("193 of the 195 verdicts and does not support the other 2.")
    said = [errata.told_withheld(count) for count in (0, 1, 2)]
    assert [" no entry had " in said[0], " 1 entry is " in said[1], " 2 entries are " in said[2]] == [True] * 3
