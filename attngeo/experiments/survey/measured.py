"""Scores of surveyed models: from their records or, where the weights are available, computed again."""

from functools import cache
from pathlib import Path

import pandas as pd

from attngeo.bilinear.rows import COLUMNS, SCORES, TEXT, WHOLE
from attngeo.bilinear.scores import GAMMA
from attngeo.checkpoints.tables import score_table
from attngeo.experiments.survey.models import local_weights, registry
from attngeo.experiments.survey.record import RecordError
from attngeo.files.checkout import data
from attngeo.inputs import cause


def read_records(folder: Path) -> pd.DataFrame:
    """Every finished record under ``data/survey``: the long table of all models.

    Raises:
        RecordError: there is no record, or one is damaged.
    """
    finished = sorted(folder.glob("*/record.json"))
    if not finished:
        raise RecordError(f"{folder} does not contain survey records; create them with 'attngeo survey'.")
    files = [path.with_name(name) for path in finished for name in ("layers.csv", "heads.csv")]
    tables = [_table(file, _written(file)) for file in files]
    return pd.concat(tables, ignore_index=True)


def measured(models: list[str], gamma: float = GAMMA, folder: Path | None = None) -> pd.DataFrame:
    """Scores for a page, from the weights if they can be read, and otherwise from the record.

    Args:
        models: names of the registry, folders or Hub ids; all recorded models if the list is empty.
        gamma: threshold of directionality.
        folder: where the records are; data/survey if it is None.

    Returns:
        The long score table with ``model`` as the registry names it, and a column ``origin``: "weights" or "record".

    Raises:
        RecordError: weights are needed, as for another gamma than the recorded one, and cannot be read.
    """
    table = named(read_records(folder or data("survey"))).assign(origin="record")
    records, weights = dict(list(table.groupby("model", sort=False))), local_weights()
    parts = []
    for model in models or records:
        if model in weights or model not in records:
            table = score_table(weights.get(model, model), gamma).to_dataframe()
            parts.append(named(table).assign(origin="weights"))
        elif (records[model]["gamma"] == gamma).all():
            parts.append(records[model])
        else:
            recorded = records[model]["gamma"].iloc[0]
            raise RecordError(
                f"{model} is recorded for gamma = {recorded:g}; for {gamma:g}, its weights are needed; set"
                " ATTNGEO_WEIGHTS to the folder that contains them."
            )
    return pd.concat(parts, ignore_index=True)


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``model`` as the registry names it. A model that the registry does not know keeps its own name.

    If a model is in the table twice, from the Hub and from a folder in ATTNGEO_WEIGHTS, we keep the rows from the Hub.
    """
    on_hub = {m.hub_id: m.name for m in registry() if m.hub_id}
    held = {m.weights_folder: m.name for m in registry() if m.weights_folder}
    twice = set(held.values()) & {on_hub[m] for m in set(table["model"]) & on_hub.keys()}
    table = table[[held.get(m) not in twice for m in table["model"]]]
    names = held | on_hub
    return table.assign(model=table["model"].map(lambda m: names.get(m, m)))


def layer_medians(layers: pd.DataFrame) -> pd.DataFrame:
    """The median over layers and the distances to the quartiles, as in Tables S2 and S3, for sums over heads.

    One row per model and part: n_layers and, for each score, ``<score>``, ``<score>_minus`` (median - Q1) and
    ``<score>_plus`` (Q3 - median). Quartiles are interpolated linearly.
    """
    stacks = layers.groupby(["model", "part"], sort=False)
    low, middle, high = (
        stacks[list(SCORES)].agg(pd.Series.quantile, q=share)  # quartiles skip layers without a score
        for share in (0.25, 0.5, 0.75)
    )
    rows = middle.join([(middle - low).add_suffix("_minus"), (high - middle).add_suffix("_plus")])
    return rows.assign(n_layers=stacks.size()).reset_index()


def read_quantised(folder: Path) -> pd.DataFrame:
    """Scores of recorded layers with rounded weights: the columns of ``layers.csv``, and scheme.

    Models are named as in the registry.

    Raises:
        RecordError: none is recorded, or one is damaged.
    """
    tables = [_table(file, _written(file), "scheme") for file in sorted(folder.glob("*/quantised.csv"))]
    if not tables:
        raise RecordError(
            f"{folder} does not contain records of rounded weights; create them with 'attngeo survey --quantise'."
        )
    return named(pd.concat(tables, ignore_index=True))


def _written(file: Path) -> int:
    """When a file was written, in ns; 0 if there is none."""
    return file.stat().st_mtime_ns if file.exists() else 0


@cache  # pages read the same records several times
def _table(path: Path, written: int, *more: str) -> pd.DataFrame:
    """A table that `attngeo.experiments.survey.record` wrote, in which an empty text is not a missing number."""
    columns = (*more, *COLUMNS)
    kinds = dict.fromkeys(columns, "float64") | dict.fromkeys(WHOLE, "int64") | dict.fromkeys((*more, *TEXT), str)
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False)
        if odd := sorted({*columns} ^ {*table.columns}):
            raise ValueError(f"a column is missing or should not be there: {odd[0]}")
    except (OSError, ValueError, OverflowError) as error:
        raise RecordError(f"The survey record {path} cannot be read ({cause(error)}); survey it again.") from None
    return table
