"""Encoders against decoders again on fewer models, such as language models alone, and the pairs that encoders lose."""

import pandas as pd

from attngeo.experiments.survey.families import GROUPS, Compared, compared, of_families, sides

FEW_BITS = ("8-bit", "4-bit")  # precisions of weights that are rounded coarsely
TOLD_BY = {"s": "symmetry", "d": "directionality", "d as in Table S3": "directionality_tables"}
ALL = "all"
WITHOUT_FEW_BITS = "without 8- and 4-bit weights"
TEXT_ALONE = "text alone"
ONLY = "encoder-only or decoder-only"
OBJECTIVES = "one part, trained first on masked or on next tokens"


def beaten(families: pd.DataFrame, score: str) -> dict[str, int]:
    """Encoder families that some family's decoder equals or exceeds, and by how many decoders: the pairs lost."""
    encoders, decoders = sides(families, score)
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
