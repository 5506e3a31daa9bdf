import numpy as np
import pandas as pd
import pytest
import torch
from chapters.printed_scores import (
    DISTINCT,
    extraction_effects,
    head_space,
    heads_as_blocks,
    kind_of,
    kinds_of_rows,
    planted_form,
    tiled_keys,
    whole_table,
)
from hypothesis import given
from livingpaper.released_results import released_results
from notebook_code import notebook
from random_forms import forms, gaussian

from attngeo.bilinear.rows import SCORES
from attngeo.experiments.survey.measured import layer_medians

BERT = {"S2": "0.77 [0.07, 0.07]", "S3": "-0.79 [0.11, 0.11]"}
READ = {  # printed and recomputed
    "S2": {"L1": BERT["S2"], "L8": BERT["S2"], "L34": "0.15 [0.02, 0.03]", "R7": "0.14 [0.09, 0.14]"},
    "S3": {"L1": BERT["S3"], "L8": BERT["S3"], "L34": "-0.58 [0.06, 0.14]", "R7": "-0.56 [0.21, 0.08]"},
}
VERDICTS = {"reproduced": 4, "no such model": 1, "random weights were scored": 2}
EFFECTS = [
    ["head-pairing", 0.66, 0.08, -0.93, -0.93],
    ["head-pairing", 0.65, 0.2, -0.97, -0.88],
    ["head-space", 0.68, 0.41, -0.97, 0.18],
    ["mixed-heads", 0.68, 0.02, -0.97, 0.22],
]


def table(number, score, medians):
    return whole_table(number, score, medians).set_index("row").replace("\u00a0", " ", regex=True)


@pytest.mark.parametrize(("number", "score", "n"), [("S2", "symmetry", 70), ("S3", "directionality_tables", 68)])
def test_every_row_of_a_table_is_printed_recomputed_and_judged(number, score, n):
    every = table(number, score, notebook("printed_scores_details").recorded_medians())
    reproduced = every[every["verdict"] == "reproduced"]
    assert reproduced["printed"].to_dict() == reproduced["recomputed"].to_dict() == READ[number]
    assert every["verdict"].value_counts().to_dict() == VERDICTS | {"not read": n - 7}
    assert every.loc["R15", ["checkpoint", "verdict"]].tolist() == ["none", "no such model"]
    assert every.loc["R22", "verdict"] == every.loc["R27", "verdict"] == "random weights were scored"


def of_layers(model, symmetry):
    frame = pd.DataFrame({"model": model, "part": "decoder", "layer": range(len(symmetry)), "head": -1})
    return layer_medians(frame.assign(**dict.fromkeys(SCORES, 0.0)).assign(symmetry=symmetry))


def test_a_row_reproduces_only_to_its_printed_digits_and_never_random_weights():
    values = np.array([0.13, 0.13, 0.15, 0.18, 0.18])  # GPT2 is printed as 0.15 [0.02, 0.03]
    for shift, verdict in ((0.0, "reproduced"), (0.2, "differs by 0.20")):
        assert table("S2", "symmetry", of_layers("GPT-2", values + shift)).loc["L34", "verdict"] == verdict
    every = table("S2", "symmetry", of_layers("Meta-Llama-3-8B", np.array([0.0, 0.0, 0.01])))
    assert every.loc["R22", "recomputed"] != "–" and every.loc["R22", "verdict"] == "random weights were scored"
    assert every.loc["R13", "verdict"] in ("reproduced", "differs by 0.01")


@given(forms())
def test_key_heads_are_repeated_as_a_whole(form):
    expected = sum(form.wq[h] @ form.wk[h % form.n_kv_heads].T for h in range(form.n_heads))
    torch.testing.assert_close(tiled_keys(form).dense(), expected)


def test_the_released_slices_of_fused_weights():
    """Both wrong products from fused weights as they are stored: concatenated, and interleaved by head."""
    heads, d_head = 3, 4
    d = heads * d_head
    form, values = planted_form(heads, heads, d_head, 0.5), gaussian(heads, d, d_head)
    q, k, v = (w.transpose(1, 2).reshape(d, d) for w in (form.wq, form.wk, values))  # torch.nn.Linear weights
    concatenated = torch.cat((q, k, v))
    torch.testing.assert_close(head_space(form), concatenated[:d] @ concatenated[d : 2 * d].T)
    interleaved = torch.stack([w.view(heads, d_head, d) for w in (q, k, v)], 1).reshape(3 * d, d)
    torch.testing.assert_close(heads_as_blocks(form, values), interleaved[:d] @ interleaved[d : 2 * d].T)


def test_each_defect_moves_a_score():
    assert extraction_effects().round(2).drop(columns="shape").to_numpy().tolist() == EFFECTS


def test_a_row_counts_exactly_if_it_shows_a_distinct_and_correctly_extracted_model():
    rows = released_results()[lambda results: results["row"] != ""]
    kinds = rows.apply(kind_of, axis=1)
    assert ((kinds == DISTINCT) == rows["counted"]).all() and len(rows) == 70
    assert f"{DISTINCT} ({rows['counted'].sum()})" in kinds_of_rows(rows).alt
