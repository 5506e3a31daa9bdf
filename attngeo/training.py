"""Training a BERT on a corpus, with its scores recorded, through `transformers.Trainer`."""

import errno
import json
import logging
import os
import shutil
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainingArguments
from transformers.utils import logging as transformers_logging

from attngeo.constraints import Constraint
from attngeo.corpora import Blocks, open_corpus, open_vocabulary, tokenize
from attngeo.corpora.documents import Corpus
from attngeo.corpora.tokens import TokenSet
from attngeo.corpora.vocabulary import Vocabulary
from attngeo.cpu_attention import quicken
from attngeo.errors import ParameterError
from attngeo.initialisations import Initialisation
from attngeo.models import build_model, model_flops, parameter_counts
from attngeo.recording import MARK, GracefulInterrupt, Recorder, TrainingStopped, as_tensors
from attngeo.run_record import FINISHED, Run, RunError, hardware, read_run, versions
from attngeo.targets import Objective, Targets
from attngeo.training_config import TrainingConfig

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BYTES_PER_WEIGHT = 12  # of a checkpoint: the weight and two moments, 4 each


def train(
    config: TrainingConfig,
    output: Path,
    resume: bool = False,
    listen: Callable[[dict[str, Any]], None] = lambda row: None,
) -> Run:
    """Train a model as configured and record loss and scores; see `attngeo.run_record` for what is written.

    Under ``accelerate launch`` or ``torchrun``, every process calls this, and the batch is shared between them.

    Args:
        config: everything that determines the run.
        output: folder of the run.
        resume: continue the run there from its last checkpoint; the curve is that of an unbroken run.
        listen: called after every step with {"step"}, and where something is recorded with the row of the history and
            the medians over layers of both scores.

    Returns:
        The run, read back from its folder.

    Raises:
        CorpusError: the text cannot be read or is too short.
        ParameterError: the batch does not fit the number of devices, or the device is not there.
        RunError: the folder holds another run, there is nothing to resume, or the disk is full.
        TrainingStopped: the loss is not finite, or a signal asked for the end. The record is kept.
    """
    output = Path(output)
    checkpoint = _starting_point(config, output, resume)
    if resume and checkpoint is None:
        return read_run(output)
    with _quiet():
        arguments = _arguments(config, output)
        with arguments.main_process_first(desc="tokenising the corpus"):
            corpus, vocabulary, tokens = prepare_text(config)
        model = _model(config, vocabulary, arguments.use_cpu)
        _room(output, model)
        trainer = _trainer(config, output, arguments, model, corpus, vocabulary, tokens, listen)
        if checkpoint:
            trainer.recorder.restore(checkpoint)
        try:
            with GracefulInterrupt(trainer.recorder):
                torch.manual_seed(config.seed + arguments.process_index)  # dropout differs between processes
                trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
            _finish(trainer, output, vocabulary)
        except Exception as error:
            if not _is_full(error):
                raise
            _drop_unfinished(output)
            raise RunError(
                f"{output} cannot be written any more, the disk is full; the record and the last complete checkpoint"
                " are kept: free some space and continue with --resume."
            ) from error
    if trainer.state.global_step < config.steps:
        raise TrainingStopped(f"interrupted after step {trainer.state.global_step}; continue with --resume.")
    return read_run(output) if trainer.is_world_process_zero() else None


