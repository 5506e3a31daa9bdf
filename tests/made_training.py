"""Recorded runs with planted scores: what every layer ends with, and by which way."""

import numpy as np
import pandas as pd
from made_arms import AS_MUCH_TEXT

from attngeo.runs.record import Run

STEPS = np.arange(0, 1001, 100)
D_MODEL = 128
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
        lift = peak * np.maximum(0, 1 - 2 * abs(share - 0.5))
        curve = first + share * (last - first) + lift
        d_curve = share * (d_end + noise * draw.standard_normal())
        for step, x, y in zip(STEPS, curve, d_curve, strict=True):
            rows += [
                {"step": step, "layer": layer, "head": head, "symmetry": x, "directionality": y} for head in (-1, 0)
            ]
    losses = 5 + share * (loss + noise * draw.standard_normal() - 5)
    history = pd.DataFrame({"step": STEPS, "loss": losses, "held_out_loss": losses})
    about = {"config": config, "status": "finished", "seconds": 60.0, "hardware": {"threads": 1, "device": "cpu"}}
    about["corpus"] = {"name": corpus, "sha256": corpus}
    return Run(name, about, history, pd.DataFrame(rows), {})


def made_large_arm(seeds=3, s=(0.2, 0.3, 0.4, 0.5), d=(0.0, -0.1, -0.2, -0.3), **values):
    """Runs of the size and length of the paper's with 12 layers: each of four layers three times."""
    return made_arm(seeds, s=np.repeat(s, 3), d=np.repeat(d, 3), d_model=768, **AS_MUCH_TEXT | values)


def made_arm(seeds=3, **values):
    """Runs of several seeds."""
    return [made_run(seed=seed, **values) for seed in range(seeds)]
