"""Both scores of a model's layers as named numbers, as training libraries log them."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch
from torch import nn

from attngeo.bilinear.scores import GAMMA, score
from attngeo.checkpoints.models import Model, open_model
from attngeo.errors import ParameterError

EVERY = 100  # steps between two scorings


class ScoreLog:
    """What the callbacks of two libraries share: when a model is scored, and under which names.

    Raises:
        ParameterError: ``every`` is no number of steps.
    """

    def __init__(self, every: int, gamma: float, per_layer: bool, config: Mapping | Any) -> None:
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise ParameterError(f"every is {every!r}; it must be a number of steps, 1 or more.")
        self.every, self.gamma, self.per_layer, self.config = every, gamma, per_layer, config
        self._last: int | None = None  # step of the last scoring

    def due(self, step: int, last: bool = False) -> bool:
        """Whether a step is to be scored; every step once."""
        return step != self._last and (last or step % self.every == 0)

    def open(self, model: nn.Module) -> Model:
        """The model's layers; refuses in one sentence what cannot be scored. Every process must ask, and read them."""
        return open_model(model, self.config, gather=True)

    def scores(self, model: nn.Module, step: int) -> dict[str, float]:
        """``symmetry/<part>/median``, ``symmetry/<part>/layer_<n>``, and the same for directionality."""
        self._last = step
        return named_scores(self.open(model), self.gamma, self.per_layer)


@torch.no_grad()
def named_scores(model: Model, gamma: float = GAMMA, per_layer: bool = True) -> dict[str, float]:
    """Both scores (Defs. 3.1, 3.2) of the sum over heads: medians over the layers of each part, then each layer's."""
    values: dict[str, dict[int, float]] = {}
    for layer in model:
        scores = score(layer.form, gamma)
        for name in ("symmetry", "directionality"):
            values.setdefault(f"{name}/{layer.part}", {})[layer.layer] = float(getattr(scores, name))
    named = {f"{name}/median": median(layers.values()) for name, layers in values.items()}
    if per_layer:
        named |= {f"{name}/layer_{n}": value for name, layers in values.items() for n, value in layers.items()}
    return named


def model_within(module: nn.Module) -> nn.Module:
    """The outermost module with a config that names a model_type.

    Raises:
        ParameterError: there is none.
    """
    for inner in module.modules():
        config = getattr(inner, "config", None)
        if getattr(config, "model_type", None) or (isinstance(config, Mapping) and config.get("model_type")):
            return inner
    raise ParameterError(
        f"{type(module).__name__} holds no model whose config names a model_type; tell which one to score, such as"
        f" model=lambda module: module.encoder, and its config."
    )


Chooser = Callable[[nn.Module], nn.Module]
