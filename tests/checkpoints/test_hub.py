import json
import os
import re
import shutil
import threading
import time
import zipfile

import hub_server
import pytest
import torch
import transformers as tf
from huggingface_hub import constants, hf_hub_download

from attngeo import open_checkpoint
from attngeo.checkpoints import checkpoint as checkpoints
from attngeo.checkpoints import hub as hub_module
from attngeo.checkpoints.hub import cache_folder
from attngeo.errors import CheckpointError

NAME = "owner/tiny-bert"
BERT = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": 99}
QK = 3 * 2 * 64 * 64 * 4  # bytes


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return tf.BertModel(tf.BertConfig(**BERT))


@pytest.fixture
def hub(tmp_path, monkeypatch, model):
    """A Hub with one repository, in place of the real one, and an empty cache."""
    model.save_pretrained(tmp_path / "hub" / NAME)
    hub = hub_server.FakeHub(tmp_path / "hub")
    hub.stand_in(monkeypatch, tmp_path)
    monkeypatch.setattr(hub_module, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # huggingface_hub's own waits
    yield hub
    hub.close()


def folder(hub):
    return hub.root / NAME


def assert_same(name, hub, **options):
    """The repository gives what its folder gives."""
    remote, local = open_checkpoint(name, **options), open_checkpoint(folder(hub))
    for ours, theirs in zip(remote, local, strict=True):
        assert (ours.part, ours.layer, ours.module) == (theirs.part, theirs.layer, theirs.module)
        assert torch.equal(ours.form.wq, theirs.form.wq) and torch.equal(ours.form.wk, theirs.form.wk)
    assert (remote.name, remote.revision) == (NAME, hub_server.COMMIT)
    return remote


def shard(hub, model):
    (folder(hub) / "model.safetensors").unlink()
    model.save_pretrained(folder(hub), max_shard_size="40KB")


def header_bytes(hub) -> int:
    return sum(8 + int.from_bytes(file.read_bytes()[:8], "little") for file in folder(hub).glob("*.safetensors"))


@pytest.mark.parametrize("sharded", [False, True])
def test_only_headers_queries_and_keys_are_served_in_pieces(sharded, hub, model, monkeypatch):
    if sharded:
        shard(hub, model)
        assert len(list(folder(hub).glob("*.safetensors"))) > 3
    monkeypatch.setattr(hub_module, "PIECE", 3000)
    assert assert_same(NAME, hub).bytes_read == QK
    assert hub.served == QK + header_bytes(hub)
    spans = [tuple(map(int, re.findall(r"\d+", span))) for span in hub.ranges]
    assert max(last + 1 - first for first, last in spans) == 3000


def test_at_most_two_percent_beyond_queries_keys_and_headers_whatever_breaks(hub):
    hub.faults.extend([hub_server.status(503), hub_server.drop_after(5), hub_server.hang_up, hub_server.drop_after(99)])
    hub.faults.extend([hub_server.moved, hub_server.status(429)])
    assert_same(NAME, hub)
    assert not hub.faults and hub.served <= 1.02 * QK + header_bytes(hub) + 4 * len("sorry")


@pytest.mark.parametrize(
    "name",
    [
        f"{NAME}@main",
        f"hf://{NAME}",
        f"hf://{NAME}@{hub_server.COMMIT}",
        f"https://huggingface.co/{NAME}/",
        f"https://hf.co/{NAME}/tree/{hub_server.COMMIT}",
        f"https://huggingface.co/{NAME}/blob/main/config.json",
        f"huggingface.co/{NAME}?library=transformers",
    ],
)
def test_an_address_and_a_revision_within_a_name(name, hub):
    assert_same(name, hub)


def test_a_revision_is_read_and_another_one_or_another_site_is_refused(hub):
    assert_same(NAME, hub, revision=hub_server.COMMIT)
    with pytest.raises(CheckpointError, match="'v1', but the revision 'main'"):
        open_checkpoint(f"{NAME}@v1", revision="main")
    with pytest.raises(CheckpointError, match="not the address of a model"):
        open_checkpoint("https://example.org/owner/tiny-bert")


def as_bin(hub, model, **options):
    (folder(hub) / "model.safetensors").unlink()
    path = folder(hub) / "pytorch_model.bin"
    torch.save(model.state_dict(), path, **options)
    return path


def test_of_bin_its_directory_and_queries_and_keys_alone_are_served(hub, model, capsys, monkeypatch):
    path = as_bin(hub, model)
    assert assert_same(NAME, hub).bytes_read == QK
    with zipfile.ZipFile(path) as archive:
        (pickled,) = [record for record in archive.infolist() if record.filename.endswith("data.pkl")]
        directory = path.stat().st_size - archive.start_dir
        records = len(archive.infolist())
    # the directory, whose end zipfile reads again, the pickle, and a header before each weight
    assert hub.served - QK - pickled.file_size - directory < 500 + 6 * 30 + 0.1 * records
    assert hub.served < path.stat().st_size / 2 and not capsys.readouterr().err
    served = hub.served
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert_same(NAME, hub)
    assert hub.served == served


def test_tensors_of_bin_that_share_a_storage_or_are_turned_are_read_as_they_are(hub, model):
    (folder(hub) / "model.safetensors").unlink()
    state = {"model_state_dict": dict(model.state_dict())}
    weights = state["model_state_dict"]
    weights[QUERY] = weights[QUERY].T.contiguous().T
    both = torch.stack([weights[KEY], weights[QUERY.replace(".1.", ".2.")]])
    weights[KEY], weights[QUERY.replace(".1.", ".2.")] = both
    torch.save(state, folder(hub) / "pytorch_model.bin")
    assert_same(NAME, hub)


def test_bin_of_older_versions_of_torch_is_downloaded_whole_and_says_so(hub, model, capsys):
    as_bin(hub, model, _use_new_zipfile_serialization=False)
    assert_same(NAME, hub)
    said = capsys.readouterr().err
    assert "pytorch_model.bin" in said and "the whole file is downloaded" in said


class Planted:
    """What a pickle would run."""

    def __reduce__(self):
        return os.mkdir, ("planted",)


def with_code(path, model):
    torch.save(model.state_dict() | {"code": Planted()}, path)


def cut_off(path, model):
    path.write_bytes(path.read_bytes()[:-1000])


def compressed(path, model):
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def shorter_storages(path, model):
    """The pickle tells of larger weights than are there."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data[: len(data) // 2] if "/data/" in name else data)


def without_numbers(path, model):
    torch.save(model.state_dict() | {QUERY: torch.empty(64, 64, device="meta")}, path)


DAMAGED = {
    "code": (with_code, "contains objects other than tensors"),
    "cut off": (cut_off, "is cut short or damaged"),
    "compressed": (compressed, "compressed"),
    "shorter": (shorter_storages, "is cut off"),
    "on the meta device": (without_numbers, "contains no numbers"),
}


@pytest.mark.parametrize("damage, named", DAMAGED.values(), ids=DAMAGED)
def test_bin_that_is_damaged_or_holds_code_ends_in_one_sentence(
    damage, named, hub, model, as_user, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    damage(as_bin(hub, model), model)
    with pytest.raises(CheckpointError, match=f"pytorch_model.bin.*{named}") as caught:
        list(open_checkpoint(NAME))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "planted").exists()


def test_what_the_cache_has_is_not_fetched_again(hub, monkeypatch):
    hf_hub_download(NAME, "model.safetensors")
    served = hub.served
    assert_same(NAME, hub)
    assert hub.served == served
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert_same(NAME, hub)


def test_the_token_goes_to_the_hub_and_not_to_its_storage(hub, monkeypatch):
    hub.gated.add(NAME)
    monkeypatch.setenv("HF_TOKEN", "right")
    assert_same(NAME, hub)
    assert hub.tokens_at_storage and set(hub.tokens_at_storage) == {None}


def test_a_former_id_such_as_bert_base_uncased_is_followed(hub):
    hub.renamed["tiny"] = NAME
    remote = open_checkpoint("tiny")
    assert (len(list(remote)), remote.revision) == (3, hub_server.COMMIT)


def wait_until(condition) -> None:
    """Give threads a moment."""
    for _ in range(500):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


def test_later_layers_are_fetched_meanwhile_and_no_further_than_allowed(hub, monkeypatch):
    monkeypatch.setattr(checkpoints, "AHEAD", QK // 3 + 1)  # the layer at hand, and one more
    layers = iter(open_checkpoint(NAME))
    next(layers)
    wait_until(lambda: hub.served == header_bytes(hub) + 2 * QK // 3)
    next(layers)
    wait_until(lambda: hub.served == header_bytes(hub) + QK)


def damaged_header(hub):
    path = folder(hub) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:8] + b"x" * 5000)


QUERY, KEY = (f"encoder.layer.1.attention.self.{name}.weight" for name in ("query", "key"))


def place(change):
    """The header gives a query another place: what ``change`` makes of its own and the key's."""

    def write(hub):
        path = folder(hub) / "model.safetensors"
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        header[QUERY]["data_offsets"] = change(header[QUERY]["data_offsets"], header[KEY]["data_offsets"])
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])

    return write


