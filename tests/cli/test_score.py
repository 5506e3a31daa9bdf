import io
import json
import re
import shlex
import shutil
import sys
from itertools import product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from edited_files import edit_json, edit_tensors
from huggingface_hub import constants
from safetensors.torch import load_file
from small_models import small_config, small_model

from attngeo import open_checkpoint, score_table, symmetry_score
from attngeo.bilinear.conventions import Convention
from attngeo.bilinear.positions import position_space
from attngeo.bilinear.rows import COLUMNS, DIMENSION, OF_HEADS, SCORES, SPLIT
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.errors import MissingExtra
from attngeo.plot.score_figure import score_figure

KEYS = "encoder.layer.{}.attention.self.key.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    small_model("bert", num_hidden_layers=3)().save_pretrained(folder)
    return folder


@pytest.fixture
def scored(attngeo):
    """The rows of a table, from a format that holds every number."""

    def call(*arguments) -> pd.DataFrame:
        code, out, err = attngeo("score", *arguments, "--format", "json")
        assert (code, err) == (0, "")
        return numbers(json.loads(out))

    return call


def numbers(rows) -> pd.DataFrame:
    """Rows as a data frame, in which what JSON has as null is no number."""
    table = pd.DataFrame(rows).drop(columns="remarks")
    return table.astype({name: float for name in table if name.startswith("co") and name != "convention"})


@pytest.fixture
def table(attngeo):
    """The table and what stands below it, its words one space apart."""

    def call(*arguments) -> str:
        code, out, err = attngeo("score", *arguments)
        assert code == 0, err
        return " ".join(out.split())

    return call


def changed(saved, folder, change):
    """A copy of the model with other tensors."""
    shutil.copytree(saved, folder)
    edit_tensors(folder / "model.safetensors", change)
    return folder


def test_files_follow_their_suffix_and_hold_the_same_numbers(attngeo, scored, saved, tmp_path):
    expected = scored(saved, "--per-head", "--gamma", 1.5)
    assert (
        tuple(expected.columns) == (*COLUMNS, *OF_HEADS) and len(expected) == 3 * 5 and (expected["gamma"] == 1.5).all()
    )
    readers = {
        "out.csv": lambda path: pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(OF_HEADS[1:], "")),
        "out.json": lambda path: numbers(json.loads(path.read_text())),
        "OUT.JSON": lambda path: numbers(json.loads(path.read_text())),
        "scores": lambda path: pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(OF_HEADS[1:], "")),
    }
    (tmp_path / "new").mkdir()
    for name, read in readers.items():
        form = [] if "." in name else ["--format", "csv"]
        code, out, err = attngeo("score", saved, "--per-head", "--gamma", 1.5, "-o", tmp_path / "new" / name, *form)
        assert (code, out) == (0, "") and "15 rows written" in err
        pd.testing.assert_frame_equal(read(tmp_path / "new" / name), expected, check_exact=True)
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(readers)


