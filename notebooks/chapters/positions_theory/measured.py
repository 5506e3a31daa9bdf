"""What is measured of a text and of models in training: ``python -m chapters.positions_theory.measured``.

data/positions_theory/reversibility.csv   s(K_m) by offset, of the text as characters, pieces and commonest words
                      read_outs.csv       along the runs of `read_out_first`, whose checkpoints must be there
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file

from attngeo.bilinear.scores import symmetry_score
from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from attngeo.gradients.token_counts import counted_covariances, kernel
from attngeo.experiments.runs.experiments import State, read_experiment
from attngeo.experiments.training.batches import Batches, Blocks
from attngeo.experiments.training.bert import build_model, forms
from attngeo.experiments.training.config import TrainingConfig, configure
from attngeo.experiments.training.read_out import Probe, position_forms, read_outs, weighted_symmetry
from attngeo.experiments.training.train import prepare_text

OFFSETS, NEAR = range(1, 17), 8  # offsets of the table; those over which a kernel is judged
TOKENS, BLOCKS, COMMON = 4_000_000, 64, 0.995  # read for K_m; blocks of a probe; share of the text its tokens cover
LAYER = ["run", "step", "layer"]


class Reader:
    """The text of a configuration: pairs of its commonest tokens, and blocks on which models are probed."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        _, self.vocabulary, self.tokens = prepare_text(config)
        self.ids = torch.from_numpy(np.asarray(self.tokens.train[:TOKENS]).astype(np.int64))
        share = torch.bincount(self.ids, minlength=self.vocabulary.size).double() / len(self.ids)
        order = share.argsort(descending=True)
        self.common = order[: int((share[order].cumsum(0) < COMMON).sum()) + 1]
        self.frequencies = share[self.common] / share[self.common].sum()
        every = counted_covariances(self.ids, self.vocabulary.size, NEAR + 1)
        self.covariances = every[:, self.common][:, :, self.common]

    def probe(self) -> Probe:
        """Held-out blocks; an encoder predicts the first hidden position of each, a decoder a random one."""
        c = self.config
        blocks = Blocks(self.tokens.held_out, c.block_size, None)
        batch = Batches(blocks, c.objective, self.vocabulary, c.mask_rate, 0).at(np.arange(BLOCKS))
        hidden = batch["positions"].shape[1] < c.block_size - 1
        drawn = np.random.default_rng(0).integers(0, c.block_size - 1, BLOCKS)
        predicted = batch["positions"][:, 0] if hidden else torch.from_numpy(drawn)
        return Probe(batch["input_ids"], predicted, self.common, self.frequencies)

    def rows(self, model: torch.nn.Module, probe: Probe) -> Iterator[dict[str, float]]:
        """Of each layer: s of the read-out, evenness of its kernel, s of W_qk, s and norm of it between positions."""
        between = position_forms(model, self.config.block_size)
        for layer, (a, form, p) in enumerate(zip(read_outs(model, probe), forms(model), between, strict=True)):
            yield {
                "layer": layer,
                "read_out_symmetry": weighted_symmetry(a, self.frequencies),
                "evenness": evenness(kernel(a, self.covariances)),
                "symmetry": float(symmetry_score(form.dense().detach().double())),
                "position_symmetry": float(symmetry_score(p)),
                "position_norm": float(p.norm()),
            }


def evenness(gamma: torch.Tensor) -> float:
    """``sum_m gamma(m) gamma(-m) / sum_m gamma(m)^2`` without m = 0: 1 for an even kernel, -1 for an odd one."""
    middle = len(gamma) // 2
    gamma = torch.cat([gamma[:middle], gamma[middle + 1 :]])
    return float((gamma * gamma.flip(0)).sum() / gamma.square().sum())


def texts(config: TrainingConfig) -> Iterator[tuple[str, torch.Tensor, int]]:
    """Name, numbers and vocabulary of the same text in three spellings; numbers of rare words are one number."""
    reader = Reader(config)
    yield "single characters, without spaces", reader.ids, reader.vocabulary.size
    corpus, _, _ = prepare_text(config)
    text = " ".join(corpus.documents()).lower()[: 3 * TOKENS]
    for name, pieces, size in (("characters", text[:TOKENS], 100), ("words", re.findall(r"\w+", text), 2000)):
        number = {token: i for i, (token, _) in enumerate(Counter(pieces).most_common(size - 1))}
        yield f"{size - 1} commonest {name}", torch.tensor([number.get(p, size - 1) for p in pieces]), size


def reversibility_table(config: TrainingConfig) -> pd.DataFrame:
    """s(K_m) by spelling and offset: 1 where pairs read the same in both directions."""
    rows = []
    for name, ids, size in texts(config):
        covariances = counted_covariances(ids, size, max(OFFSETS) + 1)
        of_text = {"text": name, "tokens": len(ids)}
        rows += [of_text | {"offset": m, "symmetry": symmetry_score(covariances[m])} for m in OFFSETS]
    return pd.DataFrame(rows)


def read_out_table(folder: Path) -> pd.DataFrame:
    """A row for each run, checkpoint and layer of an experiment whose checkpoints are kept."""
    rows, readers = [], {}
    experiment = read_experiment(folder)
    for run in experiment.runs:
        checkpoints = sorted((folder / run.name / "checkpoints").glob("checkpoint-*"), key=_step)
        if run.state is not State.RECORDED or not checkpoints:
            continue
        config = configure(dict(run.settings))
        if config.objective not in readers:
            readers[config.objective] = Reader(config)
        reader = readers[config.objective]
        shape, probe = config.shape(reader.vocabulary.size), reader.probe()
        model = build_model(shape, config.objective != "mlm", config.init, config.seed, "eager").eval()
        for checkpoint in checkpoints:
            model.load_state_dict(load_file(checkpoint / "model.safetensors"), strict=False)
            rows += [{"run": run.name, "step": _step(checkpoint)} | row for row in reader.rows(model, probe)]
        print(run.name, flush=True)
    return pd.DataFrame(rows)


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def write(table: pd.DataFrame, name: str) -> None:
    """Write a table of this page's records."""
    with atomic_path(data("positions_theory", name)) as file:
        table.to_csv(file, index=False, float_format="%.5g")


if __name__ == "__main__":
    try:
        folder = data("runs", "read_out_first")
        if "read_outs" in sys.argv:
            write(read_out_table(folder), "read_outs.csv")
        else:
            write(reversibility_table(configure(dict(read_experiment(folder).runs[0].settings))), "reversibility.csv")
    except AttngeoError as error:
        sys.exit(str(error))
