"""Recorded runs with planted effects: how fast and how low a loss falls, and how the scores of the layers move."""

from dataclasses import replace

import numpy as np
import pandas as pd

from attngeo.experiments.runs.record import Run

STEPS, EVERY_50TH = np.arange(0, 1001, 100), np.arange(0, 1001, 50)
D_MODEL = 128
AS_MUCH_TEXT = {"batch_size": 51_200, "block_size": 512}  # as the paper's models read, in 1,000 steps
CONFIG = {
    **{"objective": "mlm", "init": "random", "text": "spaced", "seed": 0, "constraint": "none", "gamma": 0.0},
    **{"layers": 4, "vocab_size": 256, "d_model": D_MODEL, "batch_size": 64, "block_size": 16, "steps": 1000},
    **{"lr": 1e-3, "dropout": 0.0, "micro_batch": None, "device": "auto"},
    **{"record_every": 100, "evaluate_every": 100, "checkpoint_every": 0},
}


def made_run(
    s=(0.2, 0.3, 0.4, 0.5), d=(0.0, -0.1, -0.2, -0.3), peak=0.0, loss=2.0, noise=0.01, corpus="wikipedia", **config
):
    """A run whose layers go from the scores of random matrices to those given, apart from noise of its seed.

    Symmetry exceeds its end by ``peak`` halfway.
    """
    config = {**CONFIG, "layers": len(s), **config}
    kind = "made" if config["constraint"] == "none" else f"made_{config['constraint']}"
    name = f"{kind}-{config['objective']}-{config['init']}-{config['seed']}"
    draw = np.random.default_rng([config["seed"], sum(map(ord, config["objective"] + corpus + config["constraint"]))])
    share = STEPS / STEPS[-1]
    rows = []
    for layer, (s_end, d_end) in enumerate(zip(s, d, strict=True)):
        first, last = draw.normal(1 / D_MODEL, 2**0.5 / D_MODEL), s_end + noise * draw.standard_normal()
        curve = first + share * (last - first) + peak * np.maximum(0, 1 - 2 * abs(share - 0.5))
        d_curve = share * (d_end + noise * draw.standard_normal())
        for step, x, y in zip(STEPS, curve, d_curve, strict=True):
            rows += [
                {"step": step, "layer": layer, "head": head, "symmetry": x, "directionality": y} for head in (-1, 0)
            ]
    losses = 5 + share * (loss + noise * draw.standard_normal() - 5)
    about = {"config": config, "status": "finished", "seconds": 60.0, "corpus": {"name": corpus, "sha256": corpus}}
    about["hardware"] = {"cpu": "a processor", "threads": 1, "device": "cpu"}
    history = pd.DataFrame({"step": STEPS, "loss": losses, "held_out_loss": losses})
    return Run(name, about, history, pd.DataFrame(rows), {})


def made_large_arm(seeds=3, s=(0.2, 0.3, 0.4, 0.5), d=(0.0, -0.1, -0.2, -0.3), **values):
    """Runs of the size and length of the paper's with 12 layers: each of four layers three times."""
    return made_arm(seeds, s=np.repeat(s, 3), d=np.repeat(d, 3), d_model=768, **AS_MUCH_TEXT | values)


def made_arm(seeds=3, **values):
    """Runs of several seeds."""
    return [made_run(seed=seed, **values) for seed in range(seeds)]


def made_start(init="random", seed=0, shift=0.0, **config):
    """A run whose loss falls as 5 / (1 + step / 100) + shift, apart from a part common to its seed."""
    noise = 0.003 * np.random.default_rng(seed).standard_normal(len(EVERY_50TH))  # of the seed: shared by all arms
    noise += 0.001 * np.random.default_rng([seed, sum(map(ord, init))]).standard_normal(len(EVERY_50TH))
    loss = 5 / (1 + EVERY_50TH / 100) + shift + noise
    history = {"step": EVERY_50TH, "tokens": 1024 * EVERY_50TH, "loss": loss + 0.01, "held_out_loss": loss}
    run = made_run(corpus="a", **{"d_model": 256, "heads": 4, **AS_MUCH_TEXT, "init": init, "seed": seed, **config})
    return replace(run, history=pd.DataFrame(history))


def made_matrix(seeds=3, shifts=None, **config):
    """Arms of one setting: shift of the loss by start."""
    shifts = {"random": 0.0, "symmetric": 0.0} if shifts is None else shifts
    return [made_start(init, seed, shift, **config) for init, shift in shifts.items() for seed in range(seeds)]
