import numpy as np
import pandas as pd

from attngeo.chapters.training_scores.figures import before_and_after, by_layer, over_steps
from attngeo.runs.record import Run


def made_run(objective, end, seed=0, layers=3):
    """A run whose symmetry goes from 0 to ``end`` and whose loss from 5 to 2."""
    steps = np.array([0, 10, 20])
    share = steps / 20
    history = pd.DataFrame({"step": steps, "loss": [np.nan, 4.0, 2.5], "held_out_loss": 5 - 3 * share})
    rows = [
        {"step": step, "layer": layer, "head": head, "symmetry": end * x + 0.01 * layer, "directionality": -0.3 * x}
        for step, x in zip(steps, share, strict=True)
        for layer in range(layers)
        for head in (-1, 0)
    ]
    config = {"objective": objective, "d_model": 64, "init": "random", "text": "plain", "layers": layers}
    config |= {"block_size": 8, "steps": 20, "lr": 1e-3, "seed": seed}
    about = {"config": config, "corpus": {"name": "some text", "sha256": "0"}, "seconds": 90.0}
    draws = {0: np.random.default_rng(seed), 20: np.random.default_rng([seed, ord(objective[0])])}
    pictures = {
        (layer, step): draw.uniform(-1, 1, (16, 16)) for layer in (0, layers - 1) for step, draw in draws.items()
    }
    return Run(f"{objective}-{seed}", about, history, pd.DataFrame(rows), pictures)


RUNS = [made_run("mlm", 0.6), made_run("clm", 0.05)]


def test_the_caption_of_the_curves_holds_their_ends():
    figure = over_steps(RUNS)
    assert "encoder: held-out loss from 5.00 to 2.00, s from 0.01 to 0.61, d from 0.00 to -0.30" in figure.alt
    assert "encoder s 0.61, d -0.30" in figure.caption
    assert "of a random matrix of width 64" in figure.caption  # d is directionality here
    assert "decoder" in figure.alt and "seeds" not in figure.caption
    assert len(figure.figure.axes) == 3 and "<svg" in figure.svg()


def test_seeds_are_pooled():
    figure = over_steps([*RUNS, made_run("mlm", 0.8, seed=1)])
    assert "2 seeds" in figure.caption and "encoder s 0.71" in figure.caption


def test_each_layer_has_a_line_and_its_end_is_told():
    figure = by_layer(RUNS)
    assert "encoder, symmetry 0.60 to 0.62" in figure.caption
    assert len(figure.figure.axes) == 4 and "<svg" in figure.svg()


def test_the_pictures_are_of_the_last_layer_before_and_after():
    figure = before_and_after(RUNS)
    words = "encoder and decoder, step 0: s = 0.02; encoder, step 20: s = 0.62; decoder"  # they start equal
    assert words in figure.caption
    for picture, run in zip(figure.figure.axes[1:3], RUNS, strict=True):
        np.testing.assert_array_equal(picture.images[0].get_array(), run.pictures[2, 20])
    other = before_and_after([RUNS[0], made_run("clm", 0.05, seed=1)])
    assert sum(len(panel.images) for panel in other.figure.axes if not hasattr(panel, "_colorbar")) == 4
