import re

import pandas as pd
import pytest
from livingpaper.claims import published
from notebook_code import claims_of, result

from attngeo.files.checkout import CheckoutError, root

COUNTS = {"proposition": 7, "theorem": 4, "definition": 5, "remark": 4, "corollary": 2, "lemma": 2}
COUNTS |= {"figure": 8, "table": 5}


def test_every_statement_and_every_numbered_equation_is_listed_once():
    listed = published.statements()
    assert listed.index.is_unique and COUNTS == dict(listed.kind[listed.kind.isin(COUNTS)].value_counts())
    # the appendix numbers its statements without a gap
    assert [f"S1.{n}" for n in range(1, 19)] == [n for n in listed.index if n.startswith("S1.")]
    assert all((root() / "notebooks" / f"{chapter}.py").exists() for chapter in set(listed.chapter))
    assert (listed[["kind", "title", "section"]] != "").all(axis=None)
    equations = []
    for first, last in re.findall(r"(S?\d+)(?:-S?(\d+))?", ", ".join(listed.equations)):
        prefix, start = re.match("(S?)(.*)", first).groups()
        equations += [f"{prefix}{n}" for n in range(int(start), int(last or start) + 1)]
    assert sorted(equations) == sorted([*map(str, range(1, 20)), *(f"S{n}" for n in range(1, 149))])


def test_score_tables_keep_every_row_in_its_place_and_name_the_same_models():
    tables = {number: published.printed_table(number) for number in ("S2", "S3")}
    for number, left, right in (("S2", 35, 35), ("S3", 34, 34)):
        t = tables[number]
        rows = [(side, row) for side, n in (("L", left), ("R", right)) for row in range(1, n + 1)]
        assert list(zip(t.side, t.row, strict=True)) == rows
        assert t["median"].between(-1, 1).all() and (t[["iqr_minus", "iqr_plus"]] >= 0).all(axis=None)
        assert ((t["median"] * 100).round(6) % 1 == 0).all()  # two decimals, as printed
    # Table S3 lacks the last row of either half: GPT2-medium and Phi-2
    s, d = ({side: t[t.side == side].model.tolist() for side in "LR"} for t in tables.values())
    assert s == {"L": [*d["L"], "GPT2-medium"], "R": [*d["R"], "Phi-2"]}


def test_printed_rows():
    for number, side, row, *printed in (
        ("S2", "L", 1, "BERT-tiny", 0.77, 0.07, 0.07),
        ("S2", "L", 17, "BEiT-base", 0.39, 0.23, 0.07),
        ("S2", "R", 22, "LLaMA3-8B", 0.00, 0.00, 0.00),
        ("S3", "R", 22, "LLaMA3-8B", 0.01, 0.05, 0.05),
        ("S3", "R", 27, "LLaMA3.2-1B", -0.02, 0.13, 0.08),
        ("S3", "L", 34, "GPT2", -0.58, 0.06, 0.14),
    ):
        assert published.printed_table(number).set_index(["side", "row"]).loc[(side, row)].tolist() == printed


def test_loss_tables_agree_where_they_overlap():
    paper, web = published.printed_table("1"), published.printed_table("web")
    both = paper.merge(web, on=["layers", "dataset", "symmetric_init"], suffixes=("_paper", "_web"))
    assert (len(paper), len(web), len(both)) == (12, 6, 4) and (both.loss_paper == both.loss_web).all()
    pd.testing.assert_series_equal(both.speed_up_percent_paper, both.speed_up_percent_web, check_names=False)
    for t in (paper, web):  # printed for the symmetric runs and for no other
        assert (t.speed_up_percent.notna() == t.symmetric_init).all()


def test_a_missing_or_damaged_file_is_named(tmp_path, monkeypatch):
    for mark in ("_toc.yml", "notebooks", "data/published"):
        (tmp_path / mark).mkdir(parents=True)
    monkeypatch.setenv("ATTNGEO_BOOK", str(tmp_path))
    with pytest.raises(CheckoutError, match=r"table_s2.csv cannot be read .*; restore it"):
        published.printed_table("S2")


def test_released_curves_are_table_1_with_more_digits():
    curves, printed = published.released_curves(), published.printed_table("1")
    assert len(curves) == 12 and not curves.duplicated(["layers", "part", "dataset"]).any()
    encoders = curves[curves["part"] == "encoder"]
    for column, symmetric in (("loss_base", False), ("loss_symmetric", True)):
        both = encoders.merge(printed[printed["symmetric_init"] == symmetric], on=["layers", "dataset"])
        # to the printed decimals: one loss is cut there, the others are rounded
        assert len(both) == 6 and (both[column] - both["loss"]).abs().max() <= 0.0005 + 1e-9
    # a persistent crossing is never before the first one
    assert not (curves["persistent_percent"] > curves["first_crossing_percent"]).any()
    assert published.trained_widths() == {12: 768, 4: 256}


def test_a_number_names_its_kind_and_whose_it_is():
    for statement, part, written in (
        ("2.2", "Eqs. S33-S36", "Prop. 2.2 of the paper, Eqs. S33–S36"),
        ("S1.17", "(3), side of convergence", "Prop. S1.17 of the paper (3), side of convergence"),
        ("3.2", "", "Def. 3.2 of the paper"),
        ("2.4", "", "Thm. 2.4 of the paper"),
        ("S1.11", "", "Lemma S1.11 of the paper"),
        ("S2.1", "(skew)", "Section S2.1 of the paper (skew)"),
        ("Eq. S147", "and S148, poles", "Eqs. S147 and S148 of the paper, poles"),
        ("Table S2", "", "Table S2 of the paper"),
        ("Web table", "", "Table on the paper's web page"),
    ):
        assert published.of_the_paper(statement, part) == written


NUMBERED = re.compile(r"\b(Proposition|Prop\.|Theorem|Thm\.|Definition|Def\.) ([23]\.[1-4])\b")


def test_every_number_of_the_papers_is_called_the_papers():
    """Our own statements have numbers, too. A page says at least once whose number it is, and a check every time."""
    for page in (*root().glob("notebooks/*.py"), *root().glob("book/*.md")):
        text = page.read_text("utf-8")
        said = re.findall(r"^# (.*)$", text, re.M) if page.suffix == ".py" else [text]
        prose = unquoted(" ".join(said))
        named = {number[2] for number in NUMBERED.finditer(prose)}
        attributed = {number[2] for number in NUMBERED.finditer(prose) if is_attributed(number)}
        assert named == attributed, page.name
        for given in (result(page.stem, name) for name in claims_of(page.stem)):
            said = (given.part, given.title, given.printed, given.corrected, given.remark)
            every = unquoted(" | ".join([*said, *(c.quantity for c in given.comparisons)]))
            assert all(map(is_attributed, NUMBERED.finditer(every))), given.source


def is_attributed(number):
    """Whether the words around the number of a statement say that it is the paper's."""
    before, after = number.string[: number.start()], number.string[number.end() :]
    return after.startswith(" of the paper") or before.endswith(("paper's ", "its "))


@pytest.mark.parametrize(
    "sentence, attributed",
    [
        ("By Theorem 2.4 of the paper", True),
        ("By the paper's Theorem 2.4", True),
        ("The paper proves this in its Theorem 2.4", True),
        ("By Theorem 2.4", False),
        ("By our Theorem 2.4", False),
    ],
)
def test_an_attribution_is_recognised(sentence, attributed):
    assert is_attributed(NUMBERED.search(sentence)) is attributed


def unquoted(text):
    """Without what stands in quotation marks, which is the paper's."""
    return re.sub(r'"[^"]*"', "", text)
