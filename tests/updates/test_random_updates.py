"""The models of random updates, and the formulas for their norms and scores, against enumeration and explicit loops."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.chapters.symmetric_updates.first_update import (
    first_coefficients,
    first_update,
    pair_counts,
    tied_embeddings,
)
from attngeo.chapters.symmetric_updates.pair_symmetry import (
    agreement,
    correlated_coefficients,
    isotropic_score,
    masked_score,
    masked_term_shares,
    pair_score,
)
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.updates.norms import (
    axis_alignment,
    bilinear_squared_norms,
    exceedance_gap,
    fourth_moments,
    independent_ratio,
    ratio_samples,
    squared_norms,
    unevenness,
    vocabulary_squared_norms,
)
from attngeo.updates.objectives import Objective, context_matrix, sample_mask
from attngeo.updates.random_updates import (
    Coefficients,
    Law,
    UpdateModel,
    context_updates,
    draw_embeddings,
    matrix_normal,
    power_profile,
    rotated,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def moment(d: int, seed: int) -> torch.Tensor:
    x = torch.randn(2 * d, d, generator=generator(seed), dtype=torch.float64)
    return x.T @ x


@pytest.mark.parametrize("law", Law)
def test_laws_have_their_moments(law):
    x = law.draw(400_000, generator=generator())
    assert abs(x.mean()) < 4 * x.std() / len(x) ** 0.5
    assert float(x.square().mean()) == pytest.approx(1, abs=0.02)
    assert float(x.pow(4).mean()) == pytest.approx(law.kurtosis, rel=0.06)


def test_embeddings_have_their_covariance():
    covariance = moment(4, 1) / 8
    x = draw_embeddings(covariance, 200_000, generator=generator())
    torch.testing.assert_close(x.T @ x / len(x), covariance, atol=0.03, rtol=0)


def test_rotation_keeps_the_spectrum():
    profile = power_profile(12, 1.0)
    turned = rotated(torch.diag(profile), generator())
    torch.testing.assert_close(torch.linalg.eigvalsh(turned), profile.flip(0))
    assert (turned - torch.diag(profile)).norm() > 1


@pytest.mark.parametrize("objective", Objective)
def test_update_model_against_loops(objective):
    d, n, n_sequences = 5, 6, 2
    mask_token = torch.arange(d, dtype=torch.float64)
    first = -torch.ones(d, dtype=torch.float64)
    model = UpdateModel(
        torch.eye(d, dtype=torch.float64),
        objective,
        n_tokens=n,
        n_sequences=n_sequences,
        coefficients="bilinear",
        first_token=first,
        mask_token=mask_token,
        mask_rate=0.4,
    )
    measured = model.draw(1, generator(3))[0]
    g = generator(3)  # the same draws in the same order
    x = draw_embeddings(model.covariance, 1, n_sequences, n, generator=g)[0]
    masked = torch.zeros(n_sequences, n, dtype=torch.bool)
    if objective is Objective.MASKED:
        masked = sample_mask(n_sequences, n, 0.4, g)
    form = torch.randn(1, 1, d, d, generator=g, dtype=torch.float64)[0, 0] / d
    expected = torch.zeros(d, d, dtype=torch.float64)
    for s, i, j in itertools.product(range(n_sequences), range(n), range(n)):
        x[s, 0] = first
        allowed = {
            Objective.AUTOREGRESSIVE: j < i,
            Objective.BIDIRECTIONAL: j != i,
            Objective.MASKED: bool(masked[s, i]) and not masked[s, j],
        }[objective]
        if allowed:
            query = mask_token if masked[s, i] else x[s, i]
            expected += (query @ form @ x[s, j]) * torch.outer(query, x[s, j])
    torch.testing.assert_close(measured, expected)


@pytest.mark.parametrize("objective", Objective)
def test_centred_coefficients_ignore_a_shift_of_the_keys(objective):
    model = UpdateModel(torch.eye(4, dtype=torch.float64), objective, n_tokens=8, coefficients=Coefficients.CENTRED)
    x = torch.zeros(3, 2, 8, 4, dtype=torch.float64)
    queries, contexts = model._pairs(x, generator())
    beta = model._coefficients(queries, x, contexts, generator()) * contexts
    assert beta.abs().max() > 0.1
    assert beta.sum(-1).abs().max() < 1e-12


def test_context_updates_have_rank_one_and_add():
    covariance = torch.diag(power_profile(6, 1.0))
    one = context_updates(covariance, 4, 3, generator())
    assert torch.linalg.matrix_rank(one).tolist() == [1, 1, 1]
    assert torch.linalg.matrix_rank(context_updates(covariance, 4, 3, generator(), n_contexts=3)).tolist() == [3, 3, 3]


def test_matrix_normal_has_the_covariance_of_all_pairs():
    queries, keys = moment(3, 1), moment(3, 2)
    w = matrix_normal(queries, keys, 100_000, generator()).flatten(1)
    torch.testing.assert_close(w.T @ w / len(w), torch.kron(queries, keys), rtol=0, atol=2.5)
    assert float(torch.kron(queries, keys).max()) > 30


@given(st.integers(2, 9), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_norms_share_one_sum(d, seed):
    m = torch.randn(d, d, generator=generator(seed), dtype=torch.float64)
    rows, columns = squared_norms(m)
    torch.testing.assert_close(rows.sum(), columns.sum())
    torch.testing.assert_close(rows, m.norm(dim=1) ** 2)
    for side in (rows, columns):
        assert 1 - 1e-12 <= float(unevenness(side)) <= d + 1e-9


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0.01, 100))
@settings(deadline=None, max_examples=40)
def test_axis_alignment(d, seed, scale):
    s, q = moment(d, seed), moment(d, seed + 1)
    order = torch.randperm(d, generator=generator(seed))
    value = axis_alignment(s)
    assert axis_alignment(scale * s) == pytest.approx(value)
    assert axis_alignment(s[order][:, order]) == pytest.approx(value)
    of_rows, of_columns = fourth_moments(q, s)
    assert of_columns / of_rows == pytest.approx(value / axis_alignment(q))
    e = torch.randn(d, generator=generator(seed), dtype=torch.float64)
    kurtosis = float(e.pow(4).mean() / e.square().mean() ** 2)
    assert axis_alignment(torch.outer(e, e)) == pytest.approx(kurtosis / 3 * (d + 2) / d)
    assert axis_alignment(torch.eye(d, dtype=torch.float64)) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_expected_norms_of_a_vocabulary_by_enumeration(seed):
    """Embeddings of independent signs, mixed by a matrix: every outcome has the same probability."""
    d, n_vocab = 2, 4
    mix = torch.randn(d, d, generator=generator(seed), dtype=torch.float64)
    beta = torch.randn(n_vocab, n_vocab, generator=generator(seed + 9), dtype=torch.float64).fill_diagonal_(0)
    signs = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d * n_vocab)), dtype=torch.float64)
    e = signs.view(-1, n_vocab, d) @ mix.T
    rows, columns = squared_norms(e.mT @ beta @ e)
    expected = vocabulary_squared_norms(mix @ mix.T, beta)
    torch.testing.assert_close(rows.mean(0), expected[0])
    torch.testing.assert_close(columns.mean(0), expected[1])


def test_bilinear_norms_without_dependence_reduce_to_the_trace():
    """For B = I and Sigma = I nothing distinguishes rows and columns."""
    identity = torch.eye(5, dtype=torch.float64)
    rows, columns = bilinear_squared_norms(identity, identity, 7)
    torch.testing.assert_close(rows, columns)
    assert independent_ratio(identity, 0) == 1


def test_ratio_samples_and_exceedances():
    top, bottom = torch.tensor([1.0, 3.0]).double(), torch.tensor([2.0, 2.0]).double()
    assert float(ratio_samples(top, bottom).mean()) == 1
    gap = exceedance_gap(torch.tensor([[1.0, 2.0]]).double(), torch.tensor([[3.0, 4.0]]).double(), 1.5)
    assert gap.tolist() == [0.5]


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_pair_score_against_the_matrix(a, b, seed):
    if abs(a) + abs(b) < 1e-3 or (a * b < 0 and abs(a + b) < 1e-3):
        return
    x = torch.randn(2, 3, generator=generator(seed), dtype=torch.float64)
    m = a * torch.outer(x[0], x[1]) + b * torch.outer(x[1], x[0])
    cosine = float(torch.nn.functional.cosine_similarity(x[0], x[1], dim=0))
    assert symmetry_score(m) == pytest.approx(pair_score(agreement(a, b), cosine), abs=1e-6)


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_orthonormal_embeddings_keep_the_score_of_beta(n, seed):
    beta = torch.randn(n, n, generator=generator(seed), dtype=torch.float64)
    frame = torch.linalg.qr(torch.randn(n + 3, n, generator=generator(seed), dtype=torch.float64))[0].T
    assert symmetry_score(frame.T @ beta @ frame) == pytest.approx(symmetry_score(beta))


def test_correlated_coefficients():
    beta = correlated_coefficients(0.3, 400, 20, generator())
    upper = torch.ones(20, 20, dtype=torch.bool).triu(1)
    pairs = torch.stack([beta[:, upper].flatten(), beta.mT[:, upper].flatten()])
    assert float(torch.corrcoef(pairs)[0, 1]) == pytest.approx(0.3, abs=0.015)
    assert float(beta.diagonal(dim1=1, dim2=2).abs().max()) == 0
    assert symmetry_score(correlated_coefficients(1.0, 1, 5, generator())[0]) == pytest.approx(1)


def test_masked_formulas():
    assert masked_term_shares(0.2) == pytest.approx({"both masked to one masked": 0.25, "both masked to all": 0.2})
    assert masked_score(0.7, 0.15) == pytest.approx(0.105)
    assert masked_score(0.7, 0.15, 1, masked_visible=False) == 0
    assert masked_score(0.7, 0.15, 10**7) == pytest.approx(0.7, rel=1e-5)
    assert isotropic_score(0.0, 50) == pytest.approx(1 / 50)


def test_first_update_is_s_v_s():
    e = tied_embeddings(7, 4, generator())
    values = torch.randn(4, 4, generator=generator(1), dtype=torch.float64)
    tokens = torch.randint(7, (3, 6), generator=generator(2))
    update = first_update(tokens, e, values, torch.ones(6, 6, dtype=torch.bool))
    s = e[tokens].mT @ e[tokens]
    torch.testing.assert_close(update, s @ values @ s)
    ahead = first_coefficients(tokens, e, values, ahead=1)
    torch.testing.assert_close(ahead[0, 2, 5], e[tokens[0, 3]] @ values @ e[tokens[0, 5]])
    assert float(ahead[:, -1].abs().max()) == 0


def test_pair_counts_against_loops():
    tokens = torch.tensor([[0, 1, 1, 2], [2, 0, 1, 0]])
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for sequence in tokens.tolist():
        for i in range(4):
            for j in range(i):
                expected[sequence[i], sequence[j]] += 1
    counts = pair_counts(tokens, context_matrix("autoregressive", 4), 3)
    assert torch.equal(counts, expected)


I3 = torch.eye(3, dtype=torch.float64)
REFUSED = {
    "unknown law": lambda: Law("cauchy"),
    "unknown coefficients": lambda: UpdateModel(I3, coefficients="none"),
    "unknown objective": lambda: UpdateModel(I3, "causal"),
    "one token": lambda: UpdateModel(I3, n_tokens=1),
    "no sequence": lambda: UpdateModel(I3, n_sequences=0),
    "mask rate 1": lambda: UpdateModel(I3, mask_rate=1.0),
    "covariance not positive": lambda: draw_embeddings(-I3, 2, generator=generator()),
    "covariance not symmetric": lambda: draw_embeddings(I3 + I3.roll(1, 0) / 9, 2, generator=generator()),
    "moment not positive": lambda: matrix_normal(-I3, I3, 2, generator()),
    "width 1": lambda: power_profile(1, 1.0),
    "negative exponent": lambda: power_profile(4, -1.0),
    "no coefficients": lambda: agreement(0.0, 0.0),
    "agreement above 1": lambda: pair_score(1.2, 0.0),
    "cancelling pair": lambda: pair_score(-1.0, 1.0),
    "correlation above 1": lambda: correlated_coefficients(1.1, 1, 3, generator()),
    "masked everything": lambda: masked_term_shares(1.0),
    "no masking": lambda: masked_score(0.5, 0.15, 0),
    "two ahead": lambda: first_coefficients(torch.zeros(1, 3, dtype=torch.int64), I3, I3, ahead=2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name, as_user):
    with pytest.raises(ParameterError) as caught:
        REFUSED[name]()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
