import numpy as np
import pandas as pd
import pytest

from attngeo.survey.families import choices, choices_table, compared, of_families, with_kinds
from attngeo.survey.score_table import SCORES


@pytest.fixture
def stacks():
    """Two families of encoders, two of decoders, one of both, one of cross-attention."""
    rows = [
        ("a1", "encoder", "A", "bidirectional", 0.5),
        ("a2", "encoder", "A", "bidirectional", 0.7),
        ("b", "encoder", "B", "bidirectional", 0.3),
        ("c", "encoder", "C", "bidirectional", 0.2),
        ("c", "decoder", "C", "causal", 0.4),
        ("d", "decoder", "D", "causal", 0.1),
        ("e", "decoder", "E", "causal", 0.0),
        ("c", "cross", "C", "cross", 0.9),
    ]
    table = pd.DataFrame(rows, columns=["model", "part", "family", "attention", "symmetry"])
    rest = {score: table["symmetry"] for score in SCORES if score != "symmetry"}
    kinds = {"modality": "text", "precision": ["", "", "4-bit", "", "", "", "", ""], "base": "", "objective": ""}
    return table.assign(n_layers=[2, 2, 1, 2, 2, 2, 2, 2], **rest, **kinds)


def test_a_family_counts_once_and_cross_attention_not_at_all(stacks):
    families = of_families(stacks)
    means = families.set_index(["family", "attention"])["symmetry"]
    assert means["A", "bidirectional"] == pytest.approx(0.6) and len(families) == 7
    found = compared(families, "symmetry")
    won = [(x > y) for x in (0.6, 0.3, 0.2) for y in (0.4, 0.1, 0.0)]
    assert found.separation.auc == pytest.approx(np.mean(won))
    assert (found.separation.n_first, found.separation.n_second) == (3, 3)
    assert found.n_exchanges == 2 * 6  # one family of both; two of four others are encoders


def test_fewer_models_are_other_numbers(stacks):
    chosen = choices(stacks)
    assert {words: len(rows) for words, rows in chosen.items()} == {
        "all": 8,
        "without 8- and 4-bit weights": 7,
        "without models of one layer": 7,
        "without encoder-decoder models": 5,
        "text alone": 8,
    }
    table = choices_table(stacks)
    assert len(table) == 5 and table["s"].iloc[0].startswith("0.78 [")
    assert choices_table(stacks[stacks["part"] == "encoder"]).empty


def test_a_model_the_registry_does_not_know_is_its_own_family():
    rows = with_kinds(pd.DataFrame({"model": ["mine", "GPT-2", "mine"], "part": ["encoder", "decoder", "cross"]}))
    assert rows["family"].tolist() == ["mine", "GPT", "mine"]
    assert rows["attention"].tolist() == ["bidirectional", "causal", "cross"]
    assert not rows.isna().any(axis=None)
