"""Measuring a model while it trains: loss, held-out loss, and both scores of every layer and head."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import Trainer, TrainerCallback

from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.pictures import picture
from attngeo.bilinear.scores import score_rows
from attngeo.bilinear.waves import octave_scores
from attngeo.errors import AttngeoError
from attngeo.experiments.runs.record import RunError, read_levels, read_run
from attngeo.experiments.runs.writing import write_run
from attngeo.experiments.training.batches import Batches
from attngeo.experiments.training.bert import forms, position_rows
from attngeo.experiments.training.config import TrainingConfig

FLUSH_SECONDS = 20.0  # the shortest time between two writes of the record
STOPPING = (signal.SIGINT, signal.SIGTERM)


class TrainingStopped(RunError):
    """Training ended before its last step. The record up to there is kept."""

    def __init__(self, sentence: str, exit_code: int = AttngeoError.exit_code) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class Recorder(TrainerCallback):
    """Records every ``record_every`` steps, adds the record to each checkpoint, and stops if the loss is not finite.

    ``about`` is the content of run.json so far. ``listen`` is called after every step, either with {"step"} or with the
    new row of the history and the medians over layers of both scores.
    """

    def __init__(
        self,
        config: TrainingConfig,
        folder: Path,
        about: dict[str, Any],
        held_out: Batches,
        listen: Callable[[dict[str, Any]], None],
    ) -> None:
        self.config = config
        self.folder = folder
        self.about = about
        self.held_out = held_out
        self.listen = listen
        self.history: list[dict] = []
        self.scores: list[dict] = []
        self.pictures: dict[tuple[int, int], np.ndarray] = {}  # pictures of W_qk by layer and step, in 8-bit levels
        self.interrupted = 0  # the number of a signal that asked to stop after this step, with a checkpoint
        self.trainer: Trainer  # set after the trainer is made, because the trainer needs this object first
        self._loss: torch.Tensor | float = 0.0  # summed over the steps since the last record
        self._steps = 0  # the number of these steps
        self._earlier = 0.0  # seconds of training before the run was resumed

    def add(self, loss: torch.Tensor) -> None:
        """Add the mean loss of a batch, or its share in a step of several batches."""
        self._loss = self._loss + loss.detach()

    def restore(self, checkpoint: Path) -> None:
        """Continue from a checkpoint, with the record as it was at that step."""
        run = read_run(checkpoint)
        self.history = run.history.to_dict("records")
        self.scores = run.scores.to_dict("records")
        self.pictures = read_levels(checkpoint)
        state = run.about["recorder"]
        self._loss = float.fromhex(state["loss"])
        self._steps = state["steps"]
        self._earlier = state["seconds"]

    # methods that Trainer calls

    def on_train_begin(self, args, state, control, **others) -> None:  # noqa: D102
        self._start = self._flushed = time.perf_counter()
        if state.global_step == 0:
            self._record(0, learning_rate=0.0)
            self.write("running")

    def on_step_end(self, args, state, control, **others) -> None:  # noqa: D102
        step = state.global_step
        self._steps += 1
        learning_rate = float(others["lr_scheduler"].get_last_lr()[0])
        last = step >= self.config.steps
        due = last or step % self.config.record_every == 0
        every = self.config.checkpoint_every
        saves = bool(every) and step % every == 0 and not last
        # float(loss) makes the host wait for an accelerator, so only do it when the value is needed
        if due or saves or self.interrupted or args.device.type == "cpu":
            self._require_finite_loss(step, learning_rate)
        if due:
            self._record(step, learning_rate)
            if last or time.perf_counter() - self._flushed > FLUSH_SECONDS:
                self.write("running")
        else:
            self.listen({"step": step})
        if self.interrupted:
            control.should_training_stop = True
        if self.interrupted or saves:
            control.should_save = True

    def on_save(self, args, state, control, **others) -> None:  # noqa: D102
        self.write("running")
        self.trainer.accelerator.wait_for_everyone()  # every process saves its random state into the checkpoint
        if not state.is_world_process_zero:
            return
        mark = {"loss": float(self._loss).hex(), "steps": self._steps, "seconds": self._seconds()}
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        # run.json is the last file of a checkpoint (`attngeo.experiments.training.run_folder.last_checkpoint`)
        write_run(checkpoint, self.about | {"recorder": mark}, self.history, self.scores, self.pictures)

    def on_train_end(self, args, state, control, **others) -> None:  # noqa: D102
        self.write("running" if state.global_step >= self.config.steps else "interrupted")

    def _require_finite_loss(self, step: int, learning_rate: float) -> None:
        if math.isfinite(float(self._loss)):
            return
        self.write(f"stopped: the loss was not finite at step {step}")
        raise TrainingStopped(
            f"the loss is not a finite number at step {step} (learning rate {learning_rate:.2g}); lower lr or lengthen"
            f" warmup. The record up to step {self.history[-1]['step']} is kept."
        )

    # measuring

    @torch.no_grad()
    def _record(self, step: int, learning_rate: float) -> None:
        loss = float("nan")
        if self._steps:
            loss = float(self.trainer.accelerator.reduce(torch.as_tensor(self._loss), "mean")) / self._steps
        self._loss = 0.0
        self._steps = 0
        rows = self._score_rows(step)
        evaluated = step % self.config.evaluate_every == 0 or step >= self.config.steps
        held_out_loss = self._held_out_loss() if evaluated else float("nan")
        row = {
            "step": step,
            "tokens": step * self.config.batch_size * self.config.block_size,
            "seconds": self._seconds(),
            "loss": loss,
            "held_out_loss": held_out_loss,
            "learning_rate": learning_rate,
        }
        self.history.append(row)
        self.scores += rows
        layers = pd.DataFrame([of_layer for of_layer in rows if of_layer["head"] == -1])
        self.listen(row | layers[["symmetry", "directionality"]].median().to_dict())  # the median skips NaN

    def _score_rows(self, step: int) -> list[dict]:
        """The rows of scores.parquet for this step; the pictures of this step are kept, too."""
        every = self.config.picture_every
        pictured = step in (0, self.config.steps) or (every and step % every == 0)
        table = position_rows(self.trainer.model, self.config.block_size)
        rows: list[dict] = []
        for layer, form in enumerate(forms(self.trainer.model)):
            scores = score_rows(form)
            scores[0] |= head_coherence(form).columns()
            if table is not None:
                columns = zip(scores, _position_columns(form, table), strict=True)
                scores = [of_head | of_positions for of_head, of_positions in columns]
            rows += [{"step": step, "layer": layer, **of_head} for of_head in scores]
            if pictured and layer in (0, self.config.layers - 1):
                self.pictures[layer, step] = picture(form)[0]
        return rows

    def _held_out_loss(self) -> float:
        """Mean loss over the first sequences of the held-out text, always the same ones with the same masks."""
        model = self.trainer.model_wrapped
        blocks = min(self.config.held_out_blocks, len(self.held_out.blocks))
        size = self.trainer.args.train_batch_size
        model.eval()  # Trainer calls train() before its next step
        total = 0.0
        for start in range(0, blocks, size):
            places = range(start, min(start + size, blocks))
            batch = self.held_out.at(places, self.trainer.accelerator.device)
            total += len(places) * float(model(**batch)["prediction_loss"])
        return total / blocks

    def _seconds(self) -> float:
        return self._earlier + time.perf_counter() - self._start

    def write(self, status: str) -> None:
        """Write the record so far. Only the first process writes."""
        if not self.trainer.is_world_process_zero():
            return
        seconds = self._seconds()
        tokens = self.history[-1]["tokens"]
        self.about |= {
            "status": status,
            "steps_done": self.history[-1]["step"],
            "tokens": tokens,
            "seconds": round(seconds, 2),
            "tokens_per_second": round(tokens / seconds, 1),
        }
        write_run(self.folder, self.about, self.history, self.scores, self.pictures)
        self._flushed = time.perf_counter()


def _position_columns(form: BilinearForm, table: torch.Tensor) -> Iterator[dict[str, float]]:
    """s by octave of the position table (`attngeo.bilinear.waves`), for the sum over heads and for every head."""
    yield _octave_columns(octave_scores(form, table))
    by_head = octave_scores(form, table, per_head=True)
    for head in range(form.n_heads):
        yield _octave_columns({period: (s[head], share[head]) for period, (s, share) in by_head.items()})


def _octave_columns(scores: dict) -> dict[str, float]:
    columns = {}
    for period, (symmetry, share) in scores.items():
        if period == 0:  # all waves together
            columns["position_symmetry"] = float(symmetry)
        else:
            columns[f"position_symmetry_{period}"] = float(symmetry)
            columns[f"position_share_{period}"] = float(share)
    return columns


@contextmanager
def stopping_after_the_step(recorder: Recorder) -> Iterator[None]:
    """Within this context, Ctrl-C and SIGTERM finish the current step, save a checkpoint and stop."""
    if threading.current_thread() is not threading.main_thread():  # for example in a worker of dask
        yield
        return

    def ask(number: int, frame: Any) -> None:
        recorder.interrupted = number

    before = {number: signal.signal(number, ask) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals(worker: int) -> None:
    """Let a worker of the data loader outlive a signal to its process group, because the last step needs its batches.

    Trainer ends its workers by itself.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
