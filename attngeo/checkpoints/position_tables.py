"""The tables of position embeddings in the files of a model."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float

from attngeo.bilinear.positions import sinusoids
from attngeo.checkpoints.architectures.entry import ABSOLUTE
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import CheckpointError

TABLE_APART = "positions/embeddings.safetensors"  # in a folder whose weights do not contain the position table
WITHOUT_TABLE = {  # descriptions of the kinds of positions that are not added to the embedding
    "none-or-in-attention": "by rotating queries and keys or by a bias of the logits, or not at all",
    "rotary": "by rotating queries and keys",
    "alibi": "by a bias of the logits that falls with the distance",
    "rotary-or-alibi": "by rotating queries and keys, or by a bias of the logits",
    "relative-bias": "by a bias of the logits for each distance",
    "relative-key": "by keys for each distance",
    "relative-key-query": "by queries and keys for each distance",
    "relative-disentangled": "by queries and keys of their own for each distance",
    "convolution": "by a convolution over its inputs",
    "object-queries": "by learned queries without an order",
    "unknown": "in a way that the names of the tensors do not tell",
}


def position_rows(
    name: str,
    plan: LayerPlan,
    d: int,
    read: Callable[[str], torch.Tensor],
    gain: Float[torch.Tensor, " width"] | float = 1.0,
) -> Float[torch.Tensor, "positions d"]:
    """The result of `Checkpoint.position_rows` for the model of this name and a layer with inputs of width d.

    The function ``read`` reads a tensor by its name.
    """
    entry = plan.positions
    if plan.part == "cross":
        raise CheckpointError(f"{name}: cross-attention joins two sequences, each of which has its own positions.")
    if entry is None or entry.kind not in ABSOLUTE:
        how = WITHOUT_TABLE.get(entry.kind, f"as {entry.kind}") if entry else "in a way that attngeo does not know"
        raise CheckpointError(
            f"{name}: its {plan.part} encodes positions {how} and does not add position embeddings to its input, so no"
            " score can be split by positions."
        )
    if not entry.table and not entry.computed:
        raise CheckpointError(
            f"{name}: the files do not contain the {entry.kind} position embeddings of its {plan.part} under a known"
            " name; fetch the whole checkpoint, or score it without splitting by positions."
        )
    if not entry.table:
        return sinusoids(entry.computed, d) * gain
    rows = read(entry.table).double().flatten(0, -2)
    patches_alone = entry.first == 1 and math.isqrt(len(rows)) ** 2 == len(rows)  # there is no row for a class token
    rows = rows[0 if patches_alone else entry.first :] * gain
    if entry.map and rows.shape[1] != d:
        rows = rows @ read(entry.map).double().T
    if rows.shape[1] != d:
        raise CheckpointError(
            f"{name}: {entry.table} has rows of width {rows.shape[1]}, but the layers have width {d}; the files belong"
            " to different models."
        )
    return rows
