"""Figures of context and prediction: caption and alternative text follow the data."""

import pandas as pd
import torch

from attngeo.chapters.context_and_prediction import figures
from attngeo.chapters.context_and_prediction.one_token import Role, token_update
from attngeo.updates.objectives import attended_matrix, context_matrix
from attngeo.updates.rank_one import gradient_sum


def test_sets_and_roles_count_their_pairs():
    n = 6
    contexts = {"autoregressive": context_matrix("autoregressive", n)}
    attended = {"autoregressive": attended_matrix("autoregressive", n)}
    assert "autoregressive 15 pairs, 6 attended besides" in figures.conditioning_sets(contexts, attended).alt
    roles = pd.DataFrame(
        {"objective": "autoregressive", "position": [1, 2, 3], "context": [2.0, 1.0, 0.0], "predicted": [0.0, 1.0, 2.0]}
    )
    assert "autoregressive: 2 to 0 and 0 to 2" in figures.roles_by_position(roles, 0.15).alt


def test_parts_of_a_token_report_their_rank():
    generator = torch.Generator().manual_seed(0)
    beta, x = (torch.randn(4, n, generator=generator, dtype=torch.float64) for n in (4, 6))
    parts = {"whole": gradient_sum(beta, x), "as context": token_update(beta, x, 1, Role.CONTEXT)}
    figure = figures.token_parts(parts, 2)
    assert "whole: rank 4" in figure.alt and "as context: rank 1" in figure.alt and "position 2" in figure.caption


def test_ratio_names_its_range():
    row = {"mean_position": [3.0, 5.0], "ratio": [2.5, 1.0], "standard_error": [0.1, 0.1]}
    tokens = pd.concat([pd.DataFrame(row).assign(process=p) for p in ("drifting", "stationary")])
    assert "drifting: ratios from 1.00 to 2.50" in figures.ratio_by_mean_position(tokens, 8).caption
