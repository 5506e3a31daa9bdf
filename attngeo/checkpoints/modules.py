"""Models inside other objects, and layers that are described by modules instead of a config."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, get_args

import torch
from torch import Tensor, nn

from attngeo.checkpoints.architectures.entry import LAYOUTS, Part, Positions
from attngeo.checkpoints.architectures.keys import NORMS
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.derived import Live
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError

# kinds of positions by their names in TransformerLens; all other kinds are added to the embedding
POSITIONS = {"rotary": "rotary", "alibi": "alibi", "relative_positional_bias": "relative-bias"}


def model_in(thing: Any, has_config: bool = False) -> nn.Module:
    """The model with a transformers config that a module or another object contains, or the module itself.

    In Lightning modules, in sentence-transformers, and in the results of torch.compile and DistributedDataParallel, the
    model is one of the modules. In pipelines, trainers and objects of nnsight, it is an attribute. If a config is
    given, it may belong to the module itself, so only wrappers around a single module are removed.

    Raises:
        CheckpointError: the object contains no model, or several models.
    """
    if isinstance(thing, nn.Module):
        thing = _unwrapped(thing)
        found = {} if has_config else dict(_models(thing))
    else:
        held = {name: value for name, value in getattr(thing, "__dict__", {}).items() if isinstance(value, nn.Module)}
        found = {name: model_in(value, has_config) for name, value in held.items()}
    models = {id(model): model for model in found.values()}
    if len(models) > 1:
        raise CheckpointError(
            f"{type(thing).__name__} contains several models ({', '.join(found)}); pass one of them to open_model."
        )
    if not models and not isinstance(thing, nn.Module):
        raise CheckpointError(
            "open_model and score_table accept a torch module, an object that contains one, or a state dict, but no"
            f" object of type {type(thing).__name__}; for a path or an id, use open_checkpoint; for two factors,"
            " create a BilinearForm and use score or score_heads."
        )
    return next(iter(models.values()), thing)


def _unwrapped(module: nn.Module) -> nn.Module:
    """The module inside the wrappers of ``torch.compile`` and DistributedDataParallel, or the module itself."""
    if len(module._modules) == 1:
        for name in ("_orig_mod", "module"):
            if (inner := module._modules.get(name)) is not None:
                return _unwrapped(inner)
    return module


def _models(module: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The outermost modules whose config has a model_type; inside other modules, only those with save_pretrained."""
    config = as_mapping(getattr(module, "config", None))
    if isinstance(config, Mapping) and "model_type" in config and (not name or hasattr(module, "save_pretrained")):
        yield name, _unwrapped(module)
        return
    for child, inner in module.named_children():
        yield from _models(inner, f"{name}.{child}".lstrip("."))


def as_mapping(config: Any) -> Any:
    """A config as a mapping, if it has ``to_dict``; anything else unchanged."""
    return config.to_dict() if hasattr(config, "to_dict") else config


def of_factors(model: nn.Module) -> tuple[list[TensorFile], list[LayerPlan]]:
    """The factors of attention modules with W_Q and W_K of shape (heads, d, d_head), such as those of TransformerLens.

    The first list contains the queries and keys of each layer, and the second list the plan of each layer.
    """
    settings = getattr(model, "cfg", None)
    causal = getattr(settings, "attention_dir", "causal") == "causal"
    kind = POSITIONS.get(getattr(settings, "positional_embedding_type", ""), "learned")
    factors: list[TensorFile] = []
    plans: list[LayerPlan] = []
    for name, module in model.named_modules():
        w_q: Any = getattr(module, "W_Q", None)
        w_k: Any = getattr(module, "W_K", None)
        if not all(isinstance(factor, Tensor) and factor.ndim == 3 for factor in (w_q, w_k)):
            continue
        place = ".".join(part for part in name.split(".") if part != "_original_component")
        query, key = (Live(f"{place}.{which}", partial(_rows_of, module, which)) for which in ("W_Q", "W_K"))
        factors += [query, key]
        plan = LayerPlan(
            part="decoder" if causal else "encoder",
            layer=len(plans),
            causal=causal,
            module=place,
            query=query.name,
            key=key.name,
            value="",
            output="",
            layout=LAYOUTS["separate"],
            heads=len(w_q),
            kv_heads=len(w_k),
            d_head=w_q.shape[-1],
            positions=Positions(kind),
            beside=tuple(_beside(module, settings, _gain(model, place) if causal else None)),
        )
        plans.append(plan)
    return factors, plans


