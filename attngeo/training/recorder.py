"""What is measured while a model trains: loss, held-out loss, and both scores of every layer and head."""

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import Trainer, TrainerCallback

from attngeo.bilinear.pictures import picture
from attngeo.bilinear.scores import score_rows
from attngeo.errors import AttngeoError
from attngeo.files.atomic import write_text
from attngeo.files.manifest import write_manifest
from attngeo.inputs import read_json
from attngeo.runs.record import FINISHED, RunError, read_levels, read_run, write_run
from attngeo.training.batches import Batches
from attngeo.training.bert import forms
from attngeo.training.config import TrainingConfig

RECORDING = "recording.json"  # what a checkpoint keeps beside the record so far and what Trainer saves
FLUSH_SECONDS = 20.0  # between writings of the record


class TrainingStopped(RunError):
    """Training ended before its last step; the record up to there is kept."""

    def __init__(self, sentence: str, exit_code: int = AttngeoError.exit_code) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class Recorder(TrainerCallback):
    """Records every ``record_every`` steps, marks checkpoints as complete, and stops on a loss that is not finite.

    ``about`` is the content of run.json so far. ``listen`` is called with each new row of the history, scores' medians
    included, and at other steps with the step.
    """

    def __init__(
        self,
        config: TrainingConfig,
        folder: Path,
        about: dict[str, Any],
        held_out: Batches,
        listen: Callable[[dict[str, Any]], None],
    ) -> None:
        self.config, self.folder, self.about, self.held_out, self.listen = config, folder, about, held_out, listen
        self.history: list[dict] = []
        self.scores: list[dict] = []
        self.pictures: dict[tuple[int, int], np.ndarray] = {}  # levels of W_qk by layer and step
        self.trainer: Trainer  # set by its owner, who needs this object first
        self._earlier = 0.0
        self._loss: torch.Tensor | float = 0.0
        self._steps = 0  # that the loss is summed over
        self._start = self._flushed = time.perf_counter()
        self.interrupted = 0  # number of a signal: stop after this step, with a checkpoint

    def add(self, loss: torch.Tensor) -> None:
        """Add the mean loss of a batch, or its share in a step of several batches."""
        self._loss = self._loss + loss.detach()

    def restore(self, checkpoint: Path) -> None:
        """Go on from a whole checkpoint, with the record as it was there."""
        state = read_json(checkpoint / RECORDING, dict[str, Any], RunError)
        run = read_run(checkpoint)
        self.history, self.scores = run.history.to_dict("records"), run.scores.to_dict("records")
        self.pictures = read_levels(checkpoint)
        self._loss, self._steps, self._earlier = float.fromhex(state["loss"]), state["steps"], state["seconds"]

    # what Trainer calls

    def on_train_begin(self, args, state, control, **others) -> None:  # noqa: D102
        self._start = self._flushed = time.perf_counter()
        if state.global_step == 0:
            self._record(0, learning_rate=0.0)
            self._write("running")

    def on_step_end(self, args, state, control, **others) -> None:  # noqa: D102
        step = state.global_step
        self._steps += 1
        last, due = step >= self.config.steps, step % self.config.record_every == 0
        every = self.config.checkpoint_every
        # looking at the loss makes an accelerator wait, so it is looked at where it is needed
        look = last or due or self.interrupted or (every and step % every == 0) or args.device.type == "cpu"
        if look and not math.isfinite(float(self._loss)):
            self._write(f"stopped: the loss was not finite at step {step}")
            raise TrainingStopped(
                f"the loss is not a finite number at step {step} (learning rate"
                f" {others['lr_scheduler'].get_last_lr()[0]:.2g}); lower lr or lengthen warmup. The record up to step"
                f" {self.history[-1]['step']} is kept."
            )
        if last or due:
            self._record(step, float(others["lr_scheduler"].get_last_lr()[0]))
            if last or time.perf_counter() - self._flushed > FLUSH_SECONDS:
                self._write("running")
        else:
            self.listen({"step": step})
        if self.interrupted:
            control.should_save = control.should_training_stop = True
        elif every and step % every == 0 and not last:
            control.should_save = True

    def on_save(self, args, state, control, **others) -> None:  # noqa: D102
        self._write("running")
        self.trainer.accelerator.wait_for_everyone()  # who save their random states
        if not state.is_world_process_zero:
            return
        mark = {"loss": float(self._loss).hex(), "steps": self._steps, "seconds": self._seconds()}
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(checkpoint / RECORDING, json.dumps(mark))
        write_run(checkpoint, self.about, self.history, self.scores, self.pictures)
        write_manifest(checkpoint)

    def on_train_end(self, args, state, control, **others) -> None:  # noqa: D102
        self._write("running" if state.global_step >= self.config.steps else "interrupted")

    def finish(self) -> None:
        """Record that all of the run is written, its model included."""
        self.about["status"] = FINISHED
        write_run(self.folder, self.about, self.history, self.scores, self.pictures)

    # measuring

    def _record(self, step: int, learning_rate: float) -> None:
        loss = float("nan")
        if self._steps:
            loss = float(self.trainer.accelerator.reduce(torch.as_tensor(self._loss), "mean")) / self._steps
        self._loss, self._steps = 0.0, 0
        rows = self._scored(step)
        evaluated = step % self.config.evaluate_every == 0 or step >= self.config.steps
        held_out = self._held_out_loss() if evaluated else float("nan")
        row = {
            "step": step,
            "tokens": step * self.config.batch_size * self.config.block_size,
            "seconds": self._seconds(),
            "loss": loss,
            "held_out_loss": held_out,
            "learning_rate": learning_rate,
        }
        self.history.append(row)
        self.scores += rows
        layers = pd.DataFrame([r for r in rows if r["head"] == -1])
        self.listen(row | layers[["symmetry", "directionality"]].median().to_dict())  # of those that are scored

    @torch.no_grad()
    def _scored(self, step: int) -> list[dict]:
        rows = []
        every = self.config.picture_every
        pictured = step in (0, self.config.steps) or (every and step % every == 0)
        for layer, form in enumerate(forms(self.trainer.model)):
            rows += [{"step": step, "layer": layer, **row} for row in score_rows(form)]
            if pictured and layer in (0, self.config.layers - 1):
                self.pictures[layer, step] = picture(form)[0]
        return rows

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        """Mean loss over the first blocks of the held-out text, always the same ones with the same masks."""
        model, accelerator = self.trainer.model_wrapped, self.trainer.accelerator
        world, rank = accelerator.num_processes, accelerator.process_index
        blocks = min(self.config.held_out_blocks, len(self.held_out.blocks))
        size = self.trainer.args.train_batch_size
        total = torch.zeros(2, dtype=torch.float64)
        was_training = model.training
        model.eval()
        for start in range(0, blocks, size * world):
            # every process takes as many batches as the others; places past the end count for nothing
            places = start + rank * size + np.arange(size)
            kept = places[places < blocks]
            batch = as_tensors(self.held_out, kept if len(kept) else places[:1] * 0, accelerator.device)
            loss = float(model(**batch)["prediction_loss"])
            total += torch.tensor([loss * len(kept), len(kept)])
        model.train(was_training)
        summed = accelerator.reduce(total.to(torch.float32).to(accelerator.device), "sum")
        return float(summed[0] / summed[1])

    def _seconds(self) -> float:
        return self._earlier + time.perf_counter() - self._start

    def _write(self, status: str) -> None:
        if not self.trainer.is_world_process_zero():
            return
        seconds, steps, tokens = self._seconds(), self.history[-1]["step"], self.history[-1]["tokens"]
        self.about |= {
            "status": status,
            "steps_done": steps,
            "tokens": tokens,
            "seconds": round(seconds, 2),
            "tokens_per_second": round(tokens / seconds, 1),
        }
        write_run(self.folder, self.about, self.history, self.scores, self.pictures)
        self._flushed = time.perf_counter()


def as_tensors(
    batches: Batches, places: Sequence[int] | np.ndarray, device: torch.device | str = "cpu"
) -> dict[str, torch.Tensor]:
    """A batch as the model takes it."""
    batch = batches.at(np.asarray(places))
    return {name: torch.from_numpy(array).to(device) for name, array in vars(batch).items()}


@contextmanager
def graceful_interrupt(recorder: Recorder) -> Iterator[None]:
    """Within it, a first Ctrl-C or SIGTERM lets the step finish and leaves a checkpoint; a second one ends at once."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: Any) -> None:
        recorder.interrupted = number
        restore()

    for number in numbers:
        signal.signal(number, ask)
    try:
        yield
    finally:
        restore()
