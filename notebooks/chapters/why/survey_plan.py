"""A planned survey: which models are measured, and what each explanation predicts for them, written beforehand.

``python -m chapters.why.survey_plan FILE FOLDER`` measures the models of the plan and writes

    FOLDER/layers.csv     a row per layer: s, d, the coherences c_S and c_N, and the rank of s among coin tosses
           octaves.csv    a row per layer and octave of its model's table of positions, where there is one
           outcomes.csv   a row per prediction: the value measured, and whether it counts for the prediction or against
           record.json    the plan's SHA-256, the revisions read, what could not be measured and why, versions, date
"""

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import torch
from msgspec import Struct

from attngeo.bilinear.scores import directionality_score
from attngeo.bilinear.waves import octave_scores
from attngeo.checkpoints.architectures.entry import ABSOLUTE
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.errors import CheckpointError, ParameterError
from attngeo.experiments.survey.record import coherence_row, write_provenance
from attngeo.files.provenance import sha256
from attngeo.inputs import read_yaml
from attngeo.experiments.tables import as_command, write_rows

FOR, AGAINST, OPEN = "for", "against", "not measured"


class Planned(Struct, frozen=True, forbid_unknown_fields=True):
    """A model: its name in the plan, its Hub id, and what it was trained on and how it takes positions."""

    name: str
    source: str
    objective: str
    positions: str
    revision: str = ""
    note: str = ""


class Prediction(Struct, frozen=True, forbid_unknown_fields=True):
    """What explanations predict for the median over the layers of a model, or for a difference of two.

    Args:
        measure: a column of layers.csv, or "octave", the symmetry of the waves whose period in positions is
            ``octave`` to below twice that.
        model: a name in the plan.
        minus: another model whose value is subtracted, "" for none.
        predicts: by explanation the least and the greatest value that count for it, None for no bound; any other
            value counts against it.
        octave: shortest period of the waves, for the measure "octave" alone.
        minus_octave: shortest period of waves of the same model whose value is subtracted, 0 for none.
    """

    measure: str
    model: str
    predicts: dict[str, tuple[float | None, float | None]]
    minus: str = ""
    octave: int = 0
    minus_octave: int = 0

    @property
    def words(self) -> str:
        """The quantity in words."""
        name = f"{self.measure} {self.octave}" if self.octave else self.measure
        first = f"{name} of {self.model}"
        if self.minus_octave:
            return f"{first} minus {self.measure} {self.minus_octave}"
        return f"{first} minus that of {self.minus}" if self.minus else first


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """A plan, as its YAML file has it."""

    question: str
    state: str
    measures: dict[str, str]
    explanations: dict[str, str]
    models: list[Planned]
    predictions: list[Prediction]


