from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attngeo import BilinearForm, symmetry_score
from attngeo.bilinear import coherence
from attngeo.bilinear.coherence import head_coherence, part_products


def form(heads, kv_heads, d=7, d_head=3, seed=0):
    draw = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(n, d, d_head, generator=draw, dtype=torch.float64) for n in (heads, kv_heads))
    return BilinearForm(q, k + 0.5 * q[:kv_heads])


@given(st.sampled_from([(1, 1), (3, 3), (4, 2), (5, 1)]), st.integers(0, 10**6))
def test_the_score_of_a_layer_follows_from_its_heads_and_their_coherences(heads, seed):
    layer = form(*heads, seed=seed)
    c = head_coherence(layer)
    up, down = c.symmetric * (1 + c.heads), c.skew * (1 - c.heads)
    assert (up - down) / (up + down) == pytest.approx(symmetry_score(layer), abs=1e-9)


def test_products_of_parts_are_those_of_dense_matrices():
    layer = form(4, 2)
    heads = torch.stack(list(layer.heads()))
    for found, sign in zip(part_products(layer), (1, -1), strict=True):
        parts = (heads + sign * heads.mT) / 2
        torch.testing.assert_close(found, torch.einsum("gij,hij->gh", parts, parts))


def test_the_rank_counts_the_dense_sums_over_all_ways_of_transposing_heads():
    layer = form(4, 4, seed=3)
    heads = list(layer.heads())
    scores = [
        symmetry_score(sum((m.T if turned else m for m, turned in zip(heads, turns, strict=True)), torch.zeros(7, 7)))
        for turns in product((False, True), repeat=4)
    ]
    own = symmetry_score(layer)
    c = head_coherence(layer)
    assert c.rank == sum(s <= own + 1e-12 for s in scores) / 16
    assert c.coins == pytest.approx(
        float(torch.tensor(scores, dtype=torch.float64).sort().values[::2].median()), abs=1e-9
    )


def test_heads_that_point_the_same_way_have_the_lowest_rank_and_opposite_ones_the_highest():
    one = form(1, 1)
    same = BilinearForm(one.wq.repeat(4, 1, 1), one.wk.repeat(4, 1, 1))
    assert head_coherence(same).rank == 1 / 8
    assert head_coherence(same).skew == pytest.approx(4)
    opposite = BilinearForm(torch.cat([one.wq, one.wk]), torch.cat([one.wk, one.wq]))
    assert head_coherence(opposite).rank == 1
    assert head_coherence(opposite).skew == pytest.approx(0, abs=1e-12)


def test_drawn_tosses_agree_with_all_tosses(monkeypatch):
    layer = form(8, 8, d=20, seed=5)
    exact = head_coherence(layer)
    monkeypatch.setattr(coherence, "EXACT_HEADS", 4)
    drawn = head_coherence(layer)
    assert drawn.rank == pytest.approx(exact.rank, abs=0.03) and drawn.rank != exact.rank
    assert drawn.coins == pytest.approx(exact.coins, abs=0.02)


@pytest.fixture(scope="module")
def of_noise():
    """The coherences of 400 random layers of eight heads, which have 128 ways of transposing heads."""
    draw = torch.Generator().manual_seed(0)
    factors = torch.randn(400, 2, 8, 12, 4, generator=draw, dtype=torch.float64)
    return [head_coherence(BilinearForm(wq, wk)) for wq, wk in factors]


def test_random_heads_have_coherences_of_one_on_average(of_noise):
    for name in ("symmetric", "skew"):
        values = torch.tensor([getattr(c, name) for c in of_noise])
        assert abs(values.mean() - 1) < 4 * values.std() / 400**0.5
    ranks = torch.tensor([c.rank for c in of_noise])
    assert abs(ranks.mean() - (1 + 1 / 128) / 2) < 4 * ranks.std() / 400**0.5


@pytest.mark.parametrize("heads", [(4, 4), (6, 2), (4, 1)])
def test_the_standard_deviations_are_those_over_all_signs_of_the_heads(heads):
    layer = form(*heads, seed=1)
    c, dense = head_coherence(layer), torch.stack(list(layer.heads()))
    for sign, mean_square in ((1, c.symmetric_sd), (-1, c.skew_sd)):
        parts = (dense + sign * dense.mT) / 2
        signs = torch.tensor(list(product((1.0, -1.0), repeat=heads[0])), dtype=torch.float64)
        sums = torch.einsum("th,hij->tij", signs, parts).square().sum((1, 2)) / parts.square().sum()
        assert sums.mean() == pytest.approx(1) and sums.std(correction=0) == pytest.approx(mean_square)


@pytest.mark.parametrize("heads", [(4, 4), (8, 2)])
def test_wide_factors_are_multiplied_in_float32_with_the_same_coherences(heads):
    draw = torch.Generator().manual_seed(0)
    wide = BilinearForm(*(torch.randn(n, 512, 8, generator=draw) for n in heads))
    found, exact = head_coherence(wide), head_coherence(wide.to(torch.float64))
    assert vars(found) == pytest.approx(vars(exact), rel=1e-4) and vars(found) != vars(exact)
    tiny = BilinearForm(wide.wq * 2.0**-100, wide.wk * 2.0**-40)  # whose squares float32 does not have
    assert head_coherence(tiny) == found


def test_ranks_of_random_heads_are_outside_in_one_case_of_twenty(of_noise):
    assert sum(c.rank_p < 0.05 for c in of_noise) / 400 == pytest.approx(6 / 128, abs=0.035)
    five_heads = replace(of_noise[0], rank=1 / 16, tosses=16)
    assert five_heads.rank_p == 1 / 8  # the smallest, too large for a star
