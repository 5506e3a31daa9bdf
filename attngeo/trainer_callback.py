"""A callback that logs both scores in any `transformers.Trainer`."""

import math
import sys
from collections.abc import Mapping
from statistics import median
from typing import Annotated, Any

import torch
from msgspec import Meta

from attngeo.bilinear.scores import GAMMA, score_rows
from attngeo.checkpoints.models import open_model
from attngeo.errors import ParameterError, needs
from attngeo.inputs import checked

with needs("train", "ScoreCallback"):
    import accelerate  # noqa: F401  Trainer needs it, and says so in other words
    from transformers import Trainer, TrainerCallback


class ScoreCallback(TrainerCallback):
    """A callback that adds both scores of every layer to the log of a `transformers.Trainer`.

    The scores appear wherever the trainer logs the loss, for example in ``trainer.state.log_history``, TensorBoard or
    W&B. Their names are ``symmetry/<part>/median`` and ``symmetry/<part>/layer_<n>``, and likewise for
    ``directionality``, where the part is encoder, decoder or cross. Layers whose queries or keys are all zero are not
    scored and are excluded from the medians. To use the callback, pass it to the trainer: ``Trainer(...,
    callbacks=[ScoreCallback(every=100)])``.

    Args:
        trainer: trainer that provides the log and the model. The default is the trainer to which the callback is
            passed.
        every: number of optimiser steps between two measurements. The first and the last step are always measured.
        gamma: threshold of the directionality score, in standard deviations.
        per_layer: whether to log the scores of every layer in addition to the medians over layers.
        config: configuration of the model (see `attngeo.open_model`).

    Raises:
        ParameterError: ``trainer`` is not a Trainer, or ``every`` is not a positive integer.
        CheckpointError: at the start of training, the model turns out to have an unknown architecture, to be quantised,
            or to be sharded by FSDP 1.
    """

    def __init__(
        self,
        trainer: Trainer | None = None,
        every: int = 100,
        gamma: float = GAMMA,
        per_layer: bool = True,
        config: Mapping | Any = None,
    ) -> None:
        if trainer is not None and not isinstance(trainer, Trainer):
            raise ParameterError(
                f"ScoreCallback needs a Trainer, not an object of type {type(trainer).__name__}; pass the callback to"
                " the trainer: Trainer(..., callbacks=[ScoreCallback(every=100)])."
            )
        checked(every, Annotated[int, Meta(ge=1)], lambda why: ParameterError(f"every is {every!r}: {why}."))
        self.trainer: Any = trainer  # the calling trainer, from the beginning of training on, if none is given
        self.every, self.gamma, self.per_layer, self.config = every, gamma, per_layer, config
        self._last: int | None = None  # the step at which the model was last scored

    def on_train_begin(self, args, state, control, **others) -> None:  # noqa: D102
        self.trainer = self.trainer or _calling()
        open_model(self.trainer.model_wrapped, self.config, gather=True)  # to refuse models that cannot be scored
        self._score(state.global_step, control)

    def on_step_end(self, args, state, control, **others) -> None:  # noqa: D102
        last = control.should_training_stop or state.global_step >= state.max_steps
        if last or state.global_step % self.every == 0:
            self._score(state.global_step, control)

    @torch.no_grad()
    def _score(self, step: int, control) -> None:
        if step == self._last:
            return
        self._last = step
        planned = control.should_log  # whether the loss is logged at this step; logging our scores resets this
        values: dict[str, dict[int, float]] = {}
        # in every process, because weights may be sharded
        for layer in open_model(self.trainer.model, self.config, gather=True):
            (row,) = score_rows(layer.form, self.gamma, per_head=False)
            for name in ("symmetry", "directionality"):
                if not math.isnan(row[name]):
                    values.setdefault(f"{name}/{layer.part}", {})[layer.layer] = row[name]
        named = {f"{name}/median": median(layers.values()) for name, layers in values.items()}
        if self.per_layer:
            named |= {f"{name}/layer_{n}": value for name, layers in values.items() for n, value in layers.items()}
        self.trainer.log(named)
        control.should_log = planned


def _calling() -> Trainer:
    """The calling trainer, from the stack: only the trainer writes to all logs, and it is not passed to callbacks."""
    frame = sys._getframe().f_back
    while frame:
        if isinstance(caller := frame.f_locals.get("self"), Trainer):
            return caller
        frame = frame.f_back
    raise ParameterError("ScoreCallback was not called by a Trainer; pass the trainer to it: ScoreCallback(trainer).")
