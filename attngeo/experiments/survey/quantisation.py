"""Weights rounded to a few bits as in quantised checkpoints, and the effect of rounding on the scores.

    s' = s / (1 + e),    e = (||E_q W_k^T||^2 + ||W_q E_k^T||^2) / ||M||^2

apart from random fluctuations. Rounding adds errors E_q and E_k to the factors, which are independent of each other and
of the weights. The errors increase the norm of M, but do not change Tr(MM) on average.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm

BLOCK = 32  # weights of a row of (out, in) that share a scale, in llama.cpp's 4-bit formats
Weights = Float[Tensor, "heads d d_head"]


def quantised(form: BilinearForm, scheme: str) -> BilinearForm:
    """The form of weights that were stored by one of SCHEMES and read back, in float32; a stored row runs along d.

    Source: onnxruntime's dynamic quantisation (int8), llama.cpp's block formats (q4_0, q4_1), written from their
    descriptions.
    """
    return BilinearForm(*(SCHEMES[scheme](w.float()) for w in (form.wq, form.wk)))


def _int8(w: Weights) -> Weights:
    """Weights rounded to whole multiples of 1 / 127 of the largest magnitude in the tensor."""
    step = _step(w.abs().amax() / 127)
    return (w / step).round() * step


def _signed(block: Weights) -> Weights:
    """Weights rounded to sixteen levels from -8 to 7 steps, with the weight of the largest magnitude at -8."""
    largest = block.gather(1, block.abs().argmax(1, keepdim=True))
    step = _step((largest / -8).half().float())  # the scale is stored in half precision
    return (block / step).round().clamp(-8, 7) * step


def _shifted(block: Weights) -> Weights:
    """Weights rounded to sixteen levels from the smallest to the largest weight."""
    least = block.amin(1, keepdim=True)
    step = _step((block.amax(1, keepdim=True) - least) / 15)
    return ((block - least) / step).round().clamp(0, 15) * step.half().float() + least.half().float()


def _step(step: Tensor) -> Tensor:
    """Weights that are all 0 have any step."""
    return torch.where(step == 0, torch.ones_like(step), step)


SCHEMES: dict[str, Callable[[Weights], Weights]] = {
    "float16": lambda w: w.half().float(),
    "int8": _int8,
    "q4_0": lambda w: torch.cat([_signed(block) for block in w.split(BLOCK, dim=1)], dim=1),
    "q4_1": lambda w: torch.cat([_shifted(block) for block in w.split(BLOCK, dim=1)], dim=1),
}
