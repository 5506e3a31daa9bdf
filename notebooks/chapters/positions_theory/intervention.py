"""A read-out learned from one-sided windows, then attention to both sides.

    stage 1   attention is uniform (W_q = W_k = 0, kept), over all positions or over those up to the predicted one;
              all else learns to fill in hidden tokens
    stage 2   all that was learned is kept, W_q and W_k start at random and alone learn, attention sees both sides

``python -m chapters.positions_theory.intervention PLAN WINDOW SEED ...`` carries out a plan of
data/positions_theory, one_sided.yml or one_sided_longer.yml, and adds the rows of each run to the table beside it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from filelock import FileLock

from attngeo.bilinear.scores import symmetry_score
from chapters.positions_theory.measured import NEAR, Reader, write
from attngeo.files.checkout import data
from attngeo.gradients.token_counts import kernel
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.training.attention_window import attend_within
from attngeo.experiments.training.batches import Batches, Blocks
from attngeo.experiments.training.bert import attention_layers, build_model, position_rows
from attngeo.experiments.training.config import configure
from attngeo.experiments.training.read_out import read_outs

WINDOWS = ("both", "left")
WARMUP = 60  # steps of each stage until the full learning rate
HELD_OUT = 512  # blocks of the held-out loss


@dataclass(frozen=True)
class Stages:
    """Lengths of the two stages, and the steps between two measurements."""

    read_out: int  # steps of stage 1
    attention: int  # steps of stage 2
    every: int


PLANS = {"one_sided": Stages(600, 600, 100), "one_sided_longer": Stages(3000, 9000, 1500)}


def run(reader: Reader, window: str, seed: int, stages: Stages, device: str = "cpu") -> Iterator[dict]:
    """The two stages; yields what is measured along them, for each layer."""
    c = reader.config
    model = build_model(c.shape(reader.vocabulary.size), False, "random", seed, "eager")
    attention = [
        p for layer in attention_layers(model) for m in (layer.self.query, layer.self.key) for p in m.parameters()
    ]
    start = [p.detach().clone() for p in attention]
    others = [p for p in model.parameters() if all(p is not q for q in attention)]
    batches = Batches(
        Blocks(reader.tokens.train, c.block_size, seed), c.objective, reader.vocabulary, c.mask_rate, seed
    )
    done = 0
    for stage, steps in enumerate((stages.read_out, stages.attention), 1):
        learning, fixed = (others, attention) if stage == 1 else (attention, others)
        with torch.no_grad():
            for p, value in zip(attention, start, strict=True):
                p.copy_(value) if stage == 2 else p.zero_()
        handles = attend_within(model, 0) if stage == 1 and window == "left" else []
        for p in learning:
            p.requires_grad_(True)
        for p in fixed:
            p.requires_grad_(False)
        model.to(device)
        optimizer = torch.optim.AdamW(learning, lr=c.lr, weight_decay=c.weight_decay)
        loss = float("nan")
        for step in range(steps + 1):
            if step % stages.every == 0:
                about = {"window": window, "seed": seed, "stage": stage, "step": step, "loss": loss}
                about["held_out_loss"] = held_out_loss(reader, model.eval())
                yield from [about | row for row in measured(reader, model.to("cpu").eval())]
                model.to(device)
            if step == steps:
                break
            places = (np.arange(c.batch_size) + (done + step) * c.batch_size).astype(np.int64)
            for group in optimizer.param_groups:
                group["lr"] = c.lr * min(1, (step + 1) / WARMUP)
            value = model.train()(**batches.at(places, device))["loss"]
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
            if (step + 1) % stages.every == 0:
                loss = float(value.detach())
        done += steps
        for handle in handles:
            handle.remove()


@torch.no_grad()
def held_out_loss(reader: Reader, model: torch.nn.Module) -> float:
    """Mean loss over the first held-out blocks, in nats."""
    c = reader.config
    blocks = Blocks(reader.tokens.held_out, c.block_size, None)
    held_out = Batches(blocks, c.objective, reader.vocabulary, c.mask_rate, c.seed)
    batch = held_out.at(np.arange(min(HELD_OUT, len(blocks))), next(model.parameters()).device)
    return float(model(**batch)["prediction_loss"])


def measured(reader: Reader, model: torch.nn.Module) -> Iterator[dict[str, float]]:
    """`Reader.rows`, and the symmetry that the theorem on positions predicts from the read-out of the layer.

    The theorem's first update of W_qk is ``P^T C P`` with ``c_ij = gamma(j - i)``, gamma being the kernel of the
    read-out; between positions it reads ``G C G`` with ``G = P P^T``.
    """
    probe = reader.probe()
    rows = position_rows(model, reader.config.block_size).detach().double()
    gram = (rows - rows.mean(0)) @ (rows - rows.mean(0)).T
    for row, read_out in zip(reader.rows(model, probe), read_outs(model, probe), strict=True):
        update = offset_matrix(kernel(read_out, reader.covariances), len(rows))
        yield row | {"predicted_symmetry": symmetry_score(gram @ update @ gram)}


def offset_matrix(gamma: torch.Tensor, n: int) -> torch.Tensor:
    """``c_ij = gamma(j - i)``, and 0 for i = j and past the offsets of the kernel, which has NEAR on either side."""
    offsets = torch.arange(n) - torch.arange(n)[:, None]
    within = (offsets != 0) & (offsets.abs() <= NEAR)
    return torch.where(within, gamma[offsets.clamp(-NEAR, NEAR) + NEAR].double(), 0)


if __name__ == "__main__":
    plan, window, *seeds = sys.argv[1:]
    reader = Reader(configure(dict(read_experiment(data("runs", "read_out_first")).runs[0].settings)))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for seed in map(int, seeds):
        found = pd.DataFrame(run(reader, window, seed, PLANS[plan], device))
        path = data("positions_theory") / f"{plan}.csv"
        with FileLock(f"{path}.lock"):
            before = [pd.read_csv(path)] if path.exists() else []
            write(pd.concat([*before, found]), path.name)
        print(window, seed, flush=True)
