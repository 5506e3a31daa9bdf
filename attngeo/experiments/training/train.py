"""Training a BERT on a corpus, with its scores recorded, through `transformers.Trainer`."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import SequentialSampler
from transformers import PrinterCallback, Trainer, TrainingArguments
from transformers.utils import logging as transformers_logging

import attngeo
from attngeo.errors import ParameterError
from attngeo.experiments.runs.record import FINISHED, Run, read_run
from attngeo.experiments.training.attention_window import attend_within
from attngeo.experiments.training.batches import Batches, Blocks, Masking
from attngeo.experiments.training.bert import build_model, fold_logit_scale, model_flops, parameter_counts, scale_logits
from attngeo.experiments.training.choices import Constraint, PositionTable, TrainingObjective
from attngeo.experiments.training.config import TrainingConfig
from attngeo.experiments.training.corpora.documents import Corpus
from attngeo.experiments.training.corpora.registry import open_corpus
from attngeo.experiments.training.corpora.tokens import TokenSet, tokenize
from attngeo.experiments.training.corpora.vocabulary import Vocabulary, open_vocabulary
from attngeo.experiments.training.positions import freeze_table
from attngeo.experiments.training.recorder import Recorder, TrainingStopped, ignore_signals, stopping_after_the_step
from attngeo.experiments.training.run_folder import drop_checkpoints, starting_point
from attngeo.files.provenance import hardware, head, versions
from attngeo.inputs import cause


def train(
    config: TrainingConfig,
    output: Path,
    resume: bool = False,
    listen: Callable[[dict[str, Any]], None] = lambda row: None,
) -> Run | None:
    """Train a model as configured and record loss and scores; see `attngeo.experiments.runs.record` for what is
    written.

    Under ``accelerate launch`` or ``torchrun``, every process calls this, and the batch is shared between them.

    Args:
        config: the settings of the run.
        output: folder of the run.
        resume: whether to continue the run in this folder from its last checkpoint. The curve is then the same as
            without an interruption.
        listen: function that is called after every step with {"step"}, or, if the step is recorded, with the row of the
            history and the medians over layers of both scores.

    Returns:
        The run, read back from its folder; None in processes other than the first.

    Raises:
        CorpusError: the text cannot be read or is too short.
        ParameterError: the batch does not fit the number of devices or their memory, the device does not exist, or
            torch.compile fails.
        RunError: the folder contains another run, or there is nothing to resume.
        TrainingStopped: the loss is not finite, or a signal ended the run. The record is kept.
    """
    output = Path(output)
    checkpoint = starting_point(config, output, resume)
    if resume and checkpoint is None:
        drop_checkpoints(config, output)
        return read_run(output)
    # hide what the libraries log while they train, except errors
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("accelerate").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "mtime may not be reliable")  # transformers 4 sorts checkpoints by name
    with named_causes(config.compile):
        arguments = trainer_arguments(config, output)
        with arguments.main_process_first(desc="tokenising the corpus"):
            corpus, vocabulary, tokens = prepare_text(config)
        trainer = _trainer(config, output, arguments, corpus, vocabulary, tokens, listen)
        if checkpoint:
            trainer.recorder.restore(checkpoint)
        with stopping_after_the_step(trainer.recorder):
            torch.manual_seed(config.seed + arguments.process_index)  # dropout differs between processes
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if trainer.state.global_step < config.steps:
            sentence = f"interrupted after step {trainer.state.global_step}; continue with --resume."
            raise TrainingStopped(sentence, 128 + trainer.recorder.interrupted)
        if not trainer.is_world_process_zero():
            return None
        model = trainer.accelerator.unwrap_model(trainer.model)
        fold_logit_scale(model, config.logit_scale)
        model.save_pretrained(output / "model")
        vocabulary.tokenizer.save(str(output / "model" / "tokenizer.json"))
        trainer.recorder.write(FINISHED)
    drop_checkpoints(config, output)
    return read_run(output)


@contextmanager
def named_causes(compiled: bool) -> Iterator[None]:
    """Report in one sentence what the device or the compiler lacks, because their own messages can have hundreds of
    lines.

    Raises:
        ParameterError: the device has too little memory, or torch.compile failed.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ParameterError(
            f"the device has too little memory for this run ({cause(error)}); start it again in another folder with a"
            " smaller micro_batch."
        ) from error
    except Exception as error:
        if compiled and _of_the_compiler(error):
            raise ParameterError(
                f"torch.compile could not build code for the model ({cause(error)}); leave --compile out, or install"
                " what it needs: a C++ compiler such as g++ (the environment variable CXX names it), on a GPU also"
                " Triton."
            ) from error
        raise


