"""The gradient painted pair by pair: the rank-1 terms of a short sequence, under each objective and in both orders."""

import torch

from attngeo.chapters.context_and_prediction.figures import painted
from attngeo.display.interactive import Interactive
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.rank_one import exact_coefficients
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

WORDS = ("the", "cat", "saw", "the", "dog", "pass", "the", "cat")
MASK = "[M]"  # what stands at a masked position


def painter(seed: int = 0, d: int = 12) -> Interactive:
    """Terms ``beta_ij x_i x_j^T`` to be added by prediction or by context, until the gradient is complete.

    Two kinds of coefficients: drawn at random but *alike* in both orders of a pair, ``beta_ij = beta_ji``, for the
    pairs of Def. S1.3; and the *exact* ones of a Transformer of one layer and one head, for the pairs that it
    attends to.
    """
    vocabulary = list(dict.fromkeys(WORDS))
    tokens = torch.tensor([vocabulary.index(word) for word in WORDS])
    n = len(WORDS)
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n, n_vocab=len(vocabulary), d_mlp=0)
    model = ToyTransformer.random(config, seed)
    drawn = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    shown = {}
    for objective in Objective:
        masked = torch.arange(n) % 3 == 1 if objective is Objective.MASKED else None
        g = model.run(tokens, objective, masked).gradient(0)
        exact = exact_coefficients(g.layer.weights, g.layer.values, g.errors, config.score_scale)[0]
        pairs = context_matrix(objective, n, masked)
        held = torch.zeros(n, dtype=torch.bool) if masked is None else masked
        shown[objective.value] = {
            "words": [MASK if hidden else word for word, hidden in zip(WORDS, held.tolist(), strict=True)],
            "x": g.layer.x.round(decimals=4).tolist(),
            "alike": (pairs * (drawn + drawn.T) / 2**0.5).round(decimals=4).tolist(),
            "exact": exact.round(decimals=4).tolist(),
        }
    return Interactive("painter", shown, painted(shown))
