"""What s of W_qk does not see: the symmetry of the mean scores between places, beside s."""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.files.checkout import data

RELEASED = {  # what a reader knows these models by
    "all-MiniLM-L6-v2": ("MiniLM, released", "encoder", "learned"),
    "SmolLM2-135M-Instruct": ("SmolLM2, released", "decoder", "rotary"),
}
TRAINED = {"table": "learned", "rotary": "rotary"}  # arms of why_agreement; without positions there is nothing to see
OURS = "ours, small"
COLUMNS = {"symmetry": "s of W_qk", "between_places": "s of the mean scores between positions"}


def trained() -> pd.DataFrame | None:
    """Medians over layers of the runs of why_agreement whose models were measured, with their arm; None without any."""
    file = data("runs", "why_agreement") / "scores_between_places.csv"
    if not file.exists():
        return None
    medians = pd.read_csv(file).groupby("run", as_index=False)[list(COLUMNS)].median()
    medians["arm"] = medians["run"].str.rpartition("-")[0]
    return medians


def places_table() -> pd.DataFrame:
    """A row for each released model, and for each type of positional encoding of our encoders that were measured."""
    medians = pd.read_csv(data("positions", "scores_between_places.csv")).groupby("model")[list(COLUMNS)].median()
    rows = [
        dict(zip(("model", "objective", "positional encoding", "seeds"), (*words, "–"), strict=True))
        | {title: medians.loc[model, column] for column, title in COLUMNS.items()}
        for model, words in RELEASED.items()
    ]
    ours = trained()
    if ours is not None:
        for arm, words in TRAINED.items():
            chosen = ours[ours["arm"] == arm]
            if len(chosen):
                rows.append(
                    {"model": OURS, "objective": "encoder", "positional encoding": words}
                    | {"seeds": str(len(chosen))}
                    | {title: chosen[column].mean() for column, title in COLUMNS.items()}
                )
    return pd.DataFrame(rows)


SYMMETRIC = 0.5  # above which we call the mean scores symmetric


def of_ours(rows: pd.DataFrame) -> tuple[float, float] | None:
    """Symmetry of the mean scores of our encoders with learned and with rotary positions; None if one is missing."""
    ours = rows[rows["model"] == OURS].set_index("positional encoding")[COLUMNS["between_places"]]
    return (ours["learned"], ours["rotary"]) if {"learned", "rotary"} <= set(ours.index) else None


def told_of_ours(rows: pd.DataFrame) -> str:
    """What our small encoders add to the objection; chosen by what has been measured."""
    found = of_ours(rows)
    if found is None:
        return (
            "We have not measured these scores in our own small encoders, because the models of the experiments above were"
            " not kept. We therefore do not know whether replacing their position embeddings makes their attention less"
            " symmetric."
        )
    learned, rotary = found
    measured = (
        "We also measured the mean attention scores between positions in our own small character-level encoders. Their"
        f" symmetry score is {number(learned, 2)} in encoders with learned position embeddings and {number(rotary, 2)}"
        " in encoders with rotary position embeddings."
    )
    if rotary > SYMMETRIC:
        follows = (
            "So with rotary position embeddings, the attention scores between positions remain symmetric, although $W_{qk}$"
            " does not."
        )
    elif rotary < learned / 2:
        follows = "So in these encoders, the attention scores between positions become less symmetric as well."
    else:
        follows = "So the attention scores between positions lose some of their symmetry, but less than $W_{qk}$."
    return (
        f"{measured} {follows} We had not planned this measurement. We first made this measurement while some training"
        " runs of the experiment were still unfinished, and we later repeated it with every model that had been saved."
    )


def in_short(rows: pd.DataFrame) -> str:
    """The objection in a sentence for the head of the page; empty if our encoders do not confirm it."""
    found = of_ours(rows)
    if found is None or found[1] <= SYMMETRIC:
        return ""
    learned, rotary = (number(value, 2) for value in found)
    return (
        " This is a finding about $W_{qk}$ and not about attention. In some of our encoders, we also measured the"
        " mean attention scores between positions. The matrix of these mean scores is symmetric even in encoders with"
        f" rotary position embeddings (its symmetry score is {rotary}, compared with {learned} in encoders with learned"
        " position embeddings)."
    )
