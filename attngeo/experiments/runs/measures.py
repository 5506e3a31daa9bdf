"""Measures of recorded runs for which `attngeo.experiments.runs.arms` has no name: numbers per run, from its scores."""

from collections.abc import Callable

from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.record import Run


def median_of_heads(score: str, step: int | None = None) -> Callable[[Run], float]:
    """A measure: the median of a score over the single heads of all layers.

    Args:
        score: a column of the recorded scores.
        step: the training step, or the last recorded step before it; by default the last step.
    """

    def measure(run: Run) -> float:
        heads = run.scores[run.scores["head"] >= 0]
        if step is not None:
            heads = heads[heads["step"] <= step]
        return float(heads.loc[heads["step"] == heads["step"].max(), score].median())

    return measure


def lowest_of_layers(score: str) -> Callable[[Run], float]:
    """A measure: the lowest value of a score over the layers after the last step."""
    return lambda run: float(run.by_layer(score).iloc[-1].min())


def of_layer(score: str, layer: int) -> Callable[[Run], float]:
    """A measure: a score of one layer, counted from 0, after the last step."""
    return lambda run: float(run.by_layer(score)[layer].iloc[-1])


def score_at_loss(run: Run, loss: float, score: str = "symmetry") -> float:
    """The median over layers of a score when the held-out loss was first at most ``loss``, NaN if it never was."""
    scores, losses = run.curve(score), run.curve(LOSS)
    reached = losses.index[(losses <= loss) & losses.index.isin(scores.index)]
    return float(scores[reached[0]]) if len(reached) else float("nan")
