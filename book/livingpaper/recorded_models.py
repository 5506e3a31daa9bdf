"""The symmetry of the recorded models, with which `attngeo score` compares a model.

    python -m livingpaper.recorded_models    # writes attngeo/checkpoints/recorded_models.csv

A row for each encoder and decoder that we measured (``data/survey``), and for each one that only the authors of the
paper measured, by their released results that count (`livingpaper.released_results`). Weights that occur twice have one
row.
"""

import pandas as pd

from attngeo.checkpoints.recorded_models import FILE
from attngeo.experiments.survey.families import distinct
from attngeo.experiments.survey.measured import layer_medians, named, read_records
from attngeo.experiments.survey.models import registry
from attngeo.files.atomic import write_text
from attngeo.files.checkout import data
from livingpaper.released_results import released_results

COLUMNS = ["model", "part", "modality", "model_type", "positions", "n_layers", "d_model", "symmetry", "measured_by"]


def recorded_table() -> pd.DataFrame:
    """A row per encoder or decoder, with `COLUMNS`."""
    records = named(read_records(data("survey")))
    layers = records[records["head"] == -1]
    widths = layers.groupby(["model", "part"], sort=False)["d_model"].first().reset_index()
    ours = layer_medians(layers).merge(widths, on=["model", "part"]).assign(measured_by="us")
    released = released_results().rename(columns={"layers": "n_layers", "width": "d_model", "s": "symmetry"})
    theirs = released[released["counted"] & (released["model"] != "")].assign(measured_by="the authors of the paper")
    columns = ["model", "part", "n_layers", "d_model", "symmetry", "measured_by"]
    table = pd.concat([distinct(ours)[columns], theirs[columns]]).drop_duplicates(["model", "part"])
    kinds = pd.DataFrame(registry()).rename(columns={"name": "model"})
    table = table[table["part"] != "cross"].merge(kinds, on=["model", "part"], validate="1:1")
    return table.sort_values(["part", "model"])[COLUMNS]


def recorded_csv() -> str:
    """The content of the file."""
    return recorded_table().to_csv(index=False, float_format="%.4f")


if __name__ == "__main__":
    write_text(FILE, recorded_csv())
