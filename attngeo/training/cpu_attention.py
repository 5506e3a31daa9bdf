"""Attention and dropout for a CPU.

Torch's dropout takes about a sixth of the training time of a small BERT on a CPU, and three separate projections of the
same input cast it, and add up its gradients, three times. On other devices neither matters much.

With the library's own, a step of BERT-mini over 4,096 tokens in bf16 takes 1.1 to 1.3 times as long (by how busy the
machine is). Training was 4.6 times as fast as in the released configuration with these and 3.3 times without, two
busy cores, one run; `tests/benchmarks/test_training.py` measures both. Without dropout the gain is a hundredth.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.bert.modeling_bert import BertSelfAttention

LEVELS = 1 << 16


class Dropout(nn.Module):
    """Sets each entry to 0 with probability ``p``, to the nearest of 65,536 steps, and keeps the mean exactly.

    The draw is 16 bits of the generator's output, several times faster than torch's Bernoulli draw.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """``x``, with entries dropped while training."""
        return _Dropped.apply(x, self.p) if self.training and self.p > 0 else x


class SelfAttention(BertSelfAttention):
    """BERT's self-attention with one projection for queries, keys and values; the parameters are BERT's own."""

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, *others, **more) -> tuple:
        """Mixed values (batch, length, d) and attention weights (batch, heads, length, length)."""
        parts = (self.query, self.key, self.value)
        joined = nn.functional.linear(
            hidden_states, torch.cat([p.weight for p in parts]), torch.cat([p.bias for p in parts])
        )
        # (3, batch, heads, length, d_head)
        q, k, v = joined.unflatten(-1, (3, self.num_attention_heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * self.attention_head_size**-0.5
        if attention_mask is not None:
            scores = scores + attention_mask
        with torch.autocast(scores.device.type, enabled=False):  # 16-bit in and out, summed in float32 on the way
            weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        return (weights @ v).transpose(1, 2).flatten(2), weights


def quicken(model: PreTrainedModel) -> None:
    """Give a BERT with eager attention these two in the place of the library's."""
    for module in list(model.modules()):
        if type(module) is BertSelfAttention:
            module.__class__ = SelfAttention
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Dropout):
                setattr(module, name, Dropout(child.p))


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        kept = min(round((1 - rate) * LEVELS), LEVELS - 1)
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
        # 0 or 1, in the integers' own type: comparing into booleans, and multiplying by them, is several times slower
        mask = bits.view(torch.int16).lt_(kept - LEVELS // 2)[: x.numel()].view(x.shape)
        ctx.save_for_backward(mask)
        ctx.scale = LEVELS / kept
        return (x * mask.to(x.dtype)).mul_(ctx.scale)

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return (grad * mask.to(grad.dtype)).mul_(ctx.scale), None
