"""Families of models as units: models of one family share authors, data or recipe, and count together once."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attngeo.survey.auc import Separation, exchange_test, least_told, separation
from attngeo.survey.models import registry
from attngeo.survey.score_table import SCORES

GROUPS = {"encoder": "bidirectional", "decoder": "causal"}
KINDS = ["family", "attention", "modality", "precision", "base", "objective"]
FEW_BITS = ("8-bit", "4-bit")  # precisions of weights that are rounded coarsely


def with_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with model and part, and what the registry says of them: KINDS.

    A model that the registry does not know is a family of its own, bidirectional where it is an encoder.
    """
    known = pd.DataFrame(registry()).rename(columns={"name": "model"})[["model", "part", *KINDS]]
    joined = rows.merge(known, how="left", on=["model", "part"], validate="m:1")
    by_part = joined["part"].map({**GROUPS, "cross": "cross"})
    joined = joined.assign(
        family=joined["family"].fillna(joined["model"]), attention=joined["attention"].fillna(by_part)
    )
    return joined.fillna(dict.fromkeys(KINDS, ""))


def of_families(stacks: pd.DataFrame, scores: Sequence[str] = SCORES) -> pd.DataFrame:
    """One row per family and kind of attention: means over its models of their medians over layers, by `with_kinds`.

    Columns family, attention, n_models, n_layers and the scores.
    """
    means = {score: (score, "mean") for score in scores}
    grouped = stacks.groupby(["family", "attention"], sort=False)
    return grouped.agg(n_models=("model", "nunique"), n_layers=("n_layers", "sum"), **means).reset_index()


@dataclass(frozen=True)
class Compared:
    """Encoders against decoders, a family counting once in either group."""

    separation: Separation
    p: float  # of `exchange_test`
    n_exchanges: int
    least: float  # `least_told` of as many families


def compared(families: pd.DataFrame, score: str) -> Compared:
    """AUC of ``score``, bidirectional against causal self-attention, over `of_families`.

    Raises:
        ParameterError: either group is empty.
    """
    encoders, decoders = (
        families[families["attention"] == kind].set_index("family")[score] for kind in GROUPS.values()
    )
    found = separation(encoders.to_numpy(), decoders.to_numpy(), list(encoders.index), list(decoders.index))
    p, n = exchange_test(encoders.to_dict(), decoders.to_dict())
    return Compared(found, p, n, least_told(len(encoders), len(decoders)))


def choices(stacks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same comparison on fewer models: words for it -> stacks."""
    return {
        "all": stacks,
        "without 8- and 4-bit weights": stacks[~stacks["precision"].isin(FEW_BITS)],
        "without models of one layer": stacks[stacks["n_layers"] > 1],
        "without encoder-decoder models": stacks[stacks.groupby("model")["part"].transform("nunique") == 1],
        "text alone": stacks[stacks["modality"] == "text"],
    }


def choices_table(stacks: pd.DataFrame) -> pd.DataFrame:
    """AUC of both scores over families for each of the `choices` that leaves families on both sides.

    Columns models, encoders, decoders (families) and, for s, d (Definition 3.2) and d (as in Table S3), the AUC with
    its interval and p as text.
    """
    rows = []
    for words, chosen in choices(stacks).items():
        families = of_families(chosen)
        if not set(GROUPS.values()) <= set(families["attention"]):
            continue
        found = {score: compared(families, score) for score in ("symmetry", "directionality", "directionality_tables")}
        cells = [
            f"{c.separation.auc:.2f} [{c.separation.low:.2f}, {c.separation.high:.2f}], p {c.p:.3f}"
            for c in found.values()
        ]
        sizes = next(iter(found.values())).separation
        rows.append((words, sizes.n_first, sizes.n_second, *cells))
    columns = ["models", "families of encoders", "of decoders", "s", "d", "d as in Table S3"]
    return pd.DataFrame(rows, columns=columns)
