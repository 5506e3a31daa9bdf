"""One attention layer that reads a sentence of six words, step by step, with and without a causal mask."""

import numpy as np
import torch

from attngeo.gradients.objectives import Objective
from attngeo.gradients.toy_transformer import WORDS, sentence_model
from attngeo.plot.style import CaptionedFigure, house_style, new_figure, signed_image
from livingpaper.display.interactive import Interactive

MASKS = {"causal": Objective.AUTOREGRESSIVE, "none": Objective.BIDIRECTIONAL}


def forward_pass(seed: int = 0) -> Interactive:
    """Embeddings, queries and keys, raw scores, weights, mixed values, outputs and probabilities (Eqs. 1 to 3)."""
    model, passes = sentence_model(seed, d=len(WORDS)), {}
    for mask, objective in MASKS.items():
        run = model.run(torch.arange(len(WORDS)), objective)
        layer, form = run.layers[0], model.form(0)
        quantities = {
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
    return Interactive("forward_pass", {"words": WORDS, "passes": passes}, _still(passes))


@house_style()
def _still(passes: dict[str, dict[str, list]]) -> CaptionedFigure:
    """What one attention layer computes, by mask and quantity a row for each of the words, and what a mask changes."""
    causal, none = passes["causal"], passes["none"]
    shown = {name: causal[name] for name in ("embeddings", "queries", "keys")} | {"raw scores": causal["scores"]}
    for name, held in (("causal mask", causal), ("no mask", none)):
        shown |= {f"weights, {name}": held["weights"], f"outputs, {name}": held["outputs"]}
    figure, panels = new_figure(9, 4.9, 2, 4)
    for panel, (title, values) in zip(panels.flat, shown.items(), strict=True):
        seen, m = np.array(causal["attended"]), np.array(values)
        hidden = (seen == 0) & (title == "weights, causal mask")
        signed_image(panel, np.where(hidden, np.nan, m))
        panel.set_title(title, fontsize=9)
        panel.set_yticks(range(len(WORDS)), WORDS)
        of_tokens = "scores" in title or "weights" in title
        panel.set_xticks(range(m.shape[1]), WORDS if of_tokens else [""] * m.shape[1], rotation=90)
        panel.set_xlabel("attended token" if of_tokens else "coordinate", fontsize=9)
    caption = """One attention layer reads *the dog met my old cat*, one word in each row. Positive values are red and negative values are blue, and each picture has its own scale. The weights of the layer are random,
        so its predictions are meaningless. A causal mask does not change the raw scores, but it hides later tokens. With this mask, the
        first token attends only to itself. The last token sees all tokens with and without the mask, so its output does not change."""
    alt = f"""Eight heat maps with one row for each of {len(WORDS)} tokens: embeddings, queries, keys and raw scores, then
        weights and outputs with a causal mask and without a mask. The causal weights fill the lower triangle, and the
        weights without a mask fill the whole square."""
    return CaptionedFigure(figure, "fig-forward-pass", caption, alt)
