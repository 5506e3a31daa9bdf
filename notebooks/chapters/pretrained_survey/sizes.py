"""Symmetry and the number of parameters: of the authors' released scores, and of the models of text read here."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.experiments.survey.models import registry
from chapters.pretrained_survey.parameters import recorded_parameters

EQUAL = 2  # two models are of equal size if one has at most so many times the parameters of the other
PARTS = {"bidirectional": "encoder", "causal": "decoder"}
TOYS = "stories"  # in the name of a model or a family: trained on TinyStories, short stories made for small models
CLASSES = {  # of sizes, in parameters: from, below
    "below 30 million": (0, 30e6),
    "30 to 200 million": (30e6, 200e6),
    "200 million to 1 billion": (200e6, 1e9),
    "1 billion and more": (1e9, np.inf),
}


def released_by_size(results: pd.DataFrame) -> pd.DataFrame:
    """Distinct, trained, correctly extracted language models of Figure 2, each a whole encoder or a whole decoder.

    Returns:
        Columns model, family, part, positions, parameters (as the authors' file states them), s.
    """
    return _of_parts(results[results["counted"] & (results["figure"] == "2")])


def halves_by_size(results: pd.DataFrame) -> pd.DataFrame:
    """The same of the encoders and the decoders of Figure S2, each half with the parameters of the whole model."""
    return _of_parts(results[results["figure"] == "S2"])


def read_by_size(stacks: pd.DataFrame) -> pd.DataFrame:
    """The same of the models of text whose weights were read; the halves of a model have the parameters of the whole.

    Models without a known number of parameters are left out (`chapters.pretrained_survey.parameters`).
    """
    text = stacks[stacks["modality"] == "text"]
    sized = text.assign(parameters=text["model"].map(recorded_parameters()), s=text["symmetry"])
    sized = sized.dropna(subset="parameters")
    kinds = {(model.name, model.part): model.positions for model in registry()}
    return _of_parts(sized.assign(positions=[kinds[at] for at in zip(sized["model"], sized["part"], strict=True)]))


def _of_parts(models: pd.DataFrame) -> pd.DataFrame:
    """The encoders and decoders among the models."""
    own = models[models["attention"].isin(PARTS)]
    own = own.assign(part=own["attention"].map(PARTS), parameters=own["parameters"].astype(float))
    return own[["model", "family", "part", "positions", "parameters", "s"]].reset_index(drop=True)


def rank_correlation(models: pd.DataFrame, part: str) -> float:
    """Spearman's rank correlation of s with the number of parameters, of the encoders or of the decoders."""
    chosen = models[models["part"] == part]
    return float(spearmanr(chosen["parameters"], chosen["s"]).statistic)


def with_learned_positions(released: pd.DataFrame) -> pd.DataFrame:
    """The encoders with learned position embeddings, among which the type of positional encoding is the same."""
    return released[(released["part"] == "encoder") & (released["positions"] == "learned")]


def pairs_of(models: pd.DataFrame) -> pd.DataFrame:
    """Every pair of an encoder and a decoder, with the encoder's s minus the decoder's."""
    encoders, decoders = (models[models["part"] == part] for part in PARTS.values())
    pairs = encoders.merge(decoders, how="cross", suffixes=(" of encoder", " of decoder"))
    return pairs.assign(difference=pairs["s of encoder"] - pairs["s of decoder"])


def of_equal_size(models: pd.DataFrame) -> pd.DataFrame:
    """`pairs_of` an encoder and a decoder of equal size (`EQUAL`)."""
    pairs = pairs_of(models)
    ratio = pairs["parameters of encoder"] / pairs["parameters of decoder"]
    return pairs[(ratio <= EQUAL) & (ratio >= 1 / EQUAL)]


def size_table(models: pd.DataFrame) -> pd.DataFrame:
    """Median s of encoders and of decoders in each class of sizes, with how many models there are."""
    return pd.DataFrame(_class_rows(models))


def _class_rows(models: pd.DataFrame) -> Iterator[dict[str, str]]:
    for name, (least, most) in CLASSES.items():
        of_class = models[(models["parameters"] >= least) & (models["parameters"] < most)]
        row = {"parameters": name}
        for part in PARTS.values():
            s = of_class[of_class["part"] == part]["s"]
            row[f"median s of {part}s"] = f"{number(s.median(), 2)} ({len(s)})" if len(s) else "no model"
        yield row
