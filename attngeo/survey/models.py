"""The models of the survey and what the paper's results are about.

data/models.csv             each model and part: what it is, where its weights are
data/released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
"""

import re

import pandas as pd

from attngeo.errors import ParameterError
from attngeo.paper.published import released_medians
from attngeo.records.checkout import read_table

# what is known against a released result; each code stands in ``defects`` of data/released_results.csv
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

_MODELS = (
    "name hub_id revision part modality family objective attention model_type licence access weights_folder precision "
    "base note"
).split()
_RESULTS = "file key model part figure drawn_as row defects".split()


def registry() -> pd.DataFrame:
    """The models of the survey: one row per model and part.

    Returns:
        Columns name, hub_id (empty where it is on no Hub), revision (empty for the newest), part (encoder, decoder or
        cross), modality, family, objective, attention (bidirectional, causal or cross), model_type, licence, access,
        weights_folder (in ATTNGEO_WEIGHTS), precision (of these weights, where they are rounded), base (the model
        whose weights these were, before fine-tuning or rounding), note; and from the released results printed (rows
        such as ``S2:L1``), figures, and defects (``L13:head-pairing``); all text.

    Raises:
        CheckoutError: a table cannot be read.
    """
    models = read_table("models.csv", dict.fromkeys(_MODELS, str))
    results = read_table("released_results.csv", dict.fromkeys(_RESULTS, str))
    by_model = dict(list(results[results["model"] != ""].groupby(["model", "part"])))
    none = results.iloc[:0]
    own = [by_model.get(key, none) for key in zip(models["name"], models["part"], strict=True)]
    return models.assign(
        printed=[" ".join(f"{table}:{row}" for row in r["row"] if row for table in _tables(row)) for r in own],
        figures=["; ".join(sorted(set(r["figure"]) - {""})) for r in own],
        defects=[" ".join(f"{t.row}:{d}" for t in r.itertuples() if t.row for d in t.defects.split()) for r in own],
    )


def released_results() -> pd.DataFrame:
    """Every result that the paper's authors released: what it is about, what is known against it, its medians.

    Returns:
        Columns of data/released_results.csv (model is empty where there is none) and of
        `paper.published.released_medians`, modality, family, attention, objective of the model, and ``counted``:
        whether it is a distinct, rightly extracted and trained model.

    Raises:
        CheckoutError: a table cannot be read.
    """
    results = read_table("released_results.csv", dict.fromkeys(_RESULTS, str))
    kinds = read_table("models.csv", dict.fromkeys(_MODELS, str)).rename(columns={"name": "model"})
    kinds = kinds[["model", "part", "modality", "family", "attention", "objective"]]
    joined = results.merge(released_medians(), on=["file", "key"], validate="1:1")
    joined = joined.merge(kinds, on=["model", "part"], how="left", validate="m:1")
    return joined.assign(counted=[not _NOT_COUNTED & set(d.split()) for d in joined["defects"]])


def groups() -> dict[str, list[str]]:
    """Names for sets of models: ``printed``, ``figure-2`` ..., each modality, each family; model names in order."""
    models = registry()
    found: dict[str, list[str]] = {"printed": list(dict.fromkeys(models[models["printed"] != ""]["name"]))}
    labels = [
        *((f"figure-{f}", row.name) for row in models.itertuples(index=False) for f in row.figures.split("; ") if f),
        *zip(models["modality"], models["name"], strict=True),
        *zip(models["family"], models["name"], strict=True),
    ]
    for label, name in labels:
        found.setdefault(re.sub(r"[^a-z0-9.]+", "-", label.lower()), []).append(name)
    return {label: list(dict.fromkeys(names)) for label, names in found.items()}


def group(label: str) -> list[str]:
    """The models of a group.

    Raises:
        ParameterError: there is no such group.
    """
    known = groups()
    if label not in known:
        raise ParameterError(f"there is no group {label!r}; there are {', '.join(known)}.")
    return known[label]


def _tables(row: str) -> tuple[str, ...]:
    # Table S3 lacks the last row of either half of Table S2
    return ("S2",) if row in ("L35", "R35") else ("S2", "S3")
