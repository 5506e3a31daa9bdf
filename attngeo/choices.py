"""The initialisations by name. This module does not import torch."""

from enum import Enum


class Initialisation(str, Enum):
    """The initialisation of the self-attention weights of a BERT model."""

    RANDOM = "random"  # BERT's: N(0, 0.02^2), biases 0
    SYMMETRIC = "symmetric"  # W_k,h = W_q,h; scale and biases as random
    SYMMETRIC_INDEFINITE = "symmetric-indefinite"  # W_k,h = W_q,h S_h, S_h symmetric, eigenvalues +-1; scale as random
    SKEW = "skew"  # W_k,h = W_q,h S_h^T, S_h skew-symmetric and orthogonal; scale as random
    RELEASED = "released"  # the released code's "symmetric": q, k, v and biases re-created by nn.Linear, W_k = W_q
    DEFAULT_LINEAR = "default-linear"  # q, k, v and their biases re-created by nn.Linear, W_k left alone
    MIMETIC = "mimetic"  # W_qk,h near 0.7 Z + 0.7 I, W_v W_o near 0.4 Z - 0.4 I
    SCALED = "scaled"  # W_q and W_k of random, times what brings them to the scale of nn.Linear; biases 0
    SCALED_SYMMETRIC = "scaled-symmetric"  # scaled, then W_k,h = W_q,h
    SCALED_VALUES = "scaled-values"  # W_v of random times the same; queries and keys as random


SYMMETRY = {  # of every head, where the initialisation fixes it
    Initialisation.SYMMETRIC: 1.0,
    Initialisation.SYMMETRIC_INDEFINITE: 1.0,
    Initialisation.SKEW: -1.0,
    Initialisation.RELEASED: 1.0,
    Initialisation.SCALED_SYMMETRIC: 1.0,
}
