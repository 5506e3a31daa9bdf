"""The record of symmetry by octave, and what explains the layers that stand out in it."""

import pytest
import torch
from chapters.why.octaves import (
    SEEDS,
    at_random,
    exception_rows,
    octave_rows,
    offset_rows,
    recorded,
    recorded_exceptions,
    recorded_offsets,
)

from attngeo import BilinearForm
from attngeo.bilinear.waves import octave_scores
from attngeo.checkpoints.opening import open_checkpoint

BERT = "BERT base radiology"


def by_octave(table, **place):
    for name, value in place.items():
        table = table[table[name] == value]
    return table.set_index("octave")


def test_the_record_is_that_of_the_weights(weights):
    checkpoint = open_checkpoint(weights / "sapiens-vh")
    plan = checkpoint.plans[1]
    form, rows = checkpoint.read(plan).form.to(torch.float64), checkpoint.position_rows(plan)
    for found, table in ((octave_rows(form, rows), recorded()), (offset_rows(form, rows), recorded_offsets())):
        kept = table[(table["model"] == "Sapiens VH") & (table["layer"] == 1)]
        again = list(found)
        assert len(again) == len(kept)
        for name in again[0].keys() & {"symmetry", "share", "from_kernel", "from_offset", "offset", "kernel_share"}:
            assert [row[name] for row in again] == pytest.approx(list(kept[name]), abs=1e-4, nan_ok=True)


def test_random_weights_are_those_of_as_many_draws_on_the_same_table():
    draw = torch.Generator().manual_seed(7)
    rows = torch.randn(12, 6, generator=draw, dtype=torch.float64)
    form = BilinearForm(*torch.randn(2, 3, 6, 2, generator=draw, dtype=torch.float64).unbind())
    scores = []
    for seed in range(SEEDS):
        again = torch.Generator().manual_seed(seed)
        q, k = (torch.randn(factor.shape, generator=again, dtype=torch.float64) for factor in (form.wq, form.wk))
        scores.append(float(octave_scores(BilinearForm(q, k), rows)[4][0]))
    mean, deviation = at_random(form, rows)[False, 4]
    assert mean == pytest.approx(sum(scores) / SEEDS)
    assert deviation == pytest.approx(float(torch.tensor(scores, dtype=torch.float64).std()))


def test_slow_waves_are_symmetric_in_single_heads_of_encoders_and_less_so_for_random_weights():
    table = recorded()
    heads = table[(table["head"] >= 0) & (table["octave"] == 128) & (table["part"] == "encoder")]
    medians = heads.groupby("model")[["symmetry", "random_mean"]].median()
    assert (medians["symmetry"] > medians["random_mean"]).all() and medians["symmetry"].median() > 0.9


def test_two_heads_that_attend_to_the_next_token_make_the_third_layer_of_bert_skew_for_short_periods():
    offsets = recorded_offsets().query("model == @BERT and layer == 2").set_index("head")
    for head in (0, 9):
        assert offsets.loc[head, ["offset", "width"]].tolist() == [1, 1] and offsets.loc[head, "dominates"]
    exception = by_octave(recorded_exceptions(), model=BERT, layer=2)
    assert exception.loc[[2, 4], "symmetry"].max() < -0.3 and exception.loc[[8, 16, 32], "symmetry"].min() > 0.7
    assert exception["without"].drop(0).min() > 0.8


def test_one_head_that_attends_eight_tokens_to_the_left_makes_the_last_layer_of_bert_skew_for_middle_periods():
    offsets = recorded_offsets().query("model == @BERT and layer == 11").set_index("head")
    assert offsets.loc[3, "offset"] == -8 and offsets.loc[3, "dominates"]
    exception = by_octave(recorded_exceptions(), model=BERT, layer=11)
    assert exception.loc[[16, 32], "symmetry"].max() < -0.4
    assert exception.loc[[16, 32], "without"].min() > 0.9


def test_the_first_layers_of_rxnfp_attend_far_away():
    heads = recorded_offsets().query("model == 'rxnfp' and head >= 0")
    far = heads["offset"].abs().groupby(heads["layer"]).median()
    assert far.loc[:1].min() > 5 * far.loc[2:].max()


def test_heads_of_gpt2_slope_towards_the_present():
    """Their kernels are largest at offsets that the mask hides, and the kernel gives the skew of the slowest waves."""
    heads = recorded_offsets().query("model == 'GPT-2' and head >= 0")
    assert (heads["offset"] > 0).mean() > 0.75
    slow = recorded().query("model == 'GPT-2' and head == -1 and octave == 512")
    assert slow["symmetry"].median() < -0.5
    assert slow["symmetry"].corr(slow["from_kernel"]) > 0.9


def test_the_exceptions_are_those_of_the_weights(weights):
    again = {
        (row["layer"], row["octave"]): (row["symmetry"], row["without"])
        for row in exception_rows(BERT, str(weights / "bert-base-uncased-ctpe"))
    }
    kept = recorded_exceptions().set_index(["layer", "octave"])
    assert len(again) == len(kept)
    for place, values in again.items():
        assert kept.loc[place, ["symmetry", "without"]].tolist() == pytest.approx(values, abs=1e-4)
