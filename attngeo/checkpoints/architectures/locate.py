"""Finding the tensors of every layer from the entries, a config, and the names and shapes of the tensors in files.

`stacks` finds the attention stacks of a model and the names of their weights, `heads` finds the heads of one layer, and
`keys` finds the components of the logits that are not part of ``W_qk``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, get_args

from msgspec import Meta, structs
from torch import Size

from attngeo.checkpoints.architectures.entry import NORMS, Entry, Part, Positions, Refused, Tower
from attngeo.checkpoints.architectures.heads import plan_layer, require_one_width
from attngeo.checkpoints.architectures.keys import (
    beside,
    beside_by_type,
    bias_remark,
    norm_remark,
    unfollowed_keys,
    unknown_keys,
)
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import (
    Counts,
    Layers,
    Misfit,
    Module,
    Name,
    Stack,
    any_prefix,
    as_named,
    modules_of,
    out_in,
    stacks_of,
    top_config,
)
from attngeo.errors import CheckpointError

# beginnings of config keys that describe rotations
ROTATION = re.compile(r"(\w+_)?rope_|rotary|use_mrope|partial_rotary")
CHUNKED = "chunked_attention"  # a kind of layer that hides later tokens, whatever else a configuration says
OTHER_NAMES = (
    " If these are queries and keys under other names, add the names with attngeo.register_architecture or --register."
)
RELATIVE = ("relative_key", "relative_key_query")  # positions in the logits of BERT and others
# the module in DiffuGPT and DiffuLLaMA that contains a decoder, whose causal mask their code removes
OPENED = "denoise_model"


def locate(architectures: Mapping[str, Entry], config: Mapping, shapes: Mapping[str, Size]) -> list[LayerPlan]:
    """The plan of every attention layer, by part and layer, from config.json and the shapes of the tensors.

    Raises:
        CheckpointError: the model type is unknown or refused, there is no attention, layers are missing, or shapes and
            config disagree.
    """
    stacks = [as_named(stack, shapes) for stack in stacks_of(architectures, top_config(config))]
    plans: list[LayerPlan] = []
    for stack in stacks:
        part, causal = _label(stack, stacks, shapes)
        earlier = sum(plan.part == part for plan in plans)
        of_stack = list(_plans_of_stack(stack, part, causal, earlier, shapes))
        require_one_width(stack, of_stack, shapes)
        plans += of_stack
    if not plans:
        wanted = " or ".join(stack.entry.tensor(stack.entry.module, stack.entry.query) for stack in stacks)
        raise Misfit(
            f"no tensor is named like {wanted}, as in models of the type {config.get('model_type')}. There are"
            f" {_names_in(shapes)}.{OTHER_NAMES}"
        )
    return sorted(plans, key=lambda plan: (get_args(Part).index(plan.part), plan.layer))


def _plans_of_stack(
    stack: Stack, part: Part, causal: bool, earlier: int, shapes: Mapping[str, Size]
) -> Iterator[LayerPlan]:
    """The plans of the layers of one stack, which follow the ``earlier`` layers of the same part in other stacks."""
    found = modules_of(stack, shapes)
    _check_complete(stack, [numbers for numbers, _ in found])
    if part == "cross":
        found = [(numbers, name) for numbers, name in found if _of_one_width(stack, name, shapes)]
    modules = [Module(place, numbers, name) for place, (numbers, name) in enumerate(found)]
    positions = _positions(stack, shapes)
    entry, config = stack.entry, stack.config.of(stack.entry)
    kinds = config.kinds_of_layers()
    tensors = _tensors_within([place for at in modules for place in (at.name, layer_around(at.name))], shapes)
    for at in modules:
        maker = modules[_maker_of_keys(stack, at.place, modules)]
        hides = causal or (part == "decoder" and kinds[at.first : at.first + 1] == [CHUNKED])
        plan = plan_layer(stack, part, earlier + at.place, hides, at, maker.name, shapes)
        inside, around = tensors[at.name], tensors[layer_around(at.name)]
        remarks = (
            *plan.remarks,
            _of_shared_layers(stack, len(modules)),
            bias_remark(entry, config, inside),
            norm_remark(config.model_type, around),
        )
        yield replace(
            plan,
            positions=positions,
            # queries and keys of cross-attention are normalised separately
            norm="" if part == "cross" else _norm(stack, at.name, shapes),
            norm_offset=entry.norm_offset,
            beside=(*beside(entry, config, inside, hides), *beside_by_type(entry, config, part, around)),
            keys_of=None if maker is at else earlier + maker.place,
            key_norm="" if maker is at else _norm(stack, maker.name, shapes),
            model_type=config.model_type,
            remarks=tuple(filter(None, remarks)),
            place=at.first,
            settings=config,
        )


def _names_in(shapes: Mapping[str, Size]) -> str:
    """A few names of matrices in the files, of queries, keys or attentions if there are any."""
    names = sorted(name for name, shape in shapes.items() if len(shape) == 2) or sorted(shapes)
    for like in ("query|key|[qk]_proj|qkv|c_attn|in_proj", "att", ""):
        if found := [name for name in names if re.search(like, name)]:
            return ", ".join(found[:3])
    return "no tensors"


def unfollowed(architectures: Mapping[str, Entry], config: Mapping) -> list[str]:
    """The keys of a configuration that we do not know or do not take into account, as ``key = value``."""
    top = top_config(config)
    stacks = list(stacks_of(architectures, top))
    of_top = {top.model_type} | {stack.config.model_type for stack in stacks if not stack.config.nested}
    named = unknown_keys(top.values, of_top)
    for stack in stacks:
        values, model_type = stack.config.values, stack.config.model_type
        if stack.config.nested:
            named += unknown_keys(values, [model_type])
        if stack.entry.both_ways_within or not stack.config.nested:
            named += unfollowed_keys(stack.entry, values, model_type)
    entries = architectures[top.model_type]
    for entry in () if isinstance(entries, Refused) else entries:
        if isinstance(entry, Tower):
            named += unfollowed_keys(entry, config, top.model_type)
    kinds = {stack.entry.positions.kind for stack in stacks if stack.entry.positions}
    if any("rotary" in kind for kind in kinds):  # rotations are already named among the parts outside of W_qk
        named = [words for words in named if not ROTATION.match(words)]
    if any(_kind_of_table(stack) in RELATIVE for stack in stacks):  # these are also named there
        named = [words for words in named if not words.startswith("position_embedding_type = ")]
    return list(dict.fromkeys(named))


def _kind_of_table(stack: Stack) -> str:
    """The kind of positions of a stack with position embeddings according to its configuration, or ""."""
    has_table = stack.entry.positions is not None and stack.entry.positions.table
    return (stack.config.get("position_embedding_type", Name) or "") if has_table else ""


def _label(stack: Stack, stacks: list[Stack], shapes: Mapping[str, Size]) -> tuple[Part, bool]:
    """The part of a stack, and whether its tokens attend only to themselves and to earlier tokens.

    A decoder whose configuration lets its tokens attend to later tokens counts as an encoder, unless it also attends to
    an encoder or some of its layers still hide later tokens.
    """
    entry = stack.entry
    part: Part = entry.part
    if entry.decoder_if and stack.config.get(entry.decoder_if, bool):
        part = "decoder"
    if entry.causal is not None:
        return part, entry.causal
    if part != "decoder":
        return part, False
    if any(is_opened(module) for _, module in modules_of(stack, shapes)):
        return "encoder", False
    config = stack.config.of(entry)
    if not config.sees_later_tokens(entry):
        return part, True
    crosses = any(
        other.config is stack.config and other.entry.part == "cross" and modules_of(other, shapes) for other in stacks
    )
    return ("decoder" if crosses or CHUNKED in config.kinds_of_layers() else "encoder"), False


def is_opened(module: str) -> bool:
    """Whether an attention module belongs to a decoder whose causal mask is removed by the surrounding code."""
    return OPENED in module.split(".")


def _tensors_within(modules: Iterable[str], shapes: Iterable[str]) -> dict[str, list[str]]:
    """The names of the tensors in each module, without the module's name."""
    within: dict[str, list[str]] = {module: [] for module in modules}
    for name in shapes:
        parts = name.split(".")
        for end in range(len(parts)):
            module = ".".join(parts[:end])
            if module in within:
                within[module].append(".".join(parts[end:]))
    return within


