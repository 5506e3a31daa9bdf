import pytest
import torch
from hypothesis import given
from random_forms import forms, gaussian

from attngeo import symmetry_score
from attngeo.chapters.printed_scores.released_extractions import (
    extraction_effects,
    head_space,
    heads_as_blocks,
    planted_form,
    tiled_keys,
)
from attngeo.errors import ParameterError


@given(forms())
def test_tiling_pairs_each_query_head_with_its_number_modulo_the_key_heads(form):
    expected = sum(form.wq[h] @ form.wk[h % form.n_kv_heads].T for h in range(form.n_heads))
    torch.testing.assert_close(tiled_keys(form).dense(), expected)


@given(forms())
def test_tiling_is_right_where_keys_are_not_grouped(form):
    if form.n_kv_heads in (1, form.n_heads):
        torch.testing.assert_close(tiled_keys(form).dense(), form.dense())


@given(forms())
def test_head_space_keeps_the_trace_of_the_square_and_not_the_norm(form):
    wrong, right = head_space(form), form.dense()
    assert wrong.shape == (form.n_heads * form.d_head,) * 2
    torch.testing.assert_close((wrong @ wrong).trace(), (right @ right).trace())


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


def test_symmetry_is_lost_in_proportion_to_wrong_pairs():
    """With a form of its own per head, the symmetry left is the share of heads paired rightly, 1 in 8 for 32 on 8."""
    form = planted_form(32, 8, 16, alike=1.0, strength=1.0)
    assert symmetry_score(form) == pytest.approx(1)
    right = sum(h % 8 == h // 4 for h in range(32)) / 32
    assert right == 1 / 8
    assert symmetry_score(tiled_keys(form)) == pytest.approx(right, abs=0.05)


def test_planted_symmetry_grows_with_alikeness():
    found = [symmetry_score(planted_form(4, 4, 8, alike, strength=1.0)) for alike in (0.0, 0.5, 0.8, 1.0)]
    assert found == sorted(found) and abs(found[0]) < 0.2 and found[-1] == pytest.approx(1)


def test_the_table_shows_each_defect_moving_a_score():
    table = extraction_effects().set_index("defect")
    assert set(table.index) == {"head-pairing", "head-space", "mixed-heads"}
    assert (table.loc["head-pairing", "s_released"] < 0.5 * table.loc["head-pairing", "s"]).all()
    assert (table.loc["head-pairing", "d"] - table.loc["head-pairing", "d_released"]).abs().max() < 0.2
    assert abs(table.loc["mixed-heads", "s_released"]) < 0.1 < table.loc["mixed-heads", "s"]
    assert abs(table.loc["head-space", "d_released"]) < 0.5 * abs(table.loc["head-space", "d"])


def test_heads_that_do_not_fill_the_width_are_refused():
    form = planted_form(4, 2, 8, 0.5)
    with pytest.raises(ParameterError):
        heads_as_blocks(form, form.wq)
    with pytest.raises(ParameterError):
        planted_form(4, 2, 8, 2.0)
