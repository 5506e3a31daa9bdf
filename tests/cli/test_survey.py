import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from rich.progress import Progress

from attngeo.checkpoints.layers import open_checkpoint
from attngeo.cli import main
from attngeo.cli.survey import _Watch
from attngeo.errors import CheckpointError, ParameterError
from attngeo.survey.run import Model, chosen_models, record_once, require_registered, survey

TINY = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 11}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Six random models as a user keeps them, each in a folder."""
    from transformers import BertConfig, BertModel  # workers, which import this file, can do without

    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(0)
    for i in range(6):
        BertModel(BertConfig(num_hidden_layers=40, **TINY)).save_pretrained(folder / f"m{i}")
    return folder


@pytest.fixture
def three(weights, tmp_path, monkeypatch):
    """A folder of three models, the second of which is damaged; ATTNGEO_WEIGHTS names it."""
    folder = tmp_path / "weights"
    folder.mkdir()
    for i in range(3):
        (folder / f"m{i}").symlink_to(weights / f"m{i}")
    (folder / "m1").unlink()
    (folder / "m1").mkdir()
    (folder / "m1" / "config.json").write_text('{"model_type": "bert"}')
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(folder))
    return folder


def attngeo(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments)])
    return end.value.code, *capsys.readouterr()


def recorded(folder: Path) -> dict[str, float]:
    return {p.parent.name: p.stat().st_mtime_ns for p in folder.glob("*/record.json")}


def environment(**values):
    return {**os.environ, "OMP_NUM_THREADS": "1", **values}


def test_a_model_that_fails_is_counted_and_the_rest_is_done(three, tmp_path, capsys):
    code, out, err = attngeo(capsys, "survey", "-o", tmp_path / "records")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("attngeo: 1 of 3 models not recorded: ") and "m1 has no weights" in err
    assert set(recorded(tmp_path / "records")) == {"m0", "m2"} and len(out.splitlines()) == 2


def test_several_failures_are_named_and_counted_in_the_last_line(three, tmp_path, capsys):
    broken = [three / "m1", tmp_path]
    code, _, err = attngeo(capsys, "survey", *broken, three / "m0", "-o", tmp_path / "records", "--jobs", 2)
    assert code == 2 and len(err.splitlines()) == 3
    assert err.splitlines()[-1].startswith("attngeo: 2 of 3 models not recorded (")
    assert set(recorded(tmp_path / "records")) == {"m0"}


def test_resume_passes_over_finished_records_only(three, tmp_path, capsys):
    folder = tmp_path / "records"
    attngeo(capsys, "survey", "-o", folder)
    before = recorded(folder)
    (folder / "m2" / "record.json").unlink()
    code, out, err = attngeo(capsys, "survey", "-o", folder, "--resume")
    assert code == 2 and "1 of 3 models have a record already" in err  # m1 fails again
    assert out.splitlines() == [str(folder / "m2")] and recorded(folder)["m0"] == before["m0"]
    code, out, _ = attngeo(capsys, "survey", three / "m0", "-o", folder, "--resume", "--gamma", 1)
    assert code == 0 and recorded(folder)["m0"] > before["m0"]  # another threshold is another record


@pytest.fixture
def same_name(weights, tmp_path):
    """Two models in folders of one name, as runs leave theirs."""
    for i in (0, 1):
        shutil.copytree(weights / f"m{i}", tmp_path / f"run{i}" / "model")
    return [tmp_path / f"run{i}" / "model" for i in (0, 1)]


def test_two_models_of_one_name_are_refused_together(same_name, tmp_path, capsys):
    code, out, err = attngeo(capsys, "survey", *same_name, "-o", tmp_path / "records")
    assert code == 2 and not out and err.count("\n") == 1 and not (tmp_path / "records").exists()
    assert all(str(folder) in err for folder in same_name) and "-o" in err


def test_weight_files_of_one_folder_are_refused_together(same_name):
    (same_name[0] / "step1.safetensors").touch()
    files = [str(same_name[0] / name) for name in ("model.safetensors", "step1.safetensors")]
    with pytest.raises(ParameterError, match=r"step1\.safetensors would both be recorded"):
        chosen_models((*files,))


def test_a_model_named_twice_is_one(same_name, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(same_name[0])
    names = (str(same_name[0]), f"{same_name[0]}/", str(tmp_path / "link"))
    assert [model.source for model in chosen_models(names)] == [names[0]]
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path / "weights"))
    (tmp_path / "weights").mkdir()
    for i in (0, 1):
        (tmp_path / "weights" / f"m{i}").symlink_to(same_name[i])
    with pytest.raises(ParameterError, match="would both be recorded"):
        chosen_models()


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_the_record_of_another_model_stays(same_name, tmp_path, capsys, resume):
    folder = tmp_path / "records"
    assert attngeo(capsys, "survey", same_name[0], "-o", folder)[0] == 0
    before = recorded(folder)
    code, out, err = attngeo(capsys, "survey", same_name[1], "-o", folder, *resume)
    assert code == 2 and not out and err.count("\n") == 1 and recorded(folder) == before
    assert f"{folder / 'model'} holds a finished record that is not of the weights of {same_name[1]}" in err
    code, out, err = attngeo(capsys, "survey", same_name[0], "-o", folder, *resume)
    assert code == 0 and ("1 of 1 models have a record already" in err) == bool(resume)
    assert (recorded(folder) == before) == bool(resume)


def test_only_models_of_the_register_are_recorded_in_the_checkout_unasked(weights, tmp_path, capsys, monkeypatch):
    mine = tmp_path / "mine" / "bert-tiny-google"
    shutil.copytree(weights / "m0", mine)
    for named in (mine, "any/id"):
        code, out, err = attngeo(capsys, "survey", named)
        assert code == 2 and not out and err.count("\n") == 1
        assert f"{named} is no model of the register" in err and "with -o" in err
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(mine.parent))
    require_registered(chosen_models(("BERT-tiny", "GPT-2")), tmp_path)
    require_registered(chosen_models((str(mine),)), tmp_path)
    monkeypatch.delenv("ATTNGEO_WEIGHTS")
    require_registered(chosen_models(("Sapiens VH",)), tmp_path)


def test_a_model_on_no_hub_needs_its_folder(tmp_path, capsys):
    code, _, err = attngeo(capsys, "survey", "Sapiens VH", "-o", tmp_path)
    assert code == 2 and "ATTNGEO_WEIGHTS" in err and "sapiens-vh" in err


def test_rounded_weights_are_asked_for(weights, tmp_path, capsys):
    assert attngeo(capsys, "survey", weights / "m0", "-o", tmp_path)[0] == 0
    for quiet in ([], ["-q"]):
        code, out, err = attngeo(capsys, "survey", weights / "m1", "-o", tmp_path / "quiet", *quiet)
        assert code == 0 and bool(out) != bool(quiet) and not err
    code, out, _ = attngeo(capsys, "survey", weights / "m0", "-o", tmp_path, "--quantise", "--resume")
    assert code == 0 and out.splitlines() == [str(tmp_path / "m0")]
    assert (tmp_path / "m0" / "quantised.csv").is_file()
    code, out, _ = attngeo(capsys, "survey", weights / "m0", "-o", tmp_path, "--quantise", "--resume")
    assert code == 0 and not out


@pytest.mark.parametrize("jobs", [1, 3])
def test_models_at_once_give_the_same_records(weights, tmp_path, capsys, jobs):
    code, _, _ = attngeo(capsys, "survey", weights / "m0", weights / "m1", "-o", tmp_path, "-j", jobs)
    assert code == 0
    table = (tmp_path / "m0" / "layers.csv").read_text()
    assert len(table.splitlines()) == 1 + len(open_checkpoint(weights / "m0"))
    record = json.loads((tmp_path / "m0" / "record.json").read_text())
    assert record["bytes_read"] == 40 * 2 * 16 * 16 * 4


def test_layers_at_once_give_the_same_record(weights, tmp_path, capsys):
    for jobs in (1, 3):
        code, _, _ = attngeo(capsys, "survey", weights / "m0", "-o", tmp_path / f"{jobs}", "-j", jobs)
        assert code == 0
    one, three = (tmp_path / f"{jobs}" / "m0" for jobs in (1, 3))
    for file in ("layers.csv", "heads.csv", "images.npz"):
        assert (one / file).read_bytes() == (three / file).read_bytes()


def test_the_bar_tells_the_bytes_read_and_in_all(weights):
    """The total stands in the headers, so it is known before the layers are read."""
    progress = Progress(disable=True)
    watch = _Watch(progress, models=2)
    of_layer = 2 * 16 * 16 * 4
    for name, layers in (("m0", 10), ("m1", 40)):
        checkpoint = open_checkpoint(weights / name)
        for plan in checkpoint.plans[:layers]:
            checkpoint.read(plan)
        watch.layer(Model(name, name), checkpoint, layers)
    read, in_all = (f"{n * of_layer / 1e6:.1f}" for n in (50, 80))
    every, first, _ = progress.tasks
    assert every.fields["what"] == f"models, {read} of {in_all} MB read"
    assert first.total == 40 and first.completed == 10


def test_a_killed_survey_is_taken_up_where_it_was(weights, tmp_path):
    """SIGKILL after the first record: what is finished is kept, the rest redone, and nothing half-written stays."""
    command = [sys.executable, "-m", "attngeo", "survey", "-o", str(tmp_path), "-j", "2"]
    env = environment(ATTNGEO_WEIGHTS=str(weights))
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        limit = time.monotonic() + 120
        while not recorded(tmp_path) and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = recorded(tmp_path)
    assert 1 <= len(before) < 6, "the kill came too late to test anything"
    subprocess.run([*command, "--resume"], env=env, check=True, capture_output=True, timeout=300)
    after = recorded(tmp_path)
    assert set(after) == {f"m{i}" for i in range(6)}
    assert {name: after[name] for name in before} == before
    assert not list(tmp_path.glob("*/.*"))


def killed_twice(model, folder, gamma, quantise):
    """Record a model; the process is killed at m0's twentieth layer, and once m2 is recorded, where none was before."""
    name = Path(model.source).name

    def log(model, checkpoint, done):
        with open(folder / f"{name}.log", "a") as file:
            file.write(f"{done}\n")
        if (name, done) == ("m0", 20):
            kill()

    def kill():
        if not (folder / f"{name}.killed").exists():
            (folder / f"{name}.killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    outcome = record_once(model, folder, gamma, quantise, log)
    if name == "m2":
        kill()
    return outcome


@pytest.mark.filterwarnings("ignore")
def test_workers_that_are_killed_lose_nothing(three, weights, tmp_path, capsys, monkeypatch):
    """What is half done is done by another worker; what a killed one had recorded is not scored again, nor the rest."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("attngeo.survey.run.record_once", killed_twice)
    folder = tmp_path / "records"
    attngeo(capsys, "survey", weights / "m3", "-o", folder)
    before = recorded(folder)
    code, out, err = attngeo(capsys, "survey", *sorted(three.iterdir()), weights / "m3", "-o", folder, "--workers", 2)
    assert "1 of 4 models have a record already" in err and recorded(folder)["m3"] == before["m3"]
    assert code == 2 and "1 of 4 models not recorded: " in err and "m1 has no weights" in err
    assert sorted(out.splitlines()) == [str(folder / name) for name in ("m0", "m2")]
    whole = [f"{layer}" for layer in range(1, 41)]
    logs = {path.stem: path.read_text().split() for path in folder.glob("*.log")}
    assert logs == {"m0": whole[:20] + whole, "m2": whole} and (folder / "m2.killed").exists()
    assert (folder / "m0" / "layers.csv").read_text().count("\n") == 41


def test_names_ids_paths_and_groups_become_models(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    assert chosen_models(("BERT-tiny",)) == chosen_models(("google/bert_uncased_L-2_H-128_A-2",))
    assert chosen_models(("BERT-tiny",))[0].source == "google/bert_uncased_L-2_H-128_A-2"
    assert chosen_models((str(tmp_path), "any/id")) == [Model(str(tmp_path), str(tmp_path)), Model("any/id", "any/id")]
    assert len(chosen_models(("gpt2-medium",), "gpt")) == len(chosen_models((), "gpt"))
    local = tmp_path / "bert-tiny-google"
    local.mkdir()
    (local / "config.json").write_text("{}")
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path))
    assert chosen_models(("BERT-tiny",)) == [Model("BERT-tiny", str(local))]


def test_a_survey_that_is_given_up_stops_between_layers(weights, tmp_path):
    """Closing the generator, as an interrupt does, ends the models under way without records."""
    asked = [Model(f"m{i}", str(weights / f"m{i}")) for i in range(6)]
    seen = []
    running = survey(asked, tmp_path, 2.0, 1, lambda model, checkpoint, done: seen.append((model.name, done)))
    first, _ = next(running)
    running.close()
    assert set(recorded(tmp_path)) == {first.name}
    assert len(seen) < 3 * 40


def test_whatever_a_reader_throws_ends_only_its_model(weights, tmp_path):
    def watch(model, checkpoint, done):
        if model.name == "m0":
            raise AttributeError("a bug")

    asked = [Model(f"m{i}", str(weights / f"m{i}")) for i in range(2)]
    outcome = {model.name: end for model, end in survey(asked, tmp_path, 2.0, 2, watch)}
    assert outcome == {"m0": "m0 failed with AttributeError: a bug", "m1": tmp_path / "m1"}


def test_the_list_reads_nothing(capsys, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    code, out, err = attngeo(capsys, "survey", "--list")
    assert code == 0 and not err
    assert "  figure-s2 " in out and "L34" in out and "recorded" in out
    code, out, _ = attngeo(capsys, "survey", "--list", "--group", "llama-3.1")
    assert code == 0 and len(out.splitlines()) == 3 and "gated" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--group", "nothing"], "no group 'nothing'"),
        (["--list", "nothing"], "'nothing' is no model"),
        (["--gamma", "nan"], "gamma is nan"),
        (["--jobs", "0"], "not in the range"),
        (["--workers", "2", "--scheduler", "tcp://a:1"], "give one"),
        ([], "ATTNGEO_WEIGHTS is not set"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words, capsys, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    code, out, err = attngeo(capsys, "survey", *arguments)
    assert code == 2 and not out and err.count("\n") == 1 and words in err


def test_an_empty_folder_of_weights_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path))
    with pytest.raises(CheckpointError, match="ATTNGEO_WEIGHTS"):
        chosen_models()


def test_models_come_from_a_file_or_from_stdin(weights, tmp_path, capsys, monkeypatch):
    names = f"# two models\n{weights / 'm0'}\n\n{weights / 'm1'}  # the second\n"
    (tmp_path / "ids.txt").write_text(names)
    assert attngeo(capsys, "survey", "--from", tmp_path / "ids.txt", "-o", tmp_path / "a")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(names.encode())))
    assert attngeo(capsys, "survey", weights / "m2", "--from", "-", "-o", tmp_path / "b")[0] == 0
    assert set(recorded(tmp_path / "a")) == {"m0", "m1"} and set(recorded(tmp_path / "b")) == {"m0", "m1", "m2"}
    for content, named in ((b"# none\n", "ids.txt names no model"), (names.encode("utf-16"), "ids.txt is no text")):
        (tmp_path / "ids.txt").write_bytes(content)
        code, _, err = attngeo(capsys, "survey", "--from", tmp_path / "ids.txt", "-o", tmp_path / "c")
        assert code == 2 and named in err


def test_an_address_and_a_revision_name_a_model_of_the_hub():
    (model,) = chosen_models(("https://huggingface.co/owner/name/tree/v1",))
    assert (model.source, model.revision) == ("owner/name", "v1")
    assert chosen_models(("owner/name@v1",)) == [Model("owner/name@v1", "owner/name", "v1")]
    with pytest.raises(ParameterError, match="both be recorded"):
        chosen_models(("owner/name@v1", "owner/name@v2"))
