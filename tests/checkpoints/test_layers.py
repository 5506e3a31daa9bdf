import argparse
import json
import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
import transformers as tf
from edited_files import edit_json, edit_tensors
from small_models import small_model

from attngeo import AttentionLayer, BilinearForm, open_checkpoint
from attngeo.checkpoints import tensorfiles
from attngeo.errors import CheckpointError


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return small_model("bert", tf.BertForMaskedLM, num_hidden_layers=3)()


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path)
    return tmp_path


def expected(model) -> list[BilinearForm]:
    return [
        BilinearForm.from_linear(layer.attention.self.query.weight, layer.attention.self.key.weight, 8)
        for layer in model.bert.encoder.layer
    ]


def assert_reads(path, model, prefix: str = "bert.") -> None:
    checkpoint = open_checkpoint(path)
    layers = list(checkpoint)
    assert len(checkpoint) == len(layers) == 3 and checkpoint.model_type == "bert"
    for number, (layer, form) in enumerate(zip(layers, expected(model), strict=True)):
        assert isinstance(layer, AttentionLayer)
        assert (layer.part, layer.layer) == ("encoder", number)
        assert layer.module == f"{prefix}encoder.layer.{number}.attention.self"
        assert torch.equal(layer.form.wq, form.wq) and torch.equal(layer.form.wk, form.wk)
    assert checkpoint.bytes_read == checkpoint.bytes_in_all == 3 * 2 * 32 * 32 * 4


def test_layers_are_read_by_number_and_a_checkpoint_tells_what_it_is(folder, model):
    checkpoint = open_checkpoint(folder)
    assert [each.layer for each in checkpoint[1:]] == [1, 2]
    assert checkpoint[-1].layer == 2 and torch.equal(checkpoint[1].form.wq, expected(model)[1].wq)
    assert "bert, 3 layers" in repr(checkpoint)
    with pytest.raises(IndexError):
        checkpoint[3]


def sharded(folder: Path, model) -> None:
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="10KB")
    assert len(list(folder.glob("*.safetensors"))) > 3


def saved(folder: Path, content: dict, name: str = "pytorch_model.bin", **options) -> None:
    """A file of torch in the place of the other."""
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / name, **options)


def as_bin(folder: Path, model, **options) -> None:
    saved(folder, model.state_dict(), **options)


def as_sharded_bin(folder: Path, model) -> None:
    (folder / "model.safetensors").unlink()
    names = list(model.state_dict())
    halves = {"pytorch_model-00001-of-00002.bin": names[::2], "pytorch_model-00002-of-00002.bin": names[1::2]}
    for file, half in halves.items():
        torch.save({name: model.state_dict()[name] for name in half}, folder / file)
    weight_map = {name: file for file, half in halves.items() for name in half}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))


def by_lightning(state):
    """Beside what else a Trainer of Lightning saves."""
    beside = {"hyper_parameters": state, "epoch": 3, "optimizer_states": []}
    return lambda folder, model: saved(folder, {"state_dict": model.state_dict(), **beside}, "epoch=3.ckpt")


def beside_a_trainer_s(folder: Path, model) -> None:
    """Found as the only one, whatever it is called."""
    saved(folder, model.state_dict(), "mine.bin")
    torch.save({}, folder / "training_args.bin")


STORES = {
    "safetensors": lambda folder, model: None,
    "sharded": sharded,
    "bin": as_bin,
    "bin of torch before 1.6": lambda folder, model: as_bin(folder, model, _use_new_zipfile_serialization=False),
    "bin of a training loop": lambda folder, model: saved(folder, {"model_state_dict": model.state_dict(), "epoch": 3}),
    "sharded bin": as_sharded_bin,
    "Lightning": by_lightning({"lr": 1e-3}),
    "beside a trainer's state": beside_a_trainer_s,
    "a name of its own": lambda folder, model: (folder / "model.safetensors").rename(folder / "bert.safetensors"),
}


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_every_way_of_storing_gives_the_same_forms(store, folder, model):
    store(folder, model)
    assert_reads(folder, model)
    assert_reads(str(folder), model)
    if store is STORES["safetensors"]:
        assert_reads(folder / "model.safetensors", model)


@pytest.mark.parametrize("prefix", ["", "model.", "a.b.bert."])
def test_any_prefix_is_found(prefix, folder, model):
    state(lambda tensors: {name.replace("bert.", prefix, 1): t for name, t in tensors.items()})(folder, model)
    assert_reads(folder, model, prefix)


def test_a_snapshot_in_the_cache_keeps_its_name_and_commit(folder, tmp_path, model):
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "0123abc"
    model.save_pretrained(snapshot)
    assert (open_checkpoint(snapshot).name, open_checkpoint(snapshot).revision) == ("owner/name", "0123abc")
    assert open_checkpoint(folder).revision == ""


