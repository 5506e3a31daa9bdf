"""How often the encoder has the higher symmetry score, counted in pairs, and the tables of these counts."""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import as_percent
from attngeo.experiments.survey.families import compared, of_families
from chapters.pretrained_survey.choices import ALL, TEXT_ALONE, WITHOUT_FEW_BITS, choices
from chapters.pretrained_survey.measures import MODALITIES, counted, families_of_modality, halves, of_modality
from chapters.pretrained_survey.sizes import pairs_of

CHOICES = {  # of models whose weights were read: as `families.choices` calls them, and as the page does
    ALL: "all models",
    "without models of one layer": "all models with more than one layer",
    WITHOUT_FEW_BITS: "all models with weights that are not rounded to 8 or 4 bits",
    TEXT_ALONE: "language models only",
}


def pairs_won(models: pd.DataFrame) -> tuple[int, int]:
    """Pairs of an encoder and a decoder in which the encoder has the higher s, and how many pairs there are."""
    pairs = pairs_of(models)
    return int((pairs["difference"] > 0).sum()), len(pairs)


def families_won(stacks: pd.DataFrame) -> tuple[int, int]:
    """The same of families, each of which counts once in either group with the mean of its models."""
    families = of_families(stacks, ["symmetry"])
    sides = [families[families["attention"] == kind]["symmetry"] for kind in ("bidirectional", "causal")]
    won = sum(int((s > sides[1]).sum()) for s in sides[0])
    return won, len(sides[0]) * len(sides[1])


def decoder_families(results: pd.DataFrame, modality: str) -> list[str]:
    """Families of the released decoders among the models that `counted` gives."""
    own = counted(modality, results)
    return sorted(own[own["attention"] == "causal"]["family"].unique())


def modalities(results: pd.DataFrame) -> pd.DataFrame:
    """A row per modality of the released models that count: how many there are, and in how many pairs encoders lead."""
    rows = []
    for words, modality in MODALITIES.items():
        if not decoder_families(results, modality):
            continue
        found = of_modality(modality, "s", results)
        families = families_of_modality(modality, "s", results).separation
        pairs = found.n_first * found.n_second
        won = round(found.auc * pairs)
        rows.append(
            {
                "models": words,
                "encoders (families)": f"{found.n_first} ({families.n_first})",
                "decoders (families)": f"{found.n_second} ({families.n_second})",
                "the encoder scores higher": f"{won} of {pairs} pairs ({as_percent(won / pairs)})",
            }
        )
    drawn = halves("s", results)
    if len(drawn):
        won, count = int((drawn["difference"] > 0).sum()), f"{len(drawn)} ({drawn['family'].nunique()})"
        both = {"encoders (families)": count, "decoders (families)": count}
        words = f"{won} of {len(drawn)} models ({as_percent(won / len(drawn))})"
        rows.append({"models": "encoder-decoder language models"} | both | {"the encoder scores higher": words})
    return pd.DataFrame(rows)


def read_here(stacks: pd.DataFrame) -> pd.DataFrame:
    """A row for each choice of the models that we read: families, pairs in which encoders lead, and whether that decides."""
    rows = []
    chosen = choices(stacks)
    for name, words in CHOICES.items():
        won, pairs = families_won(chosen[name])
        sides = of_families(chosen[name], ["symmetry"])["attention"].value_counts()
        if not pairs:
            continue
        found = compared(of_families(chosen[name]), "symmetry")
        rows.append(
            {
                "models compared": words,
                "families (encoders, decoders)": f"{sides['bidirectional']}, {sides['causal']}",
                "the encoder scores higher": f"{won} of {pairs} pairs ({as_percent(won / pairs)})",
                "could be chance": "no" if found.side == 1 else "yes, too few families",
            }
        )
    return pd.DataFrame(rows)
