"""How one model type stores its attention: the terms in which the tables of this package are written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from msgspec import Struct, convert
from msgspec.structs import force_setattr
from torch import Tensor

from attngeo.errors import ParameterError

# self-attention of an encoder, self-attention of a decoder, and attention from one sequence to another
Part = Literal["encoder", "decoder", "cross"]

# W_qk = W_q W_k^T, which determines the logits, or W_o W_v^T, which maps what heads read to what they write
Matrix = Literal["qk", "ov"]

# (H, H_kv, d_head) -> output rows of the queries, keys and values in the fused weight, head after head
Rows = Callable[[int, int, int], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Layout:
    """Positions of queries and keys within their tensors.

    Args:
        rows: function that returns the output rows of q, k and v in a fused weight, or None if each of them has its own
            tensor. A fused weight has (H + 2 H_kv) d_head output rows.
        transposed: whether the weight is stored as (in, out), as in ``Conv1D``, instead of (out, in), as in
            ``torch.nn.Linear``.
        gated: whether the rows of each query head are followed by the same number of rows of an output gate. In a fused
            weight, the rows of all gates come first.
    """

    rows: Rows | None = None
    transposed: bool = False
    gated: bool = False


def _blocks(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, ...]:
    return torch.arange((heads + 2 * kv_heads) * d_head).split([n * d_head for n in (heads, kv_heads, kv_heads)])


def _groups(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, ...]:
    rows = torch.arange((heads + 2 * kv_heads) * d_head).view(kv_heads, heads // kv_heads + 2, d_head)
    return rows[:, :-2].reshape(-1), rows[:, -2].reshape(-1), rows[:, -1].reshape(-1)


def _behind_gates(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, ...]:
    return tuple(rows + heads * d_head for rows in _blocks(heads, kv_heads, d_head))


def _four_ranks(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, ...]:
    rows = torch.arange(3 * heads * d_head).view(4, 3, -1)
    return tuple(rows[:, place].reshape(-1) for place in (0, 2, 1))


LAYOUTS = {
    "separate": Layout(),
    "gated": Layout(gated=True),
    "blocks": Layout(_blocks),  # [q of all heads; k of all heads; v of all heads]
    "conv1d_blocks": Layout(_blocks, transposed=True),
    "behind_gates": Layout(_behind_gates, gated=True),  # [gates of all heads; q; k; v]
    "four_ranks": Layout(_four_ranks),  # per quarter of the heads: [q; v; k], as trained on four devices
    "groups": Layout(_groups),  # per key head: [q of its query heads; its k; its v]; with H_kv = H a head's [q; k; v]
}


# names that only normalisations before an attention have, not those after it
NORMS = (
    *("input_layernorm", "ln_1", "ln_attn", "layernorm_before", "layer_norm1", "norm1", "norm_1", "layernorm1"),
    *("attn_norm", "attention_layernorm", "ln", "ln1"),
)

# output maps of an attention, within its module or, for BERT and similar models, next to it
OUTPUTS = (
    *("o_proj", "out_proj", "out_lin", "output_proj", "dense", "Wo", "c_proj", "o", "linear_out", "proj", "to_out"),
    *("attn_out", "wo"),
    *("output", "attention_out", "out_projection", "projection_layer", "../output.dense"),
)
# modules between the heads and this map, which W_o W_v^T does not contain
BETWEEN = ("g_proj", "gate_proj", "attn_sub_norm")

# kinds of positions that are added to the embedding, so W_qk is applied to them (Def. S1.1)
ABSOLUTE = ("learned", "sinusoidal")


class Positions(Struct, frozen=True, forbid_unknown_fields=True):
    """How a stack of layers encodes positions, and which tensors contain its position embeddings.

    Args:
        kind: "learned" or "sinusoidal" for embeddings that are added to the input, or "rotary", "alibi",
            "relative-bias", "relative-key", "relative-disentangled", "convolution" or "object-queries".
        table: name of the tensor of position embeddings, with or without ``.weight``, or "" if the file does not
            contain position embeddings.
        first: row in which the embedding of the first position is stored, if rows for padding or class tokens precede
            it. If the embedding of the first position is stored in the row after that of the padding token, give the
            config key of the padding token instead.
        map: name of the weight, of shape (out, in), that maps narrower position embeddings to the width of the layers,
            or "" if there is none.
        computed: number of rows to compute with ``attngeo.bilinear.positions.sinusoids`` if the file does not contain
            them, or 0.
    """

    kind: str = "learned"
    table: str = ""
    first: int | str = 0
    map: str = ""
    computed: int = 0


class Attention(Struct, frozen=True, forbid_unknown_fields=True):
    """The attention of one stack of layers.

    A config key with a dot, such as "decoder.num_layers", refers to a nested configuration.

    Args:
        part: "encoder", "decoder" or "cross" (attention from a decoder to an encoder).
        module: name of the attention module, in which each ``{}`` stands for a number. In the file, any prefix may
            precede the name. Use "" if the model itself is an attention module.
        query: name of the query weight within the module, without ``.weight``. For ``torch.nn.MultiheadAttention``, the
            name is ``in_proj_weight``.
        key: name of the key weight, which is the same as ``query`` if one tensor contains both.
        layout: positions of queries and keys within those tensors, as a `Layout` or as the name of a predefined layout,
            such as "blocks".
        heads: config key that holds the number of query heads. If the value is a list, it is indexed by the first
            number in the module name.
        heads_over: config key that holds the head ratio. The number of attention heads is divided by this ratio, and
            convolutions replace the heads that are removed in this way.
        kv_heads: config key that holds the number of key heads, or "" if every query head has its own key head. If the
            configuration lacks this key, every query head of a fused weight has its own key head.
        one_kv_head: whether a fused weight may contain a single key head for all query heads. The number of rows of the
            weight then shows whether there is only one key head.
        shared_keys: config key that holds the number of layers at the end of the model that reuse keys. Each of them
            reuses the keys of the last layer of the same kind that computes its own keys. Use "" if every layer
            computes its own keys.
        full_every: period n with which two kinds of layers alternate if the configuration has no ``layer_types``: every
            n-th layer attends to all tokens, and the other layers attend only to nearby tokens.
        d_head: config key that holds the width of a head, or "" if the width follows from the shapes of the tensors. If
            the configuration lacks this key, the width of a head in a fused weight is d / H.
        layers: config key that holds the number of layers, or a list with the number of layers of each stage. Use "" if
            only some layers use this kind of attention.
        depth: config key that holds the number of layers of the model if several layers use the same module.
        causal: whether tokens attend only to themselves and to earlier tokens. None means that decoders are causal and
            other parts are not.
        decoder_if: config key that, if true, turns this encoder into a causal decoder.
        follows_is_causal: whether a decoder attends in both directions if its configuration contains ``is_causal:
            false``.
        both_ways_if: config key that, if it is true or "all", makes a decoder attend in both directions.
        both_ways_within: whether ``both_ways_if`` also applies if the model is part of a larger model, which may build
            the mask itself.
        beside: components of the attention logits that are not part of W_qk and that the tensor names do not reveal.
            The keys of this mapping are those of `keys.BESIDE`. Each value is the config key that must be true for the
            component to be present, or "" if it is always present.
        unfollowed: config keys that change the attention in a way that attngeo does not take into account.
        only_if: values of config keys that distinguish this kind of attention from other kinds in the same model type.
            A missing key counts as false.
        in_memory: names of the module, the query weight and the key weight in memory, if they differ from the names in
            the files. If the files of one model type use two sets of names, give the second set here.
        positions: how the stack encodes positions, given as a `Positions` object or as the value of its ``kind``. None
            means that the type of positional encoding is not recorded, as for cross-attention.
        norm: name of the layer normalisation that precedes attention, in the attention module or in the module around
            it. Alternatives are written as "one|other". Use "" if there is none. If this argument is None, built-in
            model types use the first module found under one of the usual names, and registered model types use no
            normalisation.
        norm_if: config key that must be true for ``norm`` to precede the attention rather than follow it.
        norm_offset: number that is added to the weight of the normalisation to obtain the gain. Use 1 if a weight of 0
            stands for a gain of 1.
        linear: False if values or head outputs are normalised, because no matrix W_o W_v^T then describes the heads.
    """

    part: Part
    module: str
    query: str = "q_proj"
    key: str = "k_proj"
    layout: Any = "separate"  # a Layout after initialisation
    heads: str = "num_attention_heads"
    heads_over: str = ""
    kv_heads: str = ""
    one_kv_head: bool = False
    shared_keys: str = ""
    full_every: int = 1
    d_head: str = ""
    layers: str = "num_hidden_layers"
    depth: str = ""
    causal: bool | None = None
    decoder_if: str = ""
    follows_is_causal: bool = True
    both_ways_if: str = ""
    both_ways_within: bool = True
    beside: dict[str, str] = {}
    unfollowed: tuple[str, ...] = ()
    only_if: dict[str, bool] = {}
    in_memory: tuple[str, str, str] | None = None
    positions: Any = None  # a Positions after initialisation
    norm: str | None = None
    norm_if: str = ""
    norm_offset: int = 0
    linear: bool = True

    def __post_init__(self) -> None:
        layout = LAYOUTS.get(self.layout) if isinstance(self.layout, str) else self.layout
        if not isinstance(layout, Layout):
            raise ParameterError(f"{self.layout!r} is not a known layout of weights; use one of {', '.join(LAYOUTS)}.")
        if layout.rows is None and self.query == self.key:
            raise ParameterError(
                f"{self.query!r} is given as the name of both queries and keys, but in the layout 'separate' each of"
                " them has its own tensor; give the layout of the tensor that contains both:"
                f" {', '.join(name for name in LAYOUTS if name != 'separate')}."
            )
        if self.part not in get_args(Part):
            raise ParameterError(f"{self.part!r} is not a part of a model; use one of {', '.join(get_args(Part))}.")
        force_setattr(self, "layout", layout)
        stated = {"kind": self.positions} if isinstance(self.positions, str) else self.positions
        force_setattr(self, "positions", convert(stated, Positions | None))

    def tensor(self, module: str, weight: str) -> str:
        """The name of the tensor of a weight in a module."""
        place = f"{module}." if module else ""
        return f"{place}{weight}" if weight.endswith("_weight") else f"{place}{weight}.weight"


class Tower(Struct, frozen=True, forbid_unknown_fields=True):
    """A model that is part of a larger model and has a configuration of its own.

    Args:
        config: config key that holds the nested configuration. If the key is missing, the enclosing configuration is
            used.
        within: component of the module names that identifies the tensors of this model. Alternatives, of which exactly
            one occurs, are written as "one|other". Use "" if no such component is needed.
        model_type: model type to use if the nested configuration does not name one.
        unfollowed: keys of the enclosing configuration that change the attention of this model in a way that attngeo
            does not take into account.
    """

    config: str
    within: str = ""
    model_type: str = ""
    unfollowed: tuple[str, ...] = ()


class Refused(Struct, frozen=True, forbid_unknown_fields=True):
    """A model type that cannot be scored because its logits are not a bilinear form of the layer's input."""

    reason: str


Entry = tuple[Attention | Tower, ...] | Refused
