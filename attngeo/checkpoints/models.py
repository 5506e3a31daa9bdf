"""The query-key forms of a model in memory, found by the names of its weights and not copied."""

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from torch import Tensor, nn

from attngeo.checkpoints.adapters import Adapter
from attngeo.checkpoints.architectures.entry import Matrix
from attngeo.checkpoints.architectures.locate import OTHER_NAMES
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.derived import live_weights
from attngeo.checkpoints.model_files import ModelFiles
from attngeo.checkpoints.modules import as_mapping, model_in, of_factors, of_torch
from attngeo.checkpoints.reading import Reading
from attngeo.checkpoints.state_dicts import named_tensors
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError, ParameterError

OF_A_PART = (
    "If this is a part of a model, pass the whole model to open_model, or score the query and key weights with"
    " BilinearForm.from_linear."
)
BELOW = ".base_layer."  # in the name of a weight to which an adapter is added
SHARDED = "full_tensor"  # an attribute that only torch.distributed.tensor.DTensor has
PACKED = (".qweight", ".weight_packed", ".weight_shape")  # endings of weight names in GPTQ, AWQ and compressed-tensors


class Weights(TensorFile):
    """The weights of a model, with the interface of a file. They are not converted, and they share the model's memory.

    With ``gather``, weights that are sharded over processes are put together, and all processes must read them.
    """

    def __init__(self, name: str, state: Mapping[str, Tensor], gather: bool = False) -> None:
        self.name, self.tensors, self.gather = name, state, gather
        self.shapes = {weight: tensor.shape for weight, tensor in state.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop). From an Apple GPU, which has no float64, it is copied to the CPU."""
        whole: Any = self.tensors[tensor].detach()
        whole = whole.full_tensor() if self.gather and hasattr(whole, SHARDED) else whole
        part = whole[slice(*(rows or (None,)))]
        return part.cpu() if part.device.type == "mps" else part


class Model(Checkpoint):
    """The attention layers of a model in memory.

    Use `open_model` to create this object.

    Args:
        model: name, configuration and weights of the model.
        reading: which matrix to read, and which gains and rotations to include in it.
        adapter: LoRA adapter that is merged into the queries and keys.
        gather: whether to gather weights that are sharded over processes.
    """

    def __init__(
        self, model: ModelFiles, reading: Reading, adapter: Adapter | None = None, gather: bool = False
    ) -> None:
        super().__init__(model, reading, adapter)
        for weight in self._weights:
            for file, stored in self._tensors.files[weight].sources(weight):
                _require_whole(model.name, stored, file.tensors[stored], gather)

    def writable(self, plan: LayerPlan) -> dict[str, Tensor]:
        """The query and key tensors of a layer in the model itself, by the names in its plan.

        Raises:
            CheckpointError: the tensors are computed from other tensors, or the layer uses the keys of another layer.
        """
        if plan.keys_of is not None:
            raise CheckpointError(
                f"{plan.part} layer {plan.layer} of {self.name} attends to the keys of layer {plan.keys_of}, so its"
                " W_qk cannot be set separately; initialise a model without shared keys."
            )
        tensors: dict[str, Tensor] = {}
        for name in (plan.query, plan.key):
            sources = self._tensors.files[name].sources(name)
            if name in self._tensors.made or not sources:
                raise CheckpointError(
                    f"{name} of {self.name} is computed from other tensors (by a parametrisation or a pruning mask),"
                    " so it cannot be overwritten; initialise the model before you add the parametrisation or the"
                    " mask."
                )
            ((file, stored),) = sources
            tensors[name] = file.tensors[stored]
        return tensors


def open_model(
    model: nn.Module | Mapping | Any,
    config: Mapping | Any = None,
    gather: bool = False,
    matrix: Matrix = "qk",
    fold_norm: bool = False,
    distance: int | None = None,
    fold_qk_norm: bool = False,
) -> Model:
    """``W_qk,h = W_q,h W_k,g(h)^T`` (Eqs. S19, S20) for every layer of a model in memory.

    Args:
        model: a module, or an object that contains exactly one transformers model, such as a Lightning module, a
            SentenceTransformer, an nnsight model, or the result of ``torch.compile`` or DistributedDataParallel. For
            TransformerLens models, the factors W_Q and W_K of the attention modules are read. An active peft LoRA
            adapter is treated as merged. A state dict of tensors or NumPy arrays is also accepted, if ``config`` is
            given.
        config: the content of the model's config.json, as a mapping or as an object with ``to_dict``. The default is
            ``model.config``. A model that contains ``torch.nn.MultiheadAttention`` needs no configuration: each such
            module is one layer. Layers within a ``TransformerDecoderLayer`` are labelled decoder or cross. Other layers
            are labelled decoder if the surrounding tower has an ``attn_mask`` that hides later tokens, as in the text
            tower of open_clip, and encoder otherwise.
        gather: whether to gather weights that are sharded over processes (FSDP 2, tensor parallelism), one weight at a
            time. Every process must then open the model and read its layers.
        matrix, fold_norm, distance, fold_qk_norm: see `attngeo.open_checkpoint`.

    Returns:
        An iterable of `AttentionLayer`, as for `open_checkpoint`. The forms are views of the weights. Iterate over the
        layers again after each training step, and open the model again after moving it to another device.

    Raises:
        CheckpointError: the model has neither a configuration nor ``torch.nn.MultiheadAttention``, its architecture is
            unknown, or its queries and keys have different widths. The error is also raised if the weights are sharded,
            on the meta device, quantised, changed by an unsupported adapter, or not finite.
        ParameterError: ``matrix`` is neither "qk" nor "ov", or ``config`` is a name or a path instead of a
            configuration.
    """
    reading = Reading(matrix, fold_norm, distance, fold_qk_norm)
    if isinstance(config, str | PathLike):
        raise ParameterError(
            f"config is {f'{config}'!r}, but it cannot be a name or a path; pass the config itself, as an object with"
            " to_dict (model.config) or as a dict with the content of config.json."
        )
    if isinstance(model, Mapping):
        return Model(_of_state(model, config), reading)
    model = model_in(model, config is not None)
    if config is None and (factored := _of_factors(model)) is not None:
        return Model(factored, reading)
    files, adapter = _of_module(model, config, gather)
    try:
        return Model(files, reading, adapter, gather)
    except CheckpointError as error:
        if config is None and not hasattr(model, "save_pretrained"):  # a layer also has the config of its model
            raise CheckpointError(f"{error}".replace(OTHER_NAMES, f" {OF_A_PART}")) from error
        raise


def _of_factors(model: nn.Module) -> ModelFiles | None:
    """The model whose attention modules have factors, as in TransformerLens, or None if there are no such modules."""
    factors, plans = of_factors(model)
    if not plans:
        return None
    return ModelFiles(_name(model), "", {"model_type": type(model).__name__}, factors, plans=plans)


def _of_module(model: nn.Module, config: Any, gather: bool) -> tuple[ModelFiles, Adapter | None]:
    """The model that a module and its config describe, with its base weights and its active adapter."""
    kind, plans = type(model).__name__, None
    given = as_mapping(getattr(model, "config", None) if config is None else config)
    if config is None and not (isinstance(given, Mapping) and "model_type" in given):
        plans = of_torch(model, kind) or None
        given = {"model_type": "MultiheadAttention"} if plans else given
    if not isinstance(given, Mapping):
        raise CheckpointError(
            f"{kind} has no config with its model type and number of heads, contains no model of transformers, and has"
            f' no torch.nn.MultiheadAttention; pass a config, config={{"model_type": ..., ...}}. {OF_A_PART}'
        )
    if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
        raise _sharded(kind, "its weights")  # because its state_dict would wait for other processes
    state = {name: tensor for name, tensor in model.state_dict().items() if isinstance(tensor, Tensor)}
    state, adapter = _adapted(model, kind, state, gather)
    _require_numbers(_name(model), given, state)
    files = [Weights(kind, state, gather), *live_weights(model).values()]
    return ModelFiles(_name(model), "", given, files, plans=plans), adapter


def _name(model: nn.Module) -> str:
    """The name of a pretrained model, or otherwise the name of its class."""
    return str(getattr(model, "name_or_path", "") or type(model).__name__)


def _of_state(state: Mapping, config: Any) -> ModelFiles:
    """The model that a state dict and a config describe."""
    given, name = as_mapping(config), "the state dict"
    if not isinstance(given, Mapping):
        raise CheckpointError(
            f"{name} does not contain the model type and the number of heads; also pass the config of the model, as an"
            " object or as a mapping: open_model(state, config=model.config)."
        )
    if not (tensors := named_tensors(state, name)):
        raise CheckpointError(
            f"{name} has no tensors; its values must be torch tensors or NumPy arrays of floating-point numbers."
        )
    _require_numbers(name, given, tensors)
    return ModelFiles(name, "", given, [Weights(name, tensors)])


def _adapted(
    model: nn.Module, kind: str, state: dict[str, Tensor], gather: bool
) -> tuple[dict[str, Tensor], Adapter | None]:
    """The base weights of a model with an adapter, and the adapter, unless it is merged or disabled."""
    if not any(BELOW in name for name in state):
        return state, None
    configs: Any = getattr(model, "peft_config", {})
    active: Any = getattr(model, "active_adapters", list(configs))  # a method in transformers, but a property in peft
    active = active() if callable(active) else active
    if len(active) != 1 or active[0] not in configs:
        raise CheckpointError(
            f"{kind} has {len(active)} active adapters instead of one; choose one with set_adapter, or call"
            " merge_and_unload()."
        )
    base = {name.replace(BELOW, "."): tensor for name, tensor in state.items() if ".lora_" not in name}
    layers = [module for module in model.modules() if hasattr(module, "base_layer")]
    if any(getattr(layer, "merged", False) or getattr(layer, "disable_adapters", False) for layer in layers):
        return base, None
    own = re.compile(rf"(.+\.lora_\w+)\.{re.escape(active[0])}(\.weight)?")
    matches = {name: own.fullmatch(name) for name in state}
    factors = {f"{match[1]}.weight": state[name] for name, match in matches.items() if match}
    config: Any = configs[active[0]]
    config = config.to_dict() if hasattr(config, "to_dict") else config
    return base, Adapter(active[0], config, Weights(active[0], factors, gather))


def _require_numbers(name: str, config: Mapping, state: Mapping[str, Tensor]) -> None:
    """Refuse a model with packed weights, before the shapes of the weights are used."""
    quantised = config.get("quantization_config")
    method = quantised.get("quant_method") if isinstance(quantised, Mapping) else None
    for weight, tensor in state.items():
        if weight.endswith(PACKED) or (weight.endswith(".weight") and not tensor.is_floating_point()):
            raise _quantised(name, weight, str(method or tensor.dtype))


def _require_whole(name: str, weight: str, tensor: Tensor, gather: bool) -> None:
    if hasattr(tensor, SHARDED):
        if not gather:
            raise _sharded(name, weight)
    elif tensor.is_meta:
        raise CheckpointError(
            f"{weight} of {name} contains no numbers, because it is on the meta device; load the model without"
            " offloading."
        )
    elif type(tensor) not in (Tensor, nn.Parameter):
        raise _quantised(name, weight, type(tensor).__name__)


def _sharded(name: str, weight: str) -> CheckpointError:
    return CheckpointError(
        f"{weight} of {name} is sharded over processes; to score the model, call open_model(model, gather=True) in all"
        " processes (which is not possible with FSDP 1), or score its files; to initialise it, do so before it is"
        " sharded."
    )


def _quantised(name: str, weight: str, how: str) -> CheckpointError:
    return CheckpointError(
        f"{weight} of {name} is quantised ({how}); call dequantize() of the model, or open the original model."
    )
