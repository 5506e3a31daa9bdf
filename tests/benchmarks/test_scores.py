"""Speed of the scores against forming W_qk, as ratios within one run (``make benchmarks``).

All ways take turns, on one thread, and are timed by the processor time of that thread: other work on the machine, which
wall clocks and waiting threads show, then counts for none. Beside them stands what the machine allows: one product of
two square matrices of the same size and type.
"""

import time
from collections.abc import Callable
from contextlib import contextmanager
from statistics import median

import pytest
import torch

from attngeo import BilinearForm, score, score_heads
from attngeo.bilinear.moments import Moments, dense_moments, gram_moments, tiled_moments

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def in_turns(rounds: int, **ways: Callable) -> dict[str, list[float]]:
    """Seconds of processor time of each way in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.thread_time()
            way()
            seconds[name].append(round(time.thread_time() - start, 4))
    return seconds


def released_way(q: torch.Tensor, k: torch.Tensor) -> None:
    """Both scores from the whole dense matrix in float32, its parts formed one after another."""
    m = q @ k.T
    symmetric = (m + m.T) / 2
    _ = symmetric.norm() ** 2 / m.norm() ** 2
    for norms in (m.norm(dim=0), m.norm(dim=1)):
        _ = norms[norms > norms.mean() + 2 * norms.std()].sum()


def a_layer(d: int, heads: int, key_heads: int, dtype: str) -> BilinearForm:
    """Random weights, as `torch.nn.Linear` stores them."""
    torch.manual_seed(0)
    q, k = (torch.randn(h * d // heads, d).to(DTYPES[dtype]) for h in (heads, key_heads))
    return BilinearForm.from_linear(q, k, d_head=d // heads)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("d", "heads", "key_heads"),
    [(512, 8, 8), (1024, 8, 8), (2048, 16, 16), (4096, 32, 32), (4096, 32, 8), (8192, 64, 64)],
)
def test_sum_over_heads(record, d, heads, key_heads, dtype):
    """The summed form of a layer, against the whole dense matrix."""
    form = a_layer(d, heads, key_heads, dtype)
    q, k = (x.transpose(0, 1).flatten(1) for x in form.to(torch.float32).per_head())
    a, b = torch.randn(2, d, d).to(DTYPES[dtype])
    rounds = 3 if d > 4096 else 5 if d == 4096 else 25
    ways = {"released": lambda: released_way(q, k), "ours": lambda: score(form), "product": lambda: a @ b.T}
    seconds = in_turns(rounds + 1, **ways)
    seconds = {name: found[1:] for name, found in seconds.items()}  # the first warms up
    record.append({"d": d, "heads": heads, "key_heads": key_heads, "dtype": dtype, "seconds": seconds})
    ratio = median(seconds["released"]) / median(seconds["ours"])
    assert ratio > (1 if d >= 1024 else 0.8) * (2 if dtype == "bfloat16" or key_heads < heads else 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("key_heads", [8, 32])
def test_heads_without_their_matrices(record, key_heads, dtype):
    """Every head of a 4096-wide layer with 32 heads, against forming each head's matrix."""
    form = a_layer(4096, 32, key_heads, dtype)
    q, k = form.to(torch.float32).per_head()
    seconds = in_turns(3, released=lambda: released_way(q[0], k[0]), ours=lambda: score_heads(form))
    seconds["released"] = [32 * one for one in seconds["released"]]
    record.append({"d": 4096, "heads": 32, "key_heads": key_heads, "dtype": dtype, "seconds": seconds})
    assert median(seconds["released"]) > 20 * median(seconds["ours"])


@contextmanager
def bfloat16_products():
    """Products of float32 matrices round their factors to bfloat16 and are summed and given back in float32."""
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision("highest")


def three_parts(q: torch.Tensor, k: torch.Tensor) -> Moments:
    """Factors as sums of two bfloat16 numbers each, and three of the four products of these."""
    q_high, k_high = q.bfloat16().float(), k.bfloat16().float()
    with bfloat16_products():
        m = torch.cat((q_high, q_high, q - q_high), 1) @ torch.cat((k_high, k - k_high, k_high), 1).T
    return dense_moments(m)


def test_other_ways_to_float32(record):
    """What else could beat the released way where factors are float32, and how far off its norms are.

    Queries and keys have a part in common, and a few columns of M are large: both scores are far from 0.
    """
    d = 4096
    torch.manual_seed(0)
    q, noise = torch.randn(2, d, d)
    k = (q + noise) * (1 + 3 * (torch.rand(d, 1) < 0.01))
    exact = dense_moments(q.double() @ k.double().T)
    ways = {
        "tiles, float32": lambda: tiled_moments(q, k),
        "Gram products, float32": lambda: gram_moments(q, k),
        "tiles, factors rounded to bfloat16": lambda: tiled_moments(q, k, torch.bfloat16),
        "three bfloat16 products, summed in float32": lambda: three_parts(q, k),
    }
    products = {"product": lambda: q @ k.T}
    low, high = torch.randn(2, d, 3 * d)

    def triple() -> None:
        with bfloat16_products():
            low @ high.T

    seconds = in_turns(3, released=lambda: released_way(q, k), three=triple, **products, **ways)
    for name, way in ways.items():
        found = way()
        norms = torch.cat((found.row_norms / exact.row_norms, found.column_norms / exact.column_norms))
        s, true = found.trace / found.square, exact.trace / exact.square
        errors = {"norms": (norms - 1).abs().max().item(), "symmetry": (s - true).abs().item()}
        took = seconds["three" if way is ways["three bfloat16 products, summed in float32"] else name]
        reference = {key: seconds[key] for key in ("released", "product")}
        record.append({"way": name, "d": d, "seconds": {"ours": took, **reference}, "errors": errors})
