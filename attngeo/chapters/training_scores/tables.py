"""Section 4.1 in tables: released medians, encoders against decoders, and how symmetry moves over training."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.training_scores import depth, growth, published_scores
from attngeo.chapters.training_scores.columns import moves
from attngeo.chapters.training_scores.encoders_and_decoders import at_equal_steps, at_the_end
from attngeo.chapters.training_scores.evidence import encoders_beside_decoders, released_ends
from attngeo.paper.wording import wording
from attngeo.runs.arms import Contrast
from attngeo.runs.labels import PARTS
from attngeo.runs.numbers_in_words import as_score, with_interval
from attngeo.runs.record import Run

SCORES = {"s": "symmetry", "d": "directionality"}
STANDS_FOR = {"commoncrawl": "red pajama"}  # our text: the paper's
BY_SIGN = {True: "yes", False: "no"}  # of one seed
RELEASED = "released, 12 layers"
FORMULAS = {
    "Definition 3.2": "directionality",
    "released code": "directionality_released",
    "Table S3": "directionality_tables",
}


def released_pairs() -> pd.DataFrame:
    """Released medians at the last step, one row per depth and text, and which of a pair has more of each score."""
    s, d = (released_ends(published_scores.released_training(), score) for score in "sd")
    return pd.DataFrame(
        {
            "layers": s["layers"],
            "text": s["text"],
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

    The column before the last has the difference after as many steps as the shorter run has. The last has the released
    one in s: in d the formulas differ (`formula_table`).
    """
    rows = []
    for pair in encoders_beside_decoders(runs):
        steps = dict.fromkeys(arm.config["steps"] for arm in (pair.first, pair.second))
        for letter, score in SCORES.items():
            end = at_the_end(pair, score)
            rows.append(
                {
                    "text": pair.label,
                    "steps": " and ".join(map(str, steps)),
                    "seeds": len(pair),
                    "score": letter,
                    "encoder": as_score(pair.first.mean(score)),
                    "decoder": as_score(pair.second.mean(score)),
                    "difference": with_interval(end.estimate, as_score),
                    "the claim": end.outcome,
                    "at equal steps": with_interval(at_equal_steps(pair, score).estimate, as_score),
                    RELEASED: _released_difference(pair, "s") if letter == "s" else "–",
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
    """Encoder less decoder in directionality at the end, by each formula that the paper's numbers rest on.

    Beside that of the released code stands the difference in the released models, which by the audit follows it.
    """
    rows = []
    for pair in encoders_beside_decoders(runs):
        row = {"text": pair.label, "seeds": len(pair)}
        for words, score in FORMULAS.items():
            row[words] = with_interval(pair.difference(score), as_score)
            if words == "released code":
                row[RELEASED] = _released_difference(pair, "d")
        rows.append(row)
    return pd.DataFrame(rows)


def layer_table(runs: Sequence[Run]) -> pd.DataFrame:
    """What Section 4.1 says of early, middle and late layers, measured on every arm: value, interval, outcome.

    Rows of one statement stand together, those with most seeds first.
    """
    words = wording(__package__)[depth.encoder_layers_on_wikipedia.__name__]
    cases = [
        case for find in (depth.encoder_cases, depth.decoder_cases, depth.directionality_cases) for case in find(runs)
    ]
    places = list(dict.fromkeys(case.quantity for case in cases))
    cases.sort(key=lambda case: (places.index(case.quantity), -case.seeds, case.label))
    return pd.DataFrame(
        [
            {
                "what": words.filled(f"<<what_{case.quantity}>>", {"within": depth.SETTLED}),
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
    return pd.DataFrame(
        [
            {
                "text": climb.arm.label,
                "model": part,
                "seeds": len(climb.arm),
                "s, start": climb.mean.iloc[0],
                "s, peak": climb.mean.max(),
                "at step": climb.peak_step,
                "s, end": climb.mean.iloc[-1],
                "steps": climb.mean.index[-1],
                "peak less end": with_interval(climb.fall, as_score),
            }
            for objective, part in PARTS.items()
            for climb in growth.climbs(runs, objective)
        ]
    )


def _released_difference(pair: Contrast, letter: str) -> str:
    """Encoder less decoder of the released models of 12 layers on a text or the one it stands for, or a dash."""
    ends = released_ends(published_scores.released_training(), letter).query("layers == 12").set_index("text")
    name = pair.first.runs[0].about["corpus"]["name"]
    text = STANDS_FOR.get(name, name)
    return as_score(ends["encoder"][text] - ends["decoder"][text]) if text in ends.index else "–"
