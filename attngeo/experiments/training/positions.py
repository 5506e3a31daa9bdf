"""A BERT with a positional encoding other than a table: rotations, a bias for each offset, or none at all.

The table stays in the model, but it is zero and not trained, so that models with the same seed differ in nothing else.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, BertConfig, PreTrainedModel
from transformers.masking_utils import eager_mask
from transformers.models.bert.modeling_bert import eager_attention_forward

from attngeo.bilinear.waves import waves
from attngeo.experiments.training.choices import Positions, PositionTable

BASE = 10_000.0  # for the rotary angles (Su et al. 2021)
FROZEN_STRENGTH = 5.0  # norm of a frozen table, relative to the norm of an untrained one


# Made by calling type(), because the shape checks of our tests would wrap a class statement as a dataclass.
PositionsBertConfig = type(
    "PositionsBertConfig",
    (BertConfig,),
    {
        "__doc__": "The configuration of such a BERT, under a model_type that no plain BERT takes for its own.",
        "__module__": __name__,
        "__annotations__": {"positions": str},
        "model_type": "attngeo-bert",
        "positions": Positions.ROTARY.value,
    },
)


def rotated(x: Float[Tensor, "batch heads length d_head"]) -> Float[Tensor, "batch heads length d_head"]:
    """``R_i x_i``: coordinates c and c + d_head / 2 of the vector at place i turned by ``i BASE^(-2c / d_head)``.

    ``(R_i q) . (R_j k)`` depends on the positions only through j - i. Source: Su et al. 2021 (RoFormer), Eq. 15.
    """
    length, width = x.shape[-2:]
    frequencies = BASE ** (-torch.arange(0, width, 2, device=x.device).double() / width)  # (d_head / 2,)
    angles = torch.arange(length, device=x.device)[:, None] * frequencies
    kept = torch.promote_types(x.dtype, torch.float32)  # because angles in half precision would be too coarse
    cos, sin = angles.cos().to(kept), angles.sin().to(kept)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)


def _rotary_attention(module, query, key, value, attention_mask, **options):
    return eager_attention_forward(module, rotated(query), rotated(key), value, attention_mask, **options)


def _biased_attention(module, query, key, value, attention_mask, **options):
    places = torch.arange(key.shape[-2], device=key.device)
    offsets = places - places[:, None]  # key minus query, (length, length)
    bias = module.offset_bias[:, offsets + module.offset_bias.shape[1] // 2]  # (heads, length, length)
    mask = bias if attention_mask is None else attention_mask + bias
    return eager_attention_forward(module, query, key, value, mask, **options)


def take_positions(model: PreTrainedModel) -> None:
    """Give a BERT the positional encoding of its configuration, and set its table of position embeddings to zero."""
    positions = Positions(model.config.positions)
    nn.init.zeros_(model.bert.embeddings.position_embeddings.weight).requires_grad_(False)
    model.config._attn_implementation = "eager" if positions is Positions.NONE else f"attngeo-{positions.value}"
    if positions is Positions.BIAS:
        offsets = 2 * model.config.max_position_embeddings - 1
        for layer in model.bert.encoder.layer:
            layer.attention.self.offset_bias = nn.Parameter(torch.zeros(model.config.num_attention_heads, offsets))


@torch.no_grad()
def freeze_table(model: PreTrainedModel, kind: PositionTable, n: int) -> None:
    """Freeze the first n rows of a table of position embeddings, reduced to some of their waves.

    The waves are those of `attngeo.bilinear.waves.waves` on n positions. The remaining part of the random rows is
    scaled to `FROZEN_STRENGTH` times the norm that the rows had without their mean, so that all kinds of tables are
    equally strong, and strong enough beside embeddings of tokens that grow in training.
    """
    if kind is PositionTable.TRAINED:
        return
    table = model.bert.embeddings.position_embeddings.weight.requires_grad_(False)
    rows = table[:n].double()
    rows = rows - rows.mean(0)
    low, high = {
        PositionTable.WHITE: (1, n // 2),
        PositionTable.SLOW: (1, 2),  # periods n and n / 2
        PositionTable.BAND: (n // 4 - 1, n // 4 + 1),
    }[kind]
    basis = waves(n, low, high)
    kept = basis @ (basis.T @ rows)
    table[:n] = kept * (FROZEN_STRENGTH * rows.norm() / kept.norm())


for _positions, _attention in {Positions.ROTARY: _rotary_attention, Positions.BIAS: _biased_attention}.items():
    AttentionInterface.register(f"attngeo-{_positions.value}", _attention)
    AttentionMaskInterface.register(f"attngeo-{_positions.value}", eager_mask)
