"""The planned experiments on positional encoding, as the chapter *Scores in training* compares them.

In these experiments the same small models were trained with different types of positional encoding. The chapter
compares encoders with decoders; `chapters.positions` compares the types of positional encoding with each other.
"""

from collections.abc import Iterator
from functools import cache

import pandas as pd

from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, Arm, Contrast, whole_arms
from attngeo.experiments.runs.estimates import LEAST_SEEDS
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, with_interval
from attngeo.experiments.runs.plateaus import plateau_of

ENCODER, DECODER = "mlm", "clm"  # by objective
OF_CHARACTERS = {  # folder in data/runs: its name in tables, as in `chapters.positions.crossing.READ`
    "positions_characters": "characters",
    "positions_characters_new_seeds": "characters, new seeds",
    "positions_characters_third": "characters, third set of seeds",
    "positions_mini": "the paper's 4-layer dimensions",
}
EXPERIMENTS = OF_CHARACTERS | {
    "positions_pieces": "subword tokens, short",
    "positions_pieces_longer": "subword tokens",
}
TYPES = {  # of positional encoding, by setting
    "learned": "learned position embeddings",
    "rotary": "rotary position embeddings",
    "bias": "a learned bias for each offset",
    "none": "no positional encoding",
}
DID_NOT_LEARN = "the encoders did not learn"
NOT_TRAINED = "not trained with every seed"


@cache
def planned_arms(experiment: str) -> dict[str, Arm]:
    """The arms of an experiment of which every planned seed is recorded, such as ``mlm-learned``."""
    return whole_arms(read_experiment(data("runs", experiment)))


def name_of(experiment: str, arm: Arm) -> str:
    """``characters, new seeds, rotary position embeddings``."""
    return f"{EXPERIMENTS[experiment]}, {TYPES[arm.config['positions']]}"


def learned_something(experiment: str, arm: Arm) -> bool:
    """Whether at least one seed left the plateau on which a model knows little more than how frequent each token is."""
    return bool(arm.values(LOSS).min() <= plateau_of(experiment))


def planned_pair(experiment: str, positions: str) -> Contrast | None:
    """The encoder and the decoder of an experiment with one type of positional encoding; None if one is missing."""
    arms = planned_arms(experiment)
    encoder, decoder = (arms.get(f"{objective}-{positions}") for objective in (ENCODER, DECODER))
    if encoder is None or decoder is None:
        return None
    return Contrast(encoder, decoder, name_of(experiment, encoder))


def planned_pairs() -> Iterator[tuple[str, str, Contrast]]:
    """Experiment, type of positional encoding and pair, of all pairs whose encoders learned something."""
    for positions in TYPES:
        for experiment in EXPERIMENTS:
            pair = planned_pair(experiment, positions)
            if pair is not None and learned_something(experiment, pair.first):
                yield experiment, positions, pair


def planned_of(objective: str, positions: str) -> dict[str, Arm]:
    """By experiment, the arm with this objective and type of positional encoding, if it learned something."""
    found = {}
    for experiment in EXPERIMENTS:
        arm = planned_arms(experiment).get(f"{objective}-{positions}")
        if arm is not None and learned_something(experiment, arm):
            found[experiment] = Arm(arm.runs, name_of(experiment, arm))
    return found


def difference_table(score: str) -> pd.DataFrame:
    """Encoder minus decoder in a final score, a row per planned experiment and a column per positional encoding."""
    rows = []
    for experiment, name in EXPERIMENTS.items():
        seeds = {len(arm) for arm in planned_arms(experiment).values()}
        row = {"experiment": f"{name} ({', '.join(map(str, sorted(seeds)))} seeds)"}
        for positions in ("learned", "rotary"):
            row[TYPES[positions]] = difference_in_words(experiment, positions, score)
        rows.append(row)
    return pd.DataFrame(rows)


def difference_in_words(experiment: str, positions: str, score: str) -> str:
    """``+0.53 [+0.50, +0.55]``, or why there is no number."""
    pair = planned_pair(experiment, positions)
    if pair is None:
        return NOT_TRAINED
    if not learned_something(experiment, pair.first):
        return DID_NOT_LEARN
    assert len(pair) >= LEAST_SEEDS
    return with_interval(pair.difference(score), as_score)
