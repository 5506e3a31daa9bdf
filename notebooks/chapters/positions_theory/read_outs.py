"""What is recorded of the read-out in training, and of the intervention on it: numbers that two pages use."""

import re
from functools import cache

import msgspec
import pandas as pd

from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.files.checkout import data

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


def at_the_end(stage: int, measure: str) -> pd.DataFrame:
    """Of the intervention at the end of a stage, median over layers: a row per seed, a column per window of stage 1."""
    rows = pd.read_csv(data("positions_theory", "one_sided.csv")).query("stage == @stage and step == step.max()")
    return rows.groupby(["seed", "window"])[measure].median().unstack()


def left_less_both(stage: int, measure: str) -> Estimate:
    """Windows to the left minus windows to both sides, over seeds."""
    medians = at_the_end(stage, measure)
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
    """The number below which the interval of the intervention must lie, by its plan."""
    rules = msgspec.yaml.decode(data("positions_theory", "one_sided.yml").read_text("utf-8"))["what counts as what"]
    return _number_in(rules["the two stages hold here"])
