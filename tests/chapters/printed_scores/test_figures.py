import numpy as np
import pytest

from attngeo.chapters.printed_scores import figures
from attngeo.chapters.printed_scores.tables import recorded_medians


@pytest.fixture(scope="module")
def medians():
    return recorded_medians()


def points(panel):
    """Label of each kind of point -> abscissae."""
    return {line.get_label(): np.asarray(line.get_xdata()) for line in panel.lines if line.get_marker() != "None"}


def test_each_ring_holds_the_point_of_the_formula_that_gives_the_table(medians):
    symmetry, directionality = map(points, figures.printed_beside_ours(medians).figure.axes)
    assert np.abs(symmetry["Def. 3.1, no factor 2"] - symmetry["printed"]).max() < 0.005
    assert np.abs(directionality["excess of log norms"] - directionality["printed"]).max() < 0.005
    assert np.abs(directionality["Def. 3.2"] - directionality["printed"]).min() > 0.3


def test_the_caption_counts_the_rows_that_come_out(medians):
    caption = figures.printed_beside_ours(medians).caption
    n = len(points(figures.printed_beside_ours(medians).figure.axes[1])["printed"])
    assert f"Table S3, Def. 3.2: 0 of {n}" in caption and f"excess of log norms: {n} of {n}" in caption
