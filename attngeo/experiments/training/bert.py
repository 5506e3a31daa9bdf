"""BERT as an encoder and as a decoder of any size, with a head that is applied only to the predicted positions."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertLMHeadModel,
    PreTrainedModel,
)

from attngeo.bilinear.form import BilinearForm
from attngeo.choices import Initialisation
from attngeo.experiments.training.choices import Constraint, Positions, Shape, Values
from attngeo.experiments.training.initialisations import freeze_values, initialise_bert
from attngeo.experiments.training.losses import constraint_loss, linear_cross_entropy
from attngeo.experiments.training.positions import PositionsBertConfig, take_positions

EPSILON = 1e-12  # for the layer normalisation (Table S1)
STD = 0.02  # standard deviation of BERT's initial weights


class _PredictsPositions:
    """Adds to a BERT with a language-model head the loss at given positions, without computing the other logits."""

    accepts_loss_kwargs = False  # tells Trainer that the loss is a mean over the batch
    constraint = Constraint.NONE
    constraint_weight = 0.0  # gamma of Eq. S146

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        if isinstance(config, PositionsBertConfig):
            take_positions(self)

    def forward(
        self,
        input_ids: Int[Tensor, "batch length"] | None = None,
        positions: Int[Tensor, "batch targets"] | None = None,
        labels: Tensor | None = None,
        **others,
    ) -> dict[str, Tensor]:
        """``loss`` (with the constraint, while training) and ``prediction_loss``, means over the batch's labels."""
        if positions is None:
            return super().forward(input_ids, labels=labels, **others)
        hidden = self.bert(input_ids=input_ids).last_hidden_state  # (batch, length, d)
        if positions.shape[1] == input_ids.shape[1] - 1:  # for every position but the last, gathering is not needed
            hidden = hidden[:, :-1]
        else:
            hidden = hidden.gather(1, positions[:, :, None].expand(-1, -1, hidden.shape[-1]))
        head = self.cls.predictions
        hidden = head.transform(hidden).flatten(0, 1)  # (batch * targets, d)
        loss = prediction_loss = linear_cross_entropy(hidden, head.decoder.weight, head.bias, labels.flatten())
        if self.training and self.constraint is not Constraint.NONE:
            loss = loss + self.constraint_weight * constraint_loss(forms(self), self.constraint)
        return {"loss": loss, "prediction_loss": prediction_loss}


class Encoder(_PredictsPositions, BertForMaskedLM):
    """BERT whose tokens attend to both sides."""


class Decoder(_PredictsPositions, BertLMHeadModel):
    """BERT whose tokens attend only to the left."""


class PositionsEncoder(Encoder):
    """The encoder with a positional encoding other than a table."""

    config_class = PositionsBertConfig


class PositionsDecoder(Decoder):
    """The decoder with a positional encoding other than a table."""

    config_class = PositionsBertConfig


# so that transformers can open these models
AutoConfig.register(PositionsBertConfig.model_type, PositionsBertConfig)
AutoModelForMaskedLM.register(PositionsBertConfig, PositionsEncoder)
AutoModelForCausalLM.register(PositionsBertConfig, PositionsDecoder)

# save_pretrained writes these names into config.json, where they have to be classes of transformers
Encoder.__name__, Decoder.__name__ = BertForMaskedLM.__name__, BertLMHeadModel.__name__


