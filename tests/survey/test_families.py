import numpy as np
import pandas as pd
import pytest

from attngeo.bilinear.rows import SCORES
from attngeo.survey.families import (
    beaten,
    choices,
    choices_table,
    compared,
    distinct,
    of_families,
    other_answers,
    with_kinds,
)


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
    own = stacks.assign(
        objective=stacks["part"].map({"encoder": "masked tokens", "decoder": "next token", "cross": ""})
    )
    own.loc[own["model"] == "e", "objective"] = "image labels"
    assert {words: sorted(rows["model"]) for words, rows in choices(own).items()} == {
        "all": sorted(stacks["model"]),
        "without 8- and 4-bit weights": ["a1", "a2", "c", "c", "c", "d", "e"],
        "without models of one layer": ["a1", "a2", "c", "c", "c", "d", "e"],
        "encoder-only or decoder-only": ["a1", "a2", "b", "d", "e"],
        "encoder-only or decoder-only, without 8- and 4-bit weights": ["a1", "a2", "d", "e"],
        "one part, trained first on masked or on next tokens": ["a1", "a2", "b", "d"],
        "text alone": sorted(stacks["model"]),
    }
    table = choices_table(own)
    assert len(table) == 7 and table["s"].iloc[0].startswith("0.78 [")
    assert choices_table(stacks[stacks["part"] == "encoder"]).empty


def test_a_choice_on_another_side_of_one_half_is_named():
    """Five families of encoders above five of decoders, and one of each in 4 bits that lies the other way round."""
    rows = [(kind, f"{kind}{i}", i + 10 * (kind == "encoder")) for kind in ("encoder", "decoder") for i in range(5)]
    rows += [("encoder", "rounded", -1.0), ("decoder", "rounded too", 99.0)]
    table = with_kinds(pd.DataFrame(rows, columns=["part", "model", "symmetry"]).assign(n_layers=2, precision=""))
    table["precision"] = np.where(table["model"].str.startswith("rounded"), "4-bit", "")
    found = other_answers(table.assign(**dict.fromkeys(SCORES[1:], 0.0)))
    assert found["s", "without 8- and 4-bit weights"].side == 1 and {score for score, _ in found} == {"s"}


def test_the_pairs_that_encoders_lose_are_theirs(stacks):
    assert beaten(of_families(stacks), "symmetry") == {"B": 1, "C": 1}  # both by the decoder of C


def test_weights_that_are_there_twice_count_once():
    """A copy goes where its source is; what was trained on from it stays."""
    names = [("Whisper base", "encoder"), ("Whisper base", "decoder"), ("Whisper base encoder", "encoder")]
    rows = pd.DataFrame([*names, ("BERT base radiology", "encoder"), ("mine", "encoder")], columns=["model", "part"])
    assert distinct(rows)["model"].tolist() == ["Whisper base", "Whisper base", "BERT base radiology", "mine"]
    assert distinct(rows[2:])["model"].tolist() == ["Whisper base encoder", "BERT base radiology", "mine"]
    trained = pd.DataFrame({"model": ["BERT base radiology", "bert-base-uncased"], "part": "encoder"})
    assert len(distinct(trained)) == 2


def test_a_model_the_registry_does_not_know_is_its_own_family():
    rows = with_kinds(pd.DataFrame({"model": ["mine", "GPT-2", "mine"], "part": ["encoder", "decoder", "cross"]}))
    assert rows["family"].tolist() == ["mine", "GPT", "mine"]
    assert rows["attention"].tolist() == ["bidirectional", "causal", "cross"]
    assert not rows.isna().any(axis=None)
