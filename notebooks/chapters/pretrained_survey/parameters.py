"""How many parameters the recorded models of text have, and where each number is from.

    python -m chapters.pretrained_survey.parameters    # writes data/survey/parameters.csv; needs ATTNGEO_WEIGHTS

A number is that of the authors' released file (``data/published/released_medians.csv``) where this file has the model,
or the model that it was fine-tuned from without a change of shape. Otherwise it is counted: the model is built from its
``config.json`` without weights, and without the head that predicts tokens, as the released file counts. A configuration
that leaves a size out is refused, because a library would put its default in place.
"""

import json
from functools import cache
from pathlib import Path

import pandas as pd

from attngeo.errors import AttngeoError
from attngeo.experiments.survey.measured import named, read_records
from attngeo.experiments.survey.models import local_weights, registry
from attngeo.files.atomic import write_text
from attngeo.files.checkout import data
from livingpaper.released_results import released_results

FILE = "parameters.csv"
SIZES = {  # what a configuration has to state, by model type
    "bert": "hidden_size intermediate_size num_hidden_layers vocab_size max_position_embeddings type_vocab_size",
    "llama": "hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads vocab_size",
}


class SizeError(AttngeoError):
    """The parameters of a model cannot be counted."""


@cache
def recorded_parameters() -> dict[str, int]:
    """Parameters of the recorded models of text, by the name of the registry."""
    rows = pd.read_csv(data("survey") / FILE)
    return dict(zip(rows["model"], rows["parameters"].astype(int), strict=True))


def released_parameters() -> dict[str, int]:
    """Parameters as the authors' file states them, by the name of the registry; of whole models."""
    results = released_results()
    stated = results[results["parameters"].notna() & (results["model"] != "")]
    return {model: int(rows.iloc[0]) for model, rows in stated.groupby("model")["parameters"]}


def counted_from_config(folder: Path) -> int:
    """Parameters of a model without its head, from its ``config.json``.

    Raises:
        SizeError: the configuration leaves a size out.
    """
    from torch import device
    from transformers import AutoConfig, AutoModel

    stated = json.loads((folder / "config.json").read_text("utf-8"))
    needed = SIZES.get(stated["model_type"], "").split()
    if not needed:
        raise SizeError(
            f"The parameters of {folder.name} were not counted: for the model type {stated['model_type']} nobody has"
            " written down which sizes a config.json has to state; add them to SIZES."
        )
    if missing := [key for key in needed if key not in stated]:
        raise SizeError(
            f"The parameters of {folder.name} cannot be counted: its config.json does not state {missing[0]}; take the"
            " complete config.json of the model."
        )
    with device("meta"):
        model = AutoModel.from_config(AutoConfig.from_pretrained(folder))
    return sum(parameter.numel() for parameter in model.parameters())


def parameters_table() -> pd.DataFrame:
    """Columns model, parameters, source: a row per recorded model of text, but for those that cannot be counted."""
    released, folders = released_parameters(), local_weights(needed=True)
    recorded = set(named(read_records(data("survey")))["model"])
    rows = {}
    for model in registry():
        if model.name not in recorded or model.modality != "text":
            continue
        stated = next((name for name in (model.name, model.base) if name in released), None)
        if stated is not None:
            row = {"parameters": released[stated], "source": f"released_medians.csv, {stated}"}
        else:
            try:
                row = {"parameters": counted_from_config(Path(folders[model.name])), "source": "config.json"}
            except SizeError as error:
                print(error)  # to whoever runs the command
                continue
        rows[model.name] = {"model": model.name} | row
    return pd.DataFrame(rows.values())


if __name__ == "__main__":
    write_text(data("survey") / FILE, parameters_table().to_csv(index=False))
