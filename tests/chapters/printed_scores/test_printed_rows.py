import numpy as np
import pandas as pd
import pytest

from attngeo.chapters.pretrained_survey import separation
from attngeo.chapters.printed_scores import tables as survey
from attngeo.survey.models import released_results
from attngeo.survey.printed_rows import SCORES, beside_printed, layer_medians, printed_rows, whole_table


def layers(model="GPT-2", part="decoder", **scores):
    """A long table of one model whose layers have the given scores."""
    n = len(next(iter(scores.values())))
    frame = pd.DataFrame({"model": model, "part": part, "layer": range(n), "head": -1})
    return frame.assign(**{name: scores.get(name, [0.0] * n) for name in SCORES})


def test_medians_and_quartile_distances():
    row = layer_medians(layers(symmetry=[0.0, 0.1, 0.2, 0.7, 1.0])).iloc[0]
    np.testing.assert_allclose([row.symmetry, row.symmetry_minus, row.symmetry_plus], [0.2, 0.1, 0.5])
    assert row.n_layers == 5


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (0.2, "differs by 0.20")])
def test_a_row_reproduces_only_to_its_printed_digits(shift, verdict):
    """GPT2 is printed as 0.15 [0.02, 0.03]."""
    values = np.array([0.13, 0.13, 0.15, 0.18, 0.18]) + shift
    frame = beside_printed("S2", {"ours": "symmetry"}, layer_medians(layers(symmetry=values)))
    assert frame["printed as"].tolist() == ["GPT2"] and frame["printed"].tolist() == ["0.15 [0.02, 0.03]"]
    assert frame["ours"].item().endswith(verdict)


@pytest.mark.parametrize(("number", "n"), [("S2", 70), ("S3", 68)])
def test_the_whole_table_has_every_row_with_a_verdict(number, n):
    medians = layer_medians(layers(symmetry=[0.13, 0.13, 0.15, 0.18, 0.18]))
    frame = whole_table(number, "symmetry", medians).set_index("row")
    assert len(frame) == n and (frame["verdict"] != "").all()
    assert frame.loc["R15", "verdict"] == "no such model" and frame.loc["R15", "checkpoint"] == "none"
    assert frame.loc["R22", "verdict"] == "random weights were scored"
    assert frame.loc["L1", "verdict"] == "weights not read here"
    assert (frame["recomputed"] != "–").sum() == 1


def test_random_weights_are_never_reproduced():
    """The trained checkpoint is no test of a row that scored an untrained one; its other row can be tested."""
    medians = layer_medians(layers("Meta-Llama-3-8B", symmetry=[0.0, 0.0, 0.01]))
    rows = {r.row: r for r in printed_rows("S2", "symmetry", medians)}
    assert rows["R22"].ours is not None and rows["R22"].verdict == "random weights were scored"
    assert rows["R13"].verdict in ("reproduced", "differs by 0.01")


@pytest.fixture(scope="module")
def medians():
    return survey._recorded()


def test_the_checks_refuse_other_numbers(medians):
    """The same checks on shifted medians are not supported."""
    assert survey.table_s2_symmetry(medians).supported and survey.table_s3_directionality(medians).supported
    assert not survey.table_s2_symmetry(medians.assign(symmetry=2 * medians["symmetry"])).supported
    assert not survey.table_s2_symmetry(medians.assign(symmetry=medians["symmetry"] + 2e-5)).supported
    swapped = medians.assign(directionality_tables=medians["directionality_released"])
    assert not survey.table_s3_directionality(swapped).supported
    nudged = medians.assign(directionality_tables_plus=medians["directionality_tables_plus"] + 2e-5)
    assert not survey.table_s3_directionality(nudged).supported


def test_rows_that_do_not_repeat_are_refused():
    results = released_results()
    row = results["row"] == "L1"
    assert not survey.table_s2_distinct_checkpoints(results.assign(s=results["s"] + 1e-3 * row)).supported
    trained = results["row"] == "R22"  # as if the random weights had been trained
    assert not survey.table_s2_distinct_checkpoints(results.assign(d=results["d"].mask(trained, -0.6))).supported


SECTION_3 = [f for name, f in vars(separation).items() if name.startswith("section_3")]


@pytest.mark.parametrize("check", SECTION_3, ids=lambda f: f.__name__)
def test_section_3_is_judged_by_the_scores(check):
    """With the scores of encoders and decoders exchanged, or with none apart, no verdict stands."""
    results = released_results()
    assert check(results).supported
    assert not check(results.assign(s=-results["s"], d=-results["d"])).supported
    if "elsewhere" in check.__name__ and "directionality" in check.__name__:
        apart = results["d"] + 2 * (results["drawn_as"] != "decoder") * (results["part"] == "encoder")
        assert not check(results.assign(d=(apart - 1) / 3)).supported
