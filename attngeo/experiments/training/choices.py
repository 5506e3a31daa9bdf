"""The settings of a training run that have names: objective, text, positions, values, constraint and size."""

from dataclasses import dataclass
from enum import Enum

from attngeo.errors import ParameterError


class TrainingObjective(str, Enum):
    """What a model is trained to predict."""

    MLM = "mlm"  # predict masked tokens from the tokens on both sides (Eq. 6)
    CLM = "clm"  # predict every token from the tokens before it (Eq. 5)
    RELEASED_DECODER = "released-decoder"  # predict only the masked tokens, each from the masked text to its left

    @property
    def causal(self) -> bool:
        """Whether tokens attend only to themselves and to earlier tokens."""
        return self is not TrainingObjective.MLM

    @property
    def masks(self) -> bool:
        """Whether input tokens are masked."""
        return self is not TrainingObjective.CLM


class Text(str, Enum):
    """How a document is written before it is tokenised."""

    PLAIN = "plain"
    SPACED = "spaced"  # a space between all characters, as the released code does to Wikipedia and RedPajama

    def spell(self, document: str) -> str:
        """The document, written in this way."""
        return document if self is Text.PLAIN else " ".join(document)


class Positions(str, Enum):
    """How a model encodes the positions of its tokens."""

    LEARNED = "learned"  # a table of embeddings, added to those of the tokens (Def. S1.1)
    ROTARY = "rotary"  # queries and keys are rotated by angles proportional to their positions (RoPE)
    BIAS = "bias"  # a number that is added to the logits and learned for every head and distance
    NONE = "none"


class PositionTable(str, Enum):
    """What the table of position embeddings contains, if a model has one."""

    TRAINED = "trained"
    WHITE = "white"  # frozen at its random initial values, so every wave has the same expected strength
    SLOW = "slow"  # frozen, and composed only of waves whose period is at least half of the block
    BAND = "band"  # frozen, and composed only of waves whose period is close to four positions


class Values(str, Enum):
    """Which value-output maps W_v,h W_o,h a model has."""

    TRAINED = "trained"
    FROZEN = "frozen"  # frozen at their random initial values
    FROZEN_SYMMETRIC = "frozen-symmetric"  # W_o,h = (W_v,h S_h)^T, S_h symmetric, eigenvalues +-1
    FROZEN_SKEW = "frozen-skew"  # the same with S_h skew-symmetric and orthogonal


class Constraint(str, Enum):
    """Which part of W_qk a constraint favours."""

    NONE = "none"
    SYMMETRIC = "symmetric"
    SKEW = "skew"


@dataclass(frozen=True)
class Shape:
    """The size of a BERT (Table S1)."""

    layers: int = 4
    d_model: int = 256  # width of the embedding, d
    heads: int = 4  # must divide d_model
    d_ff: int = 1024  # width of the feed-forward layer
    longest: int = 512  # largest number of tokens in a block
    dropout: float = 0.1  # of hidden states and of attention
    vocab_size: int = 30522

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            raise ParameterError(
                f"the width {self.d_model} cannot be divided into {self.heads} heads; change heads or d_model."
            )


PRESETS = {
    "toy": Shape(layers=4, d_model=128, heads=4, d_ff=512, vocab_size=4096),
    "mini": Shape(),
    "base": Shape(layers=12, d_model=768, heads=12, d_ff=3072),
    "large": Shape(layers=24, d_model=1024, heads=16, d_ff=4096),  # web page only; Table S1 has no such column
}