def longer(hub):
    with (folder(hub) / "model.safetensors").open("ab") as file:
        file.write(b"more")


def lost_shard(hub):
    (folder(hub) / "model.safetensors").rename(folder(hub) / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder(hub) / "model.safetensors.index.json").write_text(json.dumps(index))


REFUSALS = {
    "no such repository": (NAME + "x", lambda hub: None, f"{NAME}x.* http"),
    "gated": (NAME, lambda hub: hub.gated.add(NAME), f"http.*{NAME}.* HF_TOKEN"),
    "no such revision": (NAME, lambda hub: None, f"'v9'.*http.*{NAME}"),
    "no config": (NAME, lambda hub: (folder(hub) / "config.json").unlink(), f"{NAME}.* config.json"),
    "no weights": (NAME, lambda hub: (folder(hub) / "model.safetensors").unlink(), f"{NAME}.* model.safetensors"),
    "lost shard": (NAME, lost_shard, "model-00002-of-00002.safetensors.* model.safetensors.index.json"),
    "corrupt header": (NAME, damaged_header, f"model.safetensors of {NAME}"),
    "wrong size": (NAME, place(lambda q, k: [q[0], q[1] - 4]), f"position of '{QUERY}'"),
    "start after stop": (NAME, place(lambda q, k: q[::-1]), f"position of '{QUERY}'"),
    "beyond the file": (NAME, place(lambda q, k: [o + 2**40 for o in q]), "position of '"),
    "the key's place": (NAME, place(lambda q, k: k), "position of '"),
    "longer than its header says": (NAME, longer, "bytes, but according to its header"),
    "no id": ("bad--id..", lambda hub: None, "bad--id"),
    "Hub down": (NAME, lambda hub: hub.answers.update({"config.json": 503}), "config.json.* 503"),
    "forbidden": (NAME, lambda hub: hub.answers.update({"model.safetensors": 403}), "403.* HF_TOKEN"),
    "storage down": (NAME, lambda hub: hub.faults.extend([hub_server.status(503)] * 99), "model.safetensors .* 503"),
    "no ranges": (NAME, lambda hub: hub.faults.extend([hub_server.whole_file] * 9), "cannot send parts"),
    "another range": (NAME, lambda hub: hub.faults.append(hub_server.other_range), "cannot send parts"),
    "no connection": (NAME, hub_server.FakeHub.go_away, "config.json .*http://127.0.0.1:9"),
}  # fmt: skip


