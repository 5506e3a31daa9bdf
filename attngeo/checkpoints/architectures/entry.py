"""How one model_type stores its attention: the words in which the tables of this package are written."""

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

# W_qk = W_q W_k^T of the logits, or W_o W_v^T of what heads write for what they read
Matrix = Literal["qk", "ov"]

# (H, H_kv, d_head) -> output rows of the queries, keys and values in the fused weight, head after head
Rows = Callable[[int, int, int], tuple[Tensor, ...]]


@dataclass(frozen=True)
class Layout:
    """Where q and k lie in their tensors.

    Args:
        rows: for a fused weight, its output rows that hold q, k and v; None where each has a tensor. A fused
            weight has (H + 2 H_kv) d_head output rows.
        transposed: the weight is stored (in, out), as by ``Conv1D``, and not (out, in), as by ``torch.nn.Linear``.
        gated: each query head's rows are followed by equally many rows of a gate for its output; in a fused weight, the
            rows of all gates come first.
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


# gains of normalisations before an attention, by names that no normalisation behind one has
NORMS = (
    *("input_layernorm", "ln_1", "ln_attn", "layernorm_before", "layer_norm1", "norm1", "norm_1", "layernorm1"),
    *("attn_norm", "attention_layernorm", "ln", "ln1"),
)

# maps behind an attention, within its module and, for BERT and its kind, beside it
OUTPUTS = (
    *("o_proj", "out_proj", "out_lin", "output_proj", "dense", "Wo", "c_proj", "o", "linear_out", "proj", "to_out"),
    *("attn_out", "wo"),
    *("output", "attention_out", "out_projection", "projection_layer", "../output.dense"),
)
BETWEEN = ("g_proj", "gate_proj", "attn_sub_norm")  # what heads pass before that map, which W_o W_v^T leaves out

# kinds of positions that are added to the embedding, and so are part of what W_qk reads (Def. S1.1)
ABSOLUTE = ("learned", "sinusoidal")


class Positions(Struct, frozen=True, forbid_unknown_fields=True):
    """How a stack takes positions, and where the rows are that are added to its embedding.

    Args:
        kind: one of ABSOLUTE, or rotary, alibi, relative-bias, relative-key, relative-disentangled, convolution,
            object-queries.
        table: name of the tensor of rows, with or without ``.weight`` in the file; "" where it holds none.
        first: the row of the first position, after those of padding or of class tokens; or the config key of the
            padding token, which that row follows.
        map: name of the weight (out, in) by which narrower rows enter the layers; "" where there is none.
        computed: number of rows of ``attngeo.bilinear.positions.sinusoids`` where a file leaves them out; 0: none are.
    """

    kind: str = "learned"
    table: str = ""
    first: int | str = 0
    map: str = ""
    computed: int = 0


class Attention(Struct, frozen=True, forbid_unknown_fields=True):
    """The attention of one stack of layers.

    A config key with a dot, such as "decoder.num_layers", is one of a config in the model's own.

    Args:
        part: "encoder", "decoder" or "cross" (decoder to encoder).
        module: name of the attention module; each ``{}`` stands for a number. Any prefix may precede it in the file.
            "" where the model is an attention itself.
        query: name of the query weight within the module, without ``.weight``; ``in_proj_weight`` as in torch's own
            attention.
        key: name of the key weight; the same as ``query`` where one tensor holds both.
        layout: where q and k lie in those tensors, or its name in `LAYOUTS`, such as "blocks".
        heads: config key of the number of query heads; a list there counts by the module's first number.
        heads_over: config key of a number by which that of heads is divided, other heads being convolutions.
        kv_heads: config key of the number of key heads; "" where every query head has its own, and in a fused weight
            also where the config does not say.
        one_kv_head: whether a fused weight may hold one key head for all query heads, which its height then tells.
        shared_keys: config key of the number of layers, the last ones, that attend to the keys of the last earlier
            layer of their kind; "" where every layer makes its keys.
        full_every: where a config with such layers lacks ``layer_types``, the period n of two kinds of layers: every
            n-th layer attends to all tokens, the others to near ones.
        d_head: config key of the width of a head; "" where it follows from the shapes. A fused weight without it has
            heads of d / H.
        layers: config key of the number of layers, or of a list of them by stage; "" where not every layer has this
            attention.
        depth: config key of the number of layers of the model, where several of them use the same module in turn.
        causal: whether a token sees only those before it; None: in decoders.
        decoder_if: config key that, when true, makes this encoder a causal decoder.
        follows_is_causal: whether a decoder attends in both directions where its config says ``is_causal: false``.
        both_ways_if: config key that, when true or "all", lets a decoder attend in both directions.
        both_ways_within: whether it does so within a larger model too, which may make the mask itself.
        beside: what its logits have beside W_qk that its tensors do not show, by the words of `keys.BESIDE`, each with
            the config key that must be true for it, or "" where it always has it.
        unfollowed: config keys that change its attention in a way that the layers read do not show.
        only_if: values of config keys that tell this attention from another of its type, of which a key that is not
            there has the value false.
        in_memory: module, query and key where transformers 5 names them otherwise than the files that it writes, or
            where files of one type name them in two ways.
        positions: how it takes positions, or their kind alone; None where nothing is said, as of cross-attention.
        norm: name of the layer normalisation before it, in its module or in what that is in, or several names, as
            "one|other", of which there is one; "" where there is none.
            None: for a built-in model_type the first name of `NORMS` that is present, for a registered one no norm.
        norm_if: config key that must be true for ``norm`` to stand before the attention and not behind it.
        norm_offset: what is added to the normalisation's weight, 1 where a weight of 0 leaves all as it is.
        linear: false where values are normalised, or what heads write is, so that no W_o W_v^T gives it.
    """

    part: Part
    module: str
    query: str = "q_proj"
    key: str = "k_proj"
    layout: Any = "separate"  # a Layout, once made
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
    positions: Any = None  # a Positions, once made
    norm: str | None = None
    norm_if: str = ""
    norm_offset: int = 0
    linear: bool = True

    def __post_init__(self) -> None:
        layout = LAYOUTS.get(self.layout) if isinstance(self.layout, str) else self.layout
        if not isinstance(layout, Layout):
            raise ParameterError(f"{self.layout!r} is no layout of weights; name one of {', '.join(LAYOUTS)}.")
        if layout.rows is None and self.query == self.key:
            raise ParameterError(
                f"{self.query!r} is named as query and as key, and in the layout 'separate' each has a tensor; name the"
                f" layout of the one that holds both: {', '.join(name for name in LAYOUTS if name != 'separate')}."
            )
        if self.part not in get_args(Part):
            raise ParameterError(f"{self.part!r} is no part of a model; name one of {', '.join(get_args(Part))}.")
        force_setattr(self, "layout", layout)
        stated = {"kind": self.positions} if isinstance(self.positions, str) else self.positions
        force_setattr(self, "positions", convert(stated, Positions | None))

    def tensor(self, module: str, weight: str) -> str:
        """Name of a weight's tensor in a module."""
        place = f"{module}." if module else ""
        return f"{place}{weight}" if weight.endswith("_weight") else f"{place}{weight}.weight"


class Tower(Struct, frozen=True, forbid_unknown_fields=True):
    """A model inside this one, with a config of its own.

    Args:
        config: config key of its config; where a config lacks that key, the keys are taken to stand beside it.
        within: component of the module names that tells its tensors from the others', or several, as "one|other", of
            which there is one; "" where their names do.
        model_type: its model_type, if its config names none.
        unfollowed: keys of the config around it that change its attention in a way that the layers read do not show.
    """

    config: str
    within: str = ""
    model_type: str = ""
    unfollowed: tuple[str, ...] = ()


class Refused(Struct, frozen=True, forbid_unknown_fields=True):
    """A model_type whose logits are no bilinear form of the layer's input, and why."""

    reason: str


Entry = tuple[Attention | Tower, ...] | Refused
