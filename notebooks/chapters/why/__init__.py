"""The pages on why W_qk is symmetric: ``notebooks/why.py``, ``why_plans.py`` and ``why_details.py``.

Each plan is a ``data/runs/EXPERIMENT/experiment.yml``. A measure of a run is taken from its scores after the last
step. `chapters.why.findings` judges the experiments.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attngeo.experiments.runs.arms import LOSS, Arm, Contrast, Measure, all_arms
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.plateaus import PLATEAU_OF_CHARACTERS
from attngeo.experiments.runs.record import Run
from attngeo.files.checkout import data
from attngeo.experiments.runs.measures import score_at_loss

PLATEAU = PLATEAU_OF_CHARACTERS  # nats: an encoder above it knows how frequent characters are, and little else
FLOOR = 0.5  # nats: a model below it copies what it is shown


@dataclass(frozen=True, eq=False)
class Planned:
    """The recorded runs of a plan, by arm and seed."""

    name: str
    runs: dict[str, dict[int, Run]]

    def arm(self, name: str) -> Arm:
        """The recorded runs of an arm."""
        return Arm(tuple(run for _, run in sorted(self.runs[name].items())))

    def values(self, arm: str, measure: Measure) -> pd.Series:
        """A measure of each run of an arm, by seed."""
        return self.arm(arm).values(measure)

    def mean(self, arm: str, measure: Measure) -> float:
        """The mean of a measure over the seeds of an arm."""
        return self.arm(arm).mean(measure)

    def estimate(self, arm: str, measure: Measure) -> Estimate:
        """The mean of a measure over the seeds of an arm, with Student's interval."""
        return self.arm(arm).estimate(measure)

    def difference(self, arm: str, against: str, measure: Measure) -> Estimate:
        """One arm minus another at equal seeds, with Student's interval."""
        return Contrast(self.arm(arm), self.arm(against)).difference(measure)

    def difference_at_equal_loss(self, arm: str, against: str, score: str) -> Estimate:
        """One arm after its last step minus the other at the first step at which it has reached the same held-out loss.

        Args:
            arm: whose runs end at the higher loss.
            against: whose runs reach that loss earlier.
            score: of the layers, of which the median is taken.
        """
        differences = []
        for seed, run in self.runs[arm].items():
            other = self.runs[against][seed]
            differences.append(run.last(score) - score_at_loss(other, run.last(LOSS), score))
        return over_seeds(differences)


def planned(name: str) -> Planned:
    """The experiment in ``data/runs`` with this name. It is judged only if all its runs are recorded."""
    arms = all_arms(read_experiment(data("runs", name)))
    return Planned(name, {name: dict(zip(arm.seeds, arm.runs, strict=True)) for name, arm in arms.items()})


def learned_arms(experiment: Planned, arms: Sequence[str]) -> list[str]:
    """The arms whose models have left the plateau of their loss on average, and do not merely copy."""
    return [arm for arm in arms if FLOOR < experiment.mean(arm, LOSS) < PLATEAU]


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
        | {title: experiment.mean(arm, column) for title, column in columns.items()}
        | {"held-out loss": experiment.mean(arm, LOSS)}
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
                    "s": experiment.mean(arm, "symmetry"),
                    "held-out loss": experiment.mean(arm, LOSS),
                }
            )
    return pd.DataFrame(rows)