def _positions(stack: Stack, shapes: Mapping[str, Size]) -> Positions | None:
    """How the stack encodes positions, with the names of its tensors in the files, or "" if they are missing."""
    stated = stack.entry.positions
    if stated is None or not stated.table:
        return stated
    kind = _kind_of_table(stack)
    if kind not in ("", "absolute"):  # the table of BERT and others exists, but is not added
        return Positions(kind.replace("_", "-"))
    first = stated.first
    if isinstance(first, str):  # the default padding token of RoBERTa and similar models is 1
        padding = stack.config.get(first, Annotated[int, Meta(ge=0, le=1_000_000)])
        first = 2 if padding is None else padding + 1

    def named(words: str) -> str:
        names = list(filter(any_prefix(stack, rf"{re.escape(words)}(?:\.weight)?").fullmatch, shapes))
        return names[0] if words and len(names) == 1 else ""

    return structs.replace(stated, table=named(stated.table), first=first, map=named(stated.map))


def _norm(stack: Stack, module: str, shapes: Mapping[str, Size]) -> str:
    """The gain of the normalisation before an attention, in its module or in an enclosing module up to the layer."""
    entry = stack.entry
    if entry.norm == "" or (entry.norm_if and stack.config.get(entry.norm_if, bool) is not True):
        return ""
    names = NORMS if entry.norm is None else entry.norm.split("|")
    parts, layer = module.split("."), layer_around(module)
    around = (".".join(parts[:end]) for end in range(len(parts), len(layer.split(".")) - 1, -1))
    gains = [f"{place}.{name}.{gain}" for place in around for name in names for gain in ("weight", "gamma")]
    return next((gain for gain in gains if gain in shapes), "")


