"""Pairs of heads and removals against dense matrices; the record against weights and against itself."""

import json

import pandas as pd
import pytest
import torch
from chapters.heads_or_sum import evidence as of_models
from chapters.heads_or_sum import overlaps as of_pairs
from chapters.heads_or_sum import record as recording
from chapters.heads_or_sum import removals
from chapters.heads_or_sum.pictures import gains, heads_and_sums, symmetry_of_families
from chapters.pretrained_survey.told import heads_against_sum
from hypothesis import given
from hypothesis import strategies as st
from notebook_code import notebook
from random_forms import SEEDS, forms, gaussian
from small_models import small_model

from attngeo import BilinearForm, symmetry_score

PAGE, OF = notebook("heads_or_sum"), of_models.evidence()
FAMILIES = {  # s of the heads and of the sum, G_s, G_n
    ("BERT", "bidirectional"): (0.40, 0.64, 1.94, 0.92),
    ("RXN", "bidirectional"): (0.21, 0.58, 2.05, 0.87),
    ("Whisper", "bidirectional"): (0.24, 0.49, 1.78, 0.98),
    ("DeiT", "bidirectional"): (0.33, 0.47, 1.46, 1.07),
    ("MiniLM", "bidirectional"): (0.18, 0.46, 2.25, 1.15),
    ("ViT", "bidirectional"): (0.09, 0.35, 2.20, 1.30),
    ("T5", "bidirectional"): (0.19, 0.27, 1.41, 1.16),
    ("Sapiens", "bidirectional"): (0.04, 0.21, 1.53, 1.10),
    ("GPT", "causal"): (0.09, 0.15, 2.13, 1.87),
    ("GPT-Neo", "causal"): (0.07, 0.14, 2.82, 2.27),
    ("SmolLM2", "causal"): (0.04, 0.09, 1.72, 1.46),
    ("Whisper", "causal"): (0.05, 0.09, 1.48, 1.24),
    ("T5", "causal"): (0.02, 0.01, 1.24, 1.38),
    ("stories260K", "causal"): (-0.01, -0.03, 1.40, 1.50),
}
WITHOUT = {  # s of encoders, of decoders
    "mean direction": (0.47, 0.09),
    "largest coordinates": (0.44, 0.10),
    "diagonal": (0.41, 0.08),
    "leading pair": (0.47, 0.10),
    "leading 2 %": (0.36, 0.09),
    "leading 10 %": (0.21, 0.07),
}


def rounded(frame):
    return {key: tuple(row) for key, row in frame.round(2).iterrows()}


def close(a, b, scale=None):
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * float((b if scale is None else scale).abs().max()) + 1e-30)


def test_the_tables_are_those_that_were_looked_at():
    of_families = of_models.families(of_models.whole(OF.layers), of_models.PARTS).set_index(["family", "attention"])
    assert rounded(of_families[["heads", "symmetry", "symmetric_gain", "skew_gain"]]) == FAMILIES
    without = PAGE.without_parts(OF.layers)
    assert rounded(without[["s of encoders", "s of decoders"]]) == WITHOUT
    remaining = [words.split()[0] for words in without["remaining increase in encoders"]]
    assert remaining == ["100", "97", "98", "96", "69", "20"]
    assert round(of_models.changes(OF.layers).query("at_random")["change"].abs().max(), 2) == 0.02
    assert of_models.heads_outside(OF).round(2).to_dict() == {"bidirectional": 0.93, "causal": 0.72, "cross": 0.3}


def test_the_records_agree_with_one_another():
    gained = of_models.mirrors(OF.pairs).merge(of_models.whole(OF.layers), on=["model", "part", "layer"])
    assert len(gained) == len(of_models.whole(OF.layers)) > 150
    assert (gained["gain"] - gained["symmetry"] + gained["heads"]).abs().max() < 1e-6
    for table in OF:  # weights that are recorded twice
        assert "Whisper base" in set(table["model"]) and "Whisper base encoder" not in set(table["model"])
    one = OF.pairs.query("model == 'GPT-2' and layer == 3")
    skew, same = (one["product"] - one["trace"]) / 2, one["g"] == one["h"]
    row = of_models.whole(OF.layers).query("model == 'GPT-2' and layer == 3").iloc[0]
    assert row["skew_overlap"] == pytest.approx(2 * skew[~same].sum() / skew[same].sum() / 11)  # 12 heads


def test_a_layer_of_one_head_counts_among_single_heads_alone():
    every, several = of_models.single_heads(OF), of_models.families(of_models.whole(OF.layers), of_models.PARTS)
    added = every[every["family"] == "BART g2p"].set_index("attention")["heads"]
    survey = OF.survey.query("model == 'BART g2p' and head == -1").set_index("part")["symmetry"]
    assert added.to_dict() == {"bidirectional": survey["encoder"], "causal": survey["decoder"]}
    assert len(every) == len(several) + 2 and "cross" in set(
        of_models.medians(of_models.whole(OF.layers), ("symmetry",))["attention"]
    )