@pytest.mark.parametrize("name, damage, named", REFUSALS.values(), ids=REFUSALS)
def test_what_the_hub_refuses_ends_in_one_sentence(name, damage, named, hub, as_user, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    damage(hub)
    with pytest.raises(CheckpointError, match=named) as caught:
        open_checkpoint(name, "v9" if "v9" in named else None)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    assert sum(waits) < 1  # also where nothing answers


def test_a_file_that_is_sent_whole_is_left_where_it_is(hub):
    hub.faults.append(hub_server.large_file)
    with pytest.raises(CheckpointError, match="cannot send parts"):
        open_checkpoint(NAME)
    assert hub.served < 2**26  # of 2^28, buffers included


def test_offline_without_the_weights(hub, monkeypatch, as_user):
    open_checkpoint(NAME)  # keeps the header
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match=r"model.safetensors.*HF_HUB_OFFLINE"):
        open_checkpoint(NAME)[0]
    shutil.rmtree(cache_folder())
    with pytest.raises(CheckpointError, match=r"model.safetensors.*HF_HUB_OFFLINE"):
        open_checkpoint(NAME)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("away", ["no", "offline", "unreachable"])
def test_what_was_read_once_is_read_from_what_is_kept(away, sharded, hub, model, monkeypatch):
    if sharded:
        shard(hub, model)
    assert_same(NAME, hub)
    served, asked = hub.served, len(hub.ranges)
    if away == "unreachable":
        hub.go_away()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", away == "offline")
    assert_same(NAME, hub)
    assert (hub.served, len(hub.ranges)) == (served, asked) == (QK + header_bytes(hub), asked)


