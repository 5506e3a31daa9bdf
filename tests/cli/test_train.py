import json
import re
import subprocess
import sys
from dataclasses import asdict

import pytest
import yaml
from filelock import FileLock
from small_runs import small_config, write_text

from attngeo.cli import main
from attngeo.runs.record import read_run
from attngeo.training.config import configure


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNGEO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture
def attngeo(capsys):
    """Run the command line: exit code, stdout, stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        out = capsys.readouterr()
        return ended.value.code, out.out, out.err

    return run


def flags(**values):
    return [part for key, value in values.items() for part in (f"--{key.replace('_', '-')}", value)]


SMALL = {
    "vocab_size": 80,
    "layers": 1,
    "d_model": 16,
    "heads": 2,
    "steps": 4,
    "batch_size": 4,
    "block_size": 16,
    "held_out": 0.1,
    "precision": "fp32",
}


def test_a_run_from_flags_ends_with_one_line_of_results(text, tmp_path, attngeo):
    code, out, err = attngeo("train", "-o", tmp_path / "run", *flags(corpus=text, lr="1e-3", init="symmetric", **SMALL))
    assert code == 0 and (tmp_path / "run" / "run.json").is_file()
    assert (
        "finished after 4 steps" in out and "held-out loss" in out and "symmetry" in out and len(out.splitlines()) == 1
    )
    assert "step 0 of 4" in err and "step 4 of 4" in err  # no terminal: plain lines
    config = read_run(tmp_path / "run").config
    assert (config["lr"], config["init"], config["seed"], config["weight_decay"]) == (1e-3, "symmetric", 0, 0.01)


def test_a_line_of_progress_has_the_held_out_loss_of_its_own_step_or_none(text, tmp_path, attngeo):
    every = {"record-every": 1, "evaluate-every": 2}
    code, _, err = attngeo("train", "-o", tmp_path / "run", *flags(corpus=text, **SMALL, **every))
    shown = dict(re.findall(r"^step (\d) of 4 .*held out (\S+)", err, re.MULTILINE))
    measured = read_run(tmp_path / "run").curve("held_out_loss")
    assert code == 0 and shown == {str(n): f"{measured[n]:.3f}" if n in measured else "-" for n in range(5)}
    assert {n for n in shown if shown[n] == "-"} == {"1", "3"}


def test_settings_come_from_flags_then_file_then_preset_then_defaults(text, tmp_path, attngeo):
    settings = {"preset": "toy", "corpus": str(text), "lr": "2e-3", "d-model": 24, "heads": 2, "batch_size": 4}
    settings |= {"steps": 3, "block-size": 16, "held_out": 0.1, "vocab_size": 80, "dropout": 0, "precision": "fp32"}
    (tmp_path / "run.yml").write_text(yaml.safe_dump(settings))
    code, _, err = attngeo(
        "train", "-o", tmp_path / "run", "--config", tmp_path / "run.yml", "--layers", 1, "--lr", "1e-4"
    )
    assert code == 0, err
    config = read_run(tmp_path / "run").config
    chosen = {key: config[key] for key in ("layers", "lr", "d_model", "d_ff", "mask_rate", "dropout")}
    assert chosen == {"layers": 1, "lr": 1e-4, "d_model": 24, "d_ff": 512, "mask_rate": 0.15, "dropout": 0.0}


def test_resume_needs_the_folder_only(text, tmp_path, attngeo):
    attngeo("train", "-o", tmp_path / "run", *flags(corpus=text, **SMALL))
    code, out, _ = attngeo("train", "-o", tmp_path / "run", "--resume")
    assert code == 0 and "finished after 4 steps" in out
    code, _, err = attngeo("train", "-o", tmp_path / "run", "--resume", "--seed", 3)
    assert code == 2 and re.search(r"seed .*3", err)


@pytest.mark.parametrize(("given", "saved"), [({}, 2), ({"checkpoint-every": 9}, 9), ({"checkpoint-every": 0}, 0)])
def test_a_run_of_few_steps_has_a_checkpoint_every_tenth_of_them(text, tmp_path, attngeo, given, saved):
    small = SMALL | {"steps": 20} | given
    code, *_ = attngeo("train", "-o", tmp_path / "run", "--keep-checkpoints", *flags(corpus=text, **small))
    assert code == 0 and read_run(tmp_path / "run").config["checkpoint_every"] == saved
    expected = {f"checkpoint-{step}" for step in range(saved, 20, saved)} if saved else set()
    assert {path.name for path in tmp_path.glob("run/checkpoints/*")} == expected
    code, *_ = attngeo("train", "-o", tmp_path / "run", "--resume")
    assert code == 0


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_run_that_another_process_is_making_is_left_to_it(text, tmp_path, attngeo, resume):
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with FileLock(tmp_path / ".run.lock"):
        for name in ("run", "link"):
            code, out, err = attngeo("train", "-o", tmp_path / name, *flags(corpus=text, **SMALL), *resume)
            assert (code, out) == (2, "") and re.search(rf"another process .*/{name};.* folder\.$", err)
    assert not (tmp_path / "run").exists()


def test_what_a_plan_leaves_out_is_as_it_was_when_it_was_written():
    assert configure({"steps": 20}).checkpoint_every == 1000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--corpus", "wikpedia"], r"'wikpedia'.* embedded"),
        (["--corpus", "$NOWHERE/x"], r"\$NOWHERE/x"),
        (["--block-size", "5000"], " 5000"),
        (["--block-size", "1"], r"block_size .*1.* 2"),
        (["--lr", "-1"], r"lr .*-1\.0.* >= 0"),
        (["--lr", "nan"], r"lr .*nan"),
        (["--steps", "0"], r"steps .*0.* 1;"),
        (["--mask-rate", "1"], r"mask_rate .*1\.0"),
        (["--heads", "3"], r"3 .* 16"),
        (["--warmup", "4"], "warmup"),
        (["--micro-batch", "3"], r" 3 .*batch_size 4"),
        (["--gamma", "1"], r"gamma.*constraint|constraint.*gamma"),
        (["--constraint", "skew"], "gamma"),
        (["--constraint", "skew", "--gamma", "1", "--init", "symmetric"], r"skew.*symmetric|symmetric.*skew"),
        (["--vocab-size", "3"], r"vocab_size .*3"),
        (["--objective", "mml"], "'mml'"),
        (["--steps", "many"], "'many'"),
        (["--tokenizer", "no/such/tokenizer.json"], "no/such/tokenizer.json"),
        (["--config", "no.yml"], "no.yml"),
        (["--resume"], "/run "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("as_user")
def test_bad_input_is_one_sentence_and_leaves_no_run(text, tmp_path, attngeo, arguments, named, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given = [] if "--resume" in arguments else flags(corpus=text, **SMALL)
    code, out, err = attngeo("train", "-o", tmp_path / "run", *given, *arguments)
    assert code == 2 and re.search(named, err) and out == ""
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("- a\n- b", "run.yml"),
        ("lr: [", "run.yml"),
        ("learning_rate: 1", "'learning_rate'"),
        ("lr: fast", r"lr .*'fast'"),
        ("steps: 1.5", r"steps .*1\.5"),
        ("steps: true", r"steps .*True"),
        ("layers: 0", r"layers .*0"),
        ("dropout: 1.0", r"dropout .*1\.0"),
        ("preset: huge", "'huge'"),
        ("init: odd", r"init .*'odd'.* --help"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_a_bad_file_is_refused(tmp_path, attngeo, content, named):
    (tmp_path / "run.yml").write_text(content)
    code, _, err = attngeo("train", "-o", tmp_path / "run", "--config", tmp_path / "run.yml")
    assert code == 2 and re.search(named, err) and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01" * 10], ids=["empty", "binary"])
def test_unreadable_text_is_refused(tmp_path, attngeo, content):
    (tmp_path / "text.txt").write_bytes(content)
    code, _, err = attngeo("train", "-o", tmp_path / "run", *flags(corpus=tmp_path / "text.txt", **SMALL))
    assert code == 2 and str(tmp_path / "text.txt") in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "command", "named"),
    [
        ("accelerate", ["train", "-o", "run"], "accelerate.* 'attngeo.train.'"),
        ("jupytext", ["run", "--list"], "'attngeo.book.'"),
    ],
)
def test_a_missing_extra_is_one_sentence(tmp_path, missing, command, named):
    hidden = f"import sys; sys.modules[{missing!r}] = None; from attngeo.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", hidden, *command], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2 and re.search(named, ended.stderr) and len(ended.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_lists_every_setting_with_its_default(attngeo):
    code, out, _ = attngeo("train", "--help")
    assert code == 0
    for name, value in asdict(small_config("x")).items():
        assert f"--{name.replace('_', '-')}" in out, (name, value)
    assert "[default: mlm]" in out and "200000" in out


def test_the_record_is_plain_json(text, tmp_path, attngeo):
    attngeo("train", "-o", tmp_path / "run", *flags(corpus=text, **SMALL))
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["status"] == "finished" and about["config"]["corpus"] == str(text)
