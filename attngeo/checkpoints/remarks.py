"""Sentences about a checkpoint for readers of its scores."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from attngeo.checkpoints.architectures.entry import Part
from attngeo.checkpoints.architectures.keys import BESIDE
from attngeo.checkpoints.architectures.locate import is_opened
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.rotary import is_hidden, limit_of, longest_text
from attngeo.checkpoints.derived import companions
from attngeo.checkpoints.model_files import ModelFiles, Tensors
from attngeo.checkpoints.position_tables import WITHOUT_TABLE
from attngeo.checkpoints.reading import Folding

QUERIES = ("q_proj", "query", "query_proj", "q", "qkv", "qkv_proj", "query_key_value", "c_attn", "to_q", "attn_q")
DIVISION = "the norms by which queries and keys are divided (a different number for each token and head)"
# configuration keys with the width of a head, or of all heads
WIDTH_OF_A_HEAD = re.compile(
    "head_dim|dim_head|head_size|head_width|d_kv|d_head|kv_channels|key_length|head_ratio|per_layer|q_dim|qk_|kv_heads"
)
PARTS = get_args(Part)


def left_out(plans: Sequence[LayerPlan], folding: Folding) -> list[str]:
    """Components of the attention of these layers that are not part of ``W_qk``, in words."""
    parts: dict[str, set[Part]] = {}  # parts of the model with a component outside of W_qk, by its description
    for plan in plans:
        for words in _beside(plan, plans, folding):
            parts.setdefault(words, set()).add(plan.part)
    in_all = {plan.part for plan in plans}
    order = [*(f"positions encoded {how}" for how in WITHOUT_TABLE.values()), *BESIDE.values(), DIVISION]
    return [
        words if parts[words] == in_all else f"{words} ({_and(sorted(parts[words], key=PARTS.index))} layers)"
        for words in dict.fromkeys(order)
        if words in parts
    ]


def _beside(plan: LayerPlan, plans: Sequence[LayerPlan], folding: Folding) -> Iterator[str]:
    """Descriptions of the components of a layer that are not part of ``W_qk``."""
    if plan.positions and plan.positions.kind in WITHOUT_TABLE and folding.reading.distance is None:
        yield f"positions encoded {WITHOUT_TABLE[plan.positions.kind]}"
    normalised = {each.model_type for each in plans if each.norm or "gains" in each.beside}
    has_gains = plan.model_type in normalised if plan.part == "cross" else plan.norm or "gains" in plan.beside
    if has_gains and not folding.norm(plan):
        yield BESIDE["gains"]
    folded = plan in folding.qk_norms
    yield from (BESIDE[word] for word in plan.beside if word != "gains" and not (folded and word == "norms"))
    if folded:
        yield DIVISION


def unread(names: Iterable[str], read: Collection[str]) -> list[str]:
    """The tensors with the name of a query weight among ``names``, apart from those that are ``read``."""
    modules = {name: name.removesuffix(".weight").removesuffix(".linear") for name in names}
    return [n for n, module in modules.items() if n not in read and module.rpartition(".")[2] in QUERIES]


def included(name: str, plans: Sequence[LayerPlan], folding: Folding) -> Iterator[str]:
    """Sentences about the rotations and gains that were included in ``W_qk`` of the model of that name on request."""
    m = folding.reading.distance
    if m is not None:
        limits = [limit for plan in plans if (limit := limit_of(plan, m))]
        within = f", in texts of up to {min(limits):,} tokens" if limits else ""
        yield (
            f"The scores are those of W_q R_m W_k^T at the distance m = {m}, which is the position of the key minus the"
            f" position of the query. R_m is the rotation that the configuration describes{within}."
        )
        if not all(plan.settings and longest_text(plan.settings.values) for plan in plans):
            yield (
                f"The configuration of {name} does not state the maximum length of a text, so we did not check whether"
                " this distance occurs."
            )
        if still := [plan for plan in plans if folding.rotations[plan] is None]:
            yield (
                f"W_qk of {name} is the same at all distances in {_listed(still)}, because no rotation takes place"
                " there."
            )
        if hidden := [plan for plan in plans if is_hidden(plan, m)]:
            yield (
                f"In {_listed(hidden)} of {name}, no query attends to keys at this distance, because they are outside"
                " the window."
            )
        for why in dict.fromkeys(f"{error}" for error in folding.without_rotation.values()):
            yield f"Some layers of {name} are left out: {why}."
    if folding.qk_norms:
        yield "The gains of the norms of queries and keys are multiplied into W_q and W_k."


def of_heads_without_config(model: ModelFiles) -> Iterator[str]:
    """A sentence about the number of heads if no configuration contains it."""
    if model.about_heads:
        yield f"{model.about_heads} The tensors were read as those of {model.model_type}."


def of_files(weights: Sequence[str], tensors: Tensors, is_adapted: bool) -> Iterator[str]:
    """Sentences about weights that are in several files, and about tensors of unknown use."""
    stored = [name for weight in weights for _, name in tensors.files[weight].sources(weight)]
    if twice := [name for name in stored if name in tensors.several]:
        first, more = twice[0], f" and {len(twice) - 1} more tensors are" if len(twice) > 1 else " is"
        yield (
            f"{first}{more} in several files ({', '.join(tensors.several[first])}). The last of these files was read,"
            " as in transformers, even if the index of the checkpoint names another file."
        )
    companions_of = [] if is_adapted else [name for weight in weights for name in companions(weight, tensors.files)]
    if companions_of:
        more = f" and {len(companions_of) - 1} more" if len(companions_of) > 1 else ""
        yield f"Next to the weights that were read, the files contain tensors of unknown use: {companions_of[0]}{more}."


def of_layers(plans: Sequence[LayerPlan]) -> Iterator[str]:
    """Sentences about a causal mask that is removed, and about layers that use the keys of another layer."""
    if any(is_opened(plan.module) for plan in plans):
        yield (
            "The layers of this decoder are labelled as attending in both directions, because its tensors belong to a"
            " module named denoise_model, as in DiffuGPT and DiffuLLaMA, whose code removes the causal mask."
        )
    sharing = [plan for plan in plans if plan.keys_of is not None]
    for part, maker in dict.fromkeys((plan.part, plan.keys_of) for plan in sharing):
        layers = [f"{plan.layer}" for plan in sharing if (plan.part, plan.keys_of) == (part, maker)]
        who = f"layers {', '.join(layers)} attend" if len(layers) > 1 else f"layer {layers[0]} attends"
        whose = "their" if len(layers) > 1 else "its"
        yield (
            f"In the {part}, {who} to the keys of layer {maker}, so W_qk is computed from {whose} W_q and the W_k of"
            f" layer {maker}."
        )


def of_unstated_width(plans: Sequence[LayerPlan], config: Mapping[str, Any], tensors: Tensors) -> Iterator[str]:
    """A sentence if heads are wider or narrower than d / H without a configuration key for their width."""
    configs: list[Mapping] = [config]
    for each in configs:  # and nested configurations at any depth
        configs += [value for value in each.values() if isinstance(value, Mapping)]
    if any(WIDTH_OF_A_HEAD.search(f"{key}") for each in configs for key in each):
        return
    for plan in plans:
        stated = plan.layout.rows is not None or plan.part == "cross" or plan.head_numbers
        inputs = tensors.files[plan.query].shapes[plan.query][-1]
        if not stated and plan.heads * plan.d_head != inputs:
            yield (
                f"The heads of {plan.part} layer {plan.layer} have {plan.d_head} coordinates, which is not the width"
                " of the model divided by the number of heads, and no configuration key states this width. If heads"
                " were pruned, the scores of layers are right and the scores of single heads are wrong."
            )
            return


def of_pruned_heads(plans: Sequence[LayerPlan]) -> Iterator[str]:
    """A sentence about the layers in which heads were pruned."""
    if pruned := [f"{plan.part} layer {plan.layer}" for plan in plans if plan.head_numbers]:
        more = f" and {len(pruned) - 5} more" if len(pruned) > 5 else ""
        yield f"Heads were pruned ({', '.join(pruned[:5])}{more}). The remaining heads keep their original numbers."


def of_computed_weights(weights: Sequence[str], tensors: Tensors) -> Iterator[str]:
    """For each formula, a sentence about one weight that was computed from its stored parts."""
    made = {tensors.made[weight]: weight for weight in reversed(weights) if weight in tensors.made}
    yield from (f"{weight} was computed from its stored parts by {words}." for words, weight in made.items())


def of_unfollowed_keys(keys: Sequence[str]) -> Iterator[str]:
    """A sentence about the keys of the configuration that attngeo does not take into account."""
    if keys:
        yield (
            f"attngeo does not take these keys of the configuration into account: {', '.join(keys)}. If one of them"
            " changes queries, keys or the mask, the scores do not show that change."
        )


def _and(words: list[str]) -> str:
    """Words joined as in a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _listed(plans: Sequence[LayerPlan]) -> str:
    """Layers by part and number, for people."""
    parts = dict.fromkeys(plan.part for plan in plans)
    numbers = {part: ", ".join(f"{plan.layer}" for plan in plans if plan.part == part) for part in parts}
    return " and ".join(f"{part} layer{'s' if ', ' in which else ''} {which}" for part, which in numbers.items())
