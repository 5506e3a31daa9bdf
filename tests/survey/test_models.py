import numpy as np
import pandas as pd
import pytest
from chapters.pretrained_survey.figures import symmetry_by_positions
from livingpaper.claims.published import printed_table
from livingpaper.released_results import DEFECTS, absolute_against_others, families_by_positions, released_results

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Attention
from attngeo.errors import ParameterError
from attngeo.experiments.survey.models import group, groups, registry

MODELS, RESULTS = pd.DataFrame(registry()), released_results()


@pytest.mark.parametrize(("number", "score", "n"), [("S2", "s", 70), ("S3", "d", 68)])
def test_every_printed_row_is_a_released_result_of_a_registered_model(number, score, n):
    """Each row is mapped once, its numbers are the released ones rounded, and it names a model or says why not."""
    by_row = RESULTS[RESULTS["row"] != ""].set_index("row")
    assert by_row.index.is_unique
    printed = printed_table(number)
    assert len(printed) == n
    registered = set(" ".join(MODELS["printed"]).split())
    assert by_row[by_row["model"] == ""].index.tolist() == ["R15"] and len(registered) == 70 + 68 - 2
    for row in printed.itertuples():
        result = by_row.loc[f"{row.side}{row.row}"]
        theirs = np.array([row.median, row.iqr_minus, row.iqr_plus])
        released = result[[score, f"{score}_minus", f"{score}_plus"]].to_numpy(float)
        assert np.abs(theirs - released).max() < 0.005 + 1e-9, row
        if result["model"]:
            assert f"{number}:{row.side}{row.row}" in registered
        else:
            assert "no-such-model" in result["defects"].split()


def test_models_are_unique_and_every_part_is_of_one_model():
    assert not MODELS.duplicated(["name", "part"]).any()
    assert (MODELS.groupby("name")["hub_id"].nunique() == 1).all()
    on_hub = MODELS[MODELS["hub_id"] != ""]
    assert (on_hub.groupby("hub_id")["name"].nunique() == 1).all()
    assert on_hub["hub_id"].str.fullmatch(r"[\w.-]+/[\w.-]+").all()
    assert ((MODELS["hub_id"] != "") | (MODELS["weights_folder"] != "")).all()


def test_columns_hold_known_words():
    assert set(MODELS["part"]) == {"encoder", "decoder", "cross"}
    assert set(MODELS["modality"]) == {"text", "vision", "audio", "chemistry", "proteins"}
    assert set(MODELS["precision"]) == {"", "float16", "8-bit", "4-bit"}
    assert set(MODELS["attention"]) == {"bidirectional", "causal", "cross"}
    assert set(MODELS["access"]) == {"", "gated"} and set(MODELS["model_type"]) <= set(ARCHITECTURES)
    assert (MODELS[["family", "objective", "model_type"]] != "").all(axis=None)
    assert set(RESULTS["figure"]) == {"", "2", "S1 vision", "S1 audio", "S2"}
    assert set(RESULTS["drawn_as"]) == {"", "encoder", "decoder"}
    used = {code for codes in RESULTS["defects"] for code in codes.split()}
    assert used == {code for code, meaning in DEFECTS.items() if meaning}
    known = MODELS[MODELS["base"] != ""]
    parts = MODELS.groupby("name")["part"].agg(set)
    assert all(part in parts[base] or part == "cross" for base, part in zip(known["base"], known["part"], strict=True))


def test_what_counts_is_one_result_per_model_and_part():
    counted = RESULTS[RESULTS["counted"]]
    shown = counted[["model", "part", "s", "d"]].round(6).drop_duplicates()
    assert not shown.duplicated(["model", "part"]).any()
    assert counted["attention"].isin(["bidirectional", "causal"]).all()
    assert not counted["defects"].str.contains("random|duplicate|head|cross").any()


def test_groups():
    known = groups()
    assert len(known["figure-2"]) > len(known["bert"]) > 0
    assert {"printed", "text", "vision", "audio", "figure-s1-audio", "figure-s2", "llama-3.1"} <= set(known)
    assert set().union(*known.values()) == set(MODELS["name"])
    assert group("figure-s2")[0] in set(MODELS["name"])
    with pytest.raises(ParameterError, match=r"'figure-9'.* printed, "):
        group("figure-9")


def test_the_registry_says_what_the_architectures_say():
    assert all(bool(m.positions) == (m.part != "cross") for m in registry())
    for m in registry():
        stacks = [s for s in ARCHITECTURES[m.model_type] if isinstance(s, Attention) and s.part == m.part]
        if stacks and stacks[0].positions:
            assert m.positions == stacks[0].positions.kind, m.name


def test_the_test_is_exact():
    rows = pd.DataFrame({"s": [0.6, 0.5, 0.4, 0.2, 0.1], "absolute": [True] * 3 + [False] * 2})
    rows = rows.assign(attention="bidirectional", counted=True)
    assert absolute_against_others(rows, "bidirectional") == (pytest.approx(0.35), pytest.approx(2 / 10), 10)
    # by hand: of the ten, only the one observed and 0.1, 0.2, 0.4 against 0.5, 0.6 are as far apart
    mixed = rows.assign(absolute=[True, False, True, False, True])  # planted: kinds dealt wrongly
    assert absolute_against_others(mixed, "bidirectional")[1] > 0.3


def test_the_figure_names_what_it_leaves_out():
    families = families_by_positions(released_results()).set_index(["family", "attention"])
    assert not families.loc[("ModernBERT", "bidirectional"), "counted"]
    assert families.loc[("BERT", "bidirectional"), ["absolute", "counted"]].all()
    (panel, *_) = symmetry_by_positions(released_results()).figure.axes
    assert any("ModernBERT" in words.get_text() for words in panel.texts)
