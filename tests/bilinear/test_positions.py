"""The position space and the split of a score by it: against dense projectors, under planted errors."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_forms import SEEDS, forms, gaussian

from attngeo import BilinearForm, symmetry_score
from attngeo.bilinear.positions import position_space, share_at_random, sinusoids, split_score
from attngeo.errors import MatrixError

SHARES, SCORES = ("share", "share_outside", "share_mixed"), ("inside", "outside", "mixed")


def basis_of(d: int, k: int, seed: int = 0) -> torch.Tensor:
    return torch.linalg.qr(gaussian(d, k, seed=seed))[0]


def dense_split(m: torch.Tensor, basis: torch.Tensor) -> dict[str, float]:
    """The split by matrices (d, d), as the definition has it."""
    p = basis @ basis.T
    q = torch.eye(len(p), dtype=p.dtype) - p
    parts = p @ m @ p, q @ m @ q, p @ m @ q + q @ m @ p
    shares = {name: float(part.square().sum() / m.square().sum()) for name, part in zip(SHARES, parts, strict=True)}
    scores = {name: symmetry_score(part) for name, part in zip(SCORES, parts, strict=True)}
    return {"symmetry": symmetry_score(m)} | shares | scores


def numbers(split, head=()) -> dict[str, float]:
    return {name: float(value[head]) for name, value in vars(split).items()}


@given(forms(), st.data())
def test_the_split_is_that_of_dense_projectors_and_adds_up(form, data):
    k = data.draw(st.integers(1, max(1, form.d_model - 1)))
    basis = basis_of(form.d_model, k, data.draw(SEEDS))
    whole, heads = split_score(form, basis), split_score(form, basis, per_head=True)
    by_head = [(form.head(h), numbers(heads, h)) for h in range(form.n_heads)]
    for m, split in [(form.dense(), numbers(whole)), *by_head]:
        dense = dense_split(m, basis)
        for name in ("symmetry", *SHARES):
            assert split[name] == pytest.approx(dense[name], abs=1e-9)
        for share, s in zip(SHARES, SCORES, strict=True):
            if dense[share] > 1e-6:
                assert split[s] == pytest.approx(dense[s], abs=1e-6)
        assert sum(split[share] for share in SHARES) == pytest.approx(1)
        parts = sum(split[a] * split[b] for a, b in zip(SHARES, SCORES, strict=True))
        assert parts == pytest.approx(split["symmetry"], abs=1e-9)


@pytest.mark.parametrize("kind", ["normal", "symmetric", "identity"])
def test_the_share_by_chance_is_the_mean_over_random_spaces(kind):
    d, k, draws = 7, 3, 4000
    m = {"normal": gaussian(d, d), "identity": torch.eye(d, dtype=torch.float64)}.get(
        kind, gaussian(d, d) + gaussian(d, d).T
    )
    form = BilinearForm(m[None], torch.eye(d, dtype=torch.float64)[None])
    bases = torch.linalg.qr(gaussian(draws, d, k))[0]
    shares = (bases.mT @ m @ bases).square().sum((-2, -1)) / m.square().sum()
    assert float(split_score(form, bases[0]).share) == pytest.approx(float(shares[0]))
    expected = split_score(form, basis_of(d, k)).share_at_random
    error = float(shares.std() / draws**0.5)
    assert float(shares.mean()) == pytest.approx(float(expected), abs=4 * error + 1e-12)
    if kind == "identity":  # planted: (k / d)^2 alone is refused, the shares of the identity being k / d
        assert float(expected) == pytest.approx(k / d) and abs(float(expected) - (k / d) ** 2) > 0.1
    none = torch.tensor(0.0, dtype=torch.float64)
    wide = float(share_at_random(none + 1, none, none, 1000, 100))
    assert wide == pytest.approx(0.01, rel=0.01) and math.isfinite(wide)


@given(SEEDS, st.floats(0.3, 0.99))
def test_the_space_holds_its_variance_and_one_direction_fewer_does_not(seed, variance):
    rows = gaussian(9, 6, seed=seed) * gaussian(6, seed=seed + 1).exp()
    basis = position_space(rows, variance)
    assert (basis.T @ basis - torch.eye(basis.shape[1], dtype=basis.dtype)).abs().max() < 1e-12
    centred = rows - rows.mean(0)
    held = (centred @ basis).square().sum(0).cumsum(0) / centred.square().sum()
    assert held[-1] >= variance - 1e-9 and (len(held) == 1 or held[-2] < variance)
    shifted = position_space(rows + gaussian(6, seed=seed + 2), variance)  # the mean row is left out
    assert torch.allclose(shifted @ shifted.T, basis @ basis.T, atol=1e-6)


def test_sinusoids_are_those_of_whisper():
    from transformers.models.whisper.modeling_whisper import sinusoids as theirs

    assert (sinusoids(50, 16) - theirs(50, 16)).abs().max() < 1e-5


@pytest.mark.parametrize("rows", [gaussian(1, 4), gaussian(3, 4) * math.nan, torch.ones(5, 4)])
def test_rows_that_span_no_space_are_refused(rows):
    with pytest.raises(MatrixError):
        position_space(rows)


def test_zero_has_no_shares_and_the_whole_space_holds_everything():
    zero = numbers(split_score(BilinearForm(torch.zeros(1, 6, 2), torch.zeros(1, 6, 2)), basis_of(6, 2)))
    assert zero.pop("share_at_random") > 0 and set(zero.values()) == {0}
    whole = split_score(BilinearForm(gaussian(1, 6, 2), gaussian(1, 6, 2, seed=1)), basis_of(6, 6))
    assert (float(whole.share), float(whole.share_at_random), float(whole.outside)) == (pytest.approx(1), 1, 0)
