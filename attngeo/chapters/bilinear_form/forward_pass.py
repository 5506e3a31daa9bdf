"""The forward pass of one attention layer on six tokens, quantity by quantity, with a causal mask and without."""

import torch
from torch import Tensor

from attngeo.chapters.bilinear_form.figures import passed_forward
from attngeo.display.interactive import Interactive
from attngeo.updates.objectives import Objective
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

WORDS = ("the", "dog", "met", "my", "old", "cat")  # each once; they are the vocabulary too
MASKS = {"causal": Objective.AUTOREGRESSIVE, "none": Objective.BIDIRECTIONAL}


def forward_pass(seed: int = 0) -> Interactive:
    """Embeddings, queries and keys, raw scores, weights, mixed values, outputs and probabilities (Eqs. 1 to 3)."""
    n = len(WORDS)
    config = ToyConfig(d=n, n_heads=1, n_layers=1, n_tokens=n, n_vocab=n, d_mlp=0)
    model = ToyTransformer.random(config, seed)
    passes = {}
    for mask, objective in MASKS.items():
        run = model.run(torch.arange(n), objective)
        layer, form = run.layers[0], model.form(0)
        quantities: dict[str, Tensor] = {
            "embeddings": layer.x,
            "queries": layer.x @ form.wq[0],
            "keys": layer.x @ form.wk[0],
            "scores": layer.x @ layer.w_qk[0] @ layer.x.T,
            "weights": layer.weights[0],
            "mixed": (layer.weights @ layer.values).sum(0),
            "outputs": layer.attended,
            "probabilities": run.logits.softmax(-1),
        }
        passes[mask] = {name: values.detach().round(decimals=4).tolist() for name, values in quantities.items()}
        passes[mask]["attended"] = layer.mask.int().tolist()
    return Interactive("forward_pass", {"words": WORDS, "passes": passes}, passed_forward(WORDS, passes))