REFUSED = {  # in the folder of a checkpoint; what the sentence names
    ". -o /tmp/a.csv -o /tmp/a.json": "-o was given 2 times (/tmp/a.csv, /tmp/a.json)",
    ". --plot /tmp/a.svg --plot /tmp/a.png": "--plot was given 2 times",
    "/nowhere": "'/nowhere'",
    "": "'PATH_OR_ID...'",
    "''": "no file or folder ''",
    "'.. '": ".. has no config.json",
    ".@@main": ". is a local folder, which has no revision '@main'",
    ".@main": ". is a local folder, which has no revision 'main'",
    "model.safetensors@v1": "model.safetensors is a local file, which has no revision 'v1'",
    "https://huggingface.co/datasets/o/n": "not the address of a model",
    "owner/name": "HF_HUB_OFFLINE is set; unset it",
    "owner/\x1b": r"'owner/\x1b' is not a valid name of a repository",
    ". --layer": "see attngeo score --help.",
    ". --gamma big": "'big'",
    ". --gamma nan": "gamma",
    ". --gamma -1": "gamma",
    ". --convention ours": "'ours'",
    ". --format html": "-o FILE.html",
    ". -o s.parquet": "s.parquet does not end with the suffix of a known format; use .txt, .csv, .json, .html, .htm. ",
    ". --format csv -o s.md": "convert a CSV file in Python (pandas.read_csv)",
    ". --format csv -o s.json": "s.json does not end with the suffix of the format csv; use .csv. For",
    ". --format csv -o s.tsv": "s.tsv",
    ". -o s.tsv": "s.tsv",
    ". -o s": "s does not end with the suffix of a known format",
    "/nowhere -o .": "'--output': File '.' is a directory",
    ". -o config.json": "config.json already exists",
    ". -o ../link.csv": "link.csv already exists",
    ". --plot ../link.svg": "link.svg already exists",
    ". -o gone/s.csv": "there is no folder gone",
    ". --plot gone/s.svg": "there is no folder gone",
    "/nowhere --plot s.txt": "s.txt does not end with the suffix of an image format",
    ". --layer 3": "tiny-bert has no layer 3. Its layers have the numbers 0 to",
    ". --layer 0 --head 4": "Layer 0 of tiny-bert has no head 4. Its heads have the numbers 0 to 3.",
    ". --head 0": "--head needs --layer",
    ". --fold-norm": "the gains of the layer normalisation before queries and keys of encoder layer 0 are not known,",
    ". --distance -1": "tiny-bert cannot be scored at distance -1: its encoder has no rotary positions",
    ". --distance 1.5": "'1.5' is not a valid integer",
    ". --register gone.yml": "there is no file gone.yml, so no model types can be registered from it",
    ". --fold-qk-norm": "does not know any such norms",
    ". --distance -1 --matrix ov": "score the matrix 'qk'",
}


def test_wrong_calls_end_in_one_sentence_and_write_nothing(refused, saved, tmp_path, monkeypatch):
    folder = shutil.copytree(saved, tmp_path / "tiny-bert")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for ending in ("csv", "svg"):
        (tmp_path / f"link.{ending}").symlink_to(folder / "config.json")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for line, named in REFUSED.items():
        assert named in refused("score", *shlex.split(line)), line
        assert {path: path.read_bytes() for path in folder.iterdir()} == before, line


@pytest.mark.parametrize("convention", ["printed", "released", "tables"])
def test_a_convention_changes_scores_and_their_reference_alike(convention, scored, table, saved):
    ours, theirs = scored(saved), scored(saved, "--convention", convention)
    assert set(ours["convention"]) == {"definition"} and set(theirs["convention"]) == {convention}
    s = {"printed": 2 * ours["symmetry"], "released": (1 + ours["symmetry"]) / 2}.get(convention, ours["symmetry"])
    d = ours.get(f"directionality_{convention}", ours["directionality"])
    pd.testing.assert_series_equal(theirs["symmetry"], s, check_names=False)
    pd.testing.assert_series_equal(theirs["directionality"], d, check_names=False)
    pd.testing.assert_series_equal(theirs["symmetry_z"], ours["symmetry_z"])
    assert "These scores do not follow the definitions." in table(saved, "--convention", convention)


def test_scores_are_drawn_and_reported_and_one_layer_or_head_as_a_heat_map(attngeo, scored, saved, tmp_path):
    figure, report = tmp_path / "s.svg", tmp_path / "r.html"
    assert attngeo("score", saved, "--plot", figure)[::2] == (0, f"Figure written to {figure}\n")
    assert figure.read_text().count("<svg") == 1 and "tiny-bert" in figure.read_text()
    assert attngeo("score", saved, "--per-head", "-o", report)[:2] == (0, "")
    assert report.read_text().count("<svg") == 1 and report.read_text().count("<tr>") == 1 + 3 * 5
    whole = scored(saved, "--per-head")
    for arguments, expected, said in (
        (("--layer", "1"), whole.query("layer == 1 and head == -1"), "layer 1 of tiny-bert"),
        (("--layer", "2", "--head", "3"), whole.tail(1), "layer 2, head 3 of tiny-bert"),
    ):
        pd.testing.assert_frame_equal(scored(saved, *arguments), expected.reset_index(drop=True))
        assert attngeo("score", saved, *arguments, "-o", report)[0] == 0
        page = report.read_text()
        assert f"Heat map of W_qk of encoder {said}" in page and "<image" in page
        assert "img-src data:" in page  # or they are not shown
        assert "-- query coordinate" in page and "-- key coordinate" in page
    assert attngeo("score", saved, "--matrix", "ov", *arguments, "-o", report, "--plot", figure)[0] == 0
    drawn, page = figure.read_text(), report.read_text()
    assert "-- written coordinate" in drawn and "-- read coordinate" in drawn and "query coordinate" not in drawn
    assert f"Heat map of W_o W_v^T of encoder {said}, a row for each written coordinate" in page


