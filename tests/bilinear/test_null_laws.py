import math

import numpy as np
import pytest
import torch
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import norm

from attngeo.bilinear.null_laws import LEVEL, NullLaw, _spectrum, directionality_null, symmetry_null
from attngeo.bilinear.random_matrices import sample_forms, symmetry_sd
from attngeo.bilinear.scores import Convention

# heads, d, d_head, layers drawn: sums over heads and single heads
SHAPES = [(4, 128, 16, 200), (1, 256, 8, 300), (1, 192, 64, 250), (2, 160, 16, 250)]


@pytest.fixture(scope="module")
def drawn():
    return [(sample_forms(heads, d, d_head, draws, seed=d), d, d_head * heads) for heads, d, d_head, draws in SHAPES]


@pytest.mark.parametrize("convention", list(Convention))
def test_of_a_thousand_random_layers_of_mixed_shapes_about_95_percent_lie_inside(drawn, convention):
    inside = {"symmetry": [], "directionality": []}
    for sample, d, rank in drawn:
        s = sample.symmetry
        if convention is Convention.PRINTED:
            s = 2 * s
        if convention is Convention.RELEASED:
            s = (1 + s) / 2
        other = {Convention.RELEASED: "directionality_released", Convention.TABLES: "directionality_tables"}
        directed = getattr(sample, other.get(convention, "directionality"))
        laws = (symmetry_null(d, rank, convention), directionality_null(d, rank, convention=convention))
        for law, values, found in zip(laws, (s, directed), inside.values(), strict=True):
            found += [law.p(value) >= LEVEL for value in values.tolist()]
    assert [len(found) for found in inside.values()] == [1000, 1000]
    assert 0.93 <= sum(inside["symmetry"]) / 1000 <= 0.97
    # where -1 and 1 are common, as with logarithms, no band of 95 % leaves them out
    upper = 1 if convention is Convention.TABLES else 0.97
    assert 0.93 <= sum(inside["directionality"]) / 1000 <= upper


def test_the_spread_falls_as_the_root_of_a_large_width():
    assert directionality_null(4096, 512).sd == pytest.approx(2 * directionality_null(16384, 512).sd, rel=0.05)


@pytest.mark.parametrize("d, rank", [(32, 8), (64, 16), (64, 64)])
def test_small_widths(d, rank):
    """-1 and 1 are as common as among drawn forms, so that they are not called unusual."""
    sample = sample_forms(1, d, rank, 1500, seed=1).directionality
    law = directionality_null(d, rank)
    share = (sample.abs() == 1).double().mean().item()
    assert law.p(1.0) == pytest.approx(share, abs=4 * math.sqrt(share / 1500)) and law.p(-1.0) == law.p(1.0) > LEVEL
    assert law.sd / sample.std().item() == pytest.approx(1, abs=0.06)


def expected(values, d, rank, factors):
    """Mean over Gaussian factors (d, rank) of polynomials of degree 7 at most in each entry, by quadrature."""
    points, weights = (torch.from_numpy(a) for a in hermegauss(4))
    entries = factors * d * rank
    chosen = torch.cartesian_prod(*[torch.arange(4)] * entries)
    chance = (weights / weights.sum())[chosen].prod(-1)
    return [(chance @ v).item() for v in values(*points[chosen].view(-1, factors, d, rank).unbind(1))]


@pytest.mark.parametrize("d, rank", [(2, 1), (3, 1), (2, 2)])
def test_the_spread_of_symmetry_is_that_of_the_mean_concentration(d, rank):
    def norms(q, k):
        m = q @ k.mT
        return (m @ m.mT).square().sum((1, 2)), m.square().sum((1, 2)) ** 2

    square, total = expected(norms, d, rank, 2)
    assert symmetry_null(d, rank).sd == pytest.approx(symmetry_sd(d, square / total))


def test_p_is_the_normal_law_s_or_counts_the_simulated_distances_that_are_as_large():
    law = NullLaw(0.5, 0.1)
    assert law.z(0.7) == pytest.approx(2) and law.p(0.7) == pytest.approx(2 * norm.sf(2)) == law.p(0.3)
    law = NullLaw(0.5, 1e-3, np.array([0.125, 0.25, 0.375, 0.5]))
    assert [law.p(value) for value in (0.75, 0.25, 0.875, 1.0625)] == pytest.approx([0.8, 0.8, 0.6, 0.2])
    assert law._replace(distances=np.array([0.25])).p(0.75) == 1
    assert symmetry_null(1, 1).sd == 0


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_width_is_too_small(d):
    law = directionality_null(d, 1)
    assert (law.sd, law.z(0.0), law.p(0.0), law.p(1.0)) == (0, 0, 1, law.least) and law.z(1.0) == math.inf
    assert symmetry_null(d, 1).mean == 1 / d


def test_a_p_is_monotone_and_never_below_what_its_draws_can_tell():
    law = directionality_null(576, 192)
    distances = [0.0, *map(float, np.linspace(0.01, 1, 400))]
    ps = [law.p(value) for value in distances]
    assert ps == sorted(ps, reverse=True) and ps[-1] == law.p(-1.0) == law.least == 1 / (len(law.distances) + 1)
    assert [p >= LEVEL for p in ps] == [value <= law.half_width for value in distances]
    assert 0 < symmetry_null(576, 192).p(1.0) < 1e-300


@pytest.mark.parametrize("d, rank", [(2, 2), (3, 2), (1, 5), (5, 1)])
def test_moments_of_the_spectrum_are_those_of_a_wishart_matrix(d, rank):
    def traces(k):
        powers = [torch.linalg.matrix_power(k.mT @ k, n).diagonal(dim1=1, dim2=2).sum(-1) for n in (1, 2, 3)]
        return powers[1], powers[0] ** 2, powers[2], powers[0] ** 3

    square, total_2, cube, total_3 = expected(traces, d, rank, 1)
    assert _spectrum(d, rank) == pytest.approx((square / total_2, cube / total_3))


def test_a_p_agrees_with_many_redraws_of_its_own_law(monkeypatch):
    law, draws = directionality_null(192, 64), 20_000
    monkeypatch.setattr("attngeo.bilinear.null_laws.NORMS", 2 * 192 * draws)
    monkeypatch.setattr("attngeo.bilinear.null_laws.DRAWS", draws)
    monkeypatch.setattr(np.random, "default_rng", lambda seed, make=np.random.default_rng: make(seed + 1))
    distances = directionality_null.__wrapped__(192, 64).distances
    for value in (0.2, 0.3, 0.5, 0.8):
        share = float((distances >= value).mean())
        error = 4 * math.sqrt(share * (1 - share) / len(law.distances)) + 2 * law.least
        assert share - error <= law.p(value) <= max(1.5 * share, share + error)


@pytest.mark.parametrize("convention", list(Convention))
def test_the_band_of_narrow_forms_has_only_scores_that_a_matrix_can_have(convention):
    least, most = {Convention.PRINTED: (-2, 2), Convention.RELEASED: (0, 1)}.get(convention, (-1, 1))
    law = symmetry_null(2, 1, convention)
    assert law.mean + law.half_width > most and law.band == (max(least, law.mean - law.half_width), most)
    law = directionality_null(16, 4, convention=convention)
    assert law.half_width > 1 and law.band == (-1, 1)
    wide = directionality_null(512, 64)
    assert wide.band == (-wide.half_width, wide.half_width)
