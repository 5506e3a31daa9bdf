"""Both scores in the log of any `transformers.Trainer`."""

import sys
from collections.abc import Mapping
from typing import Any

from attngeo.bilinear.scores import GAMMA
from attngeo.errors import ParameterError, needs
from attngeo.training.score_log import EVERY, ScoreLog

with needs("train", "ScoreCallback"):
    import accelerate  # noqa: F401  Trainer needs it, and says so in other words
    from transformers import Trainer, TrainerCallback


class ScoreCallback(TrainerCallback):
    """Logs both scores of every layer of the model in training, by way of its trainer.

    So they go wherever the loss goes: ``trainer.state.log_history``, TensorBoard, W&B and others of ``report_to``.
    Names are ``symmetry/<part>/median``, ``symmetry/<part>/layer_<n>``, and the same for ``directionality``; parts are
    encoder, decoder and cross. ``Trainer(..., callbacks=[ScoreCallback(every=100)])`` is all that is needed.

    Args:
        trainer: whose log to write to, and whose model to score; the one that it is given to, unless named.
        every: optimizer steps between two scorings; the first and the last step are scored as well.
        gamma: threshold of the directionality score, in standard deviations.
        per_layer: also a number for each layer, beside the medians over layers.
        config: as for `attngeo.open_model`.

    Raises:
        ParameterError: ``trainer`` is no Trainer, or ``every`` no number of steps.
        CheckpointError: when training begins, the model is of an unknown architecture, quantised, or sharded by FSDP 1.
    """

    def __init__(
        self,
        trainer: Trainer | None = None,
        every: int = EVERY,
        gamma: float = GAMMA,
        per_layer: bool = True,
        config: Mapping | Any = None,
    ) -> None:
        if trainer is not None and not isinstance(trainer, Trainer):
            raise ParameterError(
                f"ScoreCallback logs through a trainer, and {type(trainer).__name__} is none; give it to one:"
                f" Trainer(..., callbacks=[ScoreCallback(every=100)])."
            )
        self.trainer = trainer
        self._log = ScoreLog(every, gamma, per_layer, config)

    def on_train_begin(self, args, state, control, **others) -> None:  # noqa: D102
        self.trainer = self.trainer or _calling()
        self._log.open(self.trainer.model_wrapped)
        self._score(state, control)

    def on_step_end(self, args, state, control, **others) -> None:  # noqa: D102
        self._score(state, control, last=control.should_training_stop or state.global_step >= state.max_steps)

    def _score(self, state, control, last: bool = False) -> None:
        if self.trainer is None or self.trainer.model is None:  # nothing is being trained
            return
        # in every process, as Trainer logs the loss: weights may be sharded
        if self._log.due(state.global_step, last):
            planned = control.should_log  # of the loss, at this step; logging anything ends the plan
            self.trainer.log(self._log.scores(self.trainer.model, state.global_step))
            control.should_log = planned


def _calling() -> Trainer:
    """The trainer that calls: callbacks are handed everything but it, and it alone reaches all logs."""
    frame = sys._getframe().f_back
    while frame:
        if isinstance(caller := frame.f_locals.get("self"), Trainer):
            return caller
        frame = frame.f_back
    raise ParameterError("ScoreCallback was called by no Trainer; name one: ScoreCallback(trainer).")