def layer_around(module: str) -> str:
    """The name of the layer that contains an attention module, up to the last number; "" if there is no number."""
    match = re.match(r"(?:.*\.)?\d+(?=\.|$)", module)
    return match[0] if match else ""


def _of_one_width(stack: Stack, module: str, shapes: Mapping[str, Size]) -> bool:
    """Whether queries and keys have inputs of the same width; otherwise W_qk is not square and has no scores."""
    names = [stack.entry.tensor(module, weight) for weight in (stack.entry.query, stack.entry.key)]
    return len({out_in(shapes[name], stack.entry.layout)[-1] for name in names if name in shapes}) < 2


def _of_shared_layers(stack: Stack, modules: int) -> str:
    """A sentence if several layers of the model share each of its modules, as in ALBERT."""
    depth = stack.config.get(stack.entry.depth, Layers) if stack.entry.depth else modules
    if depth is not None and depth <= modules:
        return ""
    these = "this one matrix" if modules == 1 else f"these {modules} matrices"
    return f"The model has {depth or 'several'} layers, which share {these}."


def _check_complete(stack: Stack, numbers: list[tuple[int, ...]]) -> None:
    """Refuse a model in which layers of the config are missing; ``numbers`` are the numbers in the names of modules."""
    count = stack.config.get(stack.entry.layers, Layers | Counts)
    if not numbers or count is None:
        return
    stages, depth = (count, 2) if isinstance(count, list) else ([count], 1)
    there = {place[:depth] for place in numbers}
    promised = [(stage, layer)[-depth:] for stage, layers in enumerate(stages) for layer in range(layers)]
    if missing := next((place for place in promised if place not in there), None):
        module = stack.entry.module.format(*missing, *numbers[-1][depth:])
        raise CheckpointError(
            f"the config says that there are {sum(stages)} layers, but the files have no"
            f" {stack.entry.tensor(module, stack.entry.query)}. Download or save the whole checkpoint. If the layer was"
            f" removed on purpose, correct {stack.entry.layers} in the config."
        )
    ahead = stack.config.get("num_nextn_predict_layers", Layers) or 0  # these follow the layers that are counted
    if len(there) > sum(stages) + ahead:
        raise Misfit(
            f"the files have {len(there)} layers named {stack.entry.module}, but {stack.entry.layers} is {count} in"
            " the config. Either one of these numbers was changed, or the files and the config belong to different"
            " checkpoints. Correct the config."
        )


def _maker_of_keys(stack: Stack, place: int, modules: list[Module]) -> int:
    """The index of the layer that computes the keys of a layer: itself, or the last earlier layer of the same kind."""
    entry = stack.entry
    shared = stack.config.get(entry.shared_keys, Layers) if entry.shared_keys else None
    makers = len(modules) - (shared or 0)
    if place < makers:
        return place
    kinds = stack.config.kinds_of_layers()
    if not kinds:
        kinds = ["full" if (layer + 1) % entry.full_every == 0 else "sliding" for layer in range(len(modules))]
    if len(kinds) != len(modules) or kinds[place] not in kinds[: max(makers, 0)]:
        raise CheckpointError(
            f"{modules[place].name} attends to the keys of an earlier layer ({entry.shared_keys} = {shared} in the"
            " config), but layer_types contains no such layer; correct the config."
        )
    return max(layer for layer in range(makers) if kinds[layer] == kinds[place])
