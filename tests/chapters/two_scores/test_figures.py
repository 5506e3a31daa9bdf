import re

import pytest
import torch
from random_forms import gaussian

from attngeo import score
from attngeo.chapters.two_scores import figures
from attngeo.chapters.two_scores.directionality import one_column_limit, with_strong_column
from attngeo.forms.random_matrices import sample_dense
from attngeo.forms.scores import score_batch
from attngeo.runs.numbers_in_words import number


def drawn(figure):
    assert "</svg>" in figure.svg()
    return figure


def test_the_gallery_prints_the_scores_of_its_matrices():
    m = gaussian(16, 16)
    strong = m.clone()
    strong[:, :3] *= 5
    alt = drawn(figures.gallery({"symmetric": m + m.T, "strong columns": strong})).alt
    assert re.findall(r"-?\d\.\d\d", alt)[:2] == ["1.00", "0.00"]
    scores = score(strong)
    assert number(scores.symmetry.item(), 2) in alt and number(scores.directionality.item(), 2) in alt


@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_figures_of_random_matrices_say_their_sizes(gamma):
    samples = {n: sample_dense(n, 30, gamma=gamma) for n in (8, 16, 32)}
    symmetry = drawn(figures.symmetry_at_random(samples, 16))
    assert "30" in symmetry.caption and "$n = 16$" in symmetry.caption
    direction = drawn(figures.directionality_at_random(samples, 32, gamma))
    assert f"{samples[32].directionality.std():.2f}" in direction.caption
    assert f"$\\gamma = {gamma:g}$" in direction.caption


def test_the_figure_of_one_strong_column_ends_where_its_data_do():
    generator = torch.Generator().manual_seed(0)
    found = [
        score_batch(torch.stack([with_strong_column(64, f, generator) for _ in range(3)])) for f in (1.0, 10.0, 100.0)
    ]
    figure = drawn(figures.one_strong_column([1.0, 10.0, 100.0], found, one_column_limit(64), 64))
    assert f"{found[-1].directionality.mean():+.2f}" in figure.caption
    assert " 100 " in figure.caption


@pytest.mark.parametrize(("transpose", "words"), [(False, "as if rows dominated"), (True, "")])
def test_the_figure_of_thresholds_calls_rows_dominant_only_where_they_are(transpose, words):
    m = with_strong_column(256, 1000.0, torch.Generator().manual_seed(0))
    m = m.T if transpose else m
    figure = drawn(figures.norms_and_thresholds(m))
    assert f"$d = {score(m).directionality:+.2f}$" in figure.caption
    assert ("as if rows dominated" in figure.caption) == bool(words)
