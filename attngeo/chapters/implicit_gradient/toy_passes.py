"""Toy Transformers with one sequence passed through them: the samples that the checks of this chapter judge."""

from dataclasses import dataclass

from attngeo.updates.objectives import Objective
from attngeo.updates.toy_transformer import LayerGradient, Pass, ToyConfig, ToyTransformer

TRAINED = (Objective.AUTOREGRESSIVE, Objective.MASKED)  # as Transformers are trained


@dataclass(frozen=True)
class ToyPass:
    """One sequence through a toy Transformer, with the losses of an objective."""

    objective: Objective
    model: ToyTransformer
    run: Pass

    @property
    def scale(self) -> float:
        """Factor on the scores, ``1/sqrt(d_head)``."""
        return self.model.config.score_scale

    def gradients(self) -> list[LayerGradient]:
        """Of the sum of all losses, for every layer."""
        return [self.run.gradient(layer) for layer in range(self.model.config.n_layers)]


def toy_pass(objective: Objective = Objective.AUTOREGRESSIVE, seed: int = 0, **config: int) -> ToyPass:
    """A random sequence through a random model; ``config`` are fields of `ToyConfig`."""
    model = ToyTransformer.random(ToyConfig(**config), seed)
    return ToyPass(objective, model, model.example(objective, seed))


def trained_passes(draws: int = 1, seed: int = 0, **config: int) -> list[ToyPass]:
    """Passes through several models for each objective with which Transformers are trained."""
    return [toy_pass(objective, seed + draw, **config) for objective in TRAINED for draw in range(draws)]
