import csv
import io
import shutil

import pytest
import torch
import transformers as tf
from huggingface_hub import constants
from safetensors.torch import save_file

from attngeo import open_checkpoint, score, score_heads
from attngeo.checkpoints.differences import COLUMNS

SIZES = {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 50, "n_positions": 16}


def gpt(**changes):
    return tf.GPT2Model(tf.GPT2Config(**SIZES | changes))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model, and a run that starts from it: three steps, of which the second is named out of order, and its end."""
    torch.manual_seed(0)
    root, model = tmp_path_factory.mktemp("models"), gpt()
    model.save_pretrained(root / "first")
    for place in ("checkpoints/checkpoint-2", "checkpoints/checkpoint-10", "model"):
        with torch.no_grad():
            for layer in model.h:
                layer.attn.c_attn.weight.add_(0.01 * torch.randn(32, 96))
        model.save_pretrained(root / "run" / place)
    gpt(n_layer=2).save_pretrained(root / "short")
    gpt(n_embd=64).save_pretrained(root / "wide")
    gpt(n_head=2).save_pretrained(root / "two-heads")
    return root


@pytest.fixture
def saved(models, monkeypatch):
    monkeypatch.chdir(models)
    return models


@pytest.fixture
def rows(saved, attngeo):
    def call(*arguments) -> list[dict]:
        code, out, err = attngeo("diff", *arguments, "--format", "csv")
        assert (code, err) == (0, "")
        return list(csv.DictReader(io.StringIO(out)))

    return call


def of_first_layer(found, column):
    return [row[column] for row in found if row["layer"] == "0"]


def test_scores_changes_cosine_and_relative_change_are_those_of_the_dense_matrices(rows, saved):
    compared = rows("first", "run/model", "--per-head")
    assert tuple(compared[0]) == COLUMNS and len(compared) == 2 * 3 * 5
    pairs = list(zip(open_checkpoint(saved / "first"), open_checkpoint(saved / "run/model"), strict=True))
    for row in compared:
        layers, head = pairs[int(row["layer"])], int(row["head"])
        scored = [score(x.form) if head < 0 else score_heads(x.form) for x in layers]
        a, b = (x.form.to(torch.float64).dense() if head < 0 else x.form.to(torch.float64).head(head) for x in layers)
        if row["checkpoint"] == "first":
            scored, b = [scored[0]] * 2, a
        for name in ("symmetry", "directionality"):
            old, new = (float(getattr(s, name) if head < 0 else getattr(s, name)[head]) for s in scored)
            assert float(row[name]) == pytest.approx(new, abs=1e-12)
            assert float(row[f"{name}_change"]) == pytest.approx(new - old, abs=1e-12)
        assert float(row["cosine"]) == pytest.approx(float((a * b).sum() / a.norm() / b.norm()), rel=1e-9)
        assert float(row["relative_change"]) == pytest.approx(float((b - a).norm() / a.norm()), rel=1e-6, abs=1e-12)


def test_a_run_stands_for_its_steps_in_order(rows, saved, tmp_path):
    found = rows("first", "run")
    steps = ["run/checkpoints/checkpoint-2", "run/checkpoints/checkpoint-10", "run/model"]
    assert of_first_layer(found, "checkpoint") == ["first", *steps]
    assert {row["reference"] for row in found} == {"first"}
    changes = [float(change) for change in of_first_layer(found, "relative_change")]
    assert changes == sorted(changes) and changes[0] == 0
    assert of_first_layer(rows("run"), "checkpoint") == steps
    # a trainer's folder beside others for its last model
    folder = tmp_path / "trainer"
    shutil.copytree(saved / "run" / "model", folder)
    shutil.copytree(saved / "run" / "checkpoints" / "checkpoint-2", folder / "checkpoint-2")
    assert of_first_layer(rows(folder), "checkpoint") == [str(folder / "checkpoint-2"), str(folder)]
    assert of_first_layer(rows("first", folder), "checkpoint") == ["first", str(folder)]


def test_the_table_names_each_checkpoint_once_and_gives_medians(attngeo, saved):
    code, out, err = attngeo("diff", "first", "run")
    assert (code, err) == (0, "")
    for line in ("A = first", "B = run/checkpoints/checkpoint-2", "D = run/model", "D, median over decoder layers"):
        assert line in out
    assert out.count("\nA decoder ") == out.count("\nD decoder ") == 3


def test_a_dead_layer_has_no_change_and_stays_out_of_the_medians(rows, attngeo, saved):
    model = tf.GPT2Model.from_pretrained(saved / "run" / "model")
    torch.nn.init.zeros_(model.h[1].attn.c_attn.weight)
    model.save_pretrained(saved / "dead")
    live, dead = (rows("first", other)[1::2] for other in ("run/model", "dead"))
    assert [row["cosine"] for row in dead] == [live[0]["cosine"], "", live[2]["cosine"]]
    assert dead[1]["symmetry"] == dead[1]["directionality_change"] == "" and float(dead[1]["relative_change"]) == 1
    out = attngeo("diff", "first", "dead")[1]
    assert f"cosine {(float(live[0]['cosine']) + float(live[2]['cosine'])) / 2:.4f}, relative" in out
    assert "zero" in out and "nan" not in out


def test_an_adapter_is_compared_with_its_base(rows, saved):
    a, b = torch.randn(2, 32), torch.randn(96, 2)
    name = "base_model.model.h.1.attn.c_attn.lora_{}.weight"
    (saved / "lora").mkdir()
    save_file({name.format("A"): a, name.format("B"): b}, saved / "lora" / "adapter_model.safetensors")
    (saved / "lora" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 2, "lora_alpha": 2}')
    changes = [float(row["relative_change"]) for row in rows("first", "lora") if row["checkpoint"] == "lora"]
    assert [change > 0 for change in changes] == [False, True, False]


def test_revisions_of_one_id(rows, saved, tmp_path, monkeypatch):
    """From the Hub's cache, without a connection."""
    repository = tmp_path / "models--owner--name"
    for number, (revision, source) in enumerate({"main": "first", "step/1": "run/model"}.items()):
        commit = f"{number}" * 40
        (repository / "refs" / revision).parent.mkdir(exist_ok=True, parents=True)
        (repository / "refs" / revision).write_text(commit)
        (repository / "snapshots").mkdir(exist_ok=True)
        (repository / "snapshots" / commit).symlink_to(saved / source)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = rows("owner/name", "owner/name@step/1")
    assert of_first_layer(found, "revision") == ["0" * 40, "1" * 40]
    assert [row["cosine"] for row in found] == [row["cosine"] for row in rows("first", "run/model")]


def test_what_cannot_be_compared_ends_in_one_sentence(refused, rows, saved):
    for line, named in {
        "": "at least two checkpoints, but only none was given",
        "first": "only first was given; add another one, or give a run that was trained with --keep-checkpoints",
        "first first": "first was given 2 times, but is a single checkpoint; give another one",
        "none/such": "there is no folder none/such here",
        "first ./nowhere": "nowhere",
        "first short": "first has 3 decoder layers and short has 2 decoder layers; only",
        "first wide": "32 and 64",
        "first two-heads --per-head": "4 decoder heads and two-heads has 2 decoder heads;",
        "first run/model --gamma -1": "gamma",
        "first run -o gone/d.csv": "there is no folder gone",
        "first run -o run/checkpoints/checkpoint-2/config.json": "config.json already exists",
    }.items():
        assert named in refused("diff", *line.split()), line
    assert len(rows("first", "two-heads")) == 6  # as sums over heads
