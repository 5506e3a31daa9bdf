"""Each check of Section 3 by heads: supported by what is recorded, refused once that is changed."""

import pytest
from planting import drawn, supported

from attngeo.chapters.heads_or_sum import on_weights
from attngeo.chapters.heads_or_sum.evidence import (
    PARTS,
    beside_survey,
    changes,
    families,
    families_table,
    heads_outside,
    medians,
    owed_to_the_sum,
    single_heads,
    skew_shares,
    spectra_table,
    whole,
    with_added,
)
from attngeo.chapters.heads_or_sum.overlaps import parts
from attngeo.survey.families import with_kinds

HEADS, SUM = on_weights.section_3_symmetry_of_heads, on_weights.section_3_symmetry_of_the_sum
REMOVALS = on_weights.section_3_symmetry_after_removals
FOUND = drawn(HEADS)


def layers(**how):
    """The evidence with a column of its layers made anew from their table."""
    return FOUND._replace(layers=FOUND.layers.assign(**how))


def in_encoders(rows):
    return rows["part"] == "encoder"


def without_one_head():
    """The evidence as if the survey had no layers of one head."""
    several = FOUND.survey.groupby(["model", "part", "layer"])["head"].transform("max") > 0
    return FOUND._replace(survey=FOUND.survey[several])


CHANGED = {
    "heads without sign": (HEADS, layers(heads=0.1)),
    "heads of decoders the more symmetric": (HEADS, layers(heads=-FOUND.layers["heads"])),
    "layers of one head left out": (HEADS, without_one_head()),
    "other weights than the survey's": (HEADS, layers(symmetry=FOUND.layers["symmetry"] + 1e-4)),
    "a layer that the survey lacks": (HEADS, FOUND._replace(survey=FOUND.survey.iloc[:-1])),
    "the sum adds alike": (SUM, layers(factor=1.5)),
    "skew parts add up alike": (SUM, layers(skew_gain=1.2)),
    "pairs of heads add alike": (SUM, layers(symmetric_overlap=0.1, skew_overlap=0.1)),
    "pairs' symmetric parts add up in encoders alone": (SUM, layers(symmetric_overlap=in_encoders(FOUND.layers) + 0.1)),
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


def test_a_layer_of_one_head_counts_among_single_heads_alone():
    every, several = single_heads(FOUND), families(whole(FOUND.layers), PARTS)
    added = every[every["family"] == "BART g2p"].set_index("attention")["heads"]
    survey = FOUND.survey.query("model == 'BART g2p' and head == -1").set_index("part")["symmetry"]
    assert added.to_dict() == {"bidirectional": survey["encoder"], "causal": survey["decoder"]}
    assert len(every) == len(several) + 2


def test_overlaps_by_pair_are_those_of_the_recorded_pairs():
    pairs = FOUND.pairs.assign(skew=(FOUND.pairs["product"] - FOUND.pairs["trace"]) / 2)
    one = pairs[(pairs["model"] == "GPT-2") & (pairs["layer"] == 3)]
    own, between = one[one["g"] == one["h"]]["skew"].sum(), one[one["g"] != one["h"]]["skew"].sum()
    row = whole(FOUND.layers).query("model == 'GPT-2' and layer == 3").iloc[0]
    assert row["skew_overlap"] == pytest.approx(2 * between / own / 11)  # 12 heads


def test_a_family_owes_to_the_sum_what_exceeds_its_heads():
    told = families_table(FOUND).rename(
        columns={"s of heads": "heads", "s of the sum": "symmetry", "G_s / G_n": "factor"}
    )
    owed = owed_to_the_sum(told)
    whisper = told[(told["family"] == "Whisper") & (told["attention"] == "bidirectional")].index
    assert owed["s"][whisper].all() and owed["ratio"][whisper].all()
    assert not owed["s"].all() and not owed["ratio"].all()


def test_sides_of_the_band_are_shares_of_single_heads():
    heads = with_kinds(beside_survey(FOUND).query("head >= 0"))
    cross = heads[heads["attention"] == "cross"]
    skew = (cross["p"] < 0.05) & (cross["recorded"] < 0)
    assert 0 < heads_outside(FOUND).loc["cross", "skew"] == pytest.approx(skew.mean())


def test_the_table_of_spectra_has_the_value_of_random_weights():
    told = spectra_table(FOUND).set_index("matrices")
    assert (told["at random"] < 1 / 3 + 1e-12).all() and told.loc["heads of encoders", "at random"] < 0.1
    more = told["in eigenvalues"] > told["at random"]
    assert more[["heads of encoders", "heads of decoders", "sums of encoders"]].all() and not more["sums of decoders"]


def test_what_is_taken_leaves_what_the_sum_adds_but_for_leading_directions():
    moved = changes(FOUND.layers).query("attention == 'bidirectional' and not at_random")
    kept = moved.groupby("removed")["kept"].median()
    assert (kept.drop(["leading 2 %", "leading 10 %"]) > 0.9).all() and kept["leading 10 %"] < 0.5
    left = moved.groupby("removed")["left"].median()
    assert 0 < left["leading 10 %"] < left["leading 2 %"] < left["leading pair"] < 1
    assert (whole(FOUND.layers)["left"] == 1).all() and FOUND.layers["left"].between(0, 1).all()


def test_weights_that_are_recorded_twice_count_once():
    for table in FOUND:
        models = set(table["model"])
        assert "Whisper base" in models and "Whisper base encoder" not in models


def test_what_the_sum_makes_of_the_heads_is_a_sum_and_a_multiple():
    told = with_added(families(whole(FOUND.layers), PARTS))
    assert (told["heads"] + told["added"] - told["symmetry"]).abs().max() < 1e-12
    assert (told["heads"] * told["multiple"] - told["symmetry"]).abs().max() < 1e-12


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
