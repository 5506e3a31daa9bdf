"""The files of a model with its configuration, and its tensors by the names that its architecture gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Size

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Entry
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.derived import by_plain_names
from attngeo.checkpoints.quantised import quantised
from attngeo.checkpoints.tensorfiles import TensorFile


@dataclass(frozen=True)
class ModelFiles:
    """A model whose files are open, before its attention layers are located in them.

    Args:
        name: name of the model.
        revision: commit of the Hub repository, or "" for local files.
        config: content of config.json.
        files: files that contain the tensors.
        own_type: model type in config.json if ``config`` contains a different type, as which the checkpoint is read.
        is_guessed: whether the model type in ``config`` was only guessed from the name of the model.
        about_heads: a sentence about the number of heads if no configuration contains it.
        plans: descriptions of the layers if they are known without a configuration.
        architectures: descriptions of the attention layers, by model type.
    """

    name: str
    revision: str
    config: Mapping[str, Any]
    files: list[TensorFile]
    own_type: str | None = None
    is_guessed: bool = False
    about_heads: str = ""
    plans: list[LayerPlan] | None = None
    architectures: Mapping[str, Entry] = field(default_factory=lambda: ARCHITECTURES)

    @property
    def model_type(self) -> str:
        """Model type in the configuration, or ""."""
        return str(self.config.get("model_type") or "")


class Tensors:
    """All tensors of a model, by the names that its architecture gives them.

    Args:
        files: files that contain the tensors. If several contain a tensor of the same name, the last one is read.
    """

    def __init__(self, files: list[TensorFile]) -> None:
        containing: dict[str, list[TensorFile]] = {}
        for file in files:
            for name in file.shapes:
                containing.setdefault(name, []).append(file)
        self.files, self.made = by_plain_names({name: found[-1] for name, found in containing.items()})
        self.several = {name: [file.name for file in found] for name, found in containing.items() if len(found) > 1}
        self.quantised: dict[str, TensorFile] = {}  # query and key weights, after `dequantise`

    @property
    def shapes(self) -> dict[str, Size]:
        """Shape of every tensor."""
        return {name: file.shapes[name] for name, file in self.files.items()}

    def dequantise(self, config: Mapping[str, Any]) -> None:
        """Replace quantised query and key weights by the numbers that they stand for.

        Raises:
            CheckpointError: the architecture is unknown, or parts of a weight are missing.
        """
        self.quantised = quantised(config, self.files)
        self.files |= self.quantised
