"""Training runs of a second: text, configuration, comparison."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import yaml

from attngeo.experiments.runs.record import Run, read_run
from attngeo.experiments.training.config import configure

WORDS = "the a cat dog sat ran on under big small red mat tree and then it was there again with".split()


def write_text(path, documents=60, words=60):
    """English-like text with a little grammar, so that a loss can fall."""
    draw, weights = np.random.default_rng(0), 1 / np.arange(1, len(WORDS) + 1)
    lines = [" ".join(draw.choice(WORDS, words, p=weights / weights.sum())) for _ in range(documents)]
    path.write_text("\n\n".join(lines))
    return path


def small_config(text, **change):
    """A model of two layers of width 16 and twelve steps."""
    values = {
        **{"corpus": str(text), "vocab_size": 80, "layers": 2, "d_model": 16, "heads": 2, "steps": 12, "lr": 3e-3},
        **{"batch_size": 8, "block_size": 16, "held_out": 0.1, "held_out_blocks": 20},
        **{"record_every": 3, "evaluate_every": 6, "checkpoint_every": 5, "precision": "fp32", "device": "cpu"},
    }
    return configure(values | change)


def small_settings(text, **change):
    """Those of a small run but for what arms and seeds set."""
    return {k: v for k, v in asdict(small_config(text, **change)).items() if k not in ("init", "seed")}


def flags(**settings):
    """What the command line is given for settings."""
    given = {name: value for name, value in settings.items() if value is not None and not isinstance(value, bool)}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def write_plan(folder, **parts):
    """An experiment of two seeds in a folder of its own."""
    plan = {"question": "?", "status": "exploratory", "date": "2026-11-22", "seeds": [0, 1]}
    folder.mkdir(exist_ok=True)
    (folder / "experiment.yml").write_text(yaml.safe_dump(plan | parts, sort_keys=False))
    return folder


def assert_same_curve(a, b, tolerance=0.0):
    """Two runs or their folders recorded the same but for the clock, exactly or to a relative tolerance."""
    a, b = (run if isinstance(run, Run) else read_run(run) for run in (a, b))
    histories = (run.history.drop(columns="seconds") for run in (a, b))
    pd.testing.assert_frame_equal(*histories, check_exact=tolerance == 0, rtol=tolerance or 1e-5)
    counts = ["n_rows_over", "n_cols_over"] if tolerance else []
    scores = (run.scores.drop(columns=counts) for run in (a, b))
    pd.testing.assert_frame_equal(*scores, check_exact=tolerance == 0, rtol=100 * tolerance, atol=100 * tolerance)