def saved_settings(output: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, names and values.

    Raises:
        RunError: there is none.
    """
    try:
        return json.loads((output / "run.json").read_text("utf-8"))["config"]
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{output} holds no run to continue ({error}); start one without --resume.") from error


def prepare_text(config: TrainingConfig) -> tuple[Corpus, Vocabulary, TokenSet]:
    """The corpus, tokenizer and token ids of a configuration."""
    corpus = open_corpus(config.corpus, config.max_characters)
    vocabulary = open_vocabulary(config.tokenizer, corpus, config.text, config.vocab_size)
    return corpus, vocabulary, tokenize(corpus, vocabulary, config.text, config.held_out)


class RecordedTrainer(Trainer):
    """Trainer that reads its batches in order from the sequence and hands each loss to the recorder."""

    def __init__(self, recorder: Recorder, **options: Any) -> None:
        super().__init__(callbacks=[recorder], **options)
        self.remove_callback(PrinterCallback)
        self.recorder = recorder
        recorder.trainer = self

    def get_train_dataloader(self) -> DataLoader:
        """Batches in the order of the sequence; shuffling is done there."""
        loader = DataLoader(
            self.train_dataset,
            batch_size=self.args.train_batch_size,
            collate_fn=_as_is,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return self.accelerator.prepare(loader)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The model's loss, with the part that is recorded passed on."""
        outputs = model(**inputs)
        self.recorder.add(outputs["prediction_loss"] / self.current_gradient_accumulation_steps)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


class _Sequence(Dataset):
    """The blocks of a run from its first step to its last."""

    def __init__(self, targets: Targets, length: int) -> None:
        self.targets, self.length = targets, length

    def __len__(self) -> int:
        return self.length

    def __getitems__(self, places: list[int]) -> dict[str, torch.Tensor]:
        return as_tensors(self.targets, np.asarray(places))


def _as_is(batch: Any) -> Any:
    return batch


def _starting_point(config: TrainingConfig, output: Path, resume: bool) -> Path | None:
    """The checkpoint to continue from; None for a new run, and for a finished one that is to be resumed."""
    if not resume:
        if (output / "run.json").exists():
            raise RunError(f"{output} already holds a run; continue it with --resume, or choose another folder.")
        return None
    saved = saved_settings(output)
    for name, value in config.to_dict().items():
        if saved.get(name) != value:
            raise RunError(
                f"{name} is {value!r}, but the run in {output} has {saved.get(name)!r}; a run continues with its own"
                " settings, others need another folder."
            )
    if json.loads((output / "run.json").read_text("utf-8"))["status"] == FINISHED:
        return None
    complete = sorted(output.glob(f"checkpoints/checkpoint-*/{MARK}"), key=lambda mark: _step(mark.parent))
    if not complete:
        raise RunError(f"{output} has no complete checkpoint to continue from; delete it and start again.")
    return complete[-1].parent


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.rsplit("-", 1)[1])


