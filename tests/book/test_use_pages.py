"""Every code block of the pages on use is run, with tiny models under the ids that the pages name."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import hub_server
import nbformat
import pytest
import quickstart
import torch
import yaml
from click import Context
from gguf_writer import write_gguf
from packaging.requirements import Requirement
from pybtex.database import parse_file
from safetensors.torch import save_file
from setuptools.config.pyprojecttoml import load_file
from small_models import WIDTH, small_model
from transformers import AutoModelForCausalLM, BertModel, GPT2LMHeadModel, GPTNeoXForCausalLM, Qwen3ForCausalLM

import attngeo
import attngeo.checkpoints
from attngeo import ModelTable, ScoreTable
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.cli import cli, main
from attngeo.plot.style import CaptionedFigure

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "book" / "use").glob("*.md"))
BLOCK = re.compile(r"^```(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHORT = "--steps 2 --batch-size 2 --record-every 1 --held-out-blocks 1 --max-characters 700000".split()
MODELS = {
    "openai-community/gpt2": ("gpt2", GPT2LMHeadModel),
    "google-bert/bert-base-uncased": ("bert", BertModel),
    "sentence-transformers/all-MiniLM-L6-v2": ("bert", BertModel),
    "EleutherAI/pythia-70m": ("gpt_neox", GPTNeoXForCausalLM),
    "Qwen/Qwen3-0.6B": ("qwen3", Qwen3ForCausalLM),
}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def repositories(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("hub")
    torch.manual_seed(0)
    for name, (model_type, kind) in MODELS.items():
        small_model(model_type, kind)().save_pretrained(root / name)
    (root / "lora").mkdir()
    name = "base_model.model.transformer.h.1.attn.c_attn.lora_{}.weight"
    factors = {name.format("A"): torch.randn(2, WIDTH), name.format("B"): torch.randn(3 * WIDTH, 2)}
    save_file(factors, root / "lora" / "adapter_model.safetensors")
    (root / "lora" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 2, "lora_alpha": 2}')
    return root


@pytest.fixture
def folder(repositories, tmp_path, monkeypatch) -> Path:
    """An empty folder with what the pages call path/to/..., and a Hub with their models."""
    hub = hub_server.FakeHub(repositories)
    hub.revisions = {*hub.revisions, "step1000"}
    hub.stand_in(monkeypatch, tmp_path)
    here = tmp_path / "here"
    (here / "path" / "to").mkdir(parents=True)
    shutil.copytree(repositories / "google-bert/bert-base-uncased", here / "path/to/checkpoint")
    shutil.copytree(repositories / "openai-community/gpt2", here / "path/to/another")
    shutil.copytree(repositories / "lora", here / "path/to/lora")
    weights = {f"blk.0.attn_{which}.weight": torch.randn(WIDTH, WIDTH).numpy() for which in "qk"}
    write_gguf(here / "path/to/model.gguf", "llama", {"attention.head_count": 2}, weights)
    (tmp_path / "slurm").mkdir()
    # a queue with room for one job, whose folder says that it has begun; the others wait
    submit = 'mkdir "$0.begun" 2> /dev/null && bash "$1" > /dev/null 2>&1 &\necho Submitted batch job 1'
    for program, does in {"sbatch": submit, "scancel": ""}.items():
        (tmp_path / "slurm" / program).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "slurm" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'slurm'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(here)
    yield here
    hub.close()


def run_line(line: str, capsys) -> None:
    program, *words = shlex.split(line, comments=True)
    if program == "pip":
        return install_dry(words)
    assert program == "attngeo"
    with pytest.raises(SystemExit) as end:
        main([*words, *(SHORT if words[0] == "train" else ())])
    told = capsys.readouterr()
    assert end.value.code == 0, told.err
    assert told.out or re.search(r"-o |^attngeo train", line)


def install_dry(words: list[str]) -> None:
    """pip takes the line, and the package has the extras that it asks for."""
    extras = set(load_file(ROOT / "pyproject.toml")["project"]["optional-dependencies"])
    for asked in (word for word in words if word.startswith(".")):
        assert Requirement(f"attngeo{asked[1:]}").extras <= extras
    dry = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
    done = subprocess.run([sys.executable, "-m", "pip", *words, *dry], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:'pin_memory' argument")  # of a machine without a GPU
@pytest.mark.filterwarnings("ignore::ResourceWarning:distributed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page, folder, repositories, capsys, monkeypatch):
    local = AutoModelForCausalLM.from_pretrained
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda name: local(repositories / name))
    monkeypatch.setattr("rerun.execute_and_write", lambda chapter, profile, values, output, watched: output.touch())
    monkeypatch.setattr(click, "launch", lambda path: 0)
    known, names = dict(ARCHITECTURES), {}
    for kind, text in blocks(page):
        if kind == "bash":
            for line in text.replace("ADDRESS", getattr(names.get("cluster"), "scheduler_address", "")).splitlines():
                run_line(line, capsys)
        elif kind == "python":
            exec(compile(text, page.name, "exec"), names)
            assert "print(" in text and capsys.readouterr().out
        elif kind == "yaml":
            Path("mine.yml").write_text(text)
        else:
            assert kind in (
                "{eval-rst}",
                "{include}",
                "{literalinclude}",
                "bibtex",
            )  # read by Sphinx, and the last below
    if "cluster" in names:
        names["cluster"].close()
    for name in set(ARCHITECTURES) - set(known):
        del ARCHITECTURES[name]


def test_the_quick_start_notebook_runs_and_every_cell_shows_something(folder, monkeypatch):
    notebook = nbformat.read(quickstart.NOTEBOOK, 4)
    nbformat.validate(notebook)
    install = next(cell for cell in notebook.cells if cell.cell_type == "code")
    (asked,) = re.findall(r"%pip install .*\"(.*)\"$", install.source)
    assert 'find_spec("attngeo") is None' in install.source and Requirement(asked).extras == {"plot"}
    monkeypatch.setitem(sys.modules, "pandas", None)  # which the package does not bring
    shown = quickstart.values(notebook)
    kinds = [ScoreTable, CaptionedFigure, ScoreTable, ModelTable, float]
    assert [type(value) for value in shown] == kinds and len(shown[2]) == 5 and len(shown[3]) == 2


def test_the_outputs_of_the_quick_start_notebook_are_what_its_cells_show(weights, tmp_path, monkeypatch):
    text = quickstart.NOTEBOOK.read_text("utf-8")
    notebook = nbformat.reads(text, 4)
    stored = [cell.outputs[0].data for cell in notebook.cells if cell.get("outputs")]
    shown = quickstart.outputs(notebook, weights, tmp_path, monkeypatch)
    for there, now in zip(stored, shown, strict=True):
        assert set(there) == set(now)
        for kind in there.keys() - {"image/svg+xml"}:  # whose paths differ between versions of matplotlib
            assert there[kind] == now[kind], "write the outputs again: python tests/quickstart.py"
    assert not re.search("/(home|root|tmp|work|Users)/|127.0.0.1", text)


def test_every_public_name_is_on_the_page_of_python():
    page = (ROOT / "book/use/api.md").read_text("utf-8")
    assert set(attngeo.checkpoints.__all__) <= set(attngeo.__all__)
    for name in attngeo.__all__:
        assert re.search(rf":: attngeo\.{name}(\(\))?\n", page), name
    sections = re.split("^## ", page, flags=re.MULTILINE)[1:]
    assert all("```python" in section for section in sections)


def test_what_the_blocks_write_is_what_they_say(folder, capsys):
    run_line("attngeo score openai-community/gpt2 --plot scores.svg -o scores.html", capsys)
    run_line("attngeo score google-bert/bert-base-uncased --per-head --format json -o scores.json", capsys)
    assert {"scores.svg", "scores.html", "scores.json"} <= {path.name for path in folder.iterdir()}
    rows = json.loads((folder / "scores.json").read_text())
    assert {row["head"] for row in rows} == {-1, 0, 1, 2, 3}
    columns = re.findall(r"^\| (`\w+`, `\w+`) \|", (ROOT / "book/use/score.md").read_text(), re.MULTILINE)
    said = {name for cell in columns for name in re.findall(r"\w+", cell)}
    assert len(said) == 18 and said <= rows[0].keys()


def test_the_output_on_the_page_is_what_the_command_prints(weights, attngeo, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, printed, _ = attngeo("score", weights / "minilm-l6-v2")
    assert code == 0 and printed == (ROOT / "data/sentence/score_minilm-l6-v2.txt").read_text("utf-8")
    assert printed in (ROOT / "README.md").read_text("utf-8")


def test_what_is_cited_is_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == attngeo.__version__
    paper = parse_file(str(ROOT / "book/references.bib")).entries["saponati2025"]
    authors = [(" ".join(p.last_names), " ".join(p.first_names)) for p in paper.persons["author"]]
    assert authors == [(a["family-names"], a["given-names"]) for a in citation["references"][0]["authors"]]
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest.groups() == (attngeo.__version__, str(citation["date-released"]))


def test_every_command_has_the_name_it_is_called_by():
    context = Context(cli)
    names = cli.list_commands(context)
    assert [cli.get_command(context, name).name for name in names] == names
