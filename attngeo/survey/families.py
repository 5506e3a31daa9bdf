"""Families of models as units: models of one family share authors, data or recipe, and count together once."""

from collections.abc import Iterator, Sequence
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
    places = list(zip(rows["model"], rows["part"], strict=True))
    here, known = set(places), {(m.name, m.part): m for m in registry()}
    bases = {place: (m.base, m.part) for place, m in known.items() if (m.base, m.part) in here}
    copies = {place for place, base in bases.items() if known[place].objective == known[base].objective}
    return rows[[place not in copies for place in places]]


def of_families(stacks: pd.DataFrame, scores: Sequence[str] = SCORES) -> pd.DataFrame:
    """A row per family and kind of attention: means over its models of their medians over layers, by `with_kinds`."""
    return stacks.groupby(["family", "attention"], sort=False)[list(scores)].mean().reset_index()


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
        of = self.separation
        return f"{of.auc:.2f} [{of.low:.2f}, {of.high:.2f}], p {self.p:.3f}"


def compared(families: pd.DataFrame, score: str) -> Compared:
    """AUC of ``score``, bidirectional against causal self-attention, over `of_families`."""
    encoders, decoders = _sides(families, score)
    separated = separation([*encoders.values()], [*decoders.values()], list(encoders), list(decoders))
    return Compared(separated, *exchange_test(encoders, decoders), least_told(len(encoders), len(decoders)))


def _sides(families: pd.DataFrame, score: str) -> Iterator[dict[str, float]]:
    """Encoders and decoders: family -> score."""
    kinds = (families[families["attention"] == kind] for kind in GROUPS.values())
    return (side.set_index("family")[score].to_dict() for side in kinds)


def beaten(families: pd.DataFrame, score: str) -> dict[str, int]:
    """Encoder families that some family's decoder equals or exceeds, and by how many decoders: the pairs lost."""
    encoders, decoders = _sides(families, score)
    lost = {family: sum(s >= value for s in decoders.values()) for family, value in encoders.items()}
    return {family: count for family, count in lost.items() if count}


def choices(stacks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same comparison on fewer models: words for it -> stacks."""
    fine = ~stacks["precision"].isin(FEW_BITS)
    alone = stacks.groupby("model")["part"].transform("nunique") == 1
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
    for words, of in compared_by_choice(stacks).items():
        sizes = of["s"].separation
        rows.append((words, sizes.n_first, sizes.n_second, *map(str, of.values())))
    return pd.DataFrame(rows, columns=["models", "families of encoders", "of decoders", *TOLD_BY])


def other_answers(stacks: pd.DataFrame) -> dict[tuple[str, str], Compared]:
    """Choices whose interval lies on another side of 1/2, or holds it, than that of all: (formula, choice) -> it."""
    every = compared_by_choice(stacks)
    return {
        (formula, words): of[formula]
        for formula in TOLD_BY
        for words, of in every.items()
        if of[formula].side != every[ALL][formula].side
    }