def test_a_config_of_the_first_years_goes_by_the_repository_s_name(model, tmp_path):
    folder = tmp_path / "bert_uncased_L-3_H-32_A-4"
    model.save_pretrained(folder)
    config(model_type=None)(folder, model)
    assert_reads(folder, model)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_weights_keep_their_type(dtype, folder, model):
    state(lambda tensors: {name: t.to(dtype) for name, t in tensors.items()})(folder, model)
    layer = next(iter(open_checkpoint(folder)))
    assert layer.form.wq.dtype == dtype
    assert torch.equal(layer.form.wq, expected(model)[0].wq.to(dtype))


@pytest.mark.parametrize("kind, tensors", [("bert", 2), ("gpt2", 3), ("gpt_neox", 3)])  # the last two hold q, k and v
def test_no_more_than_one_percent_is_read_beyond_q_and_k(kind, tensors, tmp_path, monkeypatch):
    config = tf.AutoConfig.for_model(kind, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, vocab_size=99)
    tf.AutoModel.from_config(config).save_pretrained(tmp_path)
    needed = 4 * tensors * 256**2 * 4
    counts, read = [], tensorfiles.read_range
    monkeypatch.setattr(tensorfiles, "read_range", lambda path, a, b: counts.append(b - a) or read(path, a, b))
    checkpoint = open_checkpoint(tmp_path)
    assert len(list(checkpoint)) == 4
    assert needed * 0.9 < sum(counts) <= 1.01 * needed
    assert checkpoint.bytes_read <= needed


QUERY, KEY = (f"bert.encoder.layer.1.attention.self.{name}.weight" for name in ("query", "key"))


def lose_shard(folder, model):
    sharded(folder, model)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    (folder / index["weight_map"][QUERY]).unlink()


def unknown_type(folder, model):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b'"F32"', b'"Q3" '))


def short_record(folder, model):
    """One tensor's record has half of its bytes; those of the next follow."""
    as_bin(folder, model)
    file = folder / "pytorch_model.bin"
    with zipfile.ZipFile(file) as archive:
        records = {record.filename: archive.read(record) for record in archive.infolist()}
    cut = next(name for name, content in records.items() if "/data/" in name and len(content) == 32 * 32 * 4)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in records.items():
            archive.writestr(name, content[: len(content) // 2] if name == cut else content)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def unsafe_bin(folder, model):
    as_bin(folder, model)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}, protocol=2))


def repeated(folder, model):
    """Queries and keys of 2^62 entries, all of them one number."""
    saved(folder, {name: torch.zeros(1).as_strided((2**31, 2**31), (0, 0)) for name in model.state_dict()})


def with_map(text):
    def write(folder, model):
        sharded(folder, model)
        (folder / "model.safetensors.index.json").write_text(text)

    return write


def state(change):
    """The file of weights with some tensors changed."""
    return lambda folder, model: edit_tensors(folder / "model.safetensors", change)


def config(**changes):
    """Other values in the config; None for none."""
    return lambda folder, model: edit_json(folder / "config.json", **changes)


def instead(*names: str):
    """No checkpoint but such files, or copies of it where a name is that of a folder."""

    def write(folder, model) -> None:
        for file in folder.iterdir():
            file.unlink()
        for name in names:
            if "." in name:
                (folder / name).write_text("{}")
            else:
                model.save_pretrained(folder / name)

    return write


def two_models(folder, model) -> None:
    shutil.copy(folder / "model.safetensors", folder / "a.safetensors")
    (folder / "model.safetensors").rename(folder / "b.safetensors")


LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 12\n"

