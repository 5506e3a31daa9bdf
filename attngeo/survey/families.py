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
TOLD_BY = {"s": "symmetry", "d": "directionality", "d as in Table S3": "directionality_tables"}
ALL, WITHOUT_FEW_BITS, TEXT_ALONE = "all", "without 8- and 4-bit weights", "text alone"
ONLY, OBJECTIVES = "encoder-only or decoder-only", "one part, trained first on masked or on next tokens"


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


def distinct(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with model and part, without weights that are among them twice: a copy of its base, trained no further."""
    here = set(zip(rows["model"], rows["part"], strict=True))
    trained_on = {(m.name, m.part): m.objective for m in registry()}
    copies = {
        (m.name, m.part) for m in registry() if (m.base, m.part) in here and trained_on[m.base, m.part] == m.objective
    }
    return rows[[own not in copies for own in zip(rows["model"], rows["part"], strict=True)]]


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

    @property
    def side(self) -> int:
        """1 or -1 where the interval of AUC lies above or below 1/2, 0 where it holds it."""
        return int(self.separation.low > 0.5) - int(self.separation.high < 0.5)

    def __str__(self) -> str:
        found = self.separation
        return f"{found.auc:.2f} [{found.low:.2f}, {found.high:.2f}], p {self.p:.3f}"


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


def beaten(families: pd.DataFrame, score: str) -> dict[str, int]:
    """Encoder families that some family's decoder equals or exceeds, and by how many decoders: the pairs lost."""
    own = {kind: families[families["attention"] == kind].set_index("family")[score] for kind in GROUPS.values()}
    counts = {family: int((own["causal"] >= value).sum()) for family, value in own["bidirectional"].items()}
    return {family: count for family, count in counts.items() if count}


def one_part(stacks: pd.DataFrame) -> pd.Series:
    """Whether a row's model has one part alone: encoder-only or decoder-only."""
    return stacks.groupby("model")["part"].transform("nunique") == 1


def choices(stacks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same comparison on fewer models: words for it -> stacks."""
    fine = ~stacks["precision"].isin(FEW_BITS)
    alone = one_part(stacks)
    masked, following = (stacks["objective"].str.startswith(words) for words in ("masked", "next"))
    return {
        ALL: stacks,
        WITHOUT_FEW_BITS: stacks[fine],
        "without models of one layer": stacks[stacks["n_layers"] > 1],
        ONLY: stacks[alone],
        f"{ONLY}, {WITHOUT_FEW_BITS}": stacks[alone & fine],
        OBJECTIVES: stacks[alone & (masked | following)],
        TEXT_ALONE: stacks[stacks["modality"] == "text"],
    }


def compared_by_choice(stacks: pd.DataFrame) -> dict[str, dict[str, Compared]]:
    """For each of the `choices` that leaves families on both sides, each of TOLD_BY: words -> words -> comparison."""
    every = {words: of_families(chosen) for words, chosen in choices(stacks).items()}
    return {
        words: {formula: compared(families, score) for formula, score in TOLD_BY.items()}
        for words, families in every.items()
        if set(GROUPS.values()) <= set(families["attention"])
    }


def choices_table(stacks: pd.DataFrame) -> pd.DataFrame:
    """Columns models, encoders, decoders (families) and, for each of TOLD_BY, AUC, interval and p as text."""
    rows = []
    for words, found in compared_by_choice(stacks).items():
        sizes = next(iter(found.values())).separation
        rows.append((words, sizes.n_first, sizes.n_second, *map(str, found.values())))
    return pd.DataFrame(rows, columns=["models", "families of encoders", "of decoders", *TOLD_BY])


def other_answers(stacks: pd.DataFrame) -> dict[tuple[str, str], Compared]:
    """Choices whose interval lies on another side of 1/2, or holds it, than that of all: (formula, choice) -> it."""
    found = compared_by_choice(stacks)
    return {
        (formula, words): own[formula]
        for formula in TOLD_BY
        for words, own in found.items()
        if own[formula].side != found[ALL][formula].side
    }
