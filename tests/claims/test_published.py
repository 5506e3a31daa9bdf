import pandas as pd
import pytest

from attngeo.claims import published
from attngeo.errors import ParameterError
from attngeo.files.checkout import CheckoutError, root

NUMBERED = {
    "proposition": ["2.1", "2.2", "S1.7", "S1.8", "S1.10", "S1.17", "S1.18"],
    "theorem": ["2.3", "2.4", "S1.12", "S1.14"],
    "definition": ["3.1", "3.2", "S1.1", "S1.2", "S1.3"],
    "remark": ["S1.4", "S1.5", "S1.6", "S1.15"],
    "corollary": ["S1.9", "S1.13"],
    "lemma": ["S1.11", "S1.16"],
    "figure": [f"Figure {n}" for n in ("1", "2", "3", "S1", "S2", "S3", "S4", "S5")],
    "table": ["Table 1", "Table S1", "Table S2", "Table S3", "Web table"],
}


def test_every_statement_is_listed_once():
    found = published.statements()
    assert found.index.is_unique
    for kind, numbers in NUMBERED.items():
        assert sorted(found.index[found.kind == kind]) == sorted(numbers)
    # the appendix numbers its statements without a gap
    assert [f"S1.{n}" for n in range(1, 19)] == [n for n in found.index if n.startswith("S1.")]
    assert all((root() / "notebooks" / f"{chapter}.py").exists() for chapter in set(found.chapter))
    assert (found[["kind", "title", "section"]] != "").all(axis=None)


def test_every_numbered_equation_belongs_to_one_statement():
    found = []
    for span in ", ".join(e for e in published.statements().equations if e).split(", "):
        first, last = span.split("-") if "-" in span else (span, span)
        prefix = "S" if first.startswith("S") else ""
        found += [f"{prefix}{n}" for n in range(int(first.lstrip("S")), int(last.lstrip("S")) + 1)]
    assert len(found) == len(set(found))
    assert set(found) == {f"{n}" for n in range(1, 20)} | {f"S{n}" for n in range(1, 149)}


@pytest.mark.parametrize(("number", "left", "right"), [("S2", 35, 35), ("S3", 34, 34)])
def test_score_tables_keep_every_row_in_its_place(number, left, right):
    t = published.printed_table(number)
    rows = [(side, row) for side, n in (("L", left), ("R", right)) for row in range(1, n + 1)]
    assert list(zip(t.side, t.row, strict=True)) == rows
    assert t["median"].between(-1, 1).all()
    assert (t[["iqr_minus", "iqr_plus"]] >= 0).all(axis=None)
    assert ((t["median"] * 100).round(6) % 1 == 0).all()  # two decimals, as printed


def test_score_tables_name_the_same_models_in_the_same_order():
    s, d = published.printed_table("S2"), published.printed_table("S3")
    # Table S3 lacks the last row of either half: GPT2-medium and Phi-2
    for side in "LR":
        symmetry, directionality = s[s.side == side].model.tolist(), d[d.side == side].model.tolist()
        assert symmetry[:-1] == directionality
    assert [s[s.side == side].model.iloc[-1] for side in "LR"] == ["GPT2-medium", "Phi-2"]


@pytest.mark.parametrize(
    ("number", "side", "row", "model", "values"),
    [
        ("S2", "L", 1, "BERT-tiny", (0.77, 0.07, 0.07)),
        ("S2", "L", 17, "BEiT-base", (0.39, 0.23, 0.07)),
        ("S2", "R", 22, "LLaMA3-8B", (0.00, 0.00, 0.00)),
        ("S2", "R", 13, "LLaMA3-8B", (0.00, 0.00, 0.01)),
        ("S3", "R", 22, "LLaMA3-8B", (0.01, 0.05, 0.05)),
        ("S3", "R", 27, "LLaMA3.2-1B", (-0.02, 0.13, 0.08)),
        ("S3", "L", 34, "GPT2", (-0.58, 0.06, 0.14)),
    ],
)
def test_printed_rows(number, side, row, model, values):
    t = published.printed_table(number).set_index(["side", "row"])
    assert tuple(t.loc[(side, row)]) == (model, *values)


def test_loss_tables_agree_where_they_overlap():
    paper, web = published.printed_table("1"), published.printed_table("web")
    assert len(paper) == 12 and len(web) == 6
    keys = ["layers", "dataset", "symmetric_init"]
    both = paper.merge(web, on=keys, suffixes=("_paper", "_web"))
    assert len(both) == 4
    assert (both.loss_paper == both.loss_web).all()
    pd.testing.assert_series_equal(both.speed_up_percent_paper, both.speed_up_percent_web, check_names=False)
    # a speed-up is printed for the symmetric runs and for no other
    for t in (paper, web):
        assert (t.speed_up_percent.notna() == t.symmetric_init).all()


def test_a_missing_or_damaged_file_is_named(tmp_path, monkeypatch):
    for mark in ("_toc.yml", "notebooks", "data/published"):
        (tmp_path / mark).mkdir(parents=True)
    monkeypatch.setenv("ATTNGEO_BOOK", str(tmp_path))
    with pytest.raises(CheckoutError, match=r"table_s2.csv cannot be read .*; restore it"):
        published.printed_table("S2")
    with pytest.raises(ParameterError, match="there are 1, S1, S2, S3, web"):
        published.printed_table("S4")


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


def test_widths_of_the_trained_models_are_those_of_table_s1():
    assert published.trained_widths() == {12: 768, 4: 256}
