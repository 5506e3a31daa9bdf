"""Speed and accuracy of the scores on a GPU beside the dense way of the released code, in one call.

    python tests/benchmarks/gpu.py                                  # on a machine with a GPU: data/benchmarks/gpu.json
    python tests/benchmarks/gpu.py --device cpu --widths 256 -o x.json      # a rehearsal without one

Plan, written before any measurement of this code on a GPU. For widths of 512 to 8,192, for float32 and bfloat16, and
for single heads and their sum, both ways take turns for 20 rounds after two that warm up, and each round ends when the
GPU has finished. The claim is that the median time of `score` and `score_heads` is at most that of the released way in
every row. The released way converts the factors to float32, forms the matrix of every head or of their sum, and
computes both scores from it by the formulas of the released code. Beside them stands one product of two float32
matrices of the size of the layer. Errors are differences from the dense matrix in float64; the claim is that s is off
by at most 1e-6, and d by at most 1e-5.
"""

import argparse
import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from attngeo import BilinearForm, score, score_heads
from attngeo.files.atomic import write_text
from attngeo.files.provenance import commit, hardware, versions

ROOT = Path(__file__).parents[2]
HEADS = {512: 8, 768: 12, 1024: 16, 2048: 32, 4096: 32, 8192: 64}
ROUNDS, WARM = 20, 2


def released(m: Tensor) -> tuple[Tensor, Tensor]:
    """Both scores of a batch of matrices (batch, d, d) by the formulas of the released code."""
    symmetric = (m + m.mT) / 2
    s = symmetric.norm(dim=(1, 2)) ** 2 / m.norm(dim=(1, 2)) ** 2
    totals = []
    for norms in (m.norm(dim=2), m.norm(dim=1)):
        threshold = norms.mean(1, keepdim=True) + 2 * norms.std(1, keepdim=True)
        totals.append(torch.where(norms > threshold, norms - threshold, 0).sum(1))
    r, c = totals
    return s, (r - c) / (r + c)


def a_form(d: int, dtype: torch.dtype, device: str) -> BilinearForm:
    """Weights whose queries and keys have a part in common, with a few long columns, as torch.nn.Linear stores them."""
    generator = torch.Generator().manual_seed(d)
    q, noise = torch.randn(2, d, d, generator=generator)
    k = q + noise
    k[:, :: d // 64] *= 2
    return BilinearForm.from_linear(q.to(device, dtype), k.to(device, dtype), d // HEADS.get(d, 4))


def seconds(device: str, **ways: Callable) -> dict[str, float]:
    """The median time of each way, in turns."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + WARM):
        for name, way in ways.items():
            finish(device)
            start = time.perf_counter()
            way()
            finish(device)
            taken[name].append(time.perf_counter() - start)
    return {name: median(found[WARM:]) for name, found in taken.items()}


def finish(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def measure(d: int, dtype: torch.dtype, device: str) -> list[dict]:
    """A row for the sum over heads and a row for single heads."""
    form = a_form(d, dtype, device)
    a, b = (x.float().contiguous() for x in form.merged())

    def one() -> Tensor:
        q, k = (x.float() for x in form.merged())
        return (q @ k.T)[None]

    def each() -> Tensor:
        return form.wq.float() @ form.wk.float().mT

    rows = []
    for of, ours, dense in (("sum", score, one), ("heads", score_heads, each)):
        ways = {"ours": lambda ours=ours: ours(form), "released": lambda dense=dense: released(dense())}
        row = {"of": of, "d": d, "heads": form.n_heads, "dtype": str(dtype).removeprefix("torch.")}
        row["seconds"] = seconds(device, **ways, product=lambda: a @ b.T)
        row["errors"] = errors(form, of)
        rows.append(row)
    return rows


def errors(form: BilinearForm, of: str) -> dict[str, float]:
    """How far the scores are from those of the dense matrix in float64; of heads, of the first and the last."""
    exact = form.to(torch.float64)
    if of == "sum":
        pairs = [(score(form), score(exact.dense()))]
    else:
        found = vars(score_heads(form))
        pairs = []
        for h in (0, form.n_heads - 1):
            of_head = type("Scores", (), {name: values[h] for name, values in found.items()})
            pairs.append((of_head, score(exact.head(h))))
    names = ("symmetry", "directionality")
    return {name: max(abs(float(getattr(a, name)) - float(getattr(b, name))) for a, b in pairs) for name in names}


def main() -> None:
    """Measure, print a table, and write the record."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    options.add_argument("--widths", type=int, nargs="+", default=list(HEADS))
    options.add_argument("-o", "--output", type=Path, default=ROOT / "data" / "benchmarks" / "gpu.json")
    asked = options.parse_args()
    if asked.device == "cuda" and not torch.cuda.is_available():
        options.error("torch sees no GPU here; --device cpu rehearses the measurement.")
    rows = []
    print("of     d     type      ours ms  released ms  product ms  ratio  error of s  error of d")
    for d in asked.widths:
        for dtype in (torch.float32, torch.bfloat16):
            for row in measure(d, dtype, asked.device):
                rows.append(row)
                ours, theirs, product = (1e3 * row["seconds"][name] for name in ("ours", "released", "product"))
                s, d_score = (row["errors"][name] for name in ("symmetry", "directionality"))
                times = f"{ours:8.3f} {theirs:12.3f} {product:11.3f} {theirs / ours:6.2f}"
                print(f"{row['of']:5} {d:5}  {row['dtype']:8} {times}  {s:10.1e}  {d_score:10.1e}", flush=True)
    slower = [row for row in rows if row["seconds"]["ours"] > row["seconds"]["released"]]
    print(f"Slower than the released way in {len(slower)} of {len(rows)} rows.")
    about = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "commit": commit(ROOT)}
    about |= hardware(asked.device) | {"versions": versions(("torch",))}
    write_text(asked.output, json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
