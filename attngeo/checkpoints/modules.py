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
        wrapped = [thing._modules.get(name) for name in ("_orig_mod", "module") if len(thing._modules) == 1]
        inner = next((module for module in wrapped if module is not None), None)
        if inner is not None:
            return model_in(inner, has_config)
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


def _models(module: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """The outermost modules whose config has a model_type; inside other modules, only those with save_pretrained."""
    config = as_mapping(getattr(module, "config", None))
    if isinstance(config, Mapping) and "model_type" in config and (not name or hasattr(module, "save_pretrained")):
        yield name, module
        return
    for child, inner in module.named_children():
        yield from _models(inner, f"{name}.{child}".lstrip("."))


def as_mapping(config: Any) -> Any:
    """A config as a mapping, if it has ``to_dict``; anything else unchanged."""
    return config.to_dict() if hasattr(config, "to_dict") else config


def of_factors(model: nn.Module) -> list[tuple[Live, LayerPlan | None]]:
    """The factors of attention modules with W_Q and W_K of shape (heads, d, d_head), such as those of TransformerLens.

    For each layer, the queries come with a plan and the keys without one.
    """
    settings = getattr(model, "cfg", None)
    decoder = getattr(settings, "attention_dir", "causal") == "causal"
    part: Part = "decoder" if decoder else "encoder"
    kind = POSITIONS.get(getattr(settings, "positional_embedding_type", ""), "learned")
    found: list[tuple[Live, LayerPlan | None]] = []
    for name, module in model.named_modules():
        factors: list[Any] = [getattr(module, which, None) for which in ("W_Q", "W_K")]
        if not all(isinstance(factor, Tensor) and factor.ndim == 3 for factor in factors):
            continue
        (heads, _, d_head), kv_heads = factors[0].shape, len(factors[1])
        place = ".".join(part for part in name.split(".") if part != "_original_component")
        query, key = (Live(f"{place}.{which}", partial(_rows_of, module, which)) for which in ("W_Q", "W_K"))
        plan = LayerPlan(
            *(part, len(found) // 2, decoder, place, query.name, key.name, "", "", LAYOUTS["separate"]),
            *(heads, kv_heads, d_head),
            positions=Positions(kind),
            beside=tuple(_beside(module, settings, _gain(model, place) if decoder else None)),
        )
        found += [(query, plan), (key, None)]
    return found


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
        decoder: Part = "decoder" if role == "self_attn" else "cross"
        alone: Part = "decoder" if _is_masked(model, name) else "encoder"
        part: Part = decoder if isinstance(layer, nn.TransformerDecoderLayer) else alone
        fused = module.in_proj_weight is not None
        query, key, value = (f"{place}{'in' if fused else which}_proj_weight" for which in "qkv")
        # if the values have a different width, W_o W_v^T is not square
        output = f"{place}out_proj.weight" if module.vdim == module.embed_dim else ""
        layout, heads = LAYOUTS["blocks" if fused else "separate"], module.num_heads
        number = sum(plan.part == part for plan in plans)
        norm = f"{outer}.norm1.weight".lstrip(".") if part != "cross" and getattr(layer, "norm_first", False) else ""
        widths = heads, heads, module.head_dim
        extras = {
            "biases": module.in_proj_bias is not None,
            "sinks": module.bias_k is not None or module.add_zero_attn,
        }
        plans.append(
            LayerPlan(
                *(part, number, part == "decoder", name, query, key, value, output, layout, *widths),
                norm=norm,
                beside=tuple(extra for extra, is_there in extras.items() if is_there),
            )
        )
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