def test_what_is_kept_in_part_is_fetched_and_what_cannot_be_kept_is_read(hub):
    assert_same(NAME, hub)
    largest = max(cache_folder().rglob("*-of-*"), key=lambda path: path.stat().st_size)
    size = largest.stat().st_size
    largest.write_bytes(b"part")
    served = hub.served
    assert_same(NAME, hub)
    assert hub.served == served + size and largest.stat().st_size == size
    shutil.rmtree(cache_folder())
    cache_folder().parent.mkdir(exist_ok=True)
    cache_folder().write_text("no folder")
    assert_same(NAME, hub)


def test_the_command_shows_and_clears_what_is_kept(hub, attngeo):
    total = f"{(QK + header_bytes(hub)) / 1e6:.1f} MB"
    assert_same(NAME, hub)
    lines = [f"{NAME}  {hub_server.COMMIT[:12]}  {total}", f"{total} of queries and keys in {cache_folder()}"]
    assert attngeo("cache")[1].splitlines() == lines
    for cleared in (total, "0.0 MB"):
        assert (
            f"{cleared} of queries and keys removed" in attngeo("cache", "--clear")[1] and not cache_folder().exists()
        )


def test_a_subfolder(hub, attngeo, refused):
    inner = folder(hub) / "weights" / "last"
    shutil.copytree(folder(hub), inner)
    (folder(hub) / "config.json").unlink()
    expected = [layer.form.wq for layer in open_checkpoint(inner)]
    page = f"https://huggingface.co/{NAME}"
    for name, subfolder in (
        (NAME, "weights/last"),
        (folder(hub), "weights/last"),
        (f"{page}/tree/main/weights/last", ""),
        (f"{page}/blob/main/weights/last/model.safetensors", ""),
    ):
        opened = open_checkpoint(name, subfolder=subfolder)
        assert all(torch.equal(layer.form.wq, wq) for layer, wq in zip(opened, expected, strict=True))
        assert opened.revision == ("" if name == folder(hub) else hub_server.COMMIT)
    assert len(json.loads(attngeo("score", NAME, "--subfolder", "weights/last", "--format", "json")[1])) == 3
    assert f"{NAME} has no none/config.json" in refused("score", NAME, "--subfolder", "none")
    assert "use --subfolder" in refused("score", NAME)
    assert "has no adapter_config.json on the Hub; give the address" in refused("score", inner, "--adapter", NAME)
    assert f"{folder(hub)} has no folder none" in refused("score", folder(hub), "--subfolder", "none")


def test_the_command_scores_a_hub_id(hub, attngeo):
    code, printed, said = attngeo("score", NAME, "--format", "csv")
    assert (code, said) == (0, "")
    assert printed.count(f"{NAME},{hub_server.COMMIT},encoder") == 3


def test_a_client_that_another_thread_closed_is_asked_again(hub, monkeypatch):
    """huggingface_hub shares one client among threads and closes it when a connection fails."""
    ask, failures = hub_module.get_session, [RuntimeError("Cannot send a request, as the client has been closed.")]

    def session():
        if failures:
            raise failures.pop()
        return ask()

    monkeypatch.setattr(hub_module, "get_session", session)
    assert_same(NAME, hub)
    assert not failures


def test_positions_are_the_bytes_of_their_table_alone(hub):
    checkpoint = open_checkpoint(NAME)
    rows = checkpoint.position_rows(checkpoint.plans[0])
    assert torch.equal(rows, open_checkpoint(folder(hub)).position_rows(checkpoint.plans[0]))
    assert checkpoint.bytes_read == 512 * 64 * 4 and hub.served == checkpoint.bytes_read + header_bytes(hub)
