import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from unittest import mock

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import small_model

from attngeo import BilinearForm, open_model, score_table, symmetry_score
from attngeo.bilinear.conventions import Convention
from attngeo.bilinear.positions import position_space
from attngeo.bilinear.rows import COLUMNS, DIMENSION, SPLIT
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.cli import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    small_model("bert", num_hidden_layers=3)().save_pretrained(folder)
    return folder


@pytest.fixture
def run(capsys):
    """The command in this process: exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["score", *map(str, arguments)])
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return call


def entry_point(*arguments: str, **env: str) -> subprocess.CompletedProcess:
    """The command as a user starts it."""
    command = [sys.executable, "-m", "attngeo", "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=120)


def assert_refused(code: int, out: str, err: str) -> None:
    assert code == 2 and out == ""
    assert err.startswith("attngeo: ") and err.endswith(".\n") and err.count("\n") == 1, err


def test_a_table_from_the_real_entry_point(saved):
    done = entry_point(saved)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tiny-bert, gamma = 2" in done.stdout
    assert done.stdout.count("│ encoder │") == 3
    assert "median over encoder layers: symmetry" in done.stdout


@pytest.mark.parametrize("columns", [40, 80, 150])
@pytest.mark.parametrize("terminal, notebook", [(True, False), (True, True), (False, False)])
def test_a_table_is_whole_however_narrow_the_screen(run, saved, monkeypatch, columns, terminal, notebook):
    """A notebook's pseudo-terminal is none, and FORCE_COLOR makes none of a file."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("JPY_PARENT_PID", "1") if notebook else monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    scored = pd.read_csv(io.StringIO(run(saved, "--format", "csv")[1]))
    code, printed, err = run(saved)
    assert (code, err) == (0, "") and "…" not in printed
    assert all(f"{value:.4f}" in printed for name in ("symmetry", "directionality") for value in scored[name])
    seen = terminal and not notebook
    assert ("│" in printed) is (not seen or columns == 150) and ("\x1b" in printed) is seen


def test_csv_on_stdout_is_nothing_but_csv(run, saved):
    code, out, err = run(saved, "--per-head", "--format", "csv", "--gamma", "1.5")
    table = pd.read_csv(io.StringIO(out))
    assert (code, err) == (0, "")
    assert tuple(table.columns) == COLUMNS and len(table) == 3 * 5 and (table["gamma"] == 1.5).all()


@pytest.mark.parametrize(
    "name, read",
    [
        ("out.csv", pd.read_csv),
        ("out.parquet", pd.read_parquet),
        ("out.json", pd.read_json),
        ("out.jsonl", lambda path: pd.read_json(path, lines=True)),
        ("OUT.NDJSON", lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines()))),
    ],
)
def test_files_follow_their_suffix(name, read, run, saved, tmp_path):
    code, out, err = run(saved, "-o", tmp_path / "new" / name)
    assert (code, out) == (0, "") and "3 rows written" in err
    assert tuple(read(tmp_path / "new" / name).columns) == COLUMNS
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