@given(forms(), SEEDS)
def test_what_is_removed_is_gone_from_every_head(form, seed):
    d = form.d_model
    basis = torch.linalg.qr(gaussian(d, 1, seed=seed)).Q
    p, index = torch.eye(d, dtype=torch.float64) - basis @ basis.T, torch.tensor([seed % d])
    kept = torch.ones(d, dtype=torch.float64).index_fill(0, index, 0)
    for h, m in enumerate(form.heads()):
        close(removals.without_directions(form, basis).head(h), p @ m @ p, m)
        close(removals.without_coordinates(form, index).head(h), kept[:, None] * m * kept, m)
    bare, scale = torch.stack([m - m.diagonal().diag() for m in form.heads()]), of_pairs.overlaps(form).products
    close(removals.without_diagonal(form).traces, torch.einsum("gij,hji->gh", bare, bare), scale)
    close(removals.without_diagonal(form).products, torch.einsum("gij,hij->gh", bare, bare), scale)


@given(forms(), st.integers(1, 3))
def test_leading_directions_leave_the_singular_values_after_them(form, n):
    left = removals.without_directions(form, removals.leading_directions(form, n)).dense()
    before = torch.linalg.svdvals(form.dense())
    after = float(before[n]) if n < len(before) else 0.0
    assert float(torch.linalg.matrix_norm(left, 2)) <= after + 1e-8 * float(before[0])


def mirrored(*heads: torch.Tensor) -> tuple[pd.Series, float, float]:
    """Of a layer, its `mirrors`, s of the sum and s of the heads together."""
    eye = torch.eye(len(heads[0]), dtype=torch.float64)
    form = BilinearForm(torch.stack(heads), eye.expand(len(heads), -1, -1).clone())
    pairs = pd.DataFrame(recording.pair_rows(of_pairs.overlaps(form))).assign(model="m", part="encoder", layer=0)
    return (
        of_models.mirrors(pairs).iloc[0],
        symmetry_score(sum(heads)),
        float(of_pairs.parts(**of_pairs.overlaps(form).sums())["heads"]),
    )


def test_a_head_and_its_transpose_are_a_mirror_pair_that_brings_all():
    m = gaussian(6, 6)
    row, s, own = mirrored(m, m.T)
    assert (row["to_transpose"], row["mirrored"], s) == (pytest.approx(1), 1, pytest.approx(1))
    assert row["from_mirrors"] == pytest.approx(row["gain"]) == pytest.approx(s - own)
    row, s, own = mirrored(m, 2 * m)  # planted: the same head twice is none
    assert (row["to_itself"], row["mirrored"], row["from_mirrors"]) == (pytest.approx(1), 0, 0)
    assert row["gain"] == pytest.approx(0, abs=1e-12) == pytest.approx(s - own)
    row, s, own = mirrored(*(gaussian(6, 6, seed=seed) for seed in range(4)))
    assert row["gain"] == pytest.approx(s - own) and abs(row["gain"] - row["from_mirrors"]) > 1e-3


def test_what_is_recorded_is_read_back_and_agrees_with_the_weights(tmp_path, monkeypatch, capsys):
    folders = {}
    torch.manual_seed(0)
    for name, heads in (("several", 4), ("one", 1)):  # the latter is left out
        folders[name] = str(tmp_path / name)
        small_model("bert", num_attention_heads=heads)().save_pretrained(folders[name])
    monkeypatch.setattr(recording, "local_weights", lambda needed=False: folders)
    monkeypatch.setattr(recording, "data", lambda *parts: tmp_path.joinpath(*parts))
    recording.record(tmp_path / "heads_or_sum")
    left, pairs = (pd.read_parquet(tmp_path / "heads_or_sum" / f"{name}.parquet") for name in of_models.TABLES)
    assert capsys.readouterr().out.split() == ["several", "one"]
    assert set(pairs["model"]) == {"several"} and len(pairs) == 2 * 10
    assert left.groupby("layer").size().tolist() == [12, 12]
    assert len(json.loads((tmp_path / "heads_or_sum" / "record.json").read_text())["sha256"]) == 2
    assert recording.verified("several", pairs) == pytest.approx(0, abs=1e-12)
    assert recording.verified("elsewhere", pairs) is None
    changed = pairs.assign(trace=pairs["trace"] + 0.01)
    assert recording.verified("several", changed) == pytest.approx(0.01)
    assert not recording.verified("several", pairs[1:]) < 1  # a pair is missing


def test_the_figure_of_families_shows_the_heads_and_the_page_names_their_median():
    of_families = of_models.families(of_models.whole(OF.layers), of_models.PARTS)
    shown = symmetry_of_families(of_families)
    labels = [label.get_text() for label in shown.figure.axes[0].get_yticklabels()]
    assert len(labels) == len(set(labels)) == len(of_families)  # the halves of T5 and of Whisper are told apart
    encoders = of_families[of_families["attention"] == "bidirectional"]
    circles = shown.figure.axes[0].collections[1].get_offsets()[:, 0]
    assert sorted(circles) == pytest.approx(sorted(of_families["heads"]))
    assert f"individual heads score {encoders['heads'].median():.2f}" in heads_against_sum(of_families)
    assert labels[0] == f"{encoders.loc[encoders['symmetry'].idxmax(), 'family']} encoder"


def test_every_family_and_every_model_is_named_once_in_the_figures():
    names = [text.get_text() for text in gains(OF).figure.axes[0].texts]
    assert sorted(names) == sorted(family for family, _ in FAMILIES)
    rows = [label.get_text() for label in heads_and_sums(OF).figure.axes[0].get_yticklabels()]
    assert len(rows) == len(set(rows)) == of_models.whole(OF.layers).groupby(["model", "part"]).ngroups
