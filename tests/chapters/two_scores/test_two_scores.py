import pytest
import torch
from notebook_code import notebook

from attngeo.chapters.two_scores import laws
from attngeo.claims.claim import claims_of

PAGE, DETAILS = notebook("two_scores"), notebook("two_scores_details")
FEWER = {
    "directionality_of_random_matrices": {"draws": 100},
    "scores_at_initialisation": {"draws": 120},
    "sign_of_directionality": {"draws": 12},
}


@pytest.mark.parametrize("page", [PAGE, DETAILS], ids=["chapter", "details"])
def test_every_claim_holds_with_another_seed(page):
    judged = {name: getattr(page, name)(seed=1, **FEWER.get(name, {})) for name in claims_of(page.__name__)}
    assert [name for name, result in judged.items() if not result.supported] == []


def test_directionality_of_a_matrix_known_by_hand():
    m = torch.eye(10, dtype=torch.float64)
    m[9] = 10  # of ten rows the last exceeds, of the columns none: they are all as long
    assert PAGE.directionality(m) == 1
    m[9, 9] = 11
    assert PAGE.directionality(m.T) == pytest.approx(-PAGE.directionality(m)) and PAGE.symmetry(m + m.T) == 1


def test_bands_are_those_of_random_weights():
    bands = PAGE.bands([256, 1024], 8, 2.0)
    assert bands.loc[256, "$s$, mean"] == pytest.approx(1 / 256)
    assert bands.loc[1024, "$d$ of a head, ±"] == pytest.approx(2 * laws.head_directionality_sd(1024, 128), rel=0.1)
    assert bands["$s$, ±"].is_monotonic_decreasing and bands["$d$, ±"].is_monotonic_decreasing
