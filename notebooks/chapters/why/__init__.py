"""The pages on why W_qk is symmetric: ``notebooks/why.py``, ``why_plans.py`` and ``why_details.py``.

Each plan is a ``data/runs/EXPERIMENT/experiment.yml``. A measure of a run is taken from the rows of its scores after
the last step. An experiment is judged when all runs of its primary contrast are recorded (`chapters.why.findings`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import State, read_experiment
from attngeo.experiments.runs.plateaus import PLATEAU_OF_CHARACTERS
from attngeo.experiments.runs.record import Run, read_run
from chapters.why.coins import FEWEST_HEADS
from attngeo.experiments.survey.families import distinct, with_kinds

PLATEAU = PLATEAU_OF_CHARACTERS  # nats: an encoder above it knows how frequent characters are, and little else
FLOOR = 0.5  # nats: a model below it copies what it is shown


Measure = Callable[[Run], float]


@dataclass(frozen=True, eq=False)
class Planned:
    """The recorded runs of a plan, by arm and seed."""

    name: str
    runs: dict[str, dict[int, Run]]
    planned: dict[str, int]  # how many runs of each arm the plan asks for

    @property
    def recorded(self) -> int:
        """How many runs are recorded."""
        return sum(len(by_seed) for by_seed in self.runs.values())

    def is_whole(self, *arms: str) -> bool:
        """Whether every planned run of these arms is recorded."""
        return all(len(self.runs.get(arm, {})) == self.planned[arm] for arm in arms)

    def values(self, arm: str, measure: Measure) -> np.ndarray:
        """A measure of each run of an arm, in the order of the seeds."""
        return np.array([measure(run) for _, run in sorted(self.runs[arm].items())])

    def mean(self, arm: str, measure: Measure) -> float:
        """The mean of a measure over the seeds of an arm."""
        return float(self.values(arm, measure).mean())

    def estimate(self, arm: str, measure: Measure) -> Estimate:
        """The mean of a measure over the seeds of an arm, with Student's interval."""
        return over_seeds(self.values(arm, measure))

    def difference(self, arm: str, against: str, measure: Measure) -> Estimate:
        """One arm minus another at equal seeds, with Student's interval."""
        return over_seeds(self.values(arm, measure) - self.values(against, measure))

    def difference_at_equal_loss(self, arm: str, against: str, column: str) -> Estimate:
        """One arm after its last step minus the other at the first step at which it has reached the same held-out loss.

        Args:
            arm: whose runs end at the higher loss.
            against: whose runs reach that loss earlier.
            column: of the scores of layers, of which the median over layers is taken.
        """
        differences = []
        for seed, run in sorted(self.runs[arm].items()):
            other = self.runs[against][seed]
            step = first_step_at_loss(other, held_out_loss(run))
            scores = other.scores[(other.scores["step"] == step) & (other.scores["head"] == -1)]
            differences.append(median_of(column)(run) - float(scores[column].median()))
        return over_seeds(np.array(differences))


def planned(name: str) -> Planned:
    """What is recorded of an experiment in ``data/runs``."""
    runs: dict[str, dict[int, Run]] = {}
    counts: dict[str, int] = {}
    for run in read_experiment(data("runs", name)).runs:
        counts[run.arm] = counts.get(run.arm, 0) + 1
        if run.state is State.RECORDED:
            runs.setdefault(run.arm, {})[int(run.settings["seed"])] = read_run(run.folder)
    return Planned(name, runs, counts)


def at_the_end(run: Run, single_heads: bool = False) -> pd.DataFrame:
    """The scores after the last step, a row for each layer in their order, or for each head of each layer."""
    rows = run.scores[run.scores["step"] == run.config["steps"]]
    rows = rows[rows["head"] >= 0] if single_heads else rows[rows["head"] == -1]
    return rows.sort_values(["layer", "head"])


def median_of(column: str, single_heads: bool = False) -> Measure:
    """A measure: the median of a column of the scores over layers, or over the single heads of all layers."""
    return lambda run: float(at_the_end(run, single_heads)[column].median())


