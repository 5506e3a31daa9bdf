"""The paper's numbers as the book writes them."""

import re

from notebook_code import result

from attngeo.claims.claim import claims_of
from attngeo.claims.numbering import of_the_paper
from attngeo.files.checkout import root


def test_a_number_names_its_kind_and_whose_it_is():
    for statement, part, written in (
        ("2.2", "Eqs. S33-S36", "Prop. 2.2 of the paper, Eqs. S33–S36"),
        ("S1.17", "(3), side of convergence", "Prop. S1.17 of the paper (3), side of convergence"),
        ("3.2", "", "Def. 3.2 of the paper"),
        ("2.4", "", "Thm. 2.4 of the paper"),
        ("S1.11", "", "Lemma S1.11 of the paper"),
        ("S2.1", "(skew)", "Section S2.1 of the paper (skew)"),
        ("Eq. S147", "and S148, poles", "Eq. S147 of the paper and S148, poles"),
        ("Table S2", "", "Table S2 of the paper"),
        ("Web table", "", "web table of the paper's web page"),
    ):
        assert of_the_paper(statement, part) == written


AMBIGUOUS = re.compile(r"\b(Proposition|Prop\.|Theorem|Thm\.|Definition|Def\.) [23]\.[1-4]\b(?! of the paper)")


def test_no_number_of_the_papers_could_be_one_of_ours():
    for page in (*root().glob("notebooks/*.py"), *root().glob("book/*.md")):
        text = page.read_text("utf-8")
        said = re.findall(r"^# (.*)$", text, re.M) if page.suffix == ".py" else [text]
        assert not AMBIGUOUS.search(unquoted(" ".join(said))), page.name
        for given in (result(page.stem, name) for name in claims_of(page.stem)):
            said = (given.part, given.title, given.printed, given.corrected, given.remark)
            assert not AMBIGUOUS.search(unquoted(" | ".join([*said, *(c.quantity for c in given.comparisons)]))), (
                given.source
            )


def unquoted(text):
    """Without what stands in quotation marks, which is the paper's."""
    return re.sub(r'"[^"]*"', "", text)
