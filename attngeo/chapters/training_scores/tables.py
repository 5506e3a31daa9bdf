"""Section 4.1 in tables: released medians, encoders against decoders, and how symmetry moves over training."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.training_scores.columns import moves
from attngeo.chapters.training_scores.encoders_and_decoders import (
    at_equal_steps,
    climbs,
    contrasts,
    encoders_and_decoders,
    released_ends,
)
from attngeo.chapters.training_scores.layers import decoder_cases, directionality_cases, encoder_cases
from attngeo.runs.labels import PARTS
from attngeo.runs.numbers_in_words import as_score, with_interval
from attngeo.runs.record import Run

SCORES = {"s": "symmetry", "d": "directionality"}
STANDS_FOR = {"commoncrawl": "red_pajama"}  # our text: the paper's
BY_SIGN = {True: "as stated", False: "the reverse"}  # of one seed
FORMULAS = {
    "Definition 3.2": "directionality",
    "released code": "directionality_released",
    "Table S3": "directionality_tables",
}


def released_table() -> pd.DataFrame:
    """Released medians at the last step, one row per depth and text, and each claim's outcome by its sign alone."""
    s, d = released_ends("s"), released_ends("d")
    return pd.DataFrame(
        {
            "layers": s["layers"],
            "text": s["dataset"].str.replace("_", " "),
            "s, encoder": s["encoder"],
            "s, decoder": s["decoder"],
            "encoder more symmetric": (s["encoder"] > s["decoder"]).map(BY_SIGN),
            "d, encoder": d["encoder"],
            "d, decoder": d["decoder"],
            "decoder more directional": (d["decoder"] < d["encoder"]).map(BY_SIGN),
        }
    ).sort_values(["layers", "text"], ascending=[False, True], ignore_index=True)


def contrast_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder beside decoder in every recorded setting, a row per score: both at the end, difference with interval.

    The column before the last has the difference after as many steps as the shorter run has, the last that of the
    released models on that text, or on the one that it stands for.
    """
    rows = []
    found = {letter: (contrasts(runs, name), at_equal_steps(runs, name)) for letter, name in SCORES.items()}
    for i, pair in enumerate(encoders_and_decoders(runs)):
        steps = dict.fromkeys(arm.config["steps"] for arm in (pair.first, pair.second))
        for letter, score in SCORES.items():
            at_the_end, at_equal = (cases[i] for cases in found[letter])
            rows.append(
                {
                    "text": pair.label,
                    "steps": " and ".join(map(str, steps)),
                    "seeds": len(pair),
                    "score": letter,
                    "encoder": as_score(pair.first.mean(score)),
                    "decoder": as_score(pair.second.mean(score)),
                    "difference": with_interval(at_the_end.estimate, as_score),
                    "the claim": at_the_end.outcome,
                    "at equal steps": with_interval(at_equal.estimate, as_score),
                    "released, 12 layers": _released_difference(pair.first.runs[0].about["corpus"]["name"], letter),
                }
            )
    return pd.DataFrame(rows)


def moves_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Directionality of encoders and decoders at both ends, and which of them moves beyond the noise between seeds."""
    return pd.DataFrame(
        [
            {
                "text": move.pair.label,
                "seeds": len(move.pair),
                "d, start": as_score(move.pair.first.mean(lambda run: run.first("directionality"))),
                "encoder, end": as_score(move.pair.first.mean("directionality")),
                "decoder, end": as_score(move.pair.second.mean("directionality")),
                "encoder's change": with_interval(move.encoder.estimate, as_score),
                "decoder's change": with_interval(move.decoder.estimate, as_score),
                "beyond noise": move.source,
            }
            for move in moves(runs)
        ]
    )


def formula_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder less decoder in directionality at the end, by each formula that the paper's numbers rest on."""
    rows = []
    for pair in encoders_and_decoders(runs):
        row = {"text": pair.label, "seeds": len(pair)}
        for words, score in FORMULAS.items():
            row[words] = with_interval(pair.difference(score), as_score)
        rows.append(row)
    return pd.DataFrame(rows)


def layer_table(runs: Sequence[Run]) -> pd.DataFrame:
    """What Section 4.1 says of early, middle and late layers, measured on every arm: value, interval, outcome.

    Rows of one statement stand together, those with most seeds first.
    """
    kept = list(runs)
    cases = [case for find in (encoder_cases, decoder_cases, directionality_cases) for case in find(kept)]
    places = list(dict.fromkeys(case.quantity for case in cases))
    cases.sort(key=lambda case: (places.index(case.quantity), -case.seeds, case.label))
    return pd.DataFrame(
        [
            {
                "what": case.quantity,
                "text": case.label,
                "seeds": case.seeds,
                "value": with_interval(case.estimate, as_score),
                "the claim": case.outcome,
            }
            for case in cases
        ]
    )


def climb_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Median symmetry of every arm that starts at random: start, peak and its step, end, and what is lost after it."""
    rows = []
    for objective, label in PARTS.items():
        for climb in climbs(runs, objective):
            rows.append(
                {
                    "text": climb["text"],
                    "model": label,
                    "seeds": climb["seeds"],
                    "s, start": climb["start"],
                    "s, peak": climb["peak"],
                    "at step": climb["peak step"],
                    "s, end": climb["end"],
                    "steps": climb["steps"],
                    "peak less end": with_interval(climb["fall"], as_score),
                }
            )
    return pd.DataFrame(rows)


def _released_difference(name: str, letter: str) -> str:
    """Encoder less decoder of the released models of 12 layers on the same text, or a dash."""
    ends = released_ends(letter)
    row = ends[(ends["layers"] == 12) & (ends["dataset"] == STANDS_FOR.get(name, name))]
    return as_score(float(row["encoder"].iloc[0] - row["decoder"].iloc[0])) if len(row) else "–"
