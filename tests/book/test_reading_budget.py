"""The measure of a page: what it counts, and what it leaves out."""

from reading_budget import faults, numbers, sentences

PAGE = '<article class="bd-article"><section><h1>Title</h1><p>{}</p>{}</section></article>'
SECTION = "<section><h2>Next</h2>{}</section>"


def test_a_page_within_the_budget_has_no_fault():
    assert faults(PAGE.format("It rose from 1 to 2. So did the other.", SECTION.format("<p>Words.</p>"))) == []


def test_what_is_over_the_budget_is_named():
    assert faults(PAGE.format("From 1 to 2 and 3.5 it rose.", "")) == ["3 numbers: From 1 to 2 and 3.5 it rose."]
    assert faults(PAGE.format("It is so. " * 31, "")) == ["93 words in the head"]
    assert faults(PAGE.format("It is 4 here. " * 7, "")) == ["7 numbers in the head"]
    assert faults(PAGE.format("A long one it is. Word " + "word " * 49 + "end.", "")) == ["28 words a sentence"]
    for opening in ('<p><span class="verdict">holds</span> so</p>', '<details class="check"><p>holds</p></details>'):
        assert faults(PAGE.format("Words here.", SECTION.format(opening))) == ["a section opens with a badge: Next"]


def test_tables_formulas_links_and_checks_are_not_read():
    hidden = "<table><tr><td>1 2 3 4</td></tr></table><pre>1 2 3</pre><details class='check'>1 2 3</details>"
    inside = '<span class="math">1 + 2 + 3</span>, <a href="x">Fig. 3 to Fig. 4</a> and <a>5 6 7</a> agree.'
    assert faults(PAGE.format(inside, f"<p>Then.</p>{hidden}")) == []


def test_numbers_of_statements_and_in_names_are_no_measurements():
    assert numbers("GPT-2 and T5 in Table S3, Theorem 2.4, Section 4.2 and Fig. 7 have 3, \u22120.5 and 12 %") == [
        "3",
        "\u22120.5",
        "12",
    ]
    assert sentences("As in Fig. 3 it is so. Why? 2 reasons: It is, e.g. here.") == [
        "As in Fig 3 it is so.",
        "2 reasons:",
        "It is, eg here.".replace("eg", "e.g"),
    ]
