"""Each check of Section 3 by heads: supported by what is recorded, refused once that is changed."""

import pytest
from planting import drawn, supported

from attngeo.chapters.heads_or_sum import on_weights
from attngeo.chapters.heads_or_sum.evidence import beside_survey, families, medians, skew_shares, whole
from attngeo.chapters.heads_or_sum.overlaps import parts

HEADS, SUM = on_weights.section_3_symmetry_of_heads, on_weights.section_3_symmetry_of_the_sum
REMOVALS = on_weights.section_3_symmetry_after_removals
FOUND = drawn(HEADS)


def layers(**how):
    """The evidence with a column of its layers made anew from their table."""
    return FOUND._replace(layers=FOUND.layers.assign(**how))


def in_encoders(rows):
    return rows["part"] == "encoder"


CHANGED = {
    "heads without sign": (HEADS, layers(heads=0.1)),
    "heads of decoders the more symmetric": (HEADS, layers(heads=-FOUND.layers["heads"])),
    "other weights than the survey's": (HEADS, layers(symmetry=FOUND.layers["symmetry"] + 1e-4)),
    "a layer that the survey lacks": (HEADS, FOUND._replace(survey=FOUND.survey.iloc[:-1])),
    "the sum adds alike": (SUM, layers(factor=1.5)),
    "skew parts add up alike": (SUM, layers(skew_gain=1.2)),
    "symmetric parts add up in encoders alone": (SUM, layers(symmetric_gain=1.0 + in_encoders(FOUND.layers))),
    "symmetric parts add up in decoders alone": (SUM, layers(symmetric_gain=2.0 - in_encoders(FOUND.layers))),
    "largest coordinates make it": (
        REMOVALS,
        layers(symmetry=FOUND.layers["symmetry"].where(FOUND.layers["removed"] != "largest coordinates", 0.0)),
    ),
    "chance makes it": (REMOVALS, layers(symmetry=FOUND.layers["symmetry"].mask(FOUND.layers["at_random"], 0.0))),
    "the sum adds as much without a tenth": (
        REMOVALS,
        layers(factor=FOUND.layers["factor"] + (FOUND.layers["removed"] == "leading 10 %") * in_encoders(FOUND.layers)),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_numbers_are_refused(name):
    check, changed = CHANGED[name]
    assert supported(check)
    assert not check.of(changed).supported


def test_the_pairs_make_the_gains():
    """Agreeing less opposed skew parts are the skew gain: two records of one thing."""
    both = skew_shares(FOUND.pairs).merge(whole(FOUND.layers), on=["model", "part", "layer"])
    assert len(both) == len(whole(FOUND.layers)) > 150
    assert (1 + both["agreeing"] - both["opposed"] - both["skew_gain"]).abs().max() < 1e-6


def test_every_layer_and_head_stands_beside_the_survey():
    rows = beside_survey(FOUND)
    of_heads = FOUND.survey[FOUND.survey.groupby(["model", "part", "layer"])["head"].transform("max") > 0]
    assert len(rows) == len(of_heads) == len(FOUND.spectra)


def test_spectra_agree_with_the_scores():
    """The two factors of the spectrum multiply to the symmetry of every layer and head."""
    both = beside_survey(FOUND).merge(FOUND.spectra, on=["model", "part", "layer", "head"])
    assert (both["in_eigenvalues"] * both["real"] - both["symmetry"]).abs().max() < 1e-6


def test_cross_attention_and_one_head_are_left_out():
    told = families(whole(FOUND.layers), ("symmetry",))
    assert set(told["attention"]) == {"bidirectional", "causal"} and "BART g2p" not in set(told["family"])
    assert "cross" in set(medians(whole(FOUND.layers), ("symmetry",))["attention"])


def test_parts_of_columns_are_those_of_numbers():
    row = FOUND.layers.iloc[7]
    told = parts(*(float(row[name]) for name in ("trace", "square", "own_trace", "own_square")))
    assert told == pytest.approx({name: row[name] for name in told})