def test_all_files_of_data_hold_the_same_numbers(run, saved, tmp_path):
    for suffix in ("csv", "parquet", "json"):
        run(saved, "--per-head", "-o", tmp_path / f"a.{suffix}")
    csv = pd.read_csv(tmp_path / "a.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(csv, pd.read_parquet(tmp_path / "a.parquet"), check_exact=True)
    assert json.loads((tmp_path / "a.json").read_text()) == csv.to_dict("records")


def test_a_markdown_table_has_a_row_per_layer(run, saved, tmp_path):
    code, _, _ = run(saved, "-o", tmp_path / "s.md")
    lines = (tmp_path / "s.md").read_text().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert code == 0 and len(table) == 2 + 3 and len({line.count("|") for line in table}) == 1
    assert run(saved, "--format", "markdown")[1].splitlines() == lines


REFUSED = [  # in the folder of a checkpoint; what the sentence names
    ("/nowhere", "'/nowhere'"),
    ("", "'PATH_OR_ID'"),
    ("''", "no file or folder ''"),
    (". --gamma big", "'big'"),
    *((f". --gamma {gamma}", "gamma") for gamma in ("nan", "-1", "inf")),
    (". --format xml", "'xml'"),
    (". --convention ours", "'ours'"),
    (". --format parquet", "-o FILE.parquet"),
    (". --format html", "-o FILE.html"),
    (". --format csv -o s.json", "s.json"),
    (". --format table -o s.csv", "s.csv"),
    (". --format csv -o s.tsv", "s.tsv"),
    (". -o s.tsv", "s.tsv"),
    (". -o s", "name s "),
    ("/nowhere -o .", ". is a folder"),
    (". -o m.svg", "--plot m.svg"),
    *((f"/nowhere --plot {name}", f"{name} cannot hold a figure") for name in ("s.txt", "s", ".")),
]


def test_wrong_calls_end_in_one_sentence_and_write_nothing(run, saved, monkeypatch, as_user):
    monkeypatch.chdir(saved)
    before = sorted(saved.iterdir())
    for line, named in REFUSED:
        code, out, err = run(*shlex.split(line))
        assert_refused(code, out, err)
        assert named in err and sorted(saved.iterdir()) == before, line


def test_a_format_serves_a_name_without_suffix(run, saved, tmp_path):
    code, _, _ = run(saved, "--format", "csv", "-o", tmp_path / "scores")
    assert code == 0 and len(pd.read_csv(tmp_path / "scores")) == 3


def test_stars_stand_where_p_is_below_five_percent(run, saved, tmp_path):
    tensors = load_file(saved / "model.safetensors")
    name = "encoder.layer.1.attention.self.{}.weight"
    folder = broken_copy(
        saved, tmp_path, lambda t: t.update({name.format("key"): tensors[name.format("query")].clone()})
    )
    table = pd.DataFrame(json.loads(run(folder, "--format", "json")[1]))
    assert table["symmetry_p"].lt(1e-6).tolist() == [False, True, False] and table["symmetry"][1] == pytest.approx(1)
    rows = [line for line in run(folder)[1].splitlines() if "│ encoder │" in line]
    assert [line.split("│")[3].strip().endswith("*") for line in rows] == table["symmetry_p"].lt(0.05).tolist()
    assert "*" not in "".join("".join(line.split("│")[6:]) for line in rows)  # width 32: -1 and 1 are common


@pytest.mark.parametrize("convention", ["printed", "released", "tables"])
def test_a_convention_changes_scores_and_their_reference_alike(convention, run, saved):
    ours, theirs = (
        pd.DataFrame(json.loads(run(saved, "--format", "json", *more)[1]))
        for more in ((), ("--convention", convention))
    )
    assert set(ours["convention"]) == {"definition"} and set(theirs["convention"]) == {convention}
    s = {"printed": 2 * ours["symmetry"], "released": (1 + ours["symmetry"]) / 2}.get(convention, ours["symmetry"])
    d = ours.get(f"directionality_{convention}", ours["directionality"])
    pd.testing.assert_series_equal(theirs["symmetry"], s, check_names=False)
    pd.testing.assert_series_equal(theirs["directionality"], d, check_names=False)
    pd.testing.assert_series_equal(theirs["symmetry_z"], ours["symmetry_z"])
    assert "another formula than the definition's" in run(saved, "--convention", convention)[1]
    assert "another formula" not in run(saved)[1]


@pytest.mark.parametrize(
    "package, extra, option, name",
    [
        ("pyarrow", "parquet", "-o", "s.parquet"),
        ("matplotlib", "plot", "-o", "s.html"),
        ("matplotlib", "plot", "--plot", "s.svg"),
    ],
)
def test_a_missing_extra_is_one_sentence_before_anything_is_read(
    package, extra, option, name, run, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = run("/nowhere", option, tmp_path / name)
    assert_refused(code, out, err)
    assert package in err and f"attngeo[{extra}]" in err and not list(tmp_path.iterdir())


def test_a_plot_and_a_report_beside_the_table(run, saved, tmp_path):
    code, out, err = run(saved, "--plot", tmp_path / "s.svg")
    assert code == 0 and out.count("│ encoder │") == 3 and err == f"figure written to {tmp_path / 's.svg'}\n"
    assert (tmp_path / "s.svg").read_text().count("<svg") == 1 and "tiny-bert" in (tmp_path / "s.svg").read_text()
    code, out, _ = run(saved, "--per-head", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert (code, out) == (0, "") and page.count("<svg") == 1 and page.count("<tr>") == 1 + 3 * 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "s.svg"]


def test_one_layer_or_one_head_is_scored_alone_and_drawn_as_a_heat_map(run, saved, tmp_path):
    whole = json.loads(run(saved, "--per-head", "--format", "json")[1])
    for arguments, expected, said in (
        (("--layer", "1"), [row for row in whole if row["layer"] == 1 and row["head"] == -1], "layer 1 of tiny-bert"),
        (("--layer", "2", "--head", "3"), [whole[-1]], "layer 2, head 3 of tiny-bert"),
    ):
        code, out, _ = run(saved, *arguments, "--format", "json", "--plot", tmp_path / "m.svg")
        assert code == 0 and json.loads(out) == expected
        run(saved, *arguments, "-o", tmp_path / "m.html")
        page = (tmp_path / "m.html").read_text()
        assert f"Heat map of W_qk of encoder {said}" in page and "img-src data:" in page  # or they are not shown
        assert "<image" in (tmp_path / "m.svg").read_text()
    for arguments, named in (
        (("--layer", "3"), "tiny-bert has no layer 3"),
        (("--layer", "0", "--head", "4"), "tiny-bert has no head 4 in layer 0"),
        (("--head", "0"), "add --layer"),
    ):
        code, out, err = run(saved, *arguments)
        assert_refused(code, out, err)
        assert named in err


def test_quiet_leaves_errors_alone_on_stderr(run, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "rows written" in run(saved, "-o", tmp_path / "s.csv")[2]
    for option in ("--quiet", "-q"):
        assert run(saved, option, "-o", tmp_path / "s.csv") == (0, "", "")
    code, out, err = run("/nowhere", "-q")
    assert_refused(code, out, err)


def broken_copy(saved, tmp_path, change):
    tensors = load_file(saved / "model.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text((saved / "config.json").read_text())
    return tmp_path


def test_nan_in_the_last_layer_leaves_the_old_output(run, saved, tmp_path):
    name = "encoder.layer.2.attention.self.key.weight"
    folder = broken_copy(saved, tmp_path, lambda tensors: tensors[name].fill_(float("nan")))
    target = tmp_path / "scores" / "scores.csv"
    target.parent.mkdir()
    target.write_text("the old scores")
    code, out, err = run(folder, "-o", target)
    assert_refused(code, out, err)
    assert name in err and target.read_text() == "the old scores" and [*target.parent.iterdir()] == [target]


def test_truncated_safetensors_from_the_real_entry_point(saved, tmp_path):
    (tmp_path / "config.json").write_text((saved / "config.json").read_text())
    (tmp_path / "model.safetensors").write_bytes((saved / "model.safetensors").read_bytes()[:5000])
    done = entry_point(tmp_path, "-o", tmp_path / "out.csv")
    assert_refused(done.returncode, done.stdout, done.stderr)
    assert "model.safetensors" in done.stderr and not (tmp_path / "out.csv").exists()


def test_nothing_in_the_cache_and_offline(tmp_path):
    done = entry_point("nobody/nothing", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert_refused(done.returncode, done.stdout, done.stderr)
    assert "nobody/nothing" in done.stderr and "HF_HUB_OFFLINE" in done.stderr


@pytest.mark.parametrize("name", ["config.json", "README.md"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_of_the_checkpoint_is_no_output(name, linked, run, saved, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes((saved / "config.json").read_bytes())
    (folder / "model.safetensors").symlink_to(saved / "model.safetensors")
    (folder / name).touch()
    output = folder / name
    if linked:
        output = tmp_path / f"mine{output.suffix}"
        output.symlink_to(folder / name)
    before = (folder / name).read_bytes()
    code, out, err = run(folder, "-o", output)
    assert_refused(code, out, err)
    assert f"{output} is there already" in err and (folder / name).read_bytes() == before


@pytest.mark.parametrize("said", [{"decoder_layers": 0, "decoder_attention_heads": 0}, {"decoder_layers": None}])
def test_a_tower_may_be_absent(said, run, tmp_path):
    torch.manual_seed(0)
    model = small_model("whisper", max_source_positions=8)()
    model.save_pretrained(tmp_path)
    encoder = {name: t for name, t in load_file(tmp_path / "model.safetensors").items() if "encoder.layers" in name}
    save_file({name: t for name, t in encoder.items() if "decoder" not in name}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(model.config.to_dict() | said))
    table = pd.DataFrame(json.loads(run(tmp_path, "--format", "json")[1]))
    expected = [symmetry_score(layer.form) for layer in open_model(model) if layer.part == "encoder"]
    assert table["part"].tolist() == ["encoder"] * 2 and table["symmetry"].tolist() == pytest.approx(expected)


LISTS = {
    "heads": ({"num_attention_heads": [4, 2], "num_key_value_heads": [2, 1], "head_dim": [4, 8]}, ""),
    "a layer without": ({"num_attention_heads": [4, 2, 0], "num_key_value_heads": [2, 1, 0], "head_dim": None}, ""),
    "none for this": ({"num_attention_heads": [4, 0]}, "num_attention_heads in config.json has no number for layer 1"),
    "too few": ({"num_attention_heads": [4]}, "num_attention_heads in config.json has no number for layer 1"),
    "key heads of another": ({"num_attention_heads": [4, 2], "num_key_value_heads": [2, 2]}, "num_key_value_heads = 2"),
    "null in a list": ({"num_attention_heads": [4, None]}, "num_attention_heads is"),
    "none at all": ({"num_attention_heads": None}, "num_attention_heads is missing"),
}


@pytest.mark.parametrize("said, named", LISTS.values(), ids=LISTS)
def test_counts_that_differ_by_layer_are_read_by_layer(said, named, run, tmp_path):
    """4 query heads of 4 on 2 key heads; then 2 of 8 on one."""
    torch.manual_seed(0)
    weights = [torch.randn(16, 8), torch.randn(8, 8), torch.randn(16, 8), torch.randn(8, 8)]
    places = [f"model.layers.{layer}.self_attn.{which}_proj.weight" for layer in (0, 1) for which in "qk"]
    save_file(dict(zip(places, weights, strict=True)), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 2} | said))
    code, out, err = run(tmp_path, "--per-head", "--format", "json")
    if named:
        assert_refused(code, out, err)
        assert named in err
        return
    forms = [BilinearForm.from_linear(*weights[:2], 4), BilinearForm.from_linear(*weights[2:], 8)]
    expected = [s for form in forms for s in (symmetry_score(form), *map(symmetry_score, form.heads()))]
    assert [row["symmetry"] for row in json.loads(out)] == pytest.approx(expected)


def as_type(saved, folder, model_type):
    shutil.copytree(saved, folder)
    config = json.loads((folder / "config.json").read_text()) | {"model_type": model_type}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@mock.patch.dict(ARCHITECTURES)
def test_an_unknown_type_is_read_as_a_known_one_or_registered_from_a_file(run, saved, tmp_path):
    folder = as_type(saved, tmp_path / "m", "bert-by-another-name")
    code, out, err = run(folder)
    assert_refused(code, out, err)
    assert "--as" in err and "--register" in err
    entry = (
        "- model_types: [bert-by-another-name]\n"
        '  stacks: [{part: encoder, module: "encoder.layer.{}.attention.self", query: query, key: key}]\n'
    )
    (tmp_path / "mine.yml").write_text(entry)
    expected = [row["symmetry"] for row in json.loads(run(saved, "--format", "json")[1])]
    for way in (("--as", "bert"), ("--register", tmp_path / "mine.yml")):
        code, out, err = run(folder, "--format", "json", *way)
        rows = json.loads(out)
        assert (code, err) == (0, "") and [row["symmetry"] for row in rows] == expected
        assert rows[0]["source"].endswith(" as bert") == (way[0] == "--as")
    code, out, err = run(folder, "--as", "gpt2")
    assert_refused(code, out, err)
    assert "no tensor is named like" in err and "its config says 'bert-by-another-name'" in err


@pytest.mark.parametrize(
    "text, named",
    [
        ("- {model_types: [a], stacks: [{part: encoder, modul: x}]}", "modul"),
        ("- {model_types: [a], stacks: [", "not valid YAML in line "),
        ("- {model_types: [a], stacks: [{part: encoder, module: x, layout: heap}]}", "'heap'"),
        ("- {model_types: [gpt2], stacks: [{part: encoder, module: x}]}", "'gpt2' is built in"),
        ("- {model_types: [a]}", "stacks"),
        ("a: b", "mine.yml"),
    ],
)
def test_a_file_that_registers_nothing_is_refused(text, named, run, saved, tmp_path):
    (tmp_path / "mine.yml").write_text(text)
    code, out, err = run(saved, "--register", tmp_path / "mine.yml")
    assert_refused(code, out, err)
    assert named in err


def test_a_dead_layer_is_said_and_stays_out_of_the_median(run, saved, tmp_path):
    folder = broken_copy(saved, tmp_path, lambda t: t["encoder.layer.1.attention.self.query.weight"].zero_())
    table = pd.DataFrame(json.loads(run(folder, "--format", "json")[1]))
    assert table["symmetry_p"].isna().tolist() == [False, True, False] and table["symmetry"][1] == 0
    code, out, err = run(folder)
    assert (code, err) == (0, "") and "nothing is scored: encoder layer 1\n" in out and "of 2 layers by symmetry" in out
    assert f"symmetry {table['symmetry'][[0, 2]].median():.4f}" in out
    everywhere = broken_copy(saved, tmp_path, lambda t: [w.zero_() for n, w in t.items() if "key.weight" in n])
    code, out, err = run(everywhere, "--per-head", "-o", tmp_path / "r.html")
    assert code == 0 and "median" not in run(everywhere)[1]


def test_what_the_scores_leave_out_is_said_below_the_table(run, saved, tmp_path):
    assert "left out of W_qk, and so of the scores: biases\n" in run(saved)[1]
    small_model("qwen3")().save_pretrained(tmp_path)
    beside = "scores: positions by rotating queries and keys, {}norms of queries and keys"
    with_gains, without = (" ".join(run(tmp_path, *folded)[1].split()) for folded in ((), ("--fold-norm",)))
    assert beside.format("gains of the layer normalisation before, ") in with_gains and beside.format("") in without


def test_gains_of_the_layer_normalisation_before_are_folded_in(run, saved, tmp_path):
    model = small_model("gpt2")()
    for layer in model.h:
        torch.nn.init.uniform_(layer.ln_1.weight, 0.1, 3)
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        for layer in model.h:
            layer.attn.c_attn.weight.mul_(layer.ln_1.weight[:, None])
    rows = json.loads(run(tmp_path, "--fold-norm", "--per-head", "--format", "json")[1])
    expected = [row.symmetry for row in score_table(model)]
    assert [row["symmetry"] for row in rows] == pytest.approx(expected, abs=1e-6)
    assert rows[0]["source"] == "model.safetensors:h.0.attn * h.0.ln_1.weight"
    code, out, err = run(saved, "--fold-norm")
    assert_refused(code, out, err)
    assert "no gain of a layer normalisation" in err and "encoder layer 0" in err
    table = run(tmp_path, "--fold-norm", "--plot", tmp_path / "x.svg")[1]
    assert "without gains alone" in table and "*" not in table and (tmp_path / "x.svg").exists()
    assert all(row[name] is None for row in rows for name in ("symmetry_z", "directionality_p", "symmetry_null_sd"))


def test_value_output_maps_in_the_place_of_w_qk(run, saved, tmp_path):
    rows = json.loads(run(saved, "--matrix", "ov", "--format", "json")[1])
    weights = load_file(saved / "model.safetensors")
    for row in rows:
        name = f"encoder.layer.{row['layer']}.attention"
        m = weights[f"{name}.output.dense.weight"] @ weights[f"{name}.self.value.weight"]
        assert row["symmetry"] == pytest.approx(float((m * m.T).sum() / m.square().sum()), abs=1e-5)
        assert row["source"] == f"model.safetensors:{name}.self (ov)"
    assert "rows are written, columns are read" in " ".join(run(saved, "--matrix", "ov")[1].split())
    small_model("afmoe")().save_pretrained(tmp_path)  # gates what its heads write
    code, out, err = run(tmp_path, "--matrix", "ov")
    assert_refused(code, out, err)
    assert "values and outputs of decoder layer 0 are gated, not known, or not in these files" in err


@pytest.mark.parametrize("kind", ["link", "folder"])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_what_is_no_file_is_called_so(kind, name, run, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "m")
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / "gone") if kind == "link" else (folder / name).mkdir()
    code, out, err = run(folder)
    assert_refused(code, out, err)
    assert f"{name} that is no file" in err


def test_python_has_the_rows_of_the_table(run, saved):
    printed = json.loads(run(saved, "--per-head", "--format", "json")[1])
    rows = score_table(saved)
    assert [vars(row) for row in rows] == printed == rows.to_dataframe().to_dict("records")


def test_an_adapter_is_merged_into_what_is_scored(run, saved, tmp_path):
    """A and B of rank 1 for one layer's keys; the same as keys changed by hand."""
    weight = "encoder.layer.1.attention.self.key"
    a, b = torch.randn(1, 32), torch.randn(32, 1)
    factors = {f"base_model.model.{weight}.lora_{name}.weight": part for name, part in (("A", a), ("B", b))}
    (tmp_path / "adapter").mkdir()
    save_file(factors, tmp_path / "adapter" / "adapter_model.safetensors")
    (tmp_path / "adapter" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 1, "lora_alpha": 2}')
    merged = shutil.copytree(saved, tmp_path / "merged")
    tensors = load_file(saved / "model.safetensors")
    tensors[f"{weight}.weight"] += 2 * b @ a
    save_file(tensors, merged / "model.safetensors")
    scores = []
    for arguments in ((merged,), (saved, "--adapter", tmp_path / "adapter")):
        code, out, _ = run(*arguments, "--per-head", "--format", "csv")
        assert code == 0
        scores.append(pd.read_csv(io.StringIO(out)))
    assert set(scores[1]["model"]) == {"tiny-bert + adapter"}
    for name in ("symmetry", "directionality"):
        assert scores[1][name].tolist() == pytest.approx(scores[0][name].tolist(), abs=1e-5)
    assert_refused(*run(saved, "--adapter", merged))
    assert_refused(*run(tmp_path / "adapter"))


def test_positions_split_every_score_and_add_up(run, saved):
    for convention in Convention:
        code, out, _ = run(saved, "--positions", "--per-head", "--format", "csv", "--convention", convention.value)
        table = pd.read_csv(io.StringIO(out))
        assert code == 0 and len(table) == 3 * 5 and tuple(table.columns) == (*COLUMNS, DIMENSION, *SPLIT.values())
        shares = table[["positions_share", "share_outside", "share_mixed"]].to_numpy()
        parts = table[["symmetry_inside", "symmetry_outside", "symmetry_mixed"]].to_numpy()
        assert shares.sum(1) == pytest.approx(1)
        assert (shares * parts).sum(1) == pytest.approx(table["symmetry"], abs=1e-5), convention
    rows = load_file(saved / "model.safetensors")["embeddings.position_embeddings.weight"]
    assert set(table[DIMENSION]) == {position_space(rows).shape[1]}
    code, out, _ = run(saved, "--positions", "--format", "markdown")
    assert code == 0 and "s inside" in out and f"{table[DIMENSION][0]} of 32" in out


@pytest.mark.parametrize(
    "model_type, words", [("gpt_neox", "rotating queries and keys"), ("t5", "a bias of the logits")]
)
def test_positions_outside_the_embedding_are_one_sentence(model_type, words, run, tmp_path):
    small_model(model_type)().save_pretrained(tmp_path)
    code, out, err = run(tmp_path, "--positions")
    assert_refused(code, out, err)
    assert words in err


def test_parts_without_a_table_stay_empty_and_say_why(run, tmp_path):
    small_model("bart")().save_pretrained(tmp_path)
    _, out, _ = run(tmp_path, "--positions", "--format", "csv")
    split = pd.read_csv(io.StringIO(out)).groupby("part")["positions_share"].apply(lambda x: x.notna().all())
    assert split.to_dict() == {"encoder": True, "decoder": True, "cross": False}
    assert "cross-attention joins two sequences" in run(tmp_path, "--positions")[1]
