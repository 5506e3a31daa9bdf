"""How one model_type stores its attention: the words in which the tables of this package are written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Part = Literal["encoder", "decoder", "cross"]  # bidirectional, causal, and decoder-to-encoder attention

# (H, H_kv, d_head) -> output rows of the queries and of the keys in the fused weight, head after head
Rows = Callable[[int, int, int], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Layout:
    """Where q and k lie in their tensors.

    Args:
        rows: for a fused weight, its output rows that hold q and k; None where q and k have a tensor each.
        shares: for a fused weight, its output rows as a multiple of d_head, from H and H_kv.
        transposed: the weight is stored (in, out), as by ``Conv1D``, and not (out, in), as by ``torch.nn.Linear``.
    """

    rows: Rows | None = None
    shares: Callable[[int, int], int] = lambda heads, kv_heads: heads + 2 * kv_heads
    transposed: bool = False


def _blocks(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, Tensor]:
    q = torch.arange(heads * d_head)
    return q, heads * d_head + torch.arange(kv_heads * d_head)


def _groups(heads: int, kv_heads: int, d_head: int) -> tuple[Tensor, Tensor]:
    rows = torch.arange((heads + 2 * kv_heads) * d_head).view(kv_heads, heads // kv_heads + 2, d_head)
    return rows[:, :-2].reshape(-1), rows[:, -2].reshape(-1)


SEPARATE = Layout()
BLOCKS = Layout(_blocks)  # [q of all heads; k of all heads; v of all heads]
CONV1D_BLOCKS = Layout(_blocks, transposed=True)
GROUPS = Layout(_groups)  # per key head: [q of its query heads; its k; its v]; with H_kv = H each head's [q; k; v]


@dataclass(frozen=True)
class Attention:
    """The attention of one stack of layers.

    Args:
        part: "encoder" (bidirectional), "decoder" (causal) or "cross" (decoder to encoder).
        module: name of the attention module; each ``{}`` stands for a number. Any prefix may precede it in the file.
        query: name of the query weight within the module, without ``.weight``.
        key: name of the key weight; the same as ``query`` where one tensor holds both.
        layout: where q and k lie in those tensors.
        heads: config key of the number of query heads.
        kv_heads: config key of the number of key heads; "" where every query head has its own.
        d_head: config key of the width of a head; "" where it follows from the shapes.
        layers: config key of the number of layers; "" where not every layer has this attention.
        causal_if: config key that, when true, makes an encoder's attention causal.
    """

    part: Part
    module: str
    query: str = "q_proj"
    key: str = "k_proj"
    layout: Layout = SEPARATE
    heads: str = "num_attention_heads"
    kv_heads: str = ""
    d_head: str = ""
    layers: str = "num_hidden_layers"
    causal_if: str = ""


@dataclass(frozen=True)
class Refused:
    """A model_type whose logits are no bilinear form of the layer's input, and why."""

    reason: str
