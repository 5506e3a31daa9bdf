"""Runs with planted effects: how fast each start learns, how low it ends, how its symmetry moves."""

import numpy as np
import pandas as pd

from attngeo.runs.record import Run

STEPS = np.arange(0, 1001, 50)
AS_MUCH_TEXT = {"batch_size": 51_200, "block_size": 512}  # as the paper's models read, in 1,000 steps
CONFIG = {
    **{"objective": "mlm", "text": "spaced", "init": "random", "seed": 0, "corpus": "a", "constraint": "none"},
    **{"layers": 4, "d_model": 256, "heads": 4, "steps": 1000, "lr": 1e-3},
    **AS_MUCH_TEXT,
    **{"dropout": 0.0, "vocab_size": 256},
}


def made_arm(init="random", seed=0, slowness=1.0, shift=0.0, symmetry=(0.0, 0.3), spread=0.1, **config):
    """A run whose loss falls as 5 / (1 + step / (100 slowness)) + shift, apart from a part common to its seed.

    Its median symmetry goes from the first to the second of ``symmetry``, its layers lie ``spread`` apart at the end.
    """
    noise = 0.003 * np.random.default_rng(seed).standard_normal(len(STEPS))  # of the seed: shared by all arms
    own = 0.001 * np.random.default_rng([seed, sum(map(ord, init))]).standard_normal(len(STEPS))
    loss = 5 / (1 + STEPS / 100 / slowness) + shift + noise + own
    history = pd.DataFrame({"step": STEPS, "tokens": 1024 * STEPS, "loss": loss + 0.01, "held_out_loss": loss})
    history.loc[0, "loss"] = np.nan
    share = STEPS / STEPS[-1]
    rows = [
        {"step": step, "layer": layer, "head": head, "symmetry": symmetry[0] + x * (symmetry[1] - symmetry[0] + lift)}
        for step, x in zip(STEPS, share, strict=True)
        for layer, lift in enumerate(spread * np.linspace(-1, 1, 4))
        for head in (-1, 0)
    ]
    config = {**CONFIG, "init": init, "seed": seed, **config}
    about = {"config": config, "corpus": {"name": "some text", "sha256": "0"}, "seconds": 90.0, "status": "finished"}
    about["hardware"] = {"cpu": "a processor"}
    return Run(f"{config['objective']}-{init}-{seed}", about, history, pd.DataFrame(rows), {})


def made_matrix(seeds=3, shifts=None, **config):
    """Arms of one setting: shift of the loss by start."""
    shifts = {"random": 0.0, "symmetric": 0.0} if shifts is None else shifts
    return [made_arm(init, seed, shift=shift, **config) for init, shift in shifts.items() for seed in range(seeds)]
