"""Both scores in the log of any Lightning ``Trainer``."""

import sys
from collections.abc import Mapping
from typing import Any

import torch

from attngeo.bilinear.scores import GAMMA
from attngeo.errors import needs
from attngeo.training.score_log import EVERY, Chooser, ScoreLog, model_within

with needs("lightning", "LightningScoreCallback"):
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:  # the older name of the same
        from pytorch_lightning import Callback
    else:
        from lightning.pytorch import Callback


class LightningScoreCallback(Callback):
    """Logs both scores of every layer of the model in training, to all loggers of the ``Trainer``.

    They are in ``trainer.callback_metrics`` too, for callbacks that monitor them. Names are those of
    `attngeo.ScoreCallback`. ``Trainer(callbacks=[LightningScoreCallback(every=100)])`` is all that is needed.

    Args:
        every: optimizer steps between two scorings; the first and the last step are scored as well.
        gamma: threshold of the directionality score, in standard deviations.
        per_layer: also a number for each layer, beside the medians over layers.
        model: from the LightningModule to the module to score; by default the outermost one with a model_type.
        config: as for `attngeo.open_model`.

    Raises:
        ParameterError: ``every`` is no number of steps; or, when training begins, nothing has a model_type.
        CheckpointError: when training begins, the model is of an unknown architecture, quantised, or sharded by FSDP 1.
    """

    def __init__(
        self,
        every: int = EVERY,
        gamma: float = GAMMA,
        per_layer: bool = True,
        model: Chooser = model_within,
        config: Mapping | Any = None,
    ) -> None:
        self._log, self._model = ScoreLog(every, gamma, per_layer, config), model

    def on_train_start(self, trainer, pl_module) -> None:  # noqa: D102
        self._log.open(self._model(pl_module))
        self._score(trainer, pl_module)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:  # noqa: D102
        self._score(trainer, pl_module)

    def on_train_end(self, trainer, pl_module) -> None:  # noqa: D102
        self._score(trainer, pl_module, last=True)

    def _score(self, trainer, pl_module, last: bool = False) -> None:
        if not self._log.due(trainer.global_step, last):
            return
        # in every process: weights may be sharded, and metrics are monitored everywhere
        scores = self._log.scores(self._model(pl_module), trainer.global_step)
        for logger in trainer.loggers if trainer.is_global_zero else ():
            logger.log_metrics(scores, step=trainer.global_step)
        trainer.callback_metrics.update({name: torch.tensor(value) for name, value in scores.items()})
