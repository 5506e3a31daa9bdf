"""Do two places help equally to predict each other? The coefficients of the update of W_qk during training.

``python -m chapters.why.agreement EXPERIMENT`` measures the runs of an experiment whose checkpoints are kept, and
writes EXPERIMENT/agreement.csv, a row per run, step and layer. What is recorded of runs whose checkpoints are gone
stays.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedModel

from attngeo.experiments.runs.experiments import Experiment, PlannedRun, State, read_experiment
from attngeo.experiments.runs.record import RunError
from attngeo.experiments.training.batches import Blocks
from attngeo.experiments.training.bert import build_model
from attngeo.experiments.training.config import TrainingConfig, configure
from attngeo.experiments.training.corpora.tokens import TokenSet
from attngeo.experiments.training.corpora.vocabulary import Vocabulary
from attngeo.experiments.training.train import prepare_text
from attngeo.experiments.tables import as_command, with_former_runs, write_rows

SEQUENCES = 64  # held-out blocks of which every place is hidden in turn
STEPS = (50, 100, 200, 400, 800)  # we measure the checkpoints of these steps, the start and the end


def update_coefficients(
    model: PreTrainedModel, ids: Int[Tensor, "sequences n"], mask: int
) -> Float[Tensor, "layers sequences heads n n"]:
    """``beta_ij = -dL_i / dA_ij``: what place j contributes to the update of W_qk when the token at place i is hidden.

    L_i is the cross-entropy of the token at place i where it alone is hidden, and A_ij the score of query i and key j
    in one head of one layer. The update of that head's W_qk by place i is ``sum_j beta_ij x_i x_j^T`` times the
    learning rate (Prop. 2.1), where the x are the inputs of the layer.

    Args:
        model: an encoder whose implementation of attention returns its weights ("eager").
        ids: blocks of tokens.
        mask: id of the mask token.
    """
    sequences, n = ids.shape
    hidden = ids.repeat_interleave(n, 0)  # (sequences * n, n)
    places = torch.arange(n).repeat(sequences)
    rows = torch.arange(len(hidden))
    hidden[rows, places] = mask
    output = model.bert(input_ids=hidden, output_attentions=True)
    state = output.last_hidden_state[rows, places]
    loss = torch.nn.functional.cross_entropy(model.cls.predictions(state), ids.flatten(), reduction="sum")
    gradients = torch.autograd.grad(loss, output.attentions)
    coefficients = []
    for weights, gradient in zip(output.attentions, gradients, strict=True):
        a, g = weights[rows, :, places], gradient[rows, :, places]  # (sequences * n, heads, n)
        through_softmax = a * (g - (a * g).sum(-1, keepdim=True))
        coefficients.append(-through_softmax.detach().unflatten(0, (sequences, n)).transpose(1, 2))
    return torch.stack(coefficients)


def agreement(beta: Float[Tensor, "*batch n n"]) -> float:
    """``sum (beta_ij - m) (beta_ji - m) / sum (beta_ij - m)^2`` over all pairs i != j of all matrices, m their mean.

    1 if both places of every pair contribute alike, and 0 if their contributions are uncorrelated, which is what
    Theorem 2.4 excludes by its assumption.
    """
    beta = beta.double()
    apart = ~torch.eye(beta.shape[-1], dtype=torch.bool)
    one, other = beta[..., apart], beta.mT[..., apart]
    mean = one.mean()
    return float(((one - mean) * (other - mean)).sum() / (one - mean).square().sum())


def agreement_rows(model: PreTrainedModel, ids: Int[Tensor, "sequences n"], mask: int) -> Iterator[dict[str, float]]:
    """For each layer the agreement within single heads, of the sum over heads, and within heads beyond the mean text.

    The last one takes the mean over sequences from the coefficients of each head and pair of places first.
    """
    for layer, beta in enumerate(update_coefficients(model, ids, mask)):
        yield {
            "layer": layer,
            "heads": agreement(beta),
            "sum": agreement(beta.sum(1)),
            "beyond_mean": agreement(beta - beta.mean(0)),
        }


def held_out_blocks(config: TrainingConfig, tokens: TokenSet) -> Int[Tensor, "sequences n"]:
    """The first blocks of the held-out text."""
    return torch.from_numpy(Blocks(tokens.held_out, config.block_size, None).at(np.arange(SEQUENCES)))


def models_along(
    run: PlannedRun, config: TrainingConfig, vocabulary: Vocabulary
) -> Iterator[tuple[int, PreTrainedModel]]:
    """Steps and models of a recorded run: at its start, at the checkpoints of `STEPS`, and at its end."""
    shape = config.shape(vocabulary.size)
    model = build_model(shape, False, config.init, config.seed, "eager", config.positions, config.values).eval()
    yield 0, model
    files = {step: run.folder / "checkpoints" / f"checkpoint-{step}" / "model.safetensors" for step in STEPS}
    files[config.steps] = run.folder / "model" / "model.safetensors"
    for step, file in files.items():
        if file.exists():
            model.load_state_dict(load_file(file), strict=False)  # tied weights are stored once
            yield step, model


def agreement_table(experiment: Experiment) -> pd.DataFrame:
    """`agreement_rows` along the recorded encoders of an experiment that kept their checkpoints.

    Raises:
        RunError: no run has kept its checkpoints.
    """
    rows: list[dict] = []
    text: tuple[Vocabulary, Tensor] | None = None
    for run in experiment.runs:
        config = configure(dict(run.settings))
        kept = config.keep_checkpoints and (run.folder / "checkpoints").is_dir()
        if run.state is not State.RECORDED or not kept or config.objective != "mlm":
            continue
        if text is None:  # all runs of a plan have the same text
            _, vocabulary, tokens = prepare_text(config)
            text = vocabulary, held_out_blocks(config, tokens)
        vocabulary, blocks = text
        for step, model in models_along(run, config, vocabulary):
            rows += [{"run": run.name, "step": step} | row for row in agreement_rows(model, blocks, vocabulary.mask)]
        print(run.name, flush=True)
    if not rows:
        raise RunError(f"no run of {experiment.name} has kept its checkpoints; make its runs with keep_checkpoints.")
    return pd.DataFrame(rows)


def record(experiment: Path) -> None:
    """Measure the runs of an experiment whose checkpoints are kept, and write its agreement.csv."""
    file = experiment / "agreement.csv"
    write_rows(file, with_former_runs(file, agreement_table(read_experiment(experiment))))


if __name__ == "__main__":
    as_command(record, Path(sys.argv[1]))
