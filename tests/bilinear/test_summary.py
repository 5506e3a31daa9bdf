import torch
from random_forms import gaussian

from attngeo import BilinearForm
from attngeo.bilinear.null_laws import directionality_null
from attngeo.bilinear.rows import COLUMNS, form_rows
from attngeo.bilinear.summary import outside, share_at_one, summary


def made(d, layers=3):
    """Rows of random layers; the last one's keys are its queries."""
    forms = [BilinearForm(gaussian(4, d, 16, seed=i), gaussian(2, d, 16, seed=i + 50)) for i in range(layers)]
    forms[-1] = BilinearForm(forms[-1].wk, forms[-1].wk)
    about = {"model": "made", "revision": "", "part": "encoder", "source": ""}
    return [row for i, form in enumerate(forms) for row in form_rows(form, about | {"layer": i})]


def test_rows_have_the_columns_in_order_and_the_rank_of_their_own_form():
    rows = made(96)
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {(row["head"] == -1, row["rank"]) for row in rows} == {(True, 32), (False, 16)}
    spreads = {row["rank"]: row["directionality_null_sd"] for row in rows}
    assert spreads == {rank: directionality_null(96, rank).sd for rank in (16, 32)}


def test_the_tied_layer_is_outside_and_counted():
    rows = made(96)
    assert [outside({"symmetry_p": p}, "symmetry") for p in (0.049, 0.051)] == [True, False]
    count = sum(outside(row, "symmetry") for row in rows if row["head"] != -1)
    assert any(f"{count} of 10 heads" in line for line in summary(rows))
    assert torch.tensor([outside(row, "symmetry") for row in rows if row["layer"] == 2]).all()


def test_layers_in_which_no_norm_exceeds_the_threshold_are_counted():
    about = {"model": "made", "revision": "", "part": "encoder", "source": "", "layer": 0}
    form = BilinearForm(gaussian(4, 96, 16, seed=1), gaussian(2, 96, 16, seed=2))
    (line,) = (line for line in summary(form_rows(form, about, gamma=1e9)) if "no norm" in line)
    assert line.startswith("In 1 of 1 layer, no norm") and "gamma = 1e+09" in line
    assert not any("no norm" in line for line in summary(form_rows(form, about)))


def test_weak_directionality_is_said_where_it_applies():
    narrow, wide = made(48), made(256, 1)
    assert share_at_one(narrow[0]) > 0.05 > share_at_one(wide[0])
    assert sum("cannot tell" in line for line in summary(narrow)) == 2
    assert not any("cannot tell" in line for line in summary(wide))