def _of_the_compiler(error: Exception) -> bool:
    from torch._dynamo.exc import TorchDynamoException  # takes a second to import

    return isinstance(error, TorchDynamoException)


def prepare_text(config: TrainingConfig) -> tuple[Corpus, Vocabulary, TokenSet]:
    """The corpus, tokenizer and token ids of a configuration."""
    corpus = open_corpus(config.corpus, config.max_characters)
    vocabulary = open_vocabulary(config.tokenizer, corpus, config.text, config.vocab_size)
    return corpus, vocabulary, tokenize(corpus, vocabulary, config.text, config.held_out)


def trainer_arguments(config: TrainingConfig, output: Path) -> TrainingArguments:
    """The arguments of Trainer for a configuration, on the available devices.

    Raises:
        ParameterError: the batch cannot be distributed over the processes, or the device does not exist.
    """
    cuda = torch.cuda.is_available()
    if config.device == "cuda" and not cuda:
        raise ParameterError("device is cuda, but torch finds no CUDA device; use auto or cpu.")
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
        save_strategy="no",  # the recorder determines when
        save_total_limit=None if config.keep_checkpoints else 2,
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
    processor = Path("/proc/cpuinfo")
    return processor.exists() and "avx512_bf16" in processor.read_text("utf-8")


class RecordedTrainer(Trainer):
    """Trainer that reads its batches in order from the sequence and hands each loss to the recorder."""

    recorder: Recorder

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)  # shuffling is done there

    def get_train_dataloader(self):
        """The data loader of Trainer, with workers that ignore signals."""
        loader = super().get_train_dataloader()
        # the loader that accelerate wraps starts the workers; they need no seed, since a batch follows from its number
        loader.base_dataloader.worker_init_fn = ignore_signals
        return loader

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The loss of the model, whose recorded part is passed to the recorder."""
        outputs = model(**inputs)
        self.recorder.add(outputs["prediction_loss"] / self.current_gradient_accumulation_steps)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


def _trainer(config, output, arguments, corpus, vocabulary, tokens, listen) -> RecordedTrainer:
    if os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true":  # set by accelerate launch
        raise ParameterError(
            "attngeo train distributes batches over processes, but not weights; launch it without FSDP."
        )
    causal = TrainingObjective(config.objective).causal
    attention = "eager" if arguments.use_cpu else "sdpa"
    shape = config.shape(vocabulary.size)
    model = build_model(shape, causal, config.init, config.seed, attention, config.positions, config.values)
    scale_logits(model, config.logit_scale)
    freeze_table(model, PositionTable(config.position_table), config.block_size)
    if config.window_near or config.window_far is not None:
        attend_within(model, config.window_near, config.window_far)
    model.constraint = Constraint(config.constraint)
    model.constraint_weight = float(config.gamma)

    def batches_of(blocks: Blocks) -> Batches:
        return Batches(blocks, config.objective, vocabulary, Masking.of(config), config.seed)

    batches = batches_of(Blocks(tokens.train, config.block_size, config.seed))
    held_out = batches_of(Blocks(tokens.held_out, config.block_size, seed=None))
    about = {
        "name": output.name,
        "status": "running",
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "config": asdict(config),
        "corpus": {
            "name": corpus.name,
            "sha256": corpus.digest,
            "sources": list(corpus.sources),
            "documents": list(tokens.documents),
            "tokens": [len(tokens.train), len(tokens.held_out)],
        },
        "tokenizer": {"name": vocabulary.name, "sha256": vocabulary.digest, "size": vocabulary.size},
        "parameters": parameter_counts(model),
        "flops_per_step": config.batch_size * model_flops(shape, config.block_size, batches.per_block),
        "precision": "bf16" if arguments.bf16 else "fp32",
        "processes": arguments.world_size,
        "hardware": hardware(str(arguments.device)),
        "versions": {"attngeo": attngeo.__version__}
        | versions(("torch", "transformers", "accelerate", "tokenizers", "numpy"))
        | {"commit": head(Path(attngeo.__file__).resolve().parents[1]) or ""},
    }
    recorder = Recorder(config, output, about, held_out, listen)
    places = range(config.steps * config.batch_size)  # the blocks of the run, from its first step to its last
    trainer = RecordedTrainer(
        callbacks=[recorder], model=model, args=arguments, train_dataset=places, data_collator=batches.at
    )
    trainer.remove_callback(PrinterCallback)
    trainer.recorder = recorder
    recorder.trainer = trainer
    about["sharing"] = trainer.accelerator.distributed_type.value.lower()  # no, multi_gpu, multi_cpu
    return trainer
