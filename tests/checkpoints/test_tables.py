"""Tables of scores in a notebook, and of several models."""

import math
import re
import sys
from pathlib import Path
from statistics import median
from unittest import mock
from xml.etree import ElementTree

import pytest
import torch
from small_models import small_model

import attngeo
from attngeo import open_checkpoint, open_model, score_table, symmetry_score
from attngeo.bilinear.tables import ModelTable, ScoreTable
from attngeo.errors import CheckpointError, MissingExtra, ParameterError


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[Path]:
    """A BERT with a <b> in its name, a GPT-2, and a T5 with three parts."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("models")
    for name, model_type in (("bert <b>", "bert"), ("gpt", "gpt2"), ("t5", "t5")):
        small_model(model_type)().save_pretrained(root / name)
    return [root / "bert <b>", root / "gpt", root / "t5"]


def shown(table) -> tuple[list[str], list[list[str]], str]:
    """Names and cells of the table that a notebook shows, and the sentences below it."""
    html = table._repr_html_()
    assert not re.search(r"colou?r|background|<script|<style", html)  # it is read on any ground
    parts = ElementTree.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")
    rows = [["".join(cell.itertext()) for cell in row] for row in parts.iter("tr")]
    return rows[0], rows[1:], "".join(parts[-1].itertext())


def test_a_notebook_shows_a_row_for_each_layer_and_what_the_command_prints(folders, attngeo):
    table = score_table(folders[0])
    names, rows, said = shown(table)
    assert len(rows) == len(table.layers) == 2 and len(table.heads) == 8 and len(table) == 10
    assert [row[1] for row in rows] == ["0", "1"] and names[2:6] == ["symmetry", "z", "p", "directionality"]
    for row, layer in zip(rows, open_checkpoint(folders[0]), strict=True):
        assert float(row[names.index("symmetry")].strip("*")) == pytest.approx(symmetry_score(layer.form), abs=6e-5)
    text = attngeo("score", folders[0])[1]
    assert str(table) == text.removesuffix("\n") and "For comparison" in text
    assert said == text.rpartition("\n\n")[2].replace("\n", "") and "heads of this shape" not in said
    assert str(table.heads).count("encoder  ") == 8 and "heads of this shape" in shown(table.heads)[2]
    assert (
        repr(table).startswith("<ScoreTable 'bert <b>': 2 layers, 8 heads, median symmetry") and len(repr(table)) < 120
    )


def test_parts_of_a_table_are_tables(folders):
    table = score_table(folders[0])
    assert isinstance(table[:5], ScoreTable) and isinstance(table.heads[1:], ScoreTable)
    assert {row.head for row in table.layers} == {-1} and [row.head for row in table.heads] == [0, 1, 2, 3] * 2
    assert len(shown(table.heads)[1]) == 8 and "head" in shown(table.heads)[0] and "c_S" not in shown(table.heads)[0]
    assert [note for note in table.notes if note not in table[:5].notes] == [
        note for note in table.notes if note.startswith("For comparison")
    ]
    first, all_layers = table.layers[:1], table.layers
    assert "The median over 1 encoder layer is" in str(first) and "For comparison" not in str(first)
    assert "The median over 2 encoder layers is" in str(all_layers) and "For comparison" in str(all_layers)
    assert repr(first).startswith("<ScoreTable 'bert <b>': 1 layer, 0 heads,")
    assert (repr(ScoreTable()), shown(ScoreTable())[1]) == ("<ScoreTable>", [])


def test_a_table_draws_itself(folders, tmp_path):
    figure = score_table(folders[0]).plot()
    assert "symmetry" in figure.alt.lower() and "image/svg+xml" in figure._repr_mimebundle_()[0]
    figure.save(tmp_path / "s.png")
    assert (tmp_path / "s.png").stat().st_size > 1000
    for name in ("out_p", "out.xyz"):
        with pytest.raises(ParameterError, match=f"{name} does not end .* use .svg, .png or .pdf"):
            figure.savefig(tmp_path / name)
    figure.savefig(f"{tmp_path}/out.PDF")
    assert [path.name for path in tmp_path.glob("out*")] == ["out.PDF"]
    gone = {name: None for name in sys.modules if name.startswith(("matplotlib", "attngeo.plot"))}
    with mock.patch.dict(sys.modules, gone | {"matplotlib": None}), pytest.raises((MissingExtra, ImportError)):
        score_table(folders[0]).plot()


def test_a_state_dict_is_scored_with_its_config(folders):
    model = small_model("gpt2")()
    table = score_table(model.state_dict(), config=model.config, fold_norm=True)
    assert [row.symmetry for row in table] == [row.symmetry for row in score_table(model, fold_norm=True)]
    with pytest.raises(CheckpointError, match="for a path or an id, use open_checkpoint"):
        score_table(folders[0], config=model.config)


def test_a_table_of_heads_alone_is_not_drawn(folders):
    with pytest.raises(ParameterError, match="no layers to draw"):
        score_table(folders[0], per_head=True).heads.plot()


def test_several_models_have_a_row_for_each_part(folders, attngeo):
    assert f"{score_table(folders)}\n" == attngeo("score", *folders)[1]
    table = score_table([*folders[:2], open_model(small_model("gpt2")()), folders[2]])
    assert isinstance(table, ModelTable) and isinstance(table[1:], ModelTable)
    assert [(row.model, row.part) for row in table[:2]] == [("bert <b>", "encoder"), ("gpt", "decoder")]
    assert [row.part for row in table[3:]] == ["encoder", "decoder", "cross"]
    alone = score_table(folders[1])
    row, layers = table[1], alone.layers
    assert row.symmetry == median(one.symmetry for one in layers) and row.n_layers == len(layers) == 2
    assert row.positions == "learned" and row.d_model == layers[0].d_model
    assert row.directionality_outside == sum(one.directionality_p < 0.05 for one in layers)
    half = 1.959964 * layers[0].symmetry_null_sd
    assert row.symmetry_null_high - row.symmetry_null_low == pytest.approx(2 * half)
    assert (row.symmetry_null_high + row.symmetry_null_low) / 2 == pytest.approx(layers[0].symmetry_null_mean)
    assert row.directionality_null_low == -1 and row.directionality_null_high == 1  # 1.96 sd is more at this width
    assert list(table.to_dataframe()["model"]) == [row.model for row in table]
    names, rows, said = shown(table)
    assert len(rows) == 6 and "median over the layers" in said
    essential = ["model", "part", "symmetry", "layers outside in s", "directionality", "layers outside in d"]
    assert names[:6] == essential and all(f'"{name}"' in said for name in essential[3::2] + names[-2:])
    sides = re.findall(r'<td style="text-align: (\w+)', table._repr_html_())[: len(names)]
    assert [name for name, side in zip(names, sides, strict=True) if side == "left"] == ["model", "part", "positions"]


def test_what_the_formulas_change_is_said_of_several_models_too(folders):
    folded = score_table(folders[1:2], fold_norm=True)
    assert math.isnan(folded[0].symmetry_null_low) and folded[0].symmetry_outside is None
    assert "with the gains" in shown(folded)[2] and not any("random" in name for name in shown(folded)[0])
    assert "There is no comparison with random layers, because" in shown(folded)[2]
    assert not re.search("All models|layers outside|columns", shown(folded)[2])
    part_of = score_table(folders[2:], fold_norm=True)  # no gains are folded into the cross layers
    assert "no comparison with random layers in some rows" in shown(part_of)[2] and "outside in s" in shown(part_of)[2]
    assert "value-output map" in shown(score_table(folders[1:2], matrix="ov"))[2]
    assert "do not follow the definitions" in shown(score_table(folders[1:2], convention="released"))[2]


def test_a_model_that_cannot_be_read_is_named_and_the_others_are_shown(folders, tmp_path):
    with pytest.warns(UserWarning, match="nowhere' is neither a file or folder here"):
        table = score_table([folders[0], tmp_path / "nowhere"])
    assert [row.model for row in table] == ["bert <b>"] and "nowhere' is neither a file" in shown(table)[2]
    with pytest.raises(CheckpointError, match="nowhere' is neither a file"):
        score_table([tmp_path / "nowhere"])
    with pytest.raises(ParameterError, match="at least one model"):
        score_table([])


def test_a_model_whose_error_begins_with_its_name_is_named_once(folders):
    with pytest.raises(CheckpointError, match="/bert <b> cannot be scored: the gains"):
        score_table([folders[0]], fold_norm=True)


def test_models_of_one_name_are_called_by_what_was_asked_for(folders, tmp_path):
    small_model("gpt2")().save_pretrained(tmp_path / "gpt")
    assert [row.model for row in score_table([folders[1], tmp_path / "gpt"])] == [
        str(folders[1]),
        str(tmp_path / "gpt"),
    ]


def test_tables_are_public():
    assert {"ScoreTable", "ModelTable", "ModelRow"} <= {*attngeo.__all__}