def test_quiet_leaves_errors_alone_on_stderr(attngeo, refused, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "rows written" in attngeo("score", saved, "-o", tmp_path / "s.csv")[2]
    for option in ("--quiet", "-q"):
        assert attngeo("score", saved, option, "-o", tmp_path / "s.csv") == (0, "", "")
    assert "/nowhere" in refused("score", "/nowhere", "-q")


def test_damaged_weights_leave_the_old_output(refused, saved, tmp_path):
    (tmp_path / "scores.csv").write_text("the old scores")
    folder = changed(saved, tmp_path / "m", lambda tensors: tensors[KEYS.format(2)].fill_(float("nan")))
    assert KEYS.format(2) in refused("score", folder, "-o", tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_text() == "the old scores" and len(list(tmp_path.iterdir())) == 2


@mock.patch.dict(ARCHITECTURES)
def test_an_unknown_type_is_read_as_a_known_one_or_registered_from_a_file(attngeo, scored, refused, saved, tmp_path):
    folder, mine = shutil.copytree(saved, tmp_path / "m"), tmp_path / "mine.yml"
    edit_json(folder / "config.json", model_type="bert-by-another-name")
    assert "--as" in (said := refused("score", folder)) and "--register" in said
    stack = '{part: encoder, module: "encoder.layer.{}.attention.self", query: query, key: key}'
    mine.write_text(f"- model_types: [bert-by-another-name]\n  stacks: [{stack}]\n")
    (other := tmp_path / "other.yml").write_text(mine.read_text().replace("another-name", "a-third"))
    for way in (("--as", "bert"), ("--register", mine, "--register", other)):
        rows = scored(folder, *way)
        assert rows["symmetry"].tolist() == scored(saved)["symmetry"].tolist()
        assert rows["source"][0].endswith(" as bert") == (way[0] == "--as")
    said = refused("score", folder, "--as", "gpt2")
    assert "no tensor is named like" in said and said.endswith("'bert-by-another-name'. Read it as this type.\n")
    for line in (("score", folder), ("diff", folder, saved)):
        said = refused(*line, "--as", "brt")
        assert "'brt' is not among the" in said and "(--as)" not in said and "config says 'bert" in said
    del ARCHITECTURES["bert-by-another-name"]
    assert "'bert-by-another-name'. Give a supported type" in refused("score", folder, "--as", "gpt2")
    for number, way in enumerate((("--as", "bert"), ("--register", mine))):
        assert "cosine 1.0000" in attngeo("diff", folder, saved, *way)[1]
        ARCHITECTURES.pop("bert-by-another-name", None)
        line = ("survey", folder, "-o", tmp_path / f"records{number}", *way)
        assert attngeo(*line)[0] == 0 and "1 models already have a record" in attngeo(*line, "--resume")[2]
        ARCHITECTURES.pop("bert-by-another-name", None)
    for text, named in {
        "- {model_types: [a], stacks: [{part: encoder, modul: x}]}": "modul",
        "- {model_types: [a], stacks: [": "valid YAML in line 2",
        "- {model_types: [gpt2], stacks: [{part: encoder, module: x}]}": "'gpt2' is built in",
        "- {model_types: [a]}": "'a' has an empty name or no stacks",
        "- {model_types: [], stacks: [{part: encoder, module: x}]}": "no entry with a model type",
    }.items():
        mine.write_text(text)
        assert named in (said := refused("score", saved, "--register", mine)) and ("mine.yml" in said or "gpt2" in said)


def test_a_dead_layer_is_said_and_has_no_scores(attngeo, scored, table, saved, tmp_path):
    folder = changed(saved, tmp_path / "one", lambda tensors: tensors[KEYS.format(1)].zero_())
    rows, said = scored(folder, "--per-head", "--positions"), table(folder, "--per-head")
    for name in (*SCORES, "symmetry_z", "directionality_p", "symmetry_inside", "share_mixed"):
        assert rows[name].isna().tolist() == (rows["layer"] == 1).tolist(), name
    assert "there is nothing to score, in encoder layer 1. Random layers of this shape" in said and re.search(
        "the symmetry of [0-2] of 2 layers", said
    )
    assert f"is {rows['symmetry'][rows['head'] == -1].median():.4f} for symmetry" in said
    assert attngeo("score", folder, "--per-head", "-o", tmp_path / "s.csv")[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "s.csv")[list(SCORES)], rows[list(SCORES)])
    assert "nan" not in (tmp_path / "s.csv").read_text()
    for panel in score_figure(rows.to_dict("records")).figure.axes:
        of_marks = (np.ma.filled(marks.get_offsets(), np.nan) for marks in panel.collections)
        marks = (panel.lines[-1].get_xydata(), *of_marks)
        at_layer_1 = [y for points in marks for x, y in points if x == 1]
        assert at_layer_1 and np.isnan(at_layer_1).all()
    one_head = changed(saved, tmp_path / "head", lambda tensors: tensors[KEYS.format(1)][:8].zero_())
    assert "there is nothing to score, in encoder layer 1 head 0. Random" in table(one_head, "--per-head")
    everywhere = changed(saved, tmp_path / "all", lambda t: [t[KEYS.format(layer)].zero_() for layer in range(3)])
    assert "median" not in table(everywhere, "--per-head", "--plot", tmp_path / "s.svg")


def test_gains_of_the_layer_normalisation_before_are_folded_in(scored, table, tmp_path):
    model = small_model("gpt2")()
    for layer in model.h:
        torch.nn.init.uniform_(layer.ln_1.weight, 0.1, 3)
    model.save_pretrained(tmp_path)
    rows = scored(tmp_path, "--fold-norm", "--per-head")
    for source in (tmp_path, model):
        expected = [row.symmetry for row in score_table(source, fold_norm=True)]
        assert rows["symmetry"].tolist() == pytest.approx(expected, abs=1e-6)
    assert rows["source"][0] == "model.safetensors:h.0.attn * h.0.ln_1.weight"
    said = table(tmp_path, "--fold-norm", "--plot", tmp_path / "x.svg")
    assert "known only without gains" in said and "*" not in said and (tmp_path / "x.svg").exists()
    assert "part layer symmetry ality c_S c_N rank" in said
    first, others = score_table(model)[:1], score_table(model, fold_norm=True)[1:]  # some have no gain first
    drawn = score_figure(list(map(vars, first + others)))
    assert "the scores of random weights are then unknown" in drawn.alt and all(
        len(p.lines) == 1 for p in drawn.figure.axes
    )
    assert rows[["symmetry_z", "directionality_p", "symmetry_null_sd"]].isna().all(axis=None)


def test_what_the_scores_leave_out_is_said_below_the_table(table, saved, tmp_path):
    said = table(saved)
    assert "tiny-bert: scores of W_qk, gamma = 2" in said and " encoder 2 " in said
    assert "The median over 3 encoder layers is " in said
    assert "outside of W_qk, so no score includes them: biases." in said
    small_model("qwen3")().save_pretrained(tmp_path)
    beside = "them: positions encoded by rotating queries and keys; {}norms of queries and keys"
    assert beside.format("gains of the layer normalisation before queries and keys; ") in table(tmp_path)
    assert beside.format("") in table(tmp_path, "--fold-norm")
    small_model("vitdet", use_relative_position_embeddings=True)().save_pretrained(tmp_path / "vitdet")
    assert "them: positions encoded by keys for each distance; " in table(tmp_path / "vitdet")
    for matrix, folded in {"qk": "W_qk {}queries and keys", "ov": "W_o W_v^T {}values"}.items():
        said = folded.format("with the gains of the layer normalisation before ")
        assert f" {said}. " in table(tmp_path, "--fold-norm", "--matrix", matrix)


def test_positions_by_keys_for_each_distance_are_named_once(table, saved, tmp_path):
    copy = shutil.copytree(saved, tmp_path / "copy")
    edit_json(copy / "config.json", position_embedding_type="relative_key")
    said = table(copy)
    assert "positions encoded by keys for each distance" in said and "position_embedding_type" not in said
    edit_json(copy / "config.json", position_embedding_type="spiral")
    assert "position_embedding_type = 'spiral'" in table(copy)


def test_a_soft_cap_is_named_where_the_model_type_has_one(table, saved, tmp_path):
    for capped in (50.0, None):
        text = small_config("gemma2", attn_logit_softcapping=capped).to_dict()
        small_model("paligemma", text_config=text)().save_pretrained(tmp_path / "capped")
        assert ("a soft cap of the logits" in table(tmp_path / "capped")) is bool(capped)
    copy = shutil.copytree(saved, tmp_path / "copy")
    edit_json(copy / "config.json", attn_logit_softcapping=50.0)  # which BERT's code does not read
    said = table(copy)
    assert "a soft cap of the logits" not in said and "attn_logit_softcapping = 50.0" in said


def test_value_output_maps_in_the_place_of_w_qk(scored, table, refused, saved, tmp_path):
    rows = scored(saved, "--matrix", "ov")
    expected = [symmetry_score(layer.form) for layer in open_checkpoint(saved, matrix="ov")]
    assert rows["symmetry"].tolist() == pytest.approx(expected)
    assert rows["source"][2] == "model.safetensors:encoder.layer.2.attention.self (ov)"
    said = table(saved, "--matrix", "ov")
    assert "heads write its rows and read its columns" in said and "W_qk" not in said and "attends" not in said
    assert "scores of W_o W_v^T, gamma" in said and "scores of W_o W_v^T, gamma" in table(
        saved, saved, "--matrix", "ov"
    )
    small_model("afmoe")().save_pretrained(tmp_path)  # gates what its heads write
    assert "decoder layer 0 are gated or normalised (layers.0.self_attn.gate_proj.weight)" in refused(
        "score", tmp_path, "--matrix", "ov"
    )


def test_what_is_no_file_is_called_so(refused, saved, tmp_path):
    for kind, name in product(("link", "folder"), ("model.safetensors", "config.json")):
        folder = shutil.copytree(saved, tmp_path / kind / name)
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / "gone") if kind == "link" else (folder / name).mkdir()
        assert f"{name} that is not a file" in refused("score", folder)


