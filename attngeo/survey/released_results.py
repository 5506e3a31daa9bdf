"""What the paper's authors released about pretrained models, and what is known against it.

released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
"""

import pandas as pd

from attngeo.paper.published import released_medians
from attngeo.survey.models import RESULTS, registry, rows_of

# what is known against a released result; each code stands in ``defects`` of released_results.csv
DEFECTS = {
    "duplicate": "the same checkpoint, scored the same way, has another result",
    "no-such-model": "no model of this name was published; the numbers are those of another row",
    "wrong-name": "the printed name is that of another checkpoint",
    "random-weights": "the network was built from its configuration and never given its trained weights",
    "head-pairing": "query head h was multiplied with key head h mod G and not h // (H / G): H heads share G key heads",
    "head-space": "a fused weight was not transposed: the product lives in head coordinates, not in those of tokens",
    "mixed-heads": "interleaved heads were read as blocks: queries, keys and values of different heads are multiplied",
    "cross-attention": "queries and keys come from two sequences; the causal self-attention was not scored",
    "text-encoder": "the text encoder of an audio model, taken over unchanged from T5",
    "not-causal": "counted as an autoregressive decoder; its attention is bidirectional, its objective supervised",
    "drawn-as-decoder": "a bidirectional encoder in the colour of decoders",
    "vision": "a vision model among language models",
    "other-formula": "directionality disagrees with another result of the same checkpoint whose symmetry is equal",
    "partial-layers": "only some of the layers were scored",
    "one-layer": "one layer, or one shared by all: the distances to the quartiles are 0",
    "fine-tuned": "fine-tuned from another checkpoint in the list, with almost its weights",
}
# with one of these, a result is no further evidence on how a trained model of its kind scores
_NOT_COUNTED = set(DEFECTS) - {"wrong-name", "one-layer", "drawn-as-decoder"}


def released_results() -> pd.DataFrame:
    """Every result that the paper's authors released: what it is about, what is known against it, its medians.

    Columns of released_results.csv (model is empty where there is none) and of `paper.published.released_medians`,
    modality, family, attention, objective of the model, and ``counted``: whether it is a distinct, rightly extracted
    and trained model.

    Raises:
        CheckoutError: a table cannot be read.
    """
    results = pd.DataFrame(rows_of(RESULTS))
    kinds = pd.DataFrame(registry()).rename(columns={"name": "model"})
    kinds = kinds[["model", "part", "modality", "family", "attention", "objective"]]
    joined = results.merge(released_medians(), on=["file", "key"], validate="1:1")
    joined = joined.merge(kinds, on=["model", "part"], how="left", validate="m:1")
    return joined.assign(counted=[not _NOT_COUNTED & set(d.split()) for d in joined["defects"]])
