from made_training import made_arm

from attngeo.chapters.training_scores.tables import (
    climb_table,
    contrast_table,
    formula_table,
    layer_table,
    moves_table,
    released_pairs,
)

RUNS = [
    *made_arm(s=(0.5,) * 4, d=(-0.2,) * 4),
    *made_arm(objective="clm", s=(0.1,) * 4, d=(-0.6,) * 4, steps=500),
    *made_arm(1, corpus="jigsaw", s=(0.4,) * 4, peak=0.3),
    *made_arm(1, corpus="jigsaw", objective="clm", s=(0.1,) * 4),
]
for run in RUNS:
    for formula in ("released", "tables"):
        run.scores[f"directionality_{formula}"] = run.scores["directionality"] * (-1 if formula == "tables" else 1)


def test_released_pairs_and_what_holds_of_them():
    rows = released_pairs()
    assert rows["layers"].tolist() == [12] * 3 + [4] * 3
    assert set(rows["encoder more symmetric"]) == {"yes"}
    assert (rows["decoder more directional"] == "yes").sum() == 2
    row = rows[(rows["layers"] == 12) & (rows["text"] == "jigsaw")].iloc[0]
    assert row["decoder more directional"] == "no" and round(row["s, encoder"], 2) == 0.38


def test_contrasts_with_and_without_an_interval():
    rows = contrast_table(RUNS).set_index(["text", "score"])
    s, d = (rows.loc[("wikipedia, characters", score)] for score in "sd")
    assert s["steps"] == "1000 and 500" and s["seeds"] == 3
    assert s["difference"].startswith("+0.4") and "[+0.3" in s["difference"]
    assert (s["the claim"], d["the claim"]) == ("as stated", "as stated")
    assert (s["released, 12 layers"], d["released, 12 layers"]) == ("+0.37", "–")  # the released d has another formula
    other = rows.loc[("jigsaw, characters", "s")]
    assert "[" not in other["difference"] and other["the claim"] == "too few seeds"


def test_both_are_also_compared_after_equal_steps():
    rows = contrast_table(RUNS).set_index(["text", "score"])
    assert rows.loc[("wikipedia, characters", "s"), "at equal steps"].startswith("+0.4")
    assert "[" not in rows.loc[("jigsaw, characters", "s"), "at equal steps"]


def test_moves_of_directionality_have_both_ends():
    row = moves_table(RUNS).set_index("text").loc["wikipedia, characters"]
    assert row["d, start"] == "+0.00" and row["decoder, end"].startswith("\N{MINUS SIGN}0.6")
    assert row["decoder's change"].startswith("\N{MINUS SIGN}0.6") and row["beyond noise"] == "decoders gain it"


def test_formulas_of_directionality_may_disagree():
    row = formula_table(RUNS).set_index("text").loc["wikipedia, characters"]
    assert row["Definition 3.2"].startswith("+0.4") and row["Table S3"].startswith("\N{MINUS SIGN}0.4")
    assert list(row.index[-3:]) == ["released code", "released, 12 layers", "Table S3"]
    assert row["released, 12 layers"] == "+0.16"


def test_a_climb_has_its_peak_and_its_loss_after_it():
    rows = climb_table(RUNS).set_index(["text", "model"])
    fallen = rows.loc[("jigsaw, characters", "encoder")]
    assert fallen["at step"] == 500 and fallen["peak less end"].startswith("+0.1")
    assert rows.loc[("wikipedia, characters", "encoder"), "at step"] == 1000


def test_layers_are_judged_on_every_arm():
    rows = layer_table(RUNS)
    assert set(rows["text"]) == {"wikipedia, characters", "jigsaw, characters"}
    encoders = rows[rows["what"].str.startswith("encoders, $s$") & (rows["text"] == "wikipedia, characters")].iloc[0]
    assert "[" in encoders["value"] and encoders["the claim"] == "no difference beyond the noise between seeds"
    middle = rows[
        rows["what"].str.startswith("decoders, $s$ of the middle") & rows["text"].str.startswith("wiki")
    ].iloc[0]
    assert middle["value"].startswith("+0.1") and middle["the claim"] == "the reverse"


def test_without_runs_the_tables_are_empty():
    assert contrast_table([]).empty and formula_table([]).empty and climb_table([]).empty and layer_table([]).empty
    assert moves_table([]).empty