def test_queries_that_no_layer_has_are_told(table, saved, tmp_path):
    assert "names are those of queries" not in table(saved)
    folder = shutil.copytree(saved, tmp_path / "model")
    for more, further in {"de": "", "en": " and 1 more"}.items():
        other = {f"text_{more}coder.layer.0.attention.query.weight": torch.ones(32, 32)}
        edit_tensors(folder / "model.safetensors", lambda weights, other=other: weights | other)
        said = f"names are those of queries: text_decoder.layer.0.attention.query.weight{further}."
        assert said in table(folder)


def test_python_has_the_rows_of_the_table(attngeo, saved):
    printed = numbers(json.loads(attngeo("score", saved, "--per-head", "--format", "json")[1]))
    rows = score_table(saved)
    pd.testing.assert_frame_equal(rows.to_dataframe(), printed, check_exact=True)
    pd.testing.assert_frame_equal(rows[5:7].to_dataframe(), printed[5:7].reset_index(drop=True), check_exact=True)
    with mock.patch.dict(sys.modules, pandas=None), pytest.raises(MissingExtra, match="pip install pandas"):
        rows.to_dataframe()


def test_the_direction_of_the_heads_is_in_the_rows_of_layers(attngeo, scored, table, saved, tmp_path):
    rows = scored(saved, "--per-head")
    layers, heads = rows[rows["head"] == -1], rows[rows["head"] != -1]
    names = list(OF_HEADS[2:])
    assert heads[names].isna().all(axis=None) and set(heads["n_heads"]) == {1} and set(layers["n_heads"]) == {4}
    for (_, row), layer in zip(layers.iterrows(), open_checkpoint(saved), strict=True):
        parts = [torch.stack([m + sign * m.T for m in layer.form.to(torch.float64).heads()]) for sign in (1, -1)]
        c_s, c_n = (float(part.sum(0).square().sum() / part.square().sum()) for part in parts)
        assert (row["coherence_symmetric"], row["coherence_skew"]) == pytest.approx((c_s, c_n))
        signs = torch.tensor([[1, *others] for others in product((1, -1), repeat=3)])[:, :, None, None]
        of_s, of_n = ((part * signs).sum(1).square().sum((1, 2)) for part in parts)
        ranks = [float((of >= of[0] * (1 - 1e-12)).double().mean()) for of in (of_s, of_n)]
        assert row["coin_rank"] == ranks[1]
        for p, rank in zip(("coherence_symmetric_p", "coin_rank_p"), ranks, strict=True):
            assert row[p] == min(1, 2 * rank, 2 * (1 - rank + 1 / 8))
    said = table(saved)
    sd = layers["coherence_skew_null_sd"].median()
    assert "direction- part layer symmetry z p ality z p c_S c_N rank" in said and f"c_N would be 1 ± {sd:.2g}" in said
    assert "c_N of" not in said and "With 4 heads, neither c_S nor c_N can have a star." in said  # the smallest is 1/8
    small_model("bert", num_hidden_layers=1, hidden_size=56, num_attention_heads=7)().save_pretrained(tmp_path / "7")
    seven = table(tmp_path / "7")
    assert (
        re.search(r"c_N of [01] of 1 layer\.", seven)
        and "neither" not in seven
        and set(rows["positions"]) == {"learned"}
    )
    small_model("gpt2", n_head=1)().save_pretrained(tmp_path)
    assert "c_S" not in table(tmp_path) and "rank" not in table(tmp_path).partition("Random layers")[0]


