"""``attngeo train``: train an encoder or a decoder and record its scores."""

import os
from contextlib import nullcontext
from dataclasses import fields, replace
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

import click

from attngeo.cli.options import FILE, FOLDER
from attngeo.cli.terminal import bars, say
from attngeo.errors import needs
from attngeo.experiments.training.choices import PRESETS
from attngeo.experiments.training.config import TrainingConfig, configure, read_values


def _options(function):
    """Add an option for each field. Its default None means that the settings file or the preset applies."""
    for f in reversed(fields(TrainingConfig)):
        kind = f.type
        words = kind.__metadata__[-1]
        if f.default is not None:
            words += f"  [default: {f.default}]"
        while get_args(kind) and get_origin(kind) is not Literal:  # Annotated[int, ...], also with | None
            kind = get_args(kind)[0]
        flag = f"--{f.name.replace('_', '-')}"
        flags = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
        if get_args(kind):  # Literal["a", "b"]
            kind = click.Choice(get_args(kind))
        function = click.option(flags, f.name, type=kind, default=None, help=words)(function)
    return function


@click.command
@click.option("-o", "--output", type=FOLDER, required=True, help="Write the run to this folder.")
@click.option("--config", "file", type=FILE, help="Read settings from this YAML file.")
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), help="Set the size of the model (mini: BERT-mini, base: BERT-base)."
)
@click.option("--resume", is_flag=True, help="Continue the interrupted run in this folder with its recorded settings.")
@_options
def command(output, file, preset, resume, **flags) -> None:
    """Train a BERT on text, and record its loss and the scores of all layers and heads.

    Command-line options take precedence over the settings file, which takes precedence over the preset. All other
    settings have the defaults listed below, which are those of Appendix S2.3 of the paper. To use several devices,
    start the command with "torchrun --nproc_per_node N -m" or "accelerate launch -m".
    """
    with needs("train", "attngeo train"):
        import_module("accelerate")  # first, because the message of transformers without it depends on other packages
        # these import transformers, which takes seconds, so --help does not wait for them
        from attngeo.experiments.training.run_folder import claimed, saved_config
        from attngeo.experiments.training.train import train

    values = read_values(file) if file else {}
    values |= {"preset": preset} if preset else {}
    values |= {name: value for name, value in flags.items() if value is not None}
    first = os.environ.get("RANK", "0") == "0"
    with claimed(output) if first else nullcontext():
        if resume:
            values = saved_config(output) | values
        config = configure(values)
        if "checkpoint_every" not in {name.replace("-", "_") for name in values}:
            # with the default a short run would end before its first checkpoint; plans were written with the default
            config = replace(config, checkpoint_every=min(config.checkpoint_every, max(1, config.steps // 10)))
        progress = _Progress(config.steps)
        with progress.bars:
            run = train(config, output, resume, listen=progress.show)
    if run is not None:
        click.echo(
            f"{output}: {run.about['status']} after {run.about['steps_done']} steps, {run.about['tokens']:,} tokens in"
            f" {run.about['seconds']:.0f} s; held-out loss {run.last('held_out_loss'):.3f}; median over layers:"
            f" symmetry {run.last('symmetry'):.3f}, directionality {run.last('directionality'):.3f}"
        )


class _Progress:
    """Progress on stderr: a live line in a terminal, and otherwise one plain line per tenth of the run."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.next_line = 0.0  # the step from which the next plain line is due
        self.bars = bars()
        self.task = self.bars.add_task("training", total=steps, what="")

    def show(self, row: dict[str, Any]) -> None:
        """Show a step, and the losses and scores if they were recorded at it."""
        self.bars.update(self.task, completed=row["step"])
        if "loss" in row:
            words = (
                f"loss {row['loss']:.3f}  held out {row['held_out_loss']:.3f}  s {row['symmetry']:+.3f}"
                f"  d {row['directionality']:+.3f}  {row['tokens'] / row['seconds']:,.0f} tokens/s"
            ).replace(" nan", " -")  # the held-out loss is not measured at every recorded step
            self.bars.update(self.task, what=words)
            if self.bars.disable and row["step"] >= self.next_line:
                say(f"step {row['step']} of {self.steps}  {words}")
                self.next_line = row["step"] + self.steps / 10