def lowest_of(column: str) -> Measure:
    """A measure: the least value of a column over layers."""
    return lambda run: float(at_the_end(run)[column].min())


def of_layer(column: str, layer: int) -> Measure:
    """A measure: a column in one layer, counted from 0."""
    return lambda run: float(at_the_end(run)[column].iloc[layer])


def held_out_loss(run: Run) -> float:
    """A measure: nats per predicted token after the last step."""
    return run.last(LOSS)


def first_step_at_loss(run: Run, loss: float) -> int:
    """The first step with recorded scores at which the held-out loss of a run is not above a value."""
    history = run.history[run.history["step"].isin(run.scores["step"])]
    return int(history.loc[history[LOSS] <= loss, "step"].min())


def coherence_table(experiment: Planned, arms: dict[str, str]) -> pd.DataFrame:
    """How the heads of layers add up, a row for each arm: means over seeds of medians over layers."""
    columns = {
        "s of heads": "symmetry_of_heads",
        "c_S": "coherence_symmetric",
        "c_N": "coherence_skew",
        "s of the layer": "symmetry",
        "rank under coin tosses": "coin_rank",
    }
    return pd.DataFrame(
        {"model": words}
        | {title: experiment.mean(arm, median_of(column)) for title, column in columns.items()}
        | {"held-out loss": experiment.mean(arm, held_out_loss)}
        for arm, words in arms.items()
    )


def hidden_table(experiment: Planned, positions: dict[str, str], shown: dict[str, str]) -> pd.DataFrame:
    """s of layers and the held-out loss by type of positional encoding and by what the predicted places hold."""
    rows = []
    for position, words in positions.items():
        for kind, what in shown.items():
            arm = f"{position}-{kind}"
            rows.append(
                {
                    "positional encoding": words,
                    "input at predicted positions": what,
                    "s": experiment.mean(arm, median_of("symmetry")),
                    "held-out loss": experiment.mean(arm, held_out_loss),
                }
            )
    return pd.DataFrame(rows)


def learned_arms(experiment: Planned, arms: Sequence[str]) -> list[str]:
    """The arms whose models have left the plateau of their loss on average, and do not merely copy."""
    return [arm for arm in arms if FLOOR < experiment.mean(arm, held_out_loss) < PLATEAU]


COHERENCE = {
    "symmetry_of_heads": "s of heads",
    "coherence_symmetric": "c_S",
    "coherence_skew": "c_N",
    "symmetry": "s of the layer",
    "coin_median": "s under coin tosses",
    "coin_rank": "rank under coin tosses",
}


def released_coherence(layers: pd.DataFrame) -> pd.DataFrame:
    """How the heads of released models add up: a row per model and part, medians over layers of three heads or more."""
    counted = layers[(layers["n_heads"] >= FEWEST_HEADS) & (layers["part"] != "cross")]
    medians = counted.groupby(["model", "part"], sort=False)[list(COHERENCE)].median()
    return medians.rename(columns=COHERENCE).reset_index().sort_values(["part", "model"], ignore_index=True)


def names_of_families(layers: pd.DataFrame) -> dict[tuple[str, str], str]:
    """What to call a family in a figure, by part and family: its model if there is one, else ``BERT (3 models)``."""
    kinds = with_kinds(distinct(layers[layers["n_heads"] >= FEWEST_HEADS]).reset_index(drop=True))
    models = kinds.groupby(["part", "family"])["model"].unique()
    return {key: own[0] if len(own) == 1 else f"{key[1]} ({len(own)} models)" for key, own in models.items()}


def released_octaves(rows: pd.DataFrame) -> pd.DataFrame:
    """Median s of the layers on each octave of waves of a model's table, a row per model and part."""
    layers = rows[(rows["head"] == -1) & (rows["octave"] > 0)]
    medians = layers.pivot_table("symmetry", ["model", "part"], "octave", "median")
    medians.columns = [f"{octave}" for octave in medians.columns]
    return medians.reset_index().sort_values(["part", "model"], ascending=[False, True], ignore_index=True)
