"""Mean scores between places: those of the model itself, with its rotations, biases and masks."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from chapters.why import scores_between_places as measured
from chapters.why.scores_between_places import mean_scores, rows_of_model
from small_models import small_model
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from attngeo.bilinear.places import interaction, symmetry_between_places
from attngeo.errors import CheckpointError
from attngeo.experiments.survey.measured import read_records
from attngeo.experiments.training.bert import attention_layers, build_model
from attngeo.experiments.training.choices import Shape
from attngeo.files.checkout import data

N = 6
IDS = torch.randint(5, 30, (20, N), generator=torch.Generator().manual_seed(1))
SHAPE = Shape(layers=2, d_model=16, heads=2, d_ff=20, vocab_size=30, longest=8, dropout=0.0)


def own(positions="learned", causal=False):
    return build_model(SHAPE, causal, seed=3, attention="eager", positions=positions).double().eval()


def louder(model):
    """Larger queries and keys, so that scores differ."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("query.weight", "key.weight", "q_proj.weight", "k_proj.weight")):
                weight *= 10
    return model


def weights_of(model):
    """The model's own attention weights, (layers, texts, heads, n, n)."""
    with torch.no_grad():
        return torch.stack(model(input_ids=IDS, output_attentions=True).attentions)


@pytest.mark.parametrize("kind", ["bert", "t5", "learned", "rotary", "bias", "none"])
def test_scores_of_encoders_are_the_logarithms_of_their_own_weights(kind):
    torch.manual_seed(0)
    if kind in ("bert", "t5"):
        model = small_model(kind)().double().eval()
        model = model.encoder if kind == "t5" else model
        model.config._attn_implementation = "eager"
    else:
        model = own(kind)
        for layer in attention_layers(model) if kind == "bias" else ():
            torch.nn.init.normal_(layer.self.offset_bias)
    model = louder(model)
    expected = weights_of(model).log().sum(2).mean(1)
    torch.testing.assert_close(interaction(mean_scores(model, IDS)), interaction(expected), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(weights_of(model).log().sum(2).mean(1), expected)  # what watched is undone


@pytest.mark.parametrize("kind", ["llama", "gpt2", "learned", "rotary"])
def test_scores_of_decoders_agree_where_their_mask_lets_weights_through(kind):
    torch.manual_seed(0)
    model = small_model(kind)().double().eval() if kind in ("llama", "gpt2") else own(kind, causal=True)
    model.config._attn_implementation = "eager" if kind != "rotary" else "attngeo-rotary"
    model = louder(model)
    expected = weights_of(model).log().sum(2).mean(1)
    found = mean_scores(model, IDS)
    for layer, given in zip(found, expected, strict=True):
        for i in range(1, N):
            seen = slice(0, i + 1)
            torch.testing.assert_close(layer[i, seen] - layer[i, 0], given[i, seen] - given[i, 0], atol=1e-6, rtol=1e-5)


def test_scores_of_a_rotary_decoder_are_products_of_rotated_queries_and_keys_also_behind_the_mask():
    torch.manual_seed(0)
    model = louder(small_model("llama")().double().eval())
    attention = model.layers[0].self_attn
    seen = {}
    hooks = [
        module.register_forward_hook(lambda _, x, y, name=name: seen.update({name: y}))
        for name, module in (("q", attention.q_proj), ("k", attention.k_proj), ("turn", model.rotary_emb))
    ]
    with torch.no_grad():
        model(input_ids=IDS)
    for hook in hooks:
        hook.remove()
    q, k = (seen[name].unflatten(-1, (-1, attention.head_dim)).transpose(1, 2) for name in ("q", "k"))
    q, k = apply_rotary_pos_emb(q, k, *seen["turn"])
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = (q @ k.mT * attention.scaling).sum(1).mean(0)
    torch.testing.assert_close(interaction(mean_scores(model, IDS)[0]), interaction(scores), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("positions", ["learned", "rotary", "none"])
def test_equal_queries_and_keys_are_symmetric_between_places_whatever_the_positions(positions):
    model = louder(own(positions))
    for layer in attention_layers(model):
        layer.self.key.load_state_dict(layer.self.query.state_dict())
    for row in rows_of_model(model, IDS):
        assert row["symmetry"] == pytest.approx(1) and row["between_places"] == pytest.approx(1)
        assert row["texts"] == 20 and row["places"] == N


def test_a_bias_to_one_side_is_skew_between_places_and_w_qk_does_not_show_it():
    model = own("bias")
    before = [row["symmetry"] for row in rows_of_model(model, IDS)]
    with torch.no_grad():
        for layer in attention_layers(model):
            offsets = torch.arange(layer.self.offset_bias.shape[1]) - layer.self.offset_bias.shape[1] // 2
            layer.self.offset_bias[:] = 5 * torch.sin(offsets.double())
    rows = list(rows_of_model(model, IDS))
    assert [row["symmetry"] for row in rows] == before
    assert all(row["between_places"] < -0.9 for row in rows)


def test_places_that_do_not_count_are_left_out():
    model = louder(own())
    row = next(rows_of_model(model, IDS, slice(1, 5)))
    expected = symmetry_between_places(mean_scores(model, IDS)[0][1:5, 1:5])
    assert row["between_places"] == pytest.approx(expected) and row["places"] == 4


def test_models_that_cannot_be_watched_are_refused():
    silent = own()
    silent.forward = lambda input_ids: input_ids
    with pytest.raises(CheckpointError, match="cannot be watched"):
        mean_scores(silent, IDS)
    model = own()
    with torch.no_grad():
        for layer in attention_layers(model):
            layer.self.query.weight *= 3000
            layer.self.key.weight *= 3000
    with pytest.raises(CheckpointError, match="gives weights below"):
        mean_scores(model, IDS)


def test_models_that_runs_left_are_measured_on_held_out_text(tmp_path, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"the cat {n} sat on the mat and looked at the dog " * 3 for n in range(60)))
    config = {"objective": "mlm", "corpus": str(text), "tokenizer": "trained", "vocab_size": 60, "block_size": N}
    config |= {"held_out": 0.5, "layers": 2, "d_model": 16, "heads": 2, "d_ff": 20}
    monkeypatch.setattr(measured, "BLOCKS", 20)
    for name, positions, causal in (("mlm-rotary-0", "rotary", False), ("clm-learned-0", "learned", True)):
        folder = tmp_path / "planned" / name
        shape = Shape(layers=2, d_model=16, heads=2, d_ff=20, vocab_size=60, longest=N, dropout=0.0)
        model = build_model(shape, causal, seed=3, attention="eager", positions=positions)
        model.save_pretrained(folder / "model")
        about = {"status": "finished", "config": config | {"positions": positions, "objective": name[:3]}}
        (folder / "run.json").write_text(json.dumps(about))
    measured.record_runs(tmp_path / "planned")
    table = pd.read_csv(tmp_path / "planned" / "scores_between_places.csv")
    assert list(table["run"]) == ["clm-learned-0"] * 2 + ["mlm-rotary-0"] * 2
    assert table[["symmetry", "between_places"]].abs().max().max() <= 1
    with pytest.raises(CheckpointError, match="holds no run with its model/"):
        measured.record_runs(tmp_path)


class TwoMarks:
    """Letters as tokens, one special token before and two after."""

    def __call__(self, text, add_special_tokens=True, return_special_tokens_mask=False, verbose=True):
        ids = [ord(letter) for letter in text]
        mask = [1, *[0] * len(ids), 1, 1]
        return {"input_ids": [1, *ids, 2, 3] if add_special_tokens else ids, "special_tokens_mask": mask}


def test_texts_are_consecutive_blocks_within_special_tokens(monkeypatch):
    monkeypatch.setattr(measured, "PLACES", 3)
    monkeypatch.setattr(measured, "TEXTS", 3)
    ids, counted = measured.texts_of(TwoMarks(), ["abcdefgh", "ij", "klmnop"])
    assert ["".join(map(chr, row[counted])) for row in ids.tolist()] == ["abc", "def", "klm"]
    assert ids[:, 0].tolist() == [1] * 3 and ids[:, 4:].tolist() == [[2, 3]] * 3
    with pytest.raises(CheckpointError, match="the documents hold 2 of 3 blocks of 3 tokens"):
        measured.texts_of(TwoMarks(), ["abcdefgh"])


def test_the_record_has_the_symmetry_of_the_survey_and_a_rotary_decoder_whose_places_are_symmetric():
    table = pd.read_csv(data("positions", "scores_between_places.csv")).set_index(["model", "layer"])
    layers = read_records(data("survey"))
    layers = layers[layers["head"] == -1]
    for model, folder in (("all-MiniLM-L6-v2", "minilm-l6-v2"), ("SmolLM2-135M-Instruct", "smollm2-135m-instruct-q4")):
        surveyed = layers[layers["model"] == folder]["symmetry"].to_numpy()
        np.testing.assert_allclose(table.loc[model, "symmetry"], surveyed, atol=1e-5)
    medians = table.groupby("model")[["symmetry", "between_places", "between_halves"]].median()
    rotary = medians.loc["SmolLM2-135M-Instruct"]
    assert rotary["symmetry"] < 0.2 and rotary["between_places"] > 0.5
    assert (medians["between_places"] - medians["between_halves"]).abs().max() < 0.05  # enough texts
