"""Where bytes of others enter, whatever they are, there comes out a value or one sentence; `make fuzz` tries for long.

FUZZ_INPUTS is the number of inputs of each test, FUZZ_RECORD a file that gets what the readers answered.
"""

import gzip
import json
import os
import shutil
import time
from collections import Counter

import numpy as np
import pyarrow
import pytest
import torch
import yaml
from drill_record import ROOT, write_record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from small_runs import write_text

from attngeo import open_checkpoint
from attngeo.checkpoints.tensorfiles import open_tensors
from attngeo.errors import AttngeoError
from attngeo.inputs import local_path
from attngeo.runs.experiments import read_experiment
from attngeo.runs.record import read_run, write_run
from attngeo.survey.measured import read_records
from attngeo.survey.record import Model, is_recorded
from attngeo.training.config import configure, read_values
from attngeo.training.corpora.registry import open_corpus
from attngeo.training.corpora.tokens import tokenize
from attngeo.training.corpora.vocabulary import open_vocabulary

TRIED = int(os.environ.get("FUZZ_INPUTS", 0))
OUTCOMES: dict[str, Counter] = {}
fuzz = settings(max_examples=TRIED or 25, derandomize=not TRIED, database=None, suppress_health_check=list(HealthCheck))

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
SCALARS |= st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**30, 1.0, 4.5, "", "4", "../x", "\ud800", "~nosuchuser"])
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


