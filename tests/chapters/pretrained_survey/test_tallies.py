import pandas as pd
import pytest

from attngeo.chapters.pretrained_survey import tallies


@pytest.fixture
def banded():
    rows = [
        ("bidirectional", -0.3, -0.1, 0.2, 0.2),  # by the definition alone
        ("bidirectional", 0.3, 0.3, 0.2, 0.2),  # by both, and rows dominate
        ("causal", -0.3, -0.3, 0.2, 0.2),  # columns by both
        ("causal", -0.1, -0.3, 0.2, 0.2),  # by the tables alone
        ("cross", 0.0, 0.0, 0.2, 0.2),
    ]
    return pd.DataFrame(
        rows, columns=["attention", "directionality", "directionality_tables", "d_median", "d_tables_median"]
    )


def test_medians_outside_are_told_by_kind_and_formula(banded):
    found = tallies.outside(banded)
    assert found["definition"].tolist() == [True, True, True, False, False]
    assert found["tables"].tolist() == [False, True, True, True, False]
    assert found["columns"].tolist() == [False, False, True, False, False]
    assert tallies.by_kind(found) == "encoders 2 (1) of 2, decoders 1 (2) of 2, cross-attention 0 (0) of 1"
    assert tallies.expected_outside(20) == pytest.approx(1)


def test_encoders_are_put_beside_decoders_by_the_width_of_their_bands(banded):
    wide = banded.assign(d_median=[0.2, 0.3, 0.2, 0.4, 0.1])  # 0.4: no columns dominate there
    assert tallies.encoders_with_bands_of_decoders(tallies.outside(wide)).index.tolist() == [0]
    none = banded.assign(directionality=0.0)
    assert tallies.encoders_with_bands_of_decoders(tallies.outside(none)).empty


def test_keys_that_heads_share_are_counted_from_the_rank(scores):
    heads = scores["head"] >= 0
    assert tallies.grouped_keys(scores) == {}
    shared = scores.assign(rank=scores["rank"].where(heads, 32))
    assert tallies.grouped_keys(shared) == {"m": "4 query heads on 2 key heads"}


def test_layers_and_heads_of_a_stack(scores):
    stacks = pd.DataFrame({"model": ["m"], "part": ["decoder"], "n_layers": [6]})
    assert tallies.sizes(stacks, scores) == ["m (layers: 6, heads: 4)"]