def test_several_models_have_a_line_each_and_the_same_columns_in_files(attngeo, refused, saved, tmp_path):
    torch.manual_seed(0)
    small_model("gpt2")().save_pretrained(tmp_path / "gpt")
    code, out, err = attngeo("score", saved, tmp_path / "gpt")
    assert (
        (code, err) == (0, "")
        and "2 models: scores of W_qk, gamma = 2" in out
        and "Each score is the median over the layers." in out
    )
    lines = [line.split() for line in out.splitlines() if "coder  " in line]
    rows = score_table([saved, tmp_path / "gpt"])
    assert [line[:2] for line in lines] == [[row.model, row.part] for row in rows]
    assert [line[2] for line in lines] == [f"{row.symmetry:.4f}" for row in rows]
    assert [line[3:6] for line in lines] == [[f"{row.symmetry_outside}", "of", f"{row.n_layers}"] for row in rows]
    assert [line[13] for line in lines] == [row.positions for row in rows]
    (alone,) = (line for line in attngeo("score", saved)[1].splitlines() if line.startswith("For comparison"))
    assert f"\n{rows[0].model}: {alone}\n" in out
    for name, read in {"m.csv": pd.read_csv, "m.json": pd.read_json}.items():
        assert attngeo("score", saved, tmp_path / "gpt", "-o", tmp_path / name)[0] == 0
        pd.testing.assert_frame_equal(
            read(tmp_path / name).drop(columns=["revision", "remarks"], errors="ignore"),
            rows.to_dataframe().drop(columns="revision"),
            check_dtype=False,
        )
    assert attngeo("score", saved, tmp_path / "gpt", "-o", tmp_path / "m.html")[0] == 0
    assert "<td>gpt</td>" in (tmp_path / "m.html").read_text()
    code, out, err = attngeo("score", saved, "/nowhere", tmp_path / "gpt")
    assert (
        code == 2 and err.count("\n") == 1 and "/nowhere" in err and out.count("coder  ") == 2 and "nowhere" not in out
    )
    assert "--layer can only be used for one model, but 2 models are named" in refused(
        "score", saved, saved, "--layer", "1"
    )
    assert "--revision can only be used for one model" in refused("score", saved, saved, "--revision", "main")
    assert "/nowhere" in refused("score", "/nowhere", "/nowhere/else")