@st.composite
def changed(draw, value):
    """JSON with one to three places replaced, and sometimes removed."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from([place for place in places(value) if place] or [()])) or [None]
        if last is None:
            return draw(JUNK)
        inner = value
        for key in path:
            inner = inner[key]
        if draw(st.integers(0, 5)):
            inner[last] = draw(JUNK)
        else:
            del inner[last]
    return value


def damage(file, changes, cut):
    """Make some bytes of a file others, and leave out its end."""
    content = bytearray(file.read_bytes())
    for place, byte in changes:
        content[int(place * len(content))] = byte
    file.unlink()  # and not overwritten: what was read before may be mapped
    file.write_bytes(content[: int(cut * len(content))])


def write_json(file, value):
    """A value, its half characters among them."""
    file.write_bytes(json.dumps(value).encode("utf-8", "surrogatepass"))
    return file


CUT = st.just(1.0) | st.floats(0, 1)


def answered(name, call):
    """The value of a call, or None where it was refused in one sentence."""
    counts = OUTCOMES.setdefault(name, Counter())
    try:
        value = call()
    except AttngeoError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000 and error.exit_code == 2
        counts["refused"] += 1
        return None
    counts["accepted"] += 1
    return value


@pytest.fixture(scope="module", autouse=True)
def recorded(request):
    began = time.monotonic()
    yield
    if file := os.environ.get("FUZZ_RECORD"):
        found = {"inputs": TRIED, "seed": request.config.getoption("hypothesis_seed")}
        found |= {"seconds": round(time.monotonic() - began), "failed": request.session.testsfailed}
        write_record(file, **found, answers={name: dict(counts) for name, counts in OUTCOMES.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


CONFIGS = [
    {"model_type": "bert", "num_attention_heads": 2, "num_hidden_layers": 2, "quantization_config": None},
    {"model_type": "llava", "text_config": {"model_type": "bert", "num_attention_heads": 2}, "vision_config": {}},
    {"model_type": "swin", "num_heads": [2], "depths": [2], "quantization_config": {"weight_block_size": [4, 4]}},
]


def tensors():
    names = ("bert.encoder.layer.{}.attention.self.{}.weight", "encoder.layers.0.blocks.{}.attention.self.{}.weight")
    return {n.format(i, q): torch.randn(8, 8) for n in names for i in range(2) for q in ("query", "key")}


LAYER = "bert.encoder.layer.0.attention.self."
HEADER = {
    f"{LAYER}{name}.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [64 * i, 64 * i + 64]}
    for i, name in enumerate(("query", "key", "value"))
}


@fuzz
@given(header=changed(HEADER))
def test_headers_of_safetensors(folder, header):
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    file = folder / "header.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(192))
    opened = answered("safetensors", lambda: open_tensors(file))
    try:
        with safe_open(file, "pt") as whole:
            assert set(opened.shapes) == set(whole.keys())
    except SafetensorError:
        assert opened is None


@fuzz
@given(st.data())
def test_configs(folder, data):
    if not (folder / "model.safetensors").exists():
        save_file(tensors(), folder / "model.safetensors")
    write_json(folder / "config.json", data.draw(changed(data.draw(st.sampled_from(CONFIGS)))))
    answered("config.json", lambda: list(open_checkpoint(folder)))


def torch_file(new):
    return lambda folder: torch.save(tensors(), folder / "whole.bin", _use_new_zipfile_serialization=new)


def read_torch(folder):
    file = open_tensors(folder / "whole.bin")
    for name in file.shapes:
        answered("torch", lambda name=name: file.read(name))


def run(folder):
    about = {"config": {"steps": 3}, "status": "finished", "corpus": {"name": "a", "sha256": "b"}}
    history = [{"step": 0, "seconds": 1.0, "loss": 1.0, "held_out_loss": 1.0, "learning_rate": 0.0}]
    scores = [{"step": 0, "layer": 0, "head": -1, "symmetry": 0.1, "directionality": 0.2}]
    write_run(folder / "run", about, history, scores, {(0, 0): np.zeros((4, 4), np.int8)})


def survey(folder):
    shutil.copytree(ROOT / "data" / "survey" / "bert-tiny-google", folder / "survey" / "one", dirs_exist_ok=True)


def text(folder):
    rows = [{"text": f"the cat {i} sat on the mat"} for i in range(9)]
    plain = "\n\n".join(row["text"] for row in rows).encode()
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "a.parquet")
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "a.txt").write_bytes(plain)
    (folder / "a.txt.gz").write_bytes(gzip.compress(plain, mtime=0))


def read_text(name):
    return lambda folder: [d.encode() for d in open_corpus(str(folder / name), 10**6).documents()]


RECORDS = ("run.json", "history.parquet", "scores.parquet", "images.npz")
TEXTS = ("a.jsonl", "a.txt", "a.txt.gz", "a.parquet")
FILES = {  # what writes a file, which, and what reads it
    "torch": (torch_file(True), "whole.bin", read_torch),
    "torch before 1.6": (torch_file(False), "whole.bin", read_torch),
    **{name: (run, f"run/{name}", lambda folder: read_run(folder / "run")) for name in RECORDS},
    "layers.csv": (survey, "survey/one/layers.csv", lambda folder: read_records(folder / "survey")),
    "record.json": (
        survey,
        "survey/one/record.json",
        lambda folder: is_recorded(Model("one", "one"), folder / "survey"),
    ),
    **{name: (text, name, read_text(name)) for name in TEXTS},
}


@pytest.mark.parametrize("kind", FILES)
@fuzz
@given(changes=CHANGES, cut=CUT)
def test_damaged_files(folder, kind, changes, cut):
    write, name, read = FILES[kind]
    write(folder)
    file = folder / name
    damage(file, changes, cut)
    answered(kind, lambda: read(folder))


PLAN = {
    **{"question": "?", "status": "exploratory", "date": "2026-01-01", "settings": {"steps": 3}},
    **{"arms": ["random", {"warm": {"init": "random"}}], "seeds": {"random": [0], "warm": [0, 1]}},
    "primary contrast": {"arm": "random", "against": "warm"},
}


@fuzz
@given(plan=changed(PLAN), text=st.none() | st.text(alphabet="&*a:-[]{}!<>| \n\"'09.~#%@,?", max_size=40))
def test_plans_and_settings(folder, plan, text):
    written = yaml.safe_dump(plan) if text is None else text
    (folder / "experiment.yml").write_bytes(written.encode("utf-8", "surrogatepass"))
    answered("experiment.yml", lambda: read_experiment(folder))
    answered("settings", lambda: configure(read_values(folder / "experiment.yml")))


@fuzz
@given(row=changed({"text": "the cat", "other": [1]}))
def test_rows_of_text(folder, row):
    file = write_json(folder / "rows.jsonl", row)
    answered("rows", lambda: [d.encode() for d in open_corpus(str(file)).documents()])


@pytest.fixture(scope="module")
def tokenizer(folder):
    text = open_corpus(str(write_text(folder / "text.txt")))
    open_vocabulary("trained", text, size=40).tokenizer.save(str(folder / "tokenizer.json"))
    return text, json.loads((folder / "tokenizer.json").read_text())


@fuzz
@given(st.data())
def test_tokenizers(folder, tokenizer, data):
    text, content = tokenizer
    file = write_json(folder / "changed.json", data.draw(changed(content)))
    found = answered("tokenizer", lambda: open_vocabulary(str(file), text))
    ids = answered("tokenizer", lambda: found.encode(["the cat"])) if found else None
    assert not ids or max(max(ids, default=[]), default=0) < found.size


@fuzz
@given(changes=CHANGES, cut=CUT, which=st.integers(0, 10))
def test_caches_of_tokens(folder, tokenizer, changes, cut, which):
    text, _ = tokenizer
    vocabulary = open_vocabulary("trained", text, size=40)
    first = tokenize(text, vocabulary, folder=folder / "cache")
    expected = [first.train.copy(), first.held_out.copy(), first.documents]
    files = sorted((folder / "cache").glob("*/*"))
    damage(files[which % len(files)], changes, cut)
    again = answered("tokens", lambda: tokenize(text, vocabulary, folder=folder / "cache"))
    assert np.array_equal(again.train, expected[0]) and np.array_equal(again.held_out, expected[1])
    assert again.documents == expected[2]


@fuzz
@given(st.text(max_size=300) | st.sampled_from(["~nosuchuser", "a" * 5000, "a\0b", "\udcff", "/dev/null/x"]))
def test_names(name):
    answered("names", lambda: local_path(name))
