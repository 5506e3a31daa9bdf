"""The sets of assumptions that the chapter compares, and how rows and columns fare under them."""

import math
from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.column_dominance.measures import axis_alignment, directionalities, log_unevenness
from attngeo.chapters.column_dominance.models import context_updates, matrix_normal, rotated
from attngeo.errors import ParameterError
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective
from attngeo.updates.random_updates import Coefficients, UpdateModel, power_profile

MASK_RATE = 0.3  # of the positions in the masked setting
CONTEXTS = 12  # isotropic context tokens in the place of a sequence


def updates_by_assumption(
    d: int, n_tokens: int, n_sequences: int, exponent: float, n_draws: int, generator: torch.Generator
) -> dict[str, Float[Tensor, "draws d d"]]:
    """Updates under each set of assumptions that the book compares, by its name; variances fall like ``k^-exponent``.

    ``n_sequences`` sequences, or `CONTEXTS` context tokens of Prop. S1.8 for each, add to one update.
    """
    uneven, even = torch.diag(power_profile(d, exponent)), torch.eye(d, dtype=torch.float64)
    outlying = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    outlying[:, : max(1, d // 16)] *= 8
    mask = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    mean = torch.zeros(d, dtype=torch.float64)
    mean[: max(1, d // 16)] = 3
    size = {"n_tokens": n_tokens, "n_sequences": n_sequences}
    both, masked = Objective.BIDIRECTIONAL, Objective.MASKED
    models = {
        "autoregressive": UpdateModel(uneven, **size),
        "bidirectional": UpdateModel(uneven, both, **size),
        "errors, autoregressive": UpdateModel(uneven, coefficients=Coefficients.ERROR, **size),
        "errors, bidirectional": UpdateModel(uneven, both, coefficients=Coefficients.ERROR, **size),
        "first token": UpdateModel(even, first_token=outlying, **size),
        "masked": UpdateModel(uneven, masked, mask_token=mask, mask_rate=MASK_RATE, **size),
        "common mean": UpdateModel(even, mean=mean, coefficients=Coefficients.CENTRED, **size),
    }
    context = context_updates(uneven, n_tokens, n_draws, generator, n_contexts=CONTEXTS * n_sequences)
    return {"isotropic context tokens": context} | {name: m.draw(n_draws, generator) for name, m in models.items()}


def dominance_table(updates: dict[str, Float[Tensor, "draws d d"]]) -> pd.DataFrame:
    """A row per set of assumptions: d and log ratio of unevenness, columns to rows, with standard errors."""
    rows = []
    for name, batch in updates.items():
        d, ratio = torch.tensor(directionalities(batch), dtype=torch.float64), log_unevenness(batch)
        errors = (float(x.std() / math.sqrt(len(x))) for x in (d, ratio))
        rows.append((name, float(d.mean()), float(ratio.mean()), *errors))
    return pd.DataFrame(rows, columns=["setting", "d", "log_unevenness", "d_error", "log_unevenness_error"])


def alignment_sweep(d: int, exponents: Sequence[float], n_draws: int, generator: torch.Generator) -> pd.DataFrame:
    """Directionality against the axis alignment of queries and keys, for `matrix_normal` updates.

    For every exponent the uneven second moment stands on the key side, on the query side, and on the key side in a
    generic basis, eight of them in turn; the other side is I.

    Returns:
        Columns family, exponent, log_alignment (``log D(S_K) - log D(S_Q)``), log_moments (log of the ratio of the mean
        sums of fourth powers, columns to rows), d, d_low, d_high (mean, 5 % and 95 % quantiles of d).

    Raises:
        ParameterError: fewer than 2 draws.
    """
    if n_draws < 2:
        raise ParameterError(f"{n_draws} draws have no spread; n_draws must be at least 2.")
    even, rows = torch.eye(d, dtype=torch.float64), []
    for exponent in exponents:
        uneven = torch.diag(power_profile(d, exponent))
        turned = [rotated(uneven, generator) for _ in range(8)]
        for family, queries, keys in (
            ("uneven keys", even, [uneven]),
            ("uneven queries", uneven, [even]),
            ("uneven keys, generic basis", even, turned),
        ):
            updates = torch.cat([matrix_normal(queries, key, -(-n_draws // len(keys)), generator) for key in keys])
            of_rows, of_columns = (squared.square().sum(-1).mean() for squared in squared_norms(updates))
            scores = torch.tensor(directionalities(updates), dtype=torch.float64)
            low, high = scores.quantile(torch.tensor([0.05, 0.95], dtype=torch.float64)).tolist()
            of_keys = sum(map(axis_alignment, keys)) / len(keys)
            log_alignment = math.log(of_keys / axis_alignment(queries))
            log_moments = math.log(float(of_columns / of_rows))
            rows.append((family, exponent, log_alignment, log_moments, float(scores.mean()), low, high))
    columns = ["family", "exponent", "log_alignment", "log_moments", "d", "d_low", "d_high"]
    return pd.DataFrame(rows, columns=columns)