def test_every_remark_about_a_model_is_below_the_table_of_several_and_in_json(attngeo, saved, tmp_path):
    zero = changed(saved, tmp_path / "zero", lambda tensors: tensors[KEYS.format(1)].zero_())
    edit_json(zero / "config.json", hidden_size=64, my_attention=3)
    small_model("gpt2")().save_pretrained(tmp_path / "gpt")
    _, out, _ = attngeo("score", saved, zero, tmp_path / "gpt")
    name = zero.name
    assert "0 of 2" in next(line for line in out.splitlines() if line.startswith(f"{name} "))
    assert f"\n{name}: Queries or keys are zero, so there is nothing to score, in encoder layer 1.\n" in out
    assert f"\n{name}: attngeo does not take these keys of the configuration into account: my_attention = 3" in out
    assert f"\n{name}: The config says hidden_size = 64, but the weights have width 32.\n" in out
    assert f"\ntiny-bert, {name}: These parts of the attention are outside of W_qk, so no score includes them: " in out
    assert "\nAll models: These parts" in attngeo("score", saved, saved)[1]
    several = json.loads(attngeo("score", saved, zero, "--format", "json")[1])
    (alone, *_), (first, second) = json.loads(attngeo("score", zero, "--format", "json")[1]), several
    for sentence in ("my_attention = 3", "hidden_size = 64", "outside of W_qk"):
        assert sum(sentence in remark for remark in alone["remarks"]) == 1
        assert sum(sentence in remark for remark in second["remarks"]) == 1
    assert not any("hidden_size" in remark for remark in first["remarks"])