def _arguments(config: TrainingConfig, output: Path) -> TrainingArguments:
    cuda = torch.cuda.is_available()
    if config.device == "cuda" and not cuda:
        raise ParameterError("device is cuda, but torch finds no such device; use auto or cpu.")
    cpu = config.device == "cpu" or not cuda
    world = int(os.environ.get("WORLD_SIZE", 1))
    if config.batch_size % world:
        raise ParameterError(f"batch_size {config.batch_size} is not divisible by the {world} processes.")
    share = config.batch_size // world
    micro = config.micro_batch or share
    if share % micro:
        raise ParameterError(f"micro_batch {micro} does not divide the {share} blocks of each of {world} processes.")
    arguments = TrainingArguments(
        output_dir=str(output / "checkpoints"),
        max_steps=config.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=share // micro,
        learning_rate=config.lr,
        lr_scheduler_type="linear",
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        optim="adamw_torch_fused",
        bf16=_bf16(config, cpu),
        tf32=True if cuda and not cpu and torch.cuda.get_device_capability() >= (8, 0) else None,
        torch_compile=config.compile,
        seed=config.seed,
        use_cpu=cpu,
        ddp_backend="gloo" if cpu and world > 1 else None,
        ddp_find_unused_parameters=False if world > 1 else None,
        dataloader_num_workers=0 if cpu else 2,
        dataloader_pin_memory=not cpu,
        save_strategy="no",  # the recorder says when
        save_total_limit=2,
        logging_strategy="no",
        eval_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    if not cpu and arguments.n_gpu > 1:
        arguments._n_gpu = 1  # several GPUs are used through torchrun, not through DataParallel
    return arguments


def _bf16(config: TrainingConfig, cpu: bool) -> bool:
    if config.precision != "auto":
        return config.precision == "bf16"
    if not cpu:
        return torch.cuda.is_bf16_supported()
    capability = getattr(torch.backends.cpu, "get_cpu_capability", lambda: "")()
    return "AVX512" in capability and _has_bf16_units()


def _has_bf16_units() -> bool:
    try:
        return "avx512_bf16" in Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False


def _model(config: TrainingConfig, vocabulary: Vocabulary, cpu: bool) -> PreTrainedModel:
    causal = Objective(config.objective).causal
    shape, init = config.shape(vocabulary.size), Initialisation(config.init)
    model = build_model(shape, causal, init, config.seed, "eager" if cpu else "sdpa")
    if cpu and not config.compile:
        quicken(model)
    model.constraint, model.constraint_weight = Constraint(config.constraint), float(config.gamma)
    return model


def _trainer(config, output, arguments, model, corpus, vocabulary, tokens, listen) -> RecordedTrainer:
    targets, held_out = (
        Targets(Blocks(ids, config.block_size, seed), config.objective, vocabulary, config.mask_rate, config.seed)
        for ids, seed in ((tokens.train, config.seed), (tokens.held_out, None))
    )
    about = {
        "name": output.name,
        "status": "running",
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "config": config.to_dict(),
        "corpus": {
            "name": corpus.name,
            "sha256": corpus.digest,
            "sources": list(corpus.sources),
            "documents": list(tokens.documents),
            "tokens": [len(tokens.train), len(tokens.held_out)],
        },
        "tokenizer": {"name": vocabulary.name, "sha256": vocabulary.digest, "size": vocabulary.size},
        "parameters": parameter_counts(model),
        "flops_per_step": config.batch_size
        * model_flops(config.shape(vocabulary.size), config.block_size, targets.per_block),
        "precision": "bf16" if arguments.bf16 else "fp32",
        "processes": arguments.world_size,
        "hardware": hardware(str(arguments.device)),
        "versions": versions(),
    }
    recorder = Recorder(config, output, about, held_out, listen)
    return RecordedTrainer(
        recorder, model=model, args=arguments, train_dataset=_Sequence(targets, config.steps * config.batch_size)
    )


def _finish(trainer: RecordedTrainer, output: Path, vocabulary: Vocabulary) -> None:
    """Save the trained model, then remove what was only needed to continue."""
    if trainer.state.global_step < trainer.args.max_steps:
        return
    trainer.save_model(str(output / "model"))
    if trainer.is_world_process_zero():
        vocabulary.tokenizer.save(str(output / "model" / "tokenizer.json"))
        (output / "model" / "training_args.bin").unlink(missing_ok=True)  # a pickle, which nothing here reads
        shutil.rmtree(output / "checkpoints", ignore_errors=True)


def _room(output: Path, model: PreTrainedModel) -> None:
    """Refuse to start where the disk has no room for three checkpoints (two kept, one being written) and the model."""
    kept = len(list(output.glob("checkpoints/checkpoint-*")))
    needed = (BYTES_PER_WEIGHT * max(1, 3 - kept) + 4) * parameter_counts(model)["all"]
    output.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(output).free
    if free < needed:
        raise RunError(f"{output} has {free / 1e6:,.1f} MB free, and checkpoints need {needed / 1e6:,.1f} MB.")


def _is_full(error: Exception) -> bool:
    """Whether a write failed for want of space, as Python, safetensors (in Rust) or torch.save (in C++) say it."""
    text = str(error)
    return (
        (isinstance(error, OSError) and error.errno in FULL)
        or any(f"(os error {number})" in text for number in FULL)
        or any(word in text for word in ("PytorchStreamWriter", "inline_container", "iostream error"))
    )


def _drop_unfinished(output: Path) -> None:
    for folder in output.glob("checkpoints/checkpoint-*"):
        if not (folder / MARK).exists():
            shutil.rmtree(folder, ignore_errors=True)


class _quiet(warnings.catch_warnings):
    """Silences what the libraries say of themselves while they train; errors are not silenced."""

    def __enter__(self):
        self._level = transformers_logging.get_verbosity()
        self._bars = transformers_logging.is_progress_bar_enabled()
        self._accelerate = logging.getLogger("accelerate").level
        result = super().__enter__()
        warnings.filterwarnings("ignore", "mtime may not be reliable")  # transformers 4 sorts checkpoints by name then
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        logging.getLogger("accelerate").setLevel(logging.ERROR)
        return result

    def __exit__(self, *details):
        transformers_logging.set_verbosity(self._level)
        if self._bars:
            transformers_logging.enable_progress_bar()
        logging.getLogger("accelerate").setLevel(self._accelerate)
        return super().__exit__(*details)
