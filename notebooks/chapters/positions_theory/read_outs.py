"""What is recorded of the read-out in training, and of the intervention on it: numbers that two pages use."""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec
import pandas as pd

from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.files.checkout import data

FIRST, LONGER = "one_sided", "one_sided_longer"  # plans of the intervention
SYMMETRIC = 0.1  # of W_qk, which the plan calls symmetric above it


@cache
def read_outs() -> pd.DataFrame:
    """Medians over layers by arm, seed and step."""
    rows = pd.read_csv(data("positions_theory", "read_outs.csv"))
    rows[["arm", "seed"]] = rows["run"].str.split("-", expand=True)
    return rows.drop(columns="run").groupby(["arm", "seed", "step"]).median().drop(columns="layer")


def evenness_before(encoder: pd.DataFrame, symmetric: float = SYMMETRIC) -> float:
    """At the last checkpoint of a run before s of W_qk passes 0.1 for good."""
    return encoder.loc[encoder["symmetry"] <= symmetric, "evenness"].iloc[-1]


def evenness_in_training() -> tuple[Estimate, Estimate]:
    """Evenness in encoders before s passes 0.1, and at the end the evenness of encoders minus that of decoders."""
    runs = read_outs()
    before = over_seeds([evenness_before(run) for _, run in runs.loc["encoder"].groupby("seed")])
    last = runs["evenness"].groupby(["arm", "seed"]).last()
    return before, over_seeds(last["encoder"] - last["decoder"])


def steps(stage: int, plan: str = FIRST) -> int:
    """Length of a stage of the intervention."""
    return int(pd.read_csv(data("positions_theory", f"{plan}.csv")).query("stage == @stage")["step"].max())


def at_the_end(stage: int, measure: str, plan: str = FIRST) -> pd.DataFrame:
    """Of the intervention at the end of a stage, median over layers: a row per seed, a column per window of stage 1."""
    rows = pd.read_csv(data("positions_theory", f"{plan}.csv")).query("stage == @stage")
    rows = rows[rows["step"] == rows["step"].max()]
    return rows.groupby(["seed", "window"])[measure].median().unstack()


def left_less_both(stage: int, measure: str, plan: str = FIRST) -> Estimate:
    """Windows to the left minus windows to both sides, over seeds."""
    medians = at_the_end(stage, measure, plan)
    return over_seeds(medians["left"] - medians["both"])


def _number_in(rule: str) -> float:
    found = re.search(r"-?\d+\.\d+", rule)
    if found is None:
        raise ValueError(f"There is no number in the rule {rule!r}.")
    return float(found[0])


def asked_of_read_outs() -> tuple[float, float]:
    """Evenness above which the two stages hold by the plan of read_out_first, and below which they are refuted."""
    text = (data("runs", "read_out_first") / "experiment.yml").read_text("utf-8")
    rules = msgspec.yaml.decode(text)["what counts as what"]
    return _number_in(rules["the two stages hold here"]), _number_in(rules["the two stages are refuted"])


def asked_of_one_sided() -> float:
    """The number below which the interval of the first intervention must lie, by its plan."""
    rules = msgspec.yaml.decode(data("positions_theory", f"{FIRST}.yml").read_text("utf-8"))["what counts as what"]
    return _number_in(rules["the two stages hold here"])


class Intervention(NamedTuple):
    """The longer intervention in the numbers by which its plan judges it; losses are held-out, in nats."""

    difference: Estimate  # s of the position part after stage 2, windows to the left minus windows to both sides
    predicted_difference: Estimate  # of what the theorem predicts from the read-outs after stage 1
    distance: float  # between the mean s after a window to the left and its prediction
    losses: Mapping[str, float]  # at the end of stage 2, mean over seeds, by window
    asked: tuple[float, float]  # below which the difference must lie by the plan, and the largest distance


def longer_intervention() -> Intervention:
    """What `one_sided_longer` found, and what its plan asks for."""
    found, predicted = at_the_end(2, "position_symmetry", LONGER), at_the_end(1, "predicted_symmetry", LONGER)
    return Intervention(
        over_seeds(found["left"] - found["both"]),
        over_seeds(predicted["left"] - predicted["both"]),
        abs(found["left"].mean() - predicted["left"].mean()),
        at_the_end(2, "held_out_loss", LONGER).mean().to_dict(),
        asked_of_longer(),
    )


def asked_of_longer() -> tuple[float, float]:
    """Below which number the interval must lie, and how close to its prediction the symmetry, by the plan."""
    rule = msgspec.yaml.decode(data("positions_theory", f"{LONGER}.yml").read_text("utf-8"))["what counts as what"]
    rule = rule["the two stages hold here"]
    return _number_in(rule), _number_in(rule[rule.index("within") :])
