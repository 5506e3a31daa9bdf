"""The measure of a page: what it counts, and what it leaves out."""

import pytest
from reading_budget import faults

PAGE = '<article class="bd-article"><section><h1>Title</h1><p>{}</p>{}</section></article>'
SECTION = "<section><h2>Next</h2>{}</section>"
UNREAD = "<table><tr><td>1 2 3 4</td></tr></table><pre>1 2 3</pre><details class='check'>1 2 3</details>"


@pytest.mark.parametrize(
    "head, section, fault",
    [
        ("It rose from 1 to 2. So did the other.", "<p>Words.</p>", None),
        ('<span class="math">1 + 2 + 3</span>, <a href="x">Fig. 3 to Fig. 4</a> agree.', f"<p>Then.</p>{UNREAD}", None),
        ("GPT-2 and T5 in Table S3, Theorem 2.4 and Fig. 7 have 3 and 12 %.", "", None),
        ("From 1 to 2 and 3.5 it rose.", "", "3 numbers: From 1 to 2 and 3.5 it rose."),
        ("It is so. " * 31, "", "93 words in the head"),
        ("It is 4 here. " * 7, "", "7 numbers in the head"),
        ("A long one it is. Word " + "word " * 49 + "end.", "", "28 words a sentence"),
        ("So.", '<p><span class="verdict">holds</span> so</p>', "a section opens with a badge: Next"),
        ("So.", '<details class="check"><p>holds</p></details>', "a section opens with a badge: Next"),
    ],
)
def test_what_is_over_the_budget_is_named(head, section, fault):
    assert faults(PAGE.format(head, SECTION.format(section))) == ([fault] if fault else [])
