import re

import pytest
import yaml
from filelock import FileLock
from small_runs import flags

from attngeo.experiments.runs.record import read_run
from attngeo.experiments.training.config import configure

SMALL = {"vocab_size": 80, "layers": 1, "d_model": 16, "heads": 2, "steps": 4, "batch_size": 4, "block_size": 16}
SMALL |= {"held_out": 0.1, "precision": "fp32"}


def test_a_run_from_flags_ends_with_one_line_of_results_and_is_resumed_by_its_folder(text, tmp_path, attngeo):
    every = {"record_every": 1, "evaluate_every": 2}
    given = flags(corpus=text, lr="1e-3", init="symmetric", **SMALL, **every)
    code, out, err = attngeo("train", "-o", tmp_path / "run", *given)
    assert code == 0 and out.count("\n") == 1
    assert all(words in out for words in ("finished after 4 steps", "held-out loss", "symmetry"))
    run = read_run(tmp_path / "run")
    chosen = [run.config[name] for name in ("lr", "init", "seed", "weight_decay", "corpus")]
    assert chosen == [1e-3, "symmetric", 0, 0.01, str(text)]
    shown = dict(re.findall(r"^step (\d) of 4 .*held out (\S+)", err, re.MULTILINE))  # no terminal: plain lines
    measured = run.curve("held_out_loss")
    assert shown == {str(n): f"{measured[n]:.3f}" if n in measured else "-" for n in range(5)}
    code, out, _ = attngeo("train", "-o", tmp_path / "run", "--resume")
    assert code == 0 and "finished after 4 steps" in out
    code, _, err = attngeo("train", "-o", tmp_path / "run", "--resume", "--seed", 3)
    assert code == 2 and re.search(r"seed .*3", err)


def test_settings_come_from_flags_then_file_then_preset_then_defaults(text, tmp_path, attngeo):
    settings = {"preset": "toy", "corpus": str(text), "lr": "2e-3", "d-model": 24, "heads": 2, "batch_size": 4}
    settings |= {"steps": 3, "block-size": 16, "held_out": 0.1, "vocab_size": 80, "dropout": 0, "precision": "fp32"}
    (tmp_path / "run.yml").write_text(yaml.safe_dump(settings))
    given = flags(config=tmp_path / "run.yml", layers=1, lr="1e-4")
    code, _, err = attngeo("train", "-o", tmp_path / "run", *given)
    assert code == 0, err
    config = read_run(tmp_path / "run").config
    chosen = {key: config[key] for key in ("layers", "lr", "d_model", "d_ff", "mask_rate", "dropout")}
    assert chosen == {"layers": 1, "lr": 1e-4, "d_model": 24, "d_ff": 512, "mask_rate": 0.15, "dropout": 0.0}


@pytest.mark.parametrize(
    "steps, given, every", [(20, {}, 2), (4, {"checkpoint-every": 3}, 3), (2, {"checkpoint-every": 0}, 0)]
)
def test_a_run_of_few_steps_has_a_checkpoint_every_tenth_of_them(text, tmp_path, attngeo, steps, given, every):
    small = SMALL | {"steps": steps} | given
    code, *_ = attngeo("train", "-o", tmp_path / "run", "--keep-checkpoints", *flags(corpus=text, **small))
    assert code == 0 and read_run(tmp_path / "run").config["checkpoint_every"] == every
    expected = {f"checkpoint-{step}" for step in range(every, steps, every)} if every else set()
    assert {path.name for path in tmp_path.glob("run/checkpoints/*")} == expected
    assert configure({"steps": 20}).checkpoint_every == 1000  # a plan's own default stays as it was


def test_a_run_that_another_process_is_making_is_left_to_it(text, tmp_path, refused):
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with FileLock(tmp_path / ".run.lock"):
        for name, resume in (("run", []), ("link", ["--resume"])):
            said = refused("train", "-o", tmp_path / name, *flags(corpus=text, **SMALL), *resume)
            assert re.search(rf"another process .*/{name};.* folder\.$", said)
    assert not (tmp_path / "run").exists()


BAD = {  # flags, and what the sentence names
    "--corpus wikpedia": r"'wikpedia'.* embedded",
    "--corpus $NOWHERE/x": r"\$NOWHERE/x",
    "--block-size 5000": " 5000",
    "--lr nan": r"lr .*nan",
    "--steps 0": r"steps .*0.* 1;",
    "--heads 3": r"width 16 .* 3 heads",
    "--warmup 4": "warmup",
    "--micro-batch 3": r" 3 .*batch_size 4",
    "--gamma 1": r"gamma.*constraint|constraint.*gamma",
    "--constraint skew": "gamma",
    "--constraint skew --gamma 1 --init symmetric": r"skew.*symmetric|symmetric.*skew",
    "--objective mml": "'mml'",
    "--steps many": "'many'",
    "--tokenizer no/such/tokenizer.json": "no/such/tokenizer.json",
    "--config no.yml": "no.yml",
    "--resume": "/run ",
}
BAD_FILES = {  # what a file of settings says, and what the sentence names
    "- a\n- b": "run.yml",
    "lr: [": "run.yml",
    "learning_rate: 1": "'learning_rate'",
    "lr: fast": r"lr .*'fast'",
    "steps: 1.5": r"steps .*1\.5",
    "steps: true": r"steps .*True",
    "preset: huge": "'huge'",
    "init: odd": r"init .*'odd'.* symmetric,.* --help",
    "device: 3": r"device .*3.* cuda;",
}


def test_bad_input_is_one_sentence_and_leaves_no_run(text, tmp_path, refused, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for line, named in BAD.items():
        given = [] if line == "--resume" else flags(corpus=text, **SMALL)
        assert re.search(named, refused("train", "-o", tmp_path / "run", *given, *line.split())), line
    for content, named in BAD_FILES.items():
        (tmp_path / "run.yml").write_text(content)
        assert re.search(named, refused("train", "-o", tmp_path / "run", "--config", tmp_path / "run.yml")), content
    for content in (b"", b"\xff\xfe\x00\x01" * 10):
        (tmp_path / "text.txt").write_bytes(content)
        said = refused("train", "-o", tmp_path / "run", *flags(corpus=tmp_path / "text.txt", **SMALL))
        assert str(tmp_path / "text.txt") in said
    assert not (tmp_path / "run" / "run.json").exists()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    said = refused("train", "-o", tmp_path / "model", *flags(corpus=text, **SMALL))
    assert "model contains a checkpoint (config.json); choose another folder" in said
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["config.json"]