@dataclass
class Measured:
    """What was measured: rows of the two tables, revisions by model, and why others could not be measured."""

    layers: list[dict] = field(default_factory=list)
    octaves: list[dict] = field(default_factory=list)
    revisions: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file.

    Raises:
        ParameterError: no such file, words that are not those of `Plan`, or predictions about something that the plan
            does not name.
    """

    def refuse(why: str) -> ParameterError:
        return ParameterError(f"{path} is no plan of a survey ({why}); write it as data/survey_plans does.")

    plan: Plan = read_yaml(path, Plan, refuse)
    names = [model.name for model in plan.models]
    if len(names) != len(set(names)):
        raise refuse("two models have one name")
    for prediction in plan.predictions:
        unknown = {prediction.model, prediction.minus} - {*names, ""}
        unknown |= {prediction.measure} - plan.measures.keys()
        unknown |= prediction.predicts.keys() - plan.explanations.keys()
        if unknown:
            raise refuse(f"a prediction is about {sorted(unknown)[0]!r}, which the plan does not name")
        if bool(prediction.octave) != (prediction.measure == "octave"):
            raise refuse(f"the prediction of {prediction.words} needs an octave, or must not have one")
    return plan


def measure_plan(plan: Plan) -> Measured:
    """Measure every layer of every model; a model that cannot be read is noted with the reason.

    Raises:
        CheckpointError: no model could be read, as where the Hub cannot be reached.
    """
    measured = Measured()
    for model in plan.models:
        try:
            _measure(model, measured)
        except CheckpointError as error:
            measured.failed[model.name] = " ".join(f"{error}".split())
        print(model.name, flush=True)
    if not measured.revisions:
        first = next(iter(measured.failed.values()), "the plan names no model.")
        raise CheckpointError(f"no model of the plan could be read; the first: {first}")
    return measured


def _measure(model: Planned, measured: Measured) -> None:
    checkpoint = open_checkpoint(model.source, model.revision or None)
    layers: list[dict] = []
    octaves: list[dict] = []
    for plan, layer in zip(checkpoint.plans, checkpoint, strict=True):
        place = {"model": model.name, "part": layer.part, "layer": layer.layer}
        directionality = float(directionality_score(layer.form.to(torch.float64)))
        layers.append(place | coherence_row(layer) | {"directionality": directionality})
        if plan.positions is not None and plan.positions.kind in ABSOLUTE:
            scores = octave_scores(layer.form, checkpoint.position_rows(plan))
            octaves += [
                place | {"octave": period, "symmetry": float(symmetry), "share": float(share)}
                for period, (symmetry, share) in scores.items()
            ]
    measured.layers += layers
    measured.octaves += octaves
    measured.revisions[model.name] = checkpoint.revision


def outcomes(plan: Plan, measured: Measured) -> list[dict]:
    """A row per prediction and explanation: the value, the bounds, and whether it counts for or against."""
    rows: list[dict] = []
    for prediction in plan.predictions:
        value = _value(prediction, measured)
        for explanation, (least, greatest) in prediction.predicts.items():
            verdict = OPEN
            if not math.isnan(value):
                inside = (least is None or value >= least) and (greatest is None or value <= greatest)
                verdict = FOR if inside else AGAINST
            bounds = {"least": least, "greatest": greatest, "counts": verdict}
            rows.append({"quantity": prediction.words, "value": value, "explanation": explanation} | bounds)
    return rows


def _value(prediction: Prediction, measured: Measured) -> float:
    """The median over layers that a prediction is about, or a difference; NaN where it was not measured."""
    value = _median(prediction.measure, prediction.model, prediction.octave, measured)
    if prediction.minus:
        value -= _median(prediction.measure, prediction.minus, prediction.octave, measured)
    if prediction.minus_octave:
        value -= _median(prediction.measure, prediction.model, prediction.minus_octave, measured)
    return value


def _median(measure: str, model: str, octave: int, measured: Measured) -> float:
    if measure == "octave":
        values = [row["symmetry"] for row in measured.octaves if (row["model"], row["octave"]) == (model, octave)]
    else:
        values = [row[measure] for row in measured.layers if row["model"] == model]
    return median(values) if values else math.nan


def write_outcome(path: Path, plan: Plan, measured: Measured, folder: Path) -> list[dict]:
    """Write the tables and the record into a folder; return the rows of outcomes.csv."""
    rows = outcomes(plan, measured)
    for name, table in (("layers", measured.layers), ("octaves", measured.octaves), ("outcomes", rows)):
        write_rows(folder / f"{name}.csv", table)
    write_provenance(folder, plan=sha256(path), revisions=measured.revisions, failed=measured.failed)
    return rows


def run(path: Path, folder: Path) -> None:
    """Measure the models of a plan, write the tables, and print what counts for and against each explanation.

    Raises:
        CheckpointError: a model could not be measured; the others were.
        ParameterError: the file is no plan.
    """
    plan = read_plan(path)
    measured = measure_plan(plan)
    for row in write_outcome(path, plan, measured, folder):
        print(f"{row['value']:8.3f}  {row['counts']:12}  {row['explanation']:17}  {row['quantity']}")
    if measured.failed:
        reasons = "\n".join(f"{name}: {reason}" for name, reason in measured.failed.items())
        raise CheckpointError(
            f"{reasons}\n{len(measured.failed)} of {len(plan.models)} models not measured; run it again."
        )


if __name__ == "__main__":
    as_command(run, Path(sys.argv[1]), Path(sys.argv[2]))
