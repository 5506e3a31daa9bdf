"""What s of W_qk does not see: the symmetry of the mean scores between places, beside s."""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.experiments.survey import scores_between_places
from attngeo.files.checkout import data

RELEASED = {  # what a reader knows these models by
    "all-MiniLM-L6-v2": ("MiniLM, released", "encoder", "learned"),
    "SmolLM2-135M-Instruct": ("SmolLM2, released", "decoder", "rotary"),
}
TRAINED = {"table": "learned", "rotary": "rotary", "none": "none"}  # arms of why_agreement
COLUMNS = {"symmetry": "s of W_qk", "between_places": "s of the mean scores between positions"}


def trained() -> pd.DataFrame | None:
    """Medians over layers of the runs of why_agreement whose models were measured, with their arm; None without any."""
    file = data("runs", "why_agreement") / "scores_between_places.csv"
    if not file.exists():
        return None
    medians = pd.read_csv(file).groupby("run", as_index=False)[list(COLUMNS)].median()
    medians["arm"] = medians["run"].str.rpartition("-")[0]
    return medians


def places_table(with_ours: bool) -> pd.DataFrame:
    """A row for each released model, and for each type of positional encoding of our encoders that were measured.

    Args:
        with_ours: whether all runs of why_agreement are complete; its plan allows no comparison of arms before.
    """
    medians = scores_between_places.recorded().groupby("model")[list(COLUMNS)].median()
    rows = [
        dict(zip(("model", "objective", "positional encoding", "seeds"), (*words, "–"), strict=True))
        | {title: medians.loc[model, column] for column, title in COLUMNS.items()}
        for model, words in RELEASED.items()
    ]
    ours = trained() if with_ours else None
    if ours is not None:
        for arm, words in TRAINED.items():
            chosen = ours[ours["arm"] == arm]
            if len(chosen):
                rows.append(
                    {"model": "ours, small", "objective": "encoder", "positional encoding": words}
                    | {"seeds": str(len(chosen))}
                    | {title: chosen[column].mean() for column, title in COLUMNS.items()}
                )
    return pd.DataFrame(rows)


def told_of_ours(rows: pd.DataFrame) -> str:
    """What our small encoders add to the objection; chosen by what has been measured."""
    ours = rows[rows["model"] == "ours, small"].set_index("positional encoding")[COLUMNS["between_places"]]
    if not {"learned", "rotary"} <= set(ours.index):
        return (
            "We have not measured these scores in our own small encoders, because the models of the experiments above were"
            " not kept. So we do not know whether replacing the position embeddings makes their attention less symmetric."
        )
    learned, rotary = ours["learned"], ours["rotary"]
    measured = (
        "We also measured these scores in our own small encoders, which was not planned. The symmetry of the mean scores"
        f" between positions is {number(learned, 2)} with learned position embeddings and {number(rotary, 2)} with rotary"
        " positions."
    )
    if rotary > 0.5:
        return f"{measured} So attention between positions stays symmetric, and only $W_{{qk}}$ loses its symmetry."
    if rotary < learned / 2:
        return f"{measured} So in these encoders the attention between positions becomes less symmetric, too."
    return f"{measured} So the attention between positions loses some of its symmetry, but less than $W_{{qk}}$ does."
