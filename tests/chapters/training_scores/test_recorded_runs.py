import pytest
from made_training import made_arm, made_run

from attngeo.chapters.training_scores.recorded_runs import arm_table, group_table, shortened

ENCODERS = made_arm(3, loss=2.0)
DECODERS = made_arm(2, objective="clm", loss=1.5)


def test_tables_have_a_row_per_setting_and_per_arm():
    runs = [*ENCODERS, *DECODERS, made_run(corpus="jigsaw")]
    settings, rows = group_table(runs), arm_table(runs)
    assert sorted(settings["runs"]) == [1, 5] and settings["hours"].sum() == pytest.approx(0.1)
    assert set(settings["device"]) == {"1 CPU core"}
    assert rows["seeds"].sum() == 6 and len(rows) == 3
    first = rows[(rows["objective"] == "mlm") & (rows["seeds"] == 3)].iloc[0]
    assert first["loss"].startswith(("1.99", "2.00")) and "\u00a0±\u00a00.0" in first["loss"]
    assert "±" not in rows[rows["seeds"] == 1].iloc[0]["s"]


def test_columns_that_are_the_same_in_all_rows_go_into_words():
    frame, words = shortened(group_table([*ENCODERS, made_run(corpus="jigsaw")]))
    assert "dropout" not in frame and "dropout 0" in words and "rate 0.001" in words
    assert {"text", "runs", "hours"} <= set(frame)
    one, nothing = shortened(group_table(ENCODERS))
    assert "dropout" in one and nothing == ""


def test_tables_of_no_runs_are_empty():
    assert group_table([]).empty and arm_table([]).empty
