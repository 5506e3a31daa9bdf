"""Attention to a range of places on the left only, for experiments on what makes W_qk directional."""

import torch
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from attngeo.experiments.training.bert import attention_layers


def attend_within(model: PreTrainedModel, near: int, far: int | None = None) -> list[RemovableHandle]:
    """Let place i attend only to the places i - far to i - near.

    A place that has none of these to its left attends to itself.

    Args:
        model: one whose implementation of attention takes an additive mask (eager or sdpa).
        near: distance of the nearest place.
        far: distance of the farthest place; all places to the left if it is None.

    Returns:
        Handles that undo it when they are removed.
    """

    def narrow(module, given, named):
        hidden = given[0] if given else named["hidden_states"]
        mask = window_mask(hidden.shape[1], near, far, hidden.dtype).to(hidden.device)
        return given, named | {"attention_mask": mask}

    return [layer.self.register_forward_pre_hook(narrow, with_kwargs=True) for layer in attention_layers(model)]


def window_mask(n: int, near: int, far: int | None, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """What is added to the scores, (1, 1, n, n): 0 where place i (row) sees place j, the lowest number elsewhere."""
    places = torch.arange(n)
    distance = places[:, None] - places
    seen = (distance >= near) & (distance <= (n if far is None else far))
    alone = ~seen.any(1)
    seen[alone, alone.nonzero()[:, 0]] = True
    return torch.zeros(n, n, dtype=dtype).masked_fill(~seen, torch.finfo(dtype).min)[None, None]
