"""Each check of Section 3 on weights: supported by the recorded survey, refused once it is changed."""

from dataclasses import replace

import pytest
from planting import drawn, supported, supported_with

from attngeo.chapters.pretrained_survey import on_weights
from attngeo.survey.families import compared, of_families
from attngeo.survey.score_table import SCORES

SYMMETRY = on_weights.section_3_symmetry_on_weights
DIRECTIONALITY = on_weights.section_3_directionality_on_weights
FORMULA = on_weights.figure_s1_formula
FOUND = drawn(SYMMETRY)


def exchanged(stacks):
    return stacks.assign(attention=stacks["attention"].replace({"bidirectional": "causal", "causal": "bidirectional"}))


def shifted(stacks):
    """Decoders far more column-dominated than encoders, by both formulas."""
    causal = stacks["attention"] == "causal"
    return stacks.assign(**{score: stacks[score] - causal for score in SCORES if score != "symmetry"})


def moved(stacks, model, **scores):
    """Scores of a model further by so much."""
    return stacks.assign(**{name: stacks[name] + by * (stacks["model"] == model) for name, by in scores.items()})


CHANGED = {
    "families of every modality called text": (SYMMETRY, lambda f: replace(f, stacks=f.stacks.assign(modality="text"))),
    "weights in few bits called exact": (DIRECTIONALITY, lambda f: replace(f, stacks=f.stacks.assign(precision=""))),
    "another symmetry of GPT-2": (FORMULA, lambda f: replace(f, stacks=moved(f.stacks, "GPT-2", symmetry=1e-5))),
    "another directionality of BERT-tiny": (
        FORMULA,
        lambda f: replace(f, stacks=moved(f.stacks, "BERT-tiny", directionality_tables=1e-5)),
    ),
    "encoders and decoders exchanged": (SYMMETRY, lambda f: replace(f, stacks=exchanged(f.stacks))),
    "symmetry without sign": (SYMMETRY, lambda f: replace(f, stacks=f.stacks.assign(symmetry=0.3))),
    "a loss of two in a hundred": (
        SYMMETRY,
        lambda f: replace(f, losses=f.losses.assign(lost=f.losses["lost"] + 0.02)),
    ),
    "a gain": (SYMMETRY, lambda f: replace(f, losses=f.losses.assign(lost=-f.losses["lost"]))),
    "columns that set decoders apart": (DIRECTIONALITY, lambda f: replace(f, stacks=shifted(f.stacks))),
    "the formula of Table S3": (
        FORMULA,
        lambda f: replace(f, stacks=f.stacks.assign(directionality_released=f.stacks["directionality_tables"])),
    ),
    "the definition": (
        FORMULA,
        lambda f: replace(f, stacks=f.stacks.assign(directionality_released=f.stacks["directionality"])),
    ),
    "the factor 2": (FORMULA, lambda f: replace(f, stacks=f.stacks.assign(symmetry=2 * f.stacks["symmetry"]))),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_numbers_are_refused(name):
    check, change = CHANGED[name]
    assert supported(check)
    assert not check.of(change(FOUND)).supported


def test_models_in_place_of_families_are_noticed():
    """Each model as its own family: more units than families there are, and the words say so."""
    families = of_families(FOUND.stacks.assign(family=FOUND.stacks["model"]))
    assert (
        compared(families, "symmetry").separation.n_first
        > compared(of_families(FOUND.stacks), "symmetry").separation.n_first
    )


def test_an_area_of_the_wrong_side_is_refused():
    def wrong(families, score):
        return compared(exchanged(families), score)

    assert not supported_with(SYMMETRY, "compared", wrong)


def test_rounding_in_half_precision_takes_nothing():
    half = FOUND.losses[(FOUND.losses["scheme"] == "float16") & (FOUND.losses["symmetry"].abs() > 0.05)]
    assert len(half) > 90 and half["lost"].abs().max() < 1e-3


def test_the_table_of_schemes_takes_layers_that_have_symmetry():
    table = on_weights.losses_by_scheme(FOUND.losses, 0.05)
    assert list(table.index) == ["float16", "int8", "q4_0", "q4_1"]
    assert (table["least"] <= table["median"]).all() and (table["median"] <= table["most"]).all()
    assert table["layers"].nunique() == 1 < table["layers"].iloc[0] < len(FOUND.losses) / 4


def test_how_far_directionality_moves_is_of_every_layer():
    """A layer without symmetry counts, and a median moves no further than the layers it is of."""
    table = on_weights.moved_by_scheme(FOUND.losses)
    gaps = FOUND.losses["directionality_rounded"] - FOUND.losses["directionality"]
    assert table["d, a layer"].max() == gaps.abs().max() > 0.5
    for formula in ("d", "d as in Table S3"):
        assert (table[f"{formula}, a median"] <= table[f"{formula}, a layer"] + 1e-12).all()
    planted = FOUND.losses["symmetry"].abs().idxmin()
    further = FOUND.losses.assign(directionality_rounded=FOUND.losses["directionality_rounded"].copy())
    further.loc[planted, "directionality_rounded"] = 7
    assert on_weights.moved_by_scheme(further)["d, a layer"].max() > 6


def test_the_same_weights_count_once():
    assert "Whisper base encoder" not in set(FOUND.stacks["model"]) | set(FOUND.losses["model"])
    assert "Whisper base" in set(FOUND.stacks["model"])


def test_no_coarsely_rounded_weights_are_rounded_again():
    few = set(FOUND.stacks[FOUND.stacks["precision"].isin(["8-bit", "4-bit"])]["model"])
    assert few and not few & set(FOUND.losses["model"])
