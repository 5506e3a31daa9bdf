"""Clouds of mirrored entries: each pair is counted once, a symmetric matrix lies on the mirror line."""

import numpy as np
import pytest

from attngeo.plot.mirror_clouds import mirror_clouds


def test_pictures_are_the_matrices_and_clouds_their_pairs():
    m = np.random.default_rng(0).uniform(-0.9, 0.9, (20, 20))
    figure = mirror_clouds({"any": m, "symmetric": np.triu(m) + np.triu(m, 1).T, "zero": np.zeros((4, 4))})
    figure.canvas.draw()
    pictures, clouds = figure.axes[:3], [panel.collections[0] for panel in figure.axes[3:6]]
    np.testing.assert_array_equal(pictures[0].images[0].get_array(), m)
    assert [cloud.get_array().sum() for cloud in clouds] == [190, 190, 6]
    upper = np.triu_indices(20, 1)
    for axis, values in enumerate((m[upper], m.T[upper])):
        mean = np.average(clouds[0].get_offsets()[:, axis], weights=clouds[0].get_array())
        assert mean == pytest.approx(values.mean(), abs=0.02)
    beside = mirror_clouds({"any": m}, pooled={"any": (3, np.full((9, 9), 5.0) + np.eye(9))})
    above, below = beside.axes[:2]
    assert above.get_xlim() == (0, 60) and "largest\nmagnitude of 3 × 3" in above.get_xlabel()
    assert below.collections[0].get_array().sum() == 36 and "9 × 9" in below.get_xlabel()
    from_the_line = [np.abs(np.subtract(*cloud.get_offsets().T)).max() for cloud in clouds]
    assert [distance < 0.08 for distance in from_the_line] == [False, True, True]