def build_model(
    shape: Shape,
    causal: bool,
    initialisation: Initialisation | str = Initialisation.RANDOM,
    seed: int = 0,
    attention: str = "sdpa",
    positions: Positions | str = Positions.LEARNED,
    values: Values | str = Values.TRAINED,
) -> PreTrainedModel:
    """A BERT with the given initialisation.

    Two models of equal shape and seed differ only in what their initialisations, positions and values change. In a
    causal model (a decoder), tokens attend only to the left. Of the implementations of attention in transformers,
    "eager" is the faster one on a CPU, and positions that are not learned need it.

    Raises:
        InitialisationError: the weights do not have the symmetry of the initialisation.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if positions == Positions.LEARNED:
            model = (Decoder if causal else Encoder)(bert_config(shape, causal, attention))
        else:
            config = bert_config(shape, causal, attention, PositionsBertConfig, positions=Positions(positions).value)
            model = (PositionsDecoder if causal else PositionsEncoder)(config)
    initialise_bert(model, attention_layers(model), Initialisation(initialisation), seed, STD)
    freeze_values(attention_layers(model), Values(values), seed)
    return model


def bert_config(
    shape: Shape, causal: bool, attention: str = "sdpa", kind: type[BertConfig] = BertConfig, **more: Any
) -> BertConfig:
    """The configuration of a BERT of this shape, with the other settings from Table S1."""
    return kind(
        vocab_size=shape.vocab_size,
        hidden_size=shape.d_model,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.d_ff,
        hidden_act="gelu",
        hidden_dropout_prob=shape.dropout,
        attention_probs_dropout_prob=shape.dropout,
        max_position_embeddings=shape.longest,
        initializer_range=STD,
        layer_norm_eps=EPSILON,
        is_decoder=causal,
        use_cache=False,
        pad_token_id=0,
        attn_implementation=attention,
        **more,
    )


def attention_layers(model: PreTrainedModel) -> list[torch.nn.Module]:
    """The self-attention modules of a BERT, each with Linear layers ``self.query``, ``self.key``, ``self.value``."""
    return [layer.attention for layer in model.bert.encoder.layer]


def scale_logits(model: PreTrainedModel, factor: float) -> None:
    """Multiply the attention logits of every head by ``factor``. Weights and scores of ``W_qk`` do not change."""
    for layer in attention_layers(model):
        layer.self.scaling *= factor


@torch.no_grad()
def fold_logit_scale(model: PreTrainedModel, factor: float) -> None:
    """Move the factor of `scale_logits` into the queries, so that a plain BERT computes the same function."""
    scale_logits(model, 1 / factor)
    for layer in attention_layers(model):
        layer.self.query.weight.mul_(factor)
        layer.self.query.bias.mul_(factor)


def forms(model: PreTrainedModel) -> list[BilinearForm]:
    """``W_qk`` of every layer by its factors (Eqs. S19, S20), sharing memory with the model."""
    model = getattr(model, "_orig_mod", model)  # the module that torch.compile wraps
    d_head = model.config.hidden_size // model.config.num_attention_heads
    return [
        BilinearForm.from_linear(layer.self.query.weight, layer.self.key.weight, d_head)
        for layer in attention_layers(model)
    ]


def position_rows(model: PreTrainedModel, n: int) -> Float[Tensor, "n d"] | None:
    """The first n rows of the table of position embeddings; None if the model has another positional encoding."""
    model = getattr(model, "_orig_mod", model)  # the module that torch.compile wraps
    if isinstance(model.config, PositionsBertConfig):
        return None
    return model.bert.embeddings.position_embeddings.weight[:n]


def parameter_counts(model: PreTrainedModel) -> dict[str, int]:
    """The number of trained weights: all of them, and those outside the embeddings."""
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    embeddings = sum(p.numel() for p in model.bert.embeddings.parameters() if p.requires_grad)
    return {"all": count, "without_embeddings": count - embeddings}


def model_flops(shape: Shape, length: int, targets: int) -> float:
    """Floating-point operations of one training step on one block: 6 per weight and token, attention, and the head.

    Backward counts twice forward; recomputation and normalisations are not counted. Targets are predicted positions.
    """
    d = shape.d_model
    layer = 4 * d * d + 2 * d * shape.d_ff  # weights used per token
    attention = 2 * length * d  # multiply-adds per token: scores and mixing
    head = d * d + d * shape.vocab_size  # weights used per target
    return 6.0 * (length * shape.layers * (layer + attention) + targets * head)
