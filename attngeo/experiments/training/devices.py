"""The arguments of `transformers.Trainer` for the available devices, and errors that name what a device lacks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import TrainingArguments

from attngeo.errors import ParameterError
from attngeo.experiments.training.config import TrainingConfig
from attngeo.inputs import cause


def trainer_arguments(config: TrainingConfig, output: Path) -> TrainingArguments:
    """The arguments of Trainer for a configuration, on the available devices.

    Raises:
        ParameterError: the batch cannot be distributed over the processes, the device does not exist, or the weights
            are to be distributed, too.
    """
    if os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true":  # set by accelerate launch
        raise ParameterError(
            "attngeo train distributes batches over processes, but not weights; launch it without FSDP."
        )
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
