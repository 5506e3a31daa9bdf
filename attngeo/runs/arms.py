"""Recorded runs as arms of experiments: those of one arm differ in their seed only; arms are compared seed by seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attngeo.runs.estimates import Estimate, final_difference
from attngeo.runs.record import Run, RunError, matched

RECORDING = ("record_every", "evaluate_every", "checkpoint_every", "micro_batch", "device")  # change no result
PARTS = {"mlm": "encoder", "clm": "decoder", "released-decoder": "decoder, masked positions only"}  # by objective
Measure = Callable[[Run], float]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two arms on the seeds that both have, in the order of the seeds."""

    first: tuple[Run, ...]
    second: tuple[Run, ...]
    label: str  # of what both have in common, such as "wikipedia, characters"

    @property
    def seeds(self) -> int:
        """How many seeds both have."""
        return len(self.first)

    def difference(self, measure: Measure) -> Estimate:
        """Of a number per run: mean over seeds of first less second, with an interval from three seeds on."""
        return over_seeds([measure(a) - measure(b) for a, b in zip(self.first, self.second, strict=True)])


def arms(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs equal in all but their seed, one per seed and in its order; the largest arm first."""
    return [_by_seed(group) for group in matched(list(runs), differ=("seed", *RECORDING))]


def pairs(
    runs: Sequence[Run], setting: str, first: str, second: str, free: tuple[str, ...] = (), once: bool = False
) -> list[Pair]:
    """Arms that differ in one setting: each first arm beside the second with most seeds in common, then of its length.

    Args:
        runs: recorded runs.
        setting: name in the configuration.
        first: its value in the first arm.
        second: its value in the second.
        free: further settings in which the arms may differ.
        once: put no second arm into two pairs, where two would count its noise twice.
    """
    found: list[tuple[tuple[Run, ...], tuple[Run, ...]]] = []
    for group in matched(list(runs), differ=(setting, "seed", *free, *RECORDING)):
        of = {value: arms([r for r in group if r.config[setting] == value]) for value in (first, second)}
        possible = [
            (i, k, _shared(one, other)) for i, one in enumerate(of[first]) for k, other in enumerate(of[second])
        ]
        possible.sort(key=lambda pair: _weight(pair[2]), reverse=True)
        firsts, seconds = set(), set()
        for i, k, sides in possible:
            if sides[0] and i not in firsts and not (once and k in seconds):
                firsts.add(i)
                seconds.add(k)
                found.append(sides)
    found.sort(key=_weight, reverse=True)
    labels = distinct_labels([side[0] for side, _ in found])
    return [Pair(*sides, label) for sides, label in zip(found, labels, strict=True)]


def over_seeds(values: Sequence[float]) -> Estimate:
    """``mean ± t sd / sqrt(n)`` of one number per seed (`attngeo.runs.estimates.final_difference`)."""
    column = np.asarray(values, dtype=float)[:, None]
    return final_difference(column, np.zeros_like(column))


def mean(arm: Sequence[Run], measure: Measure) -> float:
    """Of a number per run, over the runs of an arm."""
    return sum(map(measure, arm)) / len(arm)


def at_end(score: str) -> Measure:
    """Median over layers of a score of the summed forms, at the last step."""
    return lambda run: _median_at(run, score, int(run.layer_scores()["step"].max()))


def at_start(score: str) -> Measure:
    """Median over layers of a score of the summed forms, before the first step."""
    return lambda run: _median_at(run, score, int(run.layer_scores()["step"].min()))


def final_loss(run: Run) -> float:
    """The last held-out loss, nats per predicted token.

    Raises:
        RunError: the run recorded none.
    """
    losses = run.history["held_out_loss"].dropna()
    if losses.empty:
        raise RunError(f"The run {run.name} has no held-out loss; record it again, or leave its folder out.")
    return float(losses.iloc[-1])


def kind(run: Run) -> str:
    """What a run's folder is called before its objective: ``matrix_spaced`` of ``matrix_spaced-mlm-random-0``."""
    return run.name.split(f"-{run.config['objective']}")[0]


def text(run: Run) -> str:
    """``wikipedia, characters``, or ``wikipedia, 160 pieces`` for text as it is, by the size of the vocabulary."""
    spelling = "characters" if run.config["text"] == "spaced" else f"{run.config['vocab_size']} pieces"
    return f"{run.about['corpus']['name']}, {spelling}"


def distinct_labels(runs: Sequence[Run]) -> list[str]:
    """A run's text, and of its settings those that tell runs of one text apart."""
    details = [
        {
            "model": f"{r.config['layers']} layers of {r.config['d_model']}",
            "block": f"blocks of {r.config['block_size']}",
            "batch": f"{r.config['batch_size']} blocks a step",
            "dropout": f"dropout {r.config['dropout']:g}",
            "rate": f"learning rate {r.config['lr']:g}",
            "steps": f"{r.config['steps']} steps",
        }
        for r in runs
    ]
    labels = []
    for run, own in zip(runs, details, strict=True):
        same = [d for other, d in zip(runs, details, strict=True) if text(other) == text(run)]
        labels.append(", ".join([text(run), *(own[k] for k in own if len({d[k] for d in same}) > 1)]))
    return labels


def _median_at(run: Run, score: str, step: int) -> float:
    layers = run.layer_scores()
    return float(layers[layers["step"] == step][score].median())


def _shared(one: list[Run], other: list[Run]) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Both arms on the seeds that both have."""
    seeds = {run.config["seed"] for run in one} & {run.config["seed"] for run in other}
    first, second = (tuple(run for run in arm if run.config["seed"] in seeds) for arm in (one, other))
    return first, second


def _weight(sides: tuple[tuple[Run, ...], tuple[Run, ...]]) -> tuple[int, ...]:
    steps = [arm[0].config["steps"] for arm in sides if arm]
    return (len(sides[0]), min(steps) - max(steps), *steps) if steps else (0,)


def _by_seed(group: list[Run]) -> list[Run]:
    return [run for _, run in sorted({run.config["seed"]: run for run in group}.items())]
