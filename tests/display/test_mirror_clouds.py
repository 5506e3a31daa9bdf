"""Clouds of mirrored entries: each pair is counted once, a symmetric matrix lies on the mirror line."""

import numpy as np
import pytest

from attngeo.display.mirror_clouds import mirror_clouds


@pytest.fixture(scope="module")
def drawn():
    m = np.random.default_rng(0).uniform(-0.9, 0.9, (20, 20))
    figure = mirror_clouds({"any": m, "symmetric": np.triu(m) + np.triu(m, 1).T, "zero": np.zeros((4, 4))})
    figure.canvas.draw()
    return m, [panel for panel in figure.axes if not hasattr(panel, "_colorbar")]


def test_each_pair_is_counted_once(drawn):
    counts = [panel.collections[0].get_array().sum() for panel in drawn[1][3:]]
    assert counts == [190, 190, 6]


def test_places_are_an_entry_and_its_mirror_image(drawn):
    m, panels = drawn
    places = panels[3].collections[0]
    upper = np.triu_indices(20, 1)
    for axis, values in enumerate((m[upper], m.T[upper])):
        mean = np.average(places.get_offsets()[:, axis], weights=places.get_array())
        assert mean == pytest.approx(values.mean(), abs=0.02)


def test_a_symmetric_matrix_lies_on_the_line(drawn):
    for panel, is_symmetric in zip(drawn[1][3:], (False, True, True), strict=True):
        x, y = panel.collections[0].get_offsets().T
        assert (np.abs(x - y).max() < 0.08) == is_symmetric


def test_pictures_are_the_matrices(drawn):
    m, panels = drawn
    np.testing.assert_array_equal(panels[0].images[0].get_array(), m)