def _rows_of(module: nn.Module, factor: str) -> Tensor:
    """A factor of shape (heads, d, d_head) in the layout of torch.nn.Linear, (heads * d_head, d)."""
    return getattr(module, factor).mT.flatten(0, 1)


def _gain(model: nn.Module, attention: str) -> Tensor | None:
    """The gain of the normalisation before an attention of TransformerLens. In encoders, ln1 follows the attention."""
    state, layer = model.state_dict(), attention.rpartition(".")[0]
    return next((state[name] for name in (f"{layer}.ln1.weight", f"{layer}.ln1.w") if name in state), None)


def _beside(module: nn.Module, settings: Any, gain: Tensor | None) -> Iterator[str]:
    """The components of an attention of TransformerLens that its factors do not contain, as keys of `keys.BESIDE`."""
    if gain is not None and (gain != 1).any():
        yield "gains"
    if any(NORMS.fullmatch(name) for name, _ in module.named_modules()):
        yield "norms"
    if any(isinstance(bias := getattr(module, which, None), Tensor) and bias.any() for which in ("b_Q", "b_K")):
        yield "biases"
    if getattr(settings, "attn_scores_soft_cap", -1) > 0:
        yield "cap"
    if getattr(settings, "use_local_attn", False):
        yield "hidden"


def of_torch(model: nn.Module, kind: str) -> list[LayerPlan]:
    """The layers of ``torch.nn.MultiheadAttention`` in a model, which know their heads and need no config."""
    plans: list[LayerPlan] = []
    for name, module in model.named_modules():
        if not isinstance(module, nn.MultiheadAttention):
            continue
        if module.kdim != module.embed_dim:
            raise CheckpointError(
                f"{name or 'the attention'} of {kind} has queries of width {module.embed_dim} and keys of width"
                f" {module.kdim}, so its W_qk is not square and has no scores; open a part of the model that does not"
                " contain this attention."
            )
        outer, _, role = name.rpartition(".")
        layer, place = model.get_submodule(outer), f"{name}." if name else ""
        if isinstance(layer, nn.TransformerDecoderLayer):
            part: Part = "decoder" if role == "self_attn" else "cross"
        else:
            part = "decoder" if _is_masked(model, name) else "encoder"
        fused = module.in_proj_weight is not None
        norm_is_first = part != "cross" and getattr(layer, "norm_first", False)
        extras = {
            "biases": module.in_proj_bias is not None,
            "sinks": module.bias_k is not None or module.add_zero_attn,
        }
        plan = LayerPlan(
            part=part,
            layer=sum(plan.part == part for plan in plans),
            causal=part == "decoder",
            module=name,
            query=f"{place}{'in' if fused else 'q'}_proj_weight",
            key=f"{place}{'in' if fused else 'k'}_proj_weight",
            value=f"{place}{'in' if fused else 'v'}_proj_weight",
            # if the values have a different width, W_o W_v^T is not square
            output=f"{place}out_proj.weight" if module.vdim == module.embed_dim else "",
            layout=LAYOUTS["blocks" if fused else "separate"],
            heads=module.num_heads,
            kv_heads=module.num_heads,
            d_head=module.head_dim,
            norm=f"{outer}.norm1.weight".lstrip(".") if norm_is_first else "",
            beside=tuple(extra for extra, is_there in extras.items() if is_there),
        )
        plans.append(plan)
    return sorted(plans, key=lambda plan: get_args(Part).index(plan.part))


def _is_masked(model: nn.Module, attention: str) -> bool:
    """Whether the innermost module around an attention that has a mask or positions, as the towers of CLIP, has a mask
    that hides later tokens."""
    parts = attention.split(".")
    around = (model.get_submodule(".".join(parts[:end])) for end in reversed(range(len(parts))))
    tower = next((m for m in around if hasattr(m, "attn_mask") or hasattr(m, "positional_embedding")), None)
    mask = getattr(tower, "attn_mask", None)
    if not isinstance(mask, Tensor) or mask.ndim != 2 or mask.is_meta:
        return False
    hidden = mask if mask.dtype == torch.bool else mask < 0
    return bool(hidden.any() and hidden.equal(torch.ones_like(hidden).triu(1)))
