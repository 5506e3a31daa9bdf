"""A configuration as `transformers.TrainingArguments`: devices, number format, and how a batch is shared."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import TrainingArguments
from transformers.utils import logging as transformers_logging

from attngeo.errors import ParameterError
from attngeo.training.config import TrainingConfig


def trainer_arguments(config: TrainingConfig, output: Path) -> TrainingArguments:
    """The arguments of Trainer for a configuration, on the devices that are there.

    Raises:
        ParameterError: the batch cannot be shared between the processes, or the device is not there.
    """
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


@contextmanager
def quiet() -> Iterator[None]:
    """Silences what the libraries say of themselves while they train; errors are not silenced."""
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in ("transformers", "accelerate")}
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for logger in levels:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "mtime may not be reliable")  # transformers 4 sorts checkpoints by name
            yield
    finally:
        if bars:
            transformers_logging.enable_progress_bar()
        for logger, level in levels.items():
            logger.setLevel(level)
