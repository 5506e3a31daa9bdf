"""Training a BERT on a corpus, with its scores recorded, through `transformers.Trainer`."""

import logging
import warnings
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import SequentialSampler
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainingArguments
from transformers.utils import logging as transformers_logging

import attngeo
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
from attngeo.experiments.training.devices import named_causes, trainer_arguments
from attngeo.experiments.training.positions import freeze_table
from attngeo.experiments.training.recorder import Recorder, TrainingStopped, ignore_signals, stopping_after_the_step
from attngeo.experiments.training.run_folder import checkpoint_of, drop_checkpoints, require_new
from attngeo.files.provenance import hardware, head, versions


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
    checkpoint = None
    if resume:
        checkpoint = checkpoint_of(config, output)
        if checkpoint is None:  # the run is finished
            drop_checkpoints(config, output)
            return read_run(output)
    else:
        require_new(output)
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


def prepare_text(config: TrainingConfig) -> tuple[Corpus, Vocabulary, TokenSet]:
    """The corpus, tokenizer and token ids of a configuration."""
    corpus = open_corpus(config.corpus, config.max_characters)
    vocabulary = open_vocabulary(config.tokenizer, corpus, config.text, config.vocab_size)
    return corpus, vocabulary, tokenize(corpus, vocabulary, config.text, config.held_out)


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


def _trainer(
    config: TrainingConfig,
    output: Path,
    arguments: TrainingArguments,
    corpus: Corpus,
    vocabulary: Vocabulary,
    tokens: TokenSet,
    listen: Callable[[dict[str, Any]], None],
) -> RecordedTrainer:
    """A trainer of a new model, with its recorder."""

    def batches_of(blocks: Blocks) -> Batches:
        return Batches(blocks, config.objective, vocabulary, Masking.of(config), config.seed)

    batches = batches_of(Blocks(tokens.train, config.block_size, config.seed))
    held_out = batches_of(Blocks(tokens.held_out, config.block_size, seed=None))
    model = _model(config, vocabulary.size, "eager" if arguments.use_cpu else "sdpa")
    flops = model_flops(config.shape(vocabulary.size), config.block_size, batches.per_block)
    about = {
        "name": output.name,
        "status": "running",
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "config": asdict(config),
        **_about_text(corpus, vocabulary, tokens),
        "parameters": parameter_counts(model),
        "flops_per_step": config.batch_size * flops,
        "precision": "bf16" if arguments.bf16 else "fp32",
        "processes": arguments.world_size,
        "hardware": hardware(str(arguments.device)),
        "versions": _versions(),
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


def _model(config: TrainingConfig, vocab_size: int, attention: str) -> PreTrainedModel:
    """The untrained model of a configuration."""
    causal = TrainingObjective(config.objective).causal
    shape = config.shape(vocab_size)
    model = build_model(shape, causal, config.init, config.seed, attention, config.positions, config.values)
    scale_logits(model, config.logit_scale)
    freeze_table(model, PositionTable(config.position_table), config.block_size)
    if config.window_near or config.window_far is not None:
        attend_within(model, config.window_near, config.window_far)
    model.constraint = Constraint(config.constraint)
    model.constraint_weight = float(config.gamma)
    return model


def _about_text(corpus: Corpus, vocabulary: Vocabulary, tokens: TokenSet) -> dict[str, dict[str, Any]]:
    """The entries of run.json about the text and its tokenizer."""
    return {
        "corpus": {
            "name": corpus.name,
            "sha256": corpus.digest,
            "sources": list(corpus.sources),
            "documents": list(tokens.documents),
            "tokens": [len(tokens.train), len(tokens.held_out)],
        },
        "tokenizer": {"name": vocabulary.name, "sha256": vocabulary.digest, "size": vocabulary.size},
    }


def _versions() -> dict[str, str]:
    """The versions of the packages that can change a run, and the commit of this package if it is known."""
    of_packages = versions(("torch", "transformers", "accelerate", "tokenizers", "numpy"))
    commit = head(Path(attngeo.__file__).resolve().parents[1]) or ""
    return {"attngeo": attngeo.__version__, **of_packages, "commit": commit}