DAMAGES = {
    "an adapter": (instead("adapter_config.json"), "attngeo score BASE --adapter /"),
    "a run": (instead("checkpoints/checkpoint-9", "checkpoints/checkpoint-10", "model"), "score /.*/model"),
    "a run not finished": (instead("checkpoints/checkpoint-9", "checkpoints/checkpoint-10"), "checkpoint-10"),
    "a trainer's state": (instead("optimizer.pt"), "save_pretrained"),
    "two models": (
        two_models,
        r"2 weight files of unusual names \(a.safetensors, b.safetensors\).*, such as /.*/a.safetensors\.",
    ),
    "Lightning, with objects": (by_lightning(argparse.Namespace(lr=1)), "epoch=3.ckpt is .* safetensors"),
    "no config": (lambda f, m: (f / "config.json").unlink(), "config.json"),
    "model_type is a number": (config(model_type=3), ": model_type is 3 in the config"),
    "binary config": (lambda f, m: (f / "config.json").write_bytes(b"\xff\xfe\x00"), "config.json"),
    "config is a list": (lambda f, m: (f / "config.json").write_text("[]"), "config.json"),
    "no model_type": (config(model_type=None), "model_type"),
    "unknown model_type": (config(model_type="brt"), "'brt'.* bert"),
    "other model_type": (config(model_type="gpt2"), r"h\.\{\}\.attn"),
    "no head count": (config(num_attention_heads=None), "num_attention_heads"),
    "zero heads": (config(num_attention_heads=0), "num_attention_heads.* 0 "),
    "heads that do not divide": (config(num_attention_heads=5), " 32 .* 5 .num_attention_heads"),
    "more layers promised": (config(num_hidden_layers=5), "are 5 layers, .*layer.3.*correct num_hidden_layers"),
    "fewer layers promised": (config(num_hidden_layers=1), "files have 3 layers .*but num_hidden_layers is 1 "),
    "no weights": (lambda f, m: (f / "model.safetensors").unlink(), "model.safetensors"),
    "missing query": (state(lambda t: t.pop(QUERY)), "are 3 layers, .*layer.1"),
    "missing key": (state(lambda t: t.pop(KEY)), r"layer\.1\.attention\.self\.key\.weight"),
    "missing shard": (lose_shard, r"model-.*safetensors, which model.safetensors.index.json names; fetch"),
    "NaN": (state(lambda t: t[QUERY][3, :4].fill_(float("nan"))), QUERY),
    "infinity": (state(lambda t: t[QUERY][3, :4].fill_(float("inf"))), QUERY),
    "cut": (lambda f, m: os.truncate(f / "model.safetensors", 20000), "/model.safetensors is cut short .*20000 bytes"),
    "Git LFS": (lambda f, m: (f / "model.safetensors").write_text(LFS_POINTER), "a pointer of Git LFS.*git lfs pull"),
    "not safetensors": (
        lambda f, m: (f / "model.safetensors").write_bytes(b"<html>" * 99),
        "/model.safetensors contains a web page",
    ),
    "noise": (
        lambda f, m: (f / "model.safetensors").write_bytes(b"noise" * 99),
        "is cut short or damaged: it is short",
    ),
    "an empty folder": (instead(), "is an empty folder. Give"),
    "unknown type": (unknown_type, r"\bQ3"),
    "quantised": (state(lambda t: t.update({QUERY: (t[QUERY] * 100).to(torch.int8)})), "int8"),
    "packed": (state(lambda t: t.update({QUERY: torch.zeros(99, dtype=torch.uint8)})), QUERY + r".*\(99,\)"),
    "two models in one": (state(lambda t: t.update({f"teacher.{n}": v.clone() for n, v in t.items()})), "teacher"),
    "code in the bin": (unsafe_bin, "pytorch_model.bin"),
    "few numbers, repeated past 64 bits": (repeated, "repeats a few"),
    "truncated bin": (lambda f, m: as_bin(f, m) or os.truncate(f / "pytorch_model.bin", 9000), "/pytorch_model.bin"),
    "bin with a record cut to half": (short_record, "pytorch_model.bin is cut short"),
    "index without map": (with_map("{}"), "model.safetensors.index.json.* weight_map"),
    "index that leaves the folder": (with_map('{"weight_map": {"a": "../x"}}'), "model.safetensors.index.json"),
}


@pytest.mark.parametrize("damage, named", DAMAGES.values(), ids=DAMAGES)
def test_damage_ends_in_one_sentence(damage, named, folder, model, as_user):
    damage(folder, model)
    with pytest.raises(CheckpointError, match=named) as caught:
        list(open_checkpoint(folder))
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".") and not Path("evil").exists()


def test_a_file_of_another_kind_or_without_its_config_is_called_so(folder, as_user):
    (folder / "config.json").unlink()
    (folder / "model.onnx").touch()
    for name, said in {"model.onnx": "not a weight file .*safetensors", "model.safetensors": "no config.json"}.items():
        with pytest.raises(CheckpointError, match=said):
            open_checkpoint(folder / name)


def test_a_file_that_shrinks_while_it_is_read_ends_in_one_sentence(folder, as_user):
    opened = open_checkpoint(folder)
    os.truncate(folder / "model.safetensors", 5000)
    with pytest.raises(CheckpointError, match="became shorter while it was read"):
        list(opened)


def test_a_path_that_is_not_there_is_not_asked_of_the_hub_and_a_folder_has_no_revision(folder, as_user):
    for path in ("./nowhere", "/nowhere/at/all", "~/nowhere-at-all", "a/b/c", "nowhere.safetensors", "", " "):
        with pytest.raises(CheckpointError, match=re.escape(repr(path))):
            open_checkpoint(path)
    with pytest.raises(CheckpointError, match="'v1'"):
        open_checkpoint(folder, revision="v1")
    with pytest.raises(CheckpointError, match="not an object of type int;"):
        open_checkpoint(3)


def test_what_the_files_do_not_hold_is_told_from_what_is_not_known(tmp_path, as_user):
    small_model("llama")().save_pretrained(tmp_path)
    edit_tensors(
        tmp_path / "model.safetensors", lambda t: {name: t[name] for name in t if re.search("[qk]_proj", name)}
    )
    for asked in ({"matrix": "ov"}, {"fold_norm": True}):
        with pytest.raises(CheckpointError, match="decoder layer 0 are not in these files;"):
            open_checkpoint(tmp_path, **asked)
