"""The released scores over training: every family at every step, in the units that the README states."""

import pytest

from attngeo.chapters.training_scores import published_scores

CURVES = published_scores.released_training()


def test_every_family_is_there_at_every_step():
    keys = CURVES[["layers", "part", "dataset", "step"]]
    assert not keys.duplicated().any()
    assert (CURVES.groupby(["layers", "part", "dataset"]).size() == CURVES["step"].nunique()).all()
    assert [sorted(set(keys[name])) for name in ("layers", "part", "dataset")] == [
        [4, 12],
        ["decoder", "encoder"],
        ["jigsaw", "red_pajama", "wikipedia"],
    ]
    assert sorted(set(CURVES["step"])) == [1000, 2000, 5000, 10000, 50000, 100000, 200000]


def test_quartiles_and_extremes_are_in_order_and_in_range():
    for columns in (["s_min", "s_q1", "s", "s_q3", "s_max"], ["d_q1", "d", "d_q3"]):
        values = CURVES[columns].to_numpy()
        assert (values[:, 1:] >= values[:, :-1]).all() and abs(values).max() <= 1


@pytest.mark.parametrize(
    ("layers", "part", "dataset", "s", "d"),
    [
        (12, "encoder", "wikipedia", 0.32, -0.16),
        (12, "decoder", "red_pajama", -0.03, -0.41),
        (4, "decoder", "wikipedia", -0.50, -0.40),
    ],
)
def test_final_medians(layers, part, dataset, s, d):
    row = CURVES.set_index(["layers", "part", "dataset", "step"]).loc[(layers, part, dataset, 200000)]
    assert (round(row.s, 2), round(row.d, 2)) == (s, d)
