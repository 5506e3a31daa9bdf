"""A check as one line, and the table that it unfolds to."""

import re
from dataclasses import replace

from livingpaper.claims.results import Claim, Result, Standing, Verdict, compare, exact, monte_carlo, printed_twice
from livingpaper.display.check_line import MEANINGS, badge, check_line, in_the_paper, legend
from livingpaper.display.check_rows import rows

from attngeo.experiments.runs.estimates import Estimate

SAMPLES = [0.6, 0.7, 0.71]


def result(*comparisons, verdict=Verdict.MISPRINT, **words):
    told = tuple(c if c.claim else replace(c, paper="").claimed(verdict) for c in comparisons)
    return Result("2.2", "Eqs. S33-S36", "the coefficients", verdict, told, **words)


def claimed(comparison, relation, number):
    return replace(comparison, claim=Claim(relation, float(number)))


def summary(markdown):
    return markdown.partition("<summary>")[2].partition("</summary>")[0]


def table(markdown):
    """Head and rows, cells without their markup."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", re.sub(r"<[^>]+>", "", line))[1:-1] for line in lines]
    return [[cell.strip() for cell in row] for i, row in enumerate(cells) if i != 1]


def test_the_line_has_the_papers_number_what_it_misses_and_how_many_numbers_there_are():
    cosine = claimed(monte_carlo("cosine", SAMPLES, 1, "<"), "=", 1)
    line = summary(check_line(result(cosine, exact("error", 3e-16), exact("other", 2e-16))))
    assert badge("misprint") in line and "Prop. 2.2 of the paper, Eqs. S33–S36" in line
    assert "For “cosine”, the paper gives 1, but we find **0.670 ± 0.035**." in line
    assert "Our computation confirms the corrected statement up to a rounding error of 3 × 10⁻¹⁶." in line
    assert "See the 3 numbers" in line


def test_a_row_shows_paper_ours_what_was_measured_and_how_the_claim_stands():
    rate = claimed(exact("rate", 0.25, 0.25), "=", 8)
    head, missed, ours = table(check_line(result(rate, compare("share", 0.5, ">", 0.1))))
    assert head == ["quantity", "paper", "ours", "measured", "outcome"]
    assert [cell.split()[-1] for cell in missed] == ["rate", "8", "0.25", "0.25", "contradicts"]
    assert ours[1] == "" and ours[-1].endswith("agrees")


def test_two_numbers_that_the_paper_prints_are_neither_found_nor_counted_as_ours():
    differ = printed_twice("rate", {"Table 1": 73, "the text": 75}, "≠", 0.5).claimed(Verdict.MISPRINT)
    agree = printed_twice("share", {"Table 1": 35, "the text": 35}, "=")
    line = check_line(result(differ, agree))
    assert "For “rate”, the authors give 73 in Table 1, but 75 in the text." in summary(line)
    assert "we find" not in line.lower() and "we computed" not in line
    assert table(line) == [
        ["quantity", "paper", "outcome"],
        ["rate", "paper 73 in Table 1, 75 in the text", "× contradicts"],
        ["share", "paper 35 in Table 1, 35 in the text", "✓ agrees"],
    ]
    head, *_, ours = table(check_line(result(differ, compare("gap", 0.5, ">"))))
    assert "measured" in head and ours[-2].endswith("0.5")


def test_a_claimed_sign_where_there_is_neither_is_not_found_and_the_other_sign_contradicts():
    none, other = (claimed(monte_carlo("lead", x, y), ">", 0) for x, y in (([-0.1, 0.1], 0), (SAMPLES, -1)))
    opposite = claimed(monte_carlo("lead", SAMPLES, 0, ">"), "<", 0)
    assert [row.outcome for row in rows(result(none))] == ["× not found"]
    assert {row.outcome for row in rows(result(other, opposite))} == {"✓ agrees", "× contradicts"}


def test_a_column_that_would_be_empty_is_left_out():
    head, _ = table(check_line(result(claimed(exact("trace", 0.5, 0.5), "=", 0.5))))
    assert head == ["quantity", "paper", "measured", "outcome"]


def test_identities_up_to_rounding_are_one_row_and_name_the_largest_error():
    found = rows(result(exact("a", 1e-16), exact("b", -3e-16), exact("c", 2e-16), exact("d", 2, 2)))
    assert len(found) == 2
    (merged,) = [row for row in found if row.quantity.startswith("3 identities")]
    assert "a; b; c" in merged.quantity and merged.measured == "at most 3 × 10⁻¹⁶"
    # one that fails stays by itself
    assert len(rows(result(exact("a", 1e-16), exact("b", 1e-3), exact("c", 2e-16)))) == 2


def test_both_ends_of_an_interval_are_one_row():
    ends = [claimed(compare("gap", end, relation), ">", 0) for end, relation in ((-0.1, "<"), (0.3, ">"))]
    (row,) = rows(result(*(replace(end, interval=Estimate(0.1, -0.1, 0.3)) for end in ends)))
    assert row.comparison.standing is Standing.UNDECIDED and row.measured == "0.10 [\u22120.10, 0.30]"
    around_half = [compare("AUC", end, relation, 0.5) for end, relation in ((0.4, "<"), (0.7, ">"))]
    (row,) = rows(result(*(replace(end, interval=Estimate(0.6, 0.4, 0.7)) for end in around_half)))
    assert row.ours == "interval contains 0.5"


def test_what_was_measured_on_too_small_a_model_is_told_and_does_not_head_the_check():
    against = replace(claimed(compare("least", 0.04, ">"), "<", 0), interval=Estimate(0.05, 0.04, 0.06))
    told, decisive = replace(against, decides=False), claimed(compare("released", -0.5, "<"), "<", 0)
    contradicted = "For “least”, the paper gives a value below 0, but we find **0.050 [0.040, 0.060]**."
    assert contradicted in summary(check_line(result(against, decisive, verdict=Verdict.HOLDS)))
    line = check_line(result(told, decisive, verdict=Verdict.HOLDS))
    said = "We find −0.5 for “released”, which confirms the statement. Numbers from models that are too small or were"
    assert said in summary(line) and "least" not in summary(line)
    assert [row[-1] for row in table(line)[1:]] == ["– too small or too briefly trained", "✓ agrees"]
    assert 'class="standing-told"' in line


def test_the_line_of_what_is_undecided_says_why_and_counts_each_reason():
    wide = replace(claimed(compare("lead", -0.1, "<"), "<", 0), interval=Estimate(0.1, -0.1, 0.3))
    small = [replace(claimed(compare(f"small {n}", 0.04, ">"), "<", 0), decides=False) for n in (4, 8)]
    line = check_line(result(*small, verdict=Verdict.UNDECIDED))
    small_models = "from models that are too small or were trained too briefly for a conclusion."
    assert f"? Both measurements come {small_models}" in summary(line) and "interval" not in summary(line)
    line = check_line(result(*small, wide, verdict=Verdict.UNDECIDED))
    intervals = "1 of the 3 measurements has a confidence interval that is compatible with both answers."
    assert f"? 2 of the 3 measurements come {small_models} {intervals}" in summary(line)


def test_what_falls_short_of_its_plan_is_neither_ticked_nor_counted_as_agreeing():
    short = replace(compare("lower end", 0.15, ">"), asked=0.2)
    line = check_line(Result("4.1", "", "t", Verdict.SHORT, (short, compare("interaction", 0.3, ">")), ours=True))
    assert badge("less than its plan asked") in summary(line) and "✓" not in summary(line)
    assert "◐ 1 of the 2 measurements falls short of the criterion in our plan." in summary(line)
    (_, asked, measured, outcome), other = table(line)[1:]
    assert asked.endswith("> 0.2, as we had planned") and measured.endswith("0.15")
    assert outcome == "◐ less than its plan asked"
    assert other[-1] == "✓ agrees" and 'class="standing-short"' in line


def test_the_texts_are_sentences_about_what_the_paper_states_and_its_correction():
    words = {
        "printed": "“the rate is 8”.",
        "place": "Section 2.3, Eq. 12",
        "corrected": "The rate is 4.",
        "remark": "R.",
    }
    shown = check_line(result(exact("rate", 4, 4), **words))
    states = "*The paper states* in Section 2.3, Eq. 12: “the rate is 8”."
    assert f"\n\n{states} *We correct this as follows*: The rate is 4. R.\n\n" in shown
    for more_precise in ({"verdict": Verdict.STATED}, {"verdict": Verdict.ASSUMPTION}, {"ours": True}):
        assert f"{states} *More precisely*: The rate is 4." in check_line(
            result(exact("rate", 4, 4), **more_precise, **words)
        )
    nowhere = check_line(result(exact("rate", 4, 4), **(words | {"place": ""})))
    assert "*The paper states*: “the rate is 8”." in nowhere
    for text, ended in {"a = b": "a = b.", '"a = b"': '"a = b".', '"a."': '"a."', "a.": "a."}.items():
        assert in_the_paper("Eq. 1", text) == f"*The paper states* in Eq. 1: {ended}"


def test_only_what_agrees_is_counted():
    ours = [compare(f"gap {n}", 0.5, ">").claimed(Verdict.HOLDS, ours=True) for n in (2, 3, 4)]
    told = replace(ours[0], decides=False)
    line = summary(check_line(Result("4.1", "", "t", Verdict.HOLDS, (told, *ours[1:]), ours=True)))
    assert (
        "</span> 2 numbers that we computed confirm the statement. Numbers from models" in line and "3 numbers" in line
    )


def test_a_verdict_without_support_says_so_and_stands_open():
    shown = check_line(result(exact("trace", 1.0, 2.0)))
    assert badge("misprint", supported=False) in shown and badge("misprint") not in shown
    assert shown.startswith('<details class="check" open>')


def test_a_badge_has_a_mark_words_and_what_it_means_and_the_legend_has_all():
    badges = {verdict: badge(verdict.value) for verdict in Verdict}
    assert len({shown.partition('"true">')[2][0] for shown in badges.values()}) == len(Verdict)
    for verdict, shown in badges.items():
        assert str(verdict) in shown and f'data-means="{MEANINGS[verdict]}"' in shown
        assert legend().count(f"{shown} {MEANINGS[verdict]}") == 1
