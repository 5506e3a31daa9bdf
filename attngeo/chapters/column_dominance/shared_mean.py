"""A mean that all embeddings share, under coefficients that add up to 0 over the keys."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates
from attngeo.chapters.column_dominance.expected_norms import shared_mean_squared_norms
from attngeo.chapters.column_dominance.measures import directionalities, log_unevenness
from attngeo.paper.checks import Comparisons, check, exact, monte_carlo
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective
from attngeo.updates.random_updates import Coefficients, UpdateModel


class SharedMean(NamedTuple):
    """Small updates in every outcome, and larger ones drawn at random, of embeddings with one mean."""

    covariance: Tensor  # (2, 2)
    mean: Tensor  # (2,)
    beta: dict[Objective, Tensor]  # of three tokens, rows that add up to 0, (3, 3)
    embeddings: Outcomes  # (outcomes, 3, 2)
    updates: dict[Coefficients, Tensor]  # (draws, d, d)


def updates_with_common_mean(
    d: int = 48, n_tokens: int = 16, size: float = 3.0, n_draws: int = 100, seed: int = 0
) -> SharedMean:
    """Three coordinates of the larger updates' mean are ``size`` standard deviations, the others 0."""
    generator, mean = torch.Generator().manual_seed(seed), torch.zeros(d, dtype=torch.float64)
    mean[:3] = size
    model = UpdateModel(torch.eye(d, dtype=torch.float64), n_tokens=n_tokens, mean=mean)
    kinds = (Coefficients.INDEPENDENT, Coefficients.CENTRED)
    updates = {kind: replace(model, coefficients=kind).draw(n_draws, generator) for kind in kinds}
    root, small = torch.tensor([[1.0, 0.0], [0.6, 0.5]]).double(), torch.tensor([size, 1.0]).double()
    z = coordinates(3, 2)
    beta = {
        Objective.AUTOREGRESSIVE: torch.tensor([[0, 0, 0], [0, 0, 0], [2, -2, 0]]).double(),
        Objective.BIDIRECTIONAL: torch.tensor([[0, 1, -1], [2, 0, -2], [-3, 3, 0]]).double(),
    }
    return SharedMean(root @ root.T, small, beta, z._replace(values=small + z.values @ root.T), updates)


@check(updates_with_common_mean)
def common_mean(s: SharedMean) -> Comparisons:
    """A softmax removes from the keys what all embeddings have in common; the queries keep it, and rows dominate."""
    centred, x = s.updates[Coefficients.CENTRED], s.embeddings.values
    for objective, beta in s.beta.items():
        expected = shared_mean_squared_norms(s.covariance, s.mean, beta)
        for side, norms, values in zip(("row", "column"), squared_norms(x.mT @ beta @ x), expected, strict=True):
            mean = s.embeddings.mean(norms)
            yield from (exact(side, mean[k], values[k], objective=objective, k=k + 1) for k in (0, 1))
    yield monte_carlo("free", log_unevenness(s.updates[Coefficients.INDEPENDENT]), 0)
    yield monte_carlo("centred", log_unevenness(centred), 0, "<")
    yield monte_carlo("centred, directionality", directionalities(centred), 0, ">")
