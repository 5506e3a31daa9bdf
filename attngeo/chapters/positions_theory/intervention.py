"""A read-out learned from one-sided windows, then attention to both sides: ``python -m ...intervention SEED ...``.

    stage 1   attention is uniform (W_q = W_k = 0, kept), over all positions or over those up to the predicted one;
              all else learns to fill in hidden tokens
    stage 2   all that was learned is kept, W_q and W_k start at random and alone learn, attention sees both sides

The plan is data/positions_theory/one_sided.yml; each run appends its rows to one_sided.csv beside it.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

from attngeo.chapters.positions_theory.measured import Reader, write
from attngeo.files.checkout import data
from attngeo.runs.experiments import read_experiment
from attngeo.training.batches import Batches, Blocks
from attngeo.training.bert import attention_layers, build_model
from attngeo.training.config import configure

WINDOWS = ("both", "left")
STEPS, EVERY, WARMUP = 600, 100, 60  # of each stage


def run(reader: Reader, window: str, seed: int) -> Iterator[dict]:
    """The two stages; yields what `Reader.rows` measures along them."""
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
    probe = reader.probe()
    with torch.no_grad():
        for p in attention:
            p.zero_()
    layers = attention_layers(model) if window == "left" else []
    handles = [layer.self.register_forward_pre_hook(_only_left, with_kwargs=True) for layer in layers]
    for stage, (learning, fixed) in enumerate(((others, attention), (attention, others)), 1):
        if stage == 2:
            for handle in handles:
                handle.remove()
            with torch.no_grad():
                for p, value in zip(attention, start, strict=True):
                    p.copy_(value)
        for p in learning:
            p.requires_grad_(True)
        for p in fixed:
            p.requires_grad_(False)
        optimizer = torch.optim.AdamW(learning, lr=c.lr, weight_decay=c.weight_decay)
        loss = float("nan")
        for step in range(STEPS + 1):
            if step % EVERY == 0:
                about = {"window": window, "seed": seed, "stage": stage, "step": step, "loss": loss}
                yield from [about | row for row in reader.rows(model.eval(), probe)]
            if step == STEPS:
                break
            places = (np.arange(c.batch_size) + ((stage - 1) * STEPS + step) * c.batch_size).astype(np.int64)
            for group in optimizer.param_groups:
                group["lr"] = c.lr * min(1, (step + 1) / WARMUP)
            value = model.train()(**batches.at(places))["loss"]
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
            loss = float(value.detach())


def _only_left(module, given, named):
    n = given[0].shape[1]
    hidden = torch.full((n, n), torch.finfo(given[0].dtype).min).triu(1)
    return given, named | {"attention_mask": hidden[None, None]}


if __name__ == "__main__":
    reader = Reader(configure(dict(read_experiment(data("runs", "read_out_first")).runs[0].settings)))
    for seed in map(int, sys.argv[1:]):
        for window in WINDOWS:
            path = data("positions_theory") / "one_sided.csv"
            before = [pd.read_csv(path)] if path.exists() else []
            write(pd.concat([*before, pd.DataFrame(run(reader, window, seed))]), "one_sided.csv")
            print(window, seed, flush=True)
