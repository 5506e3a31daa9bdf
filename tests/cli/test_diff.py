import csv
import io
import json
import re
import shutil

import pytest
import torch
import transformers as tf
from huggingface_hub import constants
from safetensors.torch import save_file

from attngeo import open_checkpoint, score, score_heads
from attngeo.cli import main
from attngeo.survey.differences import COLUMNS

SIZES = {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 50, "n_positions": 16}


def gpt(**changes):
    return tf.GPT2Model(tf.GPT2Config(**SIZES | changes))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
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
def run(capsys, saved, monkeypatch):
    """The command in this process and in the folder of the models: exit code, stdout, stderr."""
    monkeypatch.chdir(saved)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["diff", *map(str, arguments)])
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return call


def rows(run, *arguments) -> list[dict]:
    code, out, err = run(*arguments, "--format", "csv")
    assert (code, err) == (0, "")
    return list(csv.DictReader(io.StringIO(out)))


def test_scores_changes_cosine_and_relative_change_are_those_of_the_dense_matrices(run, saved):
    found = rows(run, "first", "run/model", "--per-head")
    assert tuple(found[0]) == COLUMNS and len(found) == 2 * 3 * 5
    pairs = list(zip(open_checkpoint(saved / "first"), open_checkpoint(saved / "run/model"), strict=True))
    for row in found:
        layers, head = pairs[int(row["layer"])], int(row["head"])
        scored = [score(x.form) if head < 0 else score_heads(x.form) for x in layers]
        a, b = (x.form.to(torch.float64).dense() if head < 0 else x.form.to(torch.float64).head(head) for x in layers)
        own = row["checkpoint"] == "first"
        for name in ("symmetry", "directionality"):
            old, new = (float(getattr(s, name) if head < 0 else getattr(s, name)[head]) for s in scored)
            assert float(row[name]) == pytest.approx(old if own else new, abs=1e-12)
            assert float(row[f"{name}_change"]) == pytest.approx(0 if own else new - old, abs=1e-12)
        cosine, change = float((a * b).sum() / a.norm() / b.norm()), float((b - a).norm() / a.norm())
        assert float(row["cosine"]) == pytest.approx(1 if own else cosine, rel=1e-9)
        assert float(row["relative_change"]) == pytest.approx(0 if own else change, rel=1e-6, abs=1e-12)


def test_a_run_stands_for_its_steps_in_order(run):
    found = rows(run, "first", "run")
    names = ["first", "run/checkpoints/checkpoint-2", "run/checkpoints/checkpoint-10", "run/model"]
    assert [row["checkpoint"] for row in found if row["layer"] == "0"] == names
    assert {row["reference"] for row in found} == {"first"}
    changes = [float(row["relative_change"]) for row in found if row["layer"] == "0"]
    assert changes == sorted(changes) and changes[0] == 0
    assert len(rows(run, "run")) == 3 * 3


def test_a_trainer_s_folder_stands_for_its_steps_alone_and_for_its_last_model_beside_others(run, saved, tmp_path):
    folder = tmp_path / "trainer"
    shutil.copytree(saved / "run" / "model", folder)
    shutil.copytree(saved / "run" / "checkpoints" / "checkpoint-2", folder / "checkpoint-2")
    alone = [str(folder / "checkpoint-2"), str(folder)]
    assert [row["checkpoint"] for row in rows(run, folder) if row["layer"] == "0"] == alone
    beside = ["first", str(folder)]
    assert [row["checkpoint"] for row in rows(run, "first", folder) if row["layer"] == "0"] == beside


def test_the_table_names_each_checkpoint_once_and_gives_medians(run):
    code, out, err = run("first", "run")
    assert (code, err) == (0, "")
    for line in ("A = first", "B = run/checkpoints/checkpoint-2", "D = run/model", "D, median over decoder layers"):
        assert line in out
    assert out.count("│ A │ decoder │") == out.count("│ D │ decoder │") == 3


def test_formats_and_files_are_those_of_score(run, tmp_path):
    code, _, err = run("first", "run/model", "-o", tmp_path / "d.json")
    assert code == 0 and "6 rows written" in err
    assert tuple(json.loads((tmp_path / "d.json").read_text())[0]) == COLUMNS
    assert run("first", "run/model", "-o", tmp_path / "d.xyz")[0] == 2


@pytest.mark.parametrize("output", ["first/config.json", "run/checkpoints/checkpoint-2/config.json"])
def test_a_file_of_a_checkpoint_is_no_output(run, saved, output):
    before = (saved / output).read_bytes()
    code, _, err = run("first", "run", "-o", output)
    assert code == 2 and f"{output} is there already" in err and (saved / output).read_bytes() == before


def test_an_adapter_is_compared_with_its_base(run, saved):
    a, b = torch.randn(2, 32), torch.randn(96, 2)
    name = "base_model.model.h.1.attn.c_attn.lora_{}.weight"
    (saved / "lora").mkdir()
    save_file({name.format("A"): a, name.format("B"): b}, saved / "lora" / "adapter_model.safetensors")
    (saved / "lora" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 2, "lora_alpha": 2}')
    changes = [float(row["relative_change"]) for row in rows(run, "first", "lora") if row["checkpoint"] == "lora"]
    assert [change > 0 for change in changes] == [False, True, False]


def test_revisions_of_one_id(run, saved, tmp_path, monkeypatch):
    """From the Hub's cache, without a connection."""
    repository = tmp_path / "models--owner--name"
    (repository / "refs").mkdir(parents=True)
    for number, (revision, source) in enumerate({"main": "first", "step/1": "run/model"}.items()):
        commit = f"{number}" * 40
        (repository / "refs" / revision).parent.mkdir(exist_ok=True)
        (repository / "refs" / revision).write_text(commit)
        (repository / "snapshots").mkdir(exist_ok=True)
        (repository / "snapshots" / commit).symlink_to(saved / source)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = rows(run, "owner/name", "owner/name@step/1")
    assert [row["revision"] for row in found if row["layer"] == "0"] == ["0" * 40, "1" * 40]
    expected = rows(run, "first", "run/model")
    assert [row["cosine"] for row in found] == [row["cosine"] for row in expected]


@pytest.mark.parametrize(
    "arguments, named",
    [
        ([], "no checkpoint is named.* attngeo diff A B"),
        (["first"], "first .* --keep-checkpoints .* --checkpoint-every "),
        (["./nowhere"], "nowhere"),
        (["first", "first"], "first"),
        (["first", "short"], "3 decoder layers and short 2"),
        (["first", "wide"], "wide .* 32 and 64"),
        (["first", "two-heads", "--per-head"], "4 decoder heads and two-heads 2"),
        (["first", "./nowhere"], "nowhere"),
        (["first", "run/model", "--gamma", "-1"], "gamma"),
    ],
)
def test_what_cannot_be_compared_ends_in_one_sentence(arguments, named, run, as_user):
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and err.startswith("attngeo: ") and err.count("\n") == 1
    assert re.search(named, err), err


def test_layers_of_other_heads_are_compared_as_sums(run):
    assert len(rows(run, "first", "two-heads")) == 6
