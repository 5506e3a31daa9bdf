import torch
from random_forms import gaussian

from attngeo import BilinearForm
from attngeo.bilinear.null_laws import directionality_null
from attngeo.bilinear.rows import COLUMNS
from attngeo.bilinear.summary import outside, share_at_one, summary
from attngeo.checkpoints.layers import AttentionLayer
from attngeo.checkpoints.rows import layer_rows


class Made:
    """Stands for a checkpoint of random layers; the last one's keys are its queries."""

    name, revision = "made", ""

    def __init__(self, d, layers=3):
        forms = [BilinearForm(gaussian(4, d, 16, seed=i), gaussian(2, d, 16, seed=i + 50)) for i in range(layers)]
        forms[-1] = BilinearForm(forms[-1].wk, forms[-1].wk)
        self.rows = [
            row for i, form in enumerate(forms) for row in layer_rows(self, AttentionLayer("encoder", i, form))
        ]


def test_rows_have_the_columns_in_order_and_the_rank_of_their_own_form():
    rows = Made(96).rows
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {(row["head"] == -1, row["rank"]) for row in rows} == {(True, 32), (False, 16)}
    spreads = {row["rank"]: row["directionality_null_sd"] for row in rows}
    assert spreads == {rank: directionality_null(96, rank).sd for rank in (16, 32)}


def test_the_tied_layer_is_outside_and_counted():
    rows = Made(96).rows
    assert [outside(row, "symmetry") for row in rows if row["head"] == -1][-1]
    count = sum(outside(row, "symmetry") for row in rows if row["head"] != -1)
    assert any(f"{count} of 10 heads" in line for line in summary(rows))
    assert torch.tensor([outside(row, "symmetry") for row in rows if row["layer"] == 2]).all()


def test_weak_directionality_is_said_where_it_applies():
    narrow, wide = Made(48).rows, Made(256, 1).rows
    assert share_at_one(narrow[0]) > 0.05 > share_at_one(wide[0])
    assert sum("too weak" in line for line in summary(narrow)) == 2
    assert not any("too weak" in line for line in summary(wide))
