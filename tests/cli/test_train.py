import json
import subprocess
import sys

import pytest
import yaml
from small_runs import small_config, write_text

from attngeo.cli import main
from attngeo.runs.record import read_run


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
    assert code == 0
    assert (
        "finished after 4 steps" in out and "held-out loss" in out and "symmetry" in out and len(out.splitlines()) == 1
    )
    assert "step 0 of 4" in err and "step 4 of 4" in err  # no terminal: plain lines
    config = read_run(tmp_path / "run").config
    assert (config["lr"], config["init"], config["seed"], config["weight_decay"]) == (1e-3, "symmetric", 0, 0.01)


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
    assert code == 2 and "seed is 3, but the run" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--corpus", "wikpedia"], "corpus 'wikpedia' is unknown; name one of embedded"),
        (["--corpus", "$NOWHERE/x"], "is unknown"),
        (["--block-size", "100000"], "fewer than one block of 100000"),
        (["--block-size", "1"], "block_size is 1; it must be a whole number from 2"),
        (["--lr", "-1"], "lr is -1.0; it must be a number from 0 to 10"),
        (["--lr", "nan"], "lr is nan"),
        (["--steps", "0"], "steps is 0; it must be a whole number of 1 or more"),
        (["--mask-rate", "1"], "mask_rate is 1.0"),
        (["--heads", "3"], "3 heads do not divide the width 16"),
        (["--warmup", "4"], "shorter than the run"),
        (["--micro-batch", "3"], "does not divide batch_size 4"),
        (["--gamma", "1"], "constraint is none"),
        (["--constraint", "skew"], "give gamma a value above 0"),
        (["--constraint", "skew", "--gamma", "1", "--init", "symmetric"], "is infinite"),
        (["--vocab-size", "3"], "vocab_size is 3"),
        (["--objective", "mml"], "'mml' is not one of"),
        (["--steps", "many"], "not a valid integer"),
        (["--tokenizer", "no/such/tokenizer.json"], "there is no file or folder 'no/such/tokenizer.json'"),
        (["--config", "no.yml"], "cannot be read as YAML"),
        (["--resume"], "holds no run to continue"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("as_user")
def test_bad_input_is_one_sentence_and_leaves_no_run(text, tmp_path, attngeo, arguments, said, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given = [] if "--resume" in arguments else flags(corpus=text, **SMALL)
    code, out, err = attngeo("train", "-o", tmp_path / "run", *given, *arguments)
    assert code == 2 and said in err and out == ""
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- a\n- b", "must hold settings"),
        ("lr: [", "cannot be read as YAML"),
        ("learning_rate: 1", "'learning_rate' is no setting"),
        ("lr: fast", "lr is 'fast'; it must be a number"),
        ("steps: 1.5", "steps is 1.5; it must be a whole number"),
        ("steps: true", "steps is True"),
        ("preset: huge", "preset 'huge' is unknown"),
        ("init: odd", "init is 'odd'; it must be one of random"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_a_bad_file_is_refused(tmp_path, attngeo, content, said):
    (tmp_path / "run.yml").write_text(content)
    code, _, err = attngeo("train", "-o", tmp_path / "run", "--config", tmp_path / "run.yml")
    assert code == 2 and said in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01" * 10], ids=["empty", "binary"])
def test_unreadable_text_is_refused(tmp_path, attngeo, content):
    (tmp_path / "text.txt").write_bytes(content)
    code, _, err = attngeo("train", "-o", tmp_path / "run", *flags(corpus=tmp_path / "text.txt", **SMALL))
    assert code == 2 and str(tmp_path / "text.txt") in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "command", "said"),
    [
        ("accelerate", ["train", "-o", "run"], "training needs the package accelerate; pip install 'attngeo[train]'"),
        ("jupytext", ["run", "--list"], "pip install 'attngeo[book]'"),
    ],
)
def test_a_missing_extra_is_one_sentence(tmp_path, missing, command, said):
    hidden = f"import sys; sys.modules[{missing!r}] = None; from attngeo.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", hidden, *command], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2 and said in ended.stderr and len(ended.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_lists_every_setting_with_its_default(attngeo):
    code, out, _ = attngeo("train", "--help")
    assert code == 0
    for name, value in small_config("x").to_dict().items():
        assert f"--{name.replace('_', '-')}" in out, (name, value)
    assert "[default: mlm]" in out and "200000" in out


def test_the_record_is_plain_json(text, tmp_path, attngeo):
    attngeo("train", "-o", tmp_path / "run", *flags(corpus=text, **SMALL))
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["status"] == "finished" and about["config"]["corpus"] == str(text)
