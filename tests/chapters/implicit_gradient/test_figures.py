"""Figures of the gradient: caption and alternative text follow the data."""

import pandas as pd
import pytest
import torch

from attngeo.chapters.implicit_gradient import figures
from attngeo.updates.rank_one import gradient_sum


def random(*shape: int, seed: int = 0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("n", [2, 5])
def test_rank_one_terms_add_up(n):
    beta, x = random(n, n), random(n, 7, seed=1)
    gradient = gradient_sum(beta, x)
    figure = figures.rank_one_build_up(beta, x, gradient, -2 * gradient)
    assert f"1.00 with {n * n} terms" in figure.alt
    assert "-1.00 for the step" in figure.caption
    assert "<svg" in figure.svg()


def test_coefficients_say_how_far_they_agree():
    values = random(200).numpy()
    same = pd.DataFrame({"objective": "masked", "paper": values, "exact": values})
    against = same.assign(exact=-values)
    for pairs, numbers in ((same, ("1.00", "0%")), (against, ("-1.00", "100%"))):
        figure = figures.coefficient_alignment(pairs, {"masked": 0.5})
        for text in (figure.caption, figure.alt):
            assert set(numbers) <= set(text.replace(",", "").split())


def test_rows_of_losses_report_the_share_of_the_own_row():
    squares = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 2.0]], dtype=torch.float64)
    figure = figures.rows_of_losses({"layer 1": squares}, [1, 2])
    assert "88%" in figure.caption


def test_alignment_reports_the_distance_from_the_closed_form():
    samples = pd.DataFrame({"d_head": [4, 4, 8, 8], "cosine": [0.5, 0.7, 0.8, 0.8], "symmetry": [0.4, 0.4, 0.6, 0.6]})
    curve = pd.DataFrame({"d_head": [4, 8], "cosine": [0.6, 0.75], "symmetry": [0.4, 0.6]})
    assert "0.050" in figures.alignment_by_head_width(samples, curve, 8).caption
