"""Weights stored in 8 bits with a scale beside them: ``W = W_8 * scale``, by tensor, by row or by block.

Source: the layouts of transformers' finegrained_fp8 (``weight_scale_inv``), and of compressed-tensors and fbgemm_fp8
(``weight_scale``); all of them multiply.
"""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import CheckpointError

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
SCALES = ("_scale_inv", "_scale")  # names of the scale, after that of the weight


def scale_name(weight: str, names: Mapping[str, object]) -> str:
    """Name of the tensor with a weight's scale.

    Raises:
        CheckpointError: there is none.
    """
    for suffix in SCALES:
        if weight + suffix in names:
            return weight + suffix
    raise CheckpointError(
        f"{weight} is stored in 8 bits without a scale beside it ({weight}{SCALES[0]} or {weight}{SCALES[1]});"
        f" open the checkpoint in float32, float16 or bfloat16."
    )


def unscaled(
    weight: Float[Tensor, "rows columns"], scale: Float[Tensor, "..."], block: tuple[int, int], name: str
) -> Float[Tensor, "rows columns"]:
    """The weight in float32.

    Args:
        weight: 8-bit weight, or its first rows, (rows, columns).
        scale: one number, or one by row (all rows, 1), or one by block (blocks down, blocks across).
        block: rows and columns of a block.
        name: the weight's name, for messages.

    Raises:
        CheckpointError: the scale fits neither.
    """
    rows, columns = weight.shape
    scale = scale.to(torch.float32)
    if scale.numel() == 1:
        factors = scale.reshape(1, 1)
    elif scale.ndim <= 2 and scale.numel() == scale.shape[0] >= rows:
        factors = scale.reshape(-1, 1)[:rows]
    elif (
        scale.ndim == 2
        and scale.shape[0] >= math.ceil(rows / block[0])
        and scale.shape[1] == math.ceil(columns / block[1])
    ):
        factors = scale.repeat_interleave(block[0], 0)[:rows].repeat_interleave(block[1], 1)[:, :columns]
    else:
        raise CheckpointError(
            f"the scale of {name} has shape {tuple(scale.shape)}, which is neither one number, nor one by row, nor one"
            f" by block of {block[0]} x {block[1]}; open the checkpoint in float32, float16 or bfloat16."
        )
    return weight.to(torch.float32) * factors
