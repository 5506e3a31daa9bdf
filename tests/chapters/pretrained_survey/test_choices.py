import numpy as np
import pandas as pd
import pytest
from chapters.pretrained_survey.choices import beaten, choices, choices_table, other_answers
from made_families import made_families

from attngeo.bilinear.rows import SCORES
from attngeo.experiments.survey.families import of_families, with_kinds


@pytest.fixture
def stacks():
    return made_families()


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
