"""Speed of the scores against forming W_qk, as ratios within one run (``make benchmarks``)."""

import subprocess
import sys
import time

import pytest
import torch

from attngeo import BilinearForm, score, score_heads
from attngeo.moments import gram_moments, tiled_moments


def seconds(function, repeats: int = 3) -> float:
    """The best of a few runs: what the machine can do when nobody disturbs it."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


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
    dense = seconds(lambda: [released_way(wq[h], wk[h]) for h in range(4)], 1) * 8
    benchmark.extra_info["times_faster_than_dense_heads"] = dense / benchmark.stats["min"]


def test_full_form_by_tiles(benchmark):
    """The summed form of an 8192-wide bf16 layer, against the whole dense matrix."""
    torch.manual_seed(0)
    form = BilinearForm.from_linear(*(torch.randn(8192, 8192).to(torch.bfloat16) for _ in range(2)), d_head=128)
    benchmark.pedantic(score, (form,), rounds=2)
    q, k = form.to(torch.float32).merged()
    benchmark.extra_info["times_faster_than_dense"] = seconds(lambda: released_way(q, k), 2) / benchmark.stats["min"]


def extra_mebibytes(d: int, heads: int, kv_heads: int, function: str) -> float:
    """Peak memory of scoring one bf16 layer beyond the layer itself, in a fresh process (Linux: VmHWM, VmRSS)."""
    code = f"""
import torch
from attngeo import BilinearForm, score, score_heads
def memory(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024
q, k = (torch.empty(h * 128, {d}, dtype=torch.bfloat16).normal_() for h in ({heads}, {kv_heads}))
{function}(BilinearForm.from_linear(q[:256, :256].clone(), k[:256, :256].clone(), d_head=128))
form = BilinearForm.from_linear(q, k, d_head=128)
q.sum(), k.sum()  # all of it in memory, whatever the system has paged out
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
before = memory("VmRSS")
{function}(form)
print(memory("VmHWM") - before)
"""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("function", ["score", "score_heads"])
@pytest.mark.parametrize(("d", "heads", "kv_heads"), [(8192, 64, 64), (16384, 128, 8)], ids=["8192", "405B"])
def test_memory_beyond_the_layer(benchmark, d, heads, kv_heads, function):
    """Scoring a layer costs little memory beyond its own q and k, also at the size of Llama-3.1-405B."""
    extra = benchmark.pedantic(extra_mebibytes, (d, heads, kv_heads, function), rounds=1)
    benchmark.extra_info["extra_mebibytes"] = extra


def test_grouped_keys(benchmark):
    """32 query heads on 8 key heads, d = 4096: Gram products of the merged factors against expanded dense keys."""
    torch.manual_seed(0)
    form = BilinearForm(torch.randn(32, 4096, 128).bfloat16(), torch.randn(8, 4096, 128).bfloat16())
    benchmark.pedantic(score, (form,), rounds=3)
    q, k = form.to(torch.float32).per_head()
    q, k = (x.transpose(0, 1).flatten(1) for x in (q, k))
    benchmark.extra_info["times_faster_than_dense"] = seconds(lambda: released_way(q, k)) / benchmark.stats["min"]


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
