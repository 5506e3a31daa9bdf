"""Speed of the scores against forming W_qk, as ratios within one run, and their memory (``make benchmarks``).

Both sides run on one thread and are timed by the processor time of that thread: other work on the machine, which wall
clocks and waiting threads show, then counts for neither.
"""

import os
import re
import subprocess
import sys
import time

import pytest
import torch

from attngeo import BilinearForm, score, score_heads
from attngeo.forms.moments import gram_moments, tiled_moments

pytestmark = pytest.mark.benchmark(timer=time.thread_time)


@pytest.fixture(autouse=True)
def one_thread():
    """One thread for all of it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def seconds(function, repeats: int = 3) -> float:
    """The best of a few runs: what the processor can do when nobody else fills its caches."""
    best = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        function()
        best = min(best, time.thread_time() - start)
    return best


def at_least(goal: float, benchmark, name: str, slow: float) -> None:
    """Record how many times faster than the slow way ours is; it must reach the goal."""
    benchmark.extra_info[name] = slow / benchmark.stats["min"]
    assert benchmark.extra_info[name] >= goal


def released_way(q: torch.Tensor, k: torch.Tensor) -> None:
    """Both scores from the whole dense matrix in float32, its parts formed one after another."""
    m = q @ k.T
    symmetric = (m + m.T) / 2
    _ = symmetric.norm() ** 2 / m.norm() ** 2
    for norms in (m.norm(dim=0), m.norm(dim=1)):
        _ = norms[norms > norms.mean() + 2 * norms.std()].sum()


def test_heads_without_their_matrices(benchmark):
    """Every head of a 4096-wide layer with 32 heads, against forming each head's matrix."""
    torch.manual_seed(0)
    form = BilinearForm(*(torch.randn(32, 4096, 128).to(torch.bfloat16) for _ in range(2)))
    benchmark.pedantic(score_heads, (form,), rounds=3)
    wq, wk = form.wq.float(), form.wk.float()
    dense = seconds(lambda: released_way(wq[0], wk[0])) * form.n_heads
    at_least(30, benchmark, "times_faster_than_dense_heads", dense)


def test_full_form_by_tiles(benchmark):
    """The summed form of an 8192-wide bf16 layer, against the whole dense matrix."""
    torch.manual_seed(0)
    form = BilinearForm.from_linear(*(torch.randn(8192, 8192).to(torch.bfloat16) for _ in range(2)), d_head=128)
    benchmark.pedantic(score, (form,), rounds=2)
    q, k = form.to(torch.float32).merged()
    at_least(2.5, benchmark, "times_faster_than_dense", seconds(lambda: released_way(q, k), 2))


PEAK = """
import ctypes, torch
from attngeo import BilinearForm, score, score_heads
torch.set_num_threads(1)
libc = ctypes.CDLL(None)
q, k = (torch.empty(h * 128, {d}, dtype=torch.bfloat16).normal_() for h in ({heads}, {kv_heads}))
{function}(BilinearForm.from_linear(q[:256, :256].clone(), k[:256, :256].clone(), d_head=128))
form = BilinearForm.from_linear(q, k, d_head=128)
libc.malloc_stats()
{function}(form)
libc.malloc_stats()
"""


def extra_mebibytes(d: int, heads: int, kv_heads: int, function: str) -> float:
    """Peak memory of scoring one bf16 layer beyond the layer itself, in a fresh process (Linux with glibc).

    The allocator itself is asked: with every block above 64 KiB mapped on its own, its peak of mapped bytes is that of
    all tensors, the scratch of the matrix libraries included. Resident memory would mislead where the system moves
    pages in and out.
    """
    code = PEAK.format(d=d, heads=heads, kv_heads=kv_heads, function=function)
    env = os.environ | {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=65536"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stderr
    before, after = re.findall(r"max mmap bytes\s*=\s*(\d+)", said)
    return (int(after) - int(before)) / 2**20


@pytest.mark.parametrize(
    ("function", "d", "heads", "kv_heads", "limit"),
    [
        ("score", 8192, 64, 64, 16),
        ("score_heads", 8192, 64, 64, 32),
        ("score", 16384, 128, 8, 256),
        ("score_heads", 16384, 128, 8, 256),
    ],
)
def test_memory_beyond_the_layer(benchmark, function, d, heads, kv_heads, limit):
    """Scoring a layer costs little memory beyond its own q and k, also at the size of Llama-3.1-405B."""
    extra = benchmark.pedantic(extra_mebibytes, (d, heads, kv_heads, function), rounds=1)
    benchmark.extra_info["extra_mebibytes"] = extra
    assert extra <= limit


def test_grouped_keys(benchmark):
    """32 query heads on 8 key heads, d = 4096: the merged factors against expanded dense keys."""
    torch.manual_seed(0)
    form = BilinearForm(torch.randn(32, 4096, 128).bfloat16(), torch.randn(8, 4096, 128).bfloat16())
    benchmark.pedantic(score, (form,), rounds=3)
    q, k = form.to(torch.float32).per_head()
    q, k = (x.transpose(0, 1).flatten(1) for x in (q, k))
    at_least(3, benchmark, "times_faster_than_dense", seconds(lambda: released_way(q, k)))


@pytest.mark.parametrize("rank", [64, 512, 2048])
def test_where_gram_products_stop_paying(benchmark, rank):
    """Both ways to the moments of one 2048-wide form; above 1 the Gram products win."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 2048, rank)
    benchmark.pedantic(gram_moments, (q, k), rounds=3)
    benchmark.extra_info["tiles_over_gram"] = seconds(lambda: tiled_moments(q, k)) / benchmark.stats["min"]


def test_import_costs_nothing_beyond_torch(benchmark):
    """``import attngeo`` and the names a scoring script needs, in a fresh interpreter that has torch already."""
    code = (
        "import torch, time; t = time.perf_counter(); import attngeo; "
        "attngeo.BilinearForm, attngeo.symmetry_score; print(time.perf_counter() - t)"
    )

    def fresh() -> float:
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    benchmark.extra_info["seconds_beyond_torch"] = min(fresh() for _ in range(3))
    benchmark.pedantic(fresh, rounds=1)