def test_the_table_fits_a_terminal_of_eighty_columns(attngeo, saved, tmp_path):
    torch.manual_seed(1)
    small_model("gpt2", num_hidden_layers=11, tie_word_embeddings=False)().save_pretrained(tmp_path)
    for folder in (saved, tmp_path):
        lines = attngeo("score", folder, "--per-head")[1].partition("\n\n")[2].partition("\n\n")[0].splitlines()
        assert len(lines) > 12 and max(map(len, lines)) <= 80


def test_positions_split_every_score_and_add_up(attngeo, scored, table, saved):
    for convention in Convention:
        rows = scored(saved, "--positions", "--per-head", "--convention", convention.value)
        assert len(rows) == 3 * 5 and tuple(rows.columns) == (*COLUMNS, *OF_HEADS, DIMENSION, *SPLIT.values())
        shares = rows[["positions_share", "share_outside", "share_mixed"]].to_numpy()
        parts = rows[["symmetry_inside", "symmetry_outside", "symmetry_mixed"]].to_numpy()
        assert shares.sum(1) == pytest.approx(1)
        assert (shares * parts).sum(1) == pytest.approx(rows["symmetry"], abs=1e-5), convention
    positions = load_file(saved / "model.safetensors")["embeddings.position_embeddings.weight"]
    assert set(rows[DIMENSION]) == {position_space(positions).shape[1]}
    said = table(saved, "--positions")
    assert "split into three parts" in said
    assert f"{rows[DIMENSION][0]} of 32" in said and "star" not in said and "directionality" not in said


def test_positions_outside_the_embedding_or_of_two_sequences_are_said(attngeo, refused, table, tmp_path):
    for name, words in {"gpt_neox": "rotating queries and keys", "t5": "a bias of the logits"}.items():
        small_model(name)().save_pretrained(tmp_path / name)
        assert words in refused("score", tmp_path / name, "--positions")
    small_model("bart")().save_pretrained(tmp_path / "bart")
    out = attngeo("score", tmp_path / "bart", "--positions", "--format", "csv")[1]
    split = pd.read_csv(io.StringIO(out)).groupby("part")["positions_share"].apply(lambda x: x.notna().all())
    assert split.to_dict() == {"encoder": True, "decoder": True, "cross": False}
    assert "cross-attention joins two sequences" in table(tmp_path / "bart", "--positions")
    bert = small_model("bert")()
    torch.nn.init.zeros_(bert.embeddings.position_embeddings.weight)
    bert.save_pretrained(tmp_path / "zeros")
    said = refused("score", tmp_path / "zeros", "--positions")
    assert "zeros: the position rows are all equal" in said and "; score it without splitting by positions." in said
