"""Tables of the chapter *Scores in training*: the authors' models, and our runs with their intervals over seeds."""

from collections.abc import Iterable, Sequence

import pandas as pd

from attngeo.experiments.runs.arms import Arm, Contrast, Measure
from attngeo.experiments.runs.estimates import LEAST_SEEDS
from attngeo.experiments.runs.numbers_in_words import as_percent, as_score, joined_by_and, number, with_interval
from attngeo.experiments.runs.record import Run
from chapters.training_scores.measures import Climb, arms_of, change, climb_of, pairs_of, recorded
from chapters.training_scores.planned import DECODER, ENCODER, planned_of
from chapters.training_scores.released import (
    LETTERS,
    decoders_of_12_layers,
    released_ends,
    released_gaps,
    released_pairs,
    released_training,
)
from livingpaper.claims.seed_intervals import Case

RELEASED = "authors' models, 12 layers"
STANDS_FOR = {"commoncrawl": "Red Pajama", "wikipedia": "Wikipedia", "jigsaw": "Jigsaw"}  # our text: the paper's
FORMULAS = {
    "Definition 3.2": "directionality",
    "Table S3": "directionality_tables",
    "authors' code": "directionality_released",
}
LARGER, UNDECIDED = "larger than expected by chance", "undecided"


def with_intervals(arms: Iterable[Arm]) -> list[Arm]:
    """Those with enough seeds for an interval."""
    return [arm for arm in arms if len(arm) >= LEAST_SEEDS]


def our_encoders(positions: str = "learned") -> list[Arm]:
    """Our encoders with one type of positional encoding and enough seeds; those of this chapter are all learned."""
    of_chapter = with_intervals(arms_of(recorded(), ENCODER)) if positions == "learned" else []
    return [*of_chapter, *planned_of(ENCODER, positions).values()]


def our_decoders(positions: str = "learned") -> list[Arm]:
    """The same of decoders."""
    of_chapter = with_intervals(arms_of(recorded(), DECODER)) if positions == "learned" else []
    return [*of_chapter, *planned_of(DECODER, positions).values()]


def setting(arm: Arm) -> str:
    """The label of an arm without its corpus, which is always Wikipedia, and without its positional encoding."""
    assert arm.runs[0].about["corpus"]["name"] == "wikipedia", arm.label
    return arm.label.removeprefix("Wikipedia, ").removesuffix(", learned position embeddings")


def quoted(names: Iterable[str]) -> str:
    """Settings in a sentence: ``“characters” and “subword tokens”``."""
    return joined_by_and([f"“{name}”" for name in names])


def released_growth() -> pd.DataFrame:
    """Increase of the median symmetry score in the authors' encoders: a row per dataset, a column per depth."""
    encoders = released_training().query("part == 'encoder'")
    curves = encoders.pivot(index="step", columns=["text", "layers"], values="s")
    grown = (curves.iloc[-1] - curves.iloc[0]).unstack("layers")
    return grown.rename(columns=lambda layers: f"{layers} layers").map(as_score).rename_axis("dataset").reset_index()


def growth_of_ours() -> list[Climb]:
    """Of our encoders with learned position embeddings and enough seeds."""
    return [climb_of(arm) for arm in our_encoders()]


def growth_table() -> pd.DataFrame:
    """Increase of the median symmetry score in our encoders with learned position embeddings."""
    return pd.DataFrame(
        {"setting": setting(climb.arm), "seeds": len(climb.arm), "increase of s": with_interval(climb.growth, as_score)}
        for climb in growth_of_ours()
    )


def gap_outcome(gap: Case) -> str:
    """Whether a difference between two of the authors' models is larger than expected by chance."""
    return LARGER if gap.met or gap.reversed else UNDECIDED


def released_end_table() -> pd.DataFrame:
    """The authors' pairs at the end of training, a row per depth and dataset."""
    gaps = {(layers, gap.label): gap for layers in (12, 4) for gap in released_gaps(layers)}
    return pd.DataFrame(
        {
            "layers": layers,
            "dataset": text,
            "s of the encoder": as_score(ends["s, encoder"]),
            "s of the decoder": as_score(ends["s, decoder"]),
            "d of the encoder minus d of the decoder": as_score(gaps[layers, text].estimate.value),
            "outcome": gap_outcome(gaps[layers, text]),
        }
        for (layers, text), ends in released_pairs().set_index(["layers", "text"]).iterrows()
    )


def measure_table(arms: Iterable[Arm], measure: Measure, column: str, digits: int = 2) -> pd.DataFrame:
    """A measure with its interval, a row per arm."""

    def form(value: float) -> str:
        return number(value, digits, sign="+")

    rows = [
        {"setting": setting(arm), "seeds": len(arm), column: with_interval(arm.estimate(measure), form)} for arm in arms
    ]
    return pd.DataFrame(rows)


def decoder_change_table() -> pd.DataFrame:
    """Change of the median directionality score over training in our decoders with learned position embeddings."""
    return measure_table(our_decoders(), change, "change of d")


def released_skew_table() -> pd.DataFrame:
    """The most skew-symmetric layer of each of the authors' 12-layer decoders."""
    return pd.DataFrame(
        {
            "dataset": row.text,
            "lowest s of any layer": number(row.s_min, 2),
            "share of the squared norm in the skew-symmetric part": as_percent((1 - row.s_min) / 2),
        }
        for row in decoders_of_12_layers().itertuples()
    )


def contrast_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder beside decoder in every recorded setting, a row per score: both at the end, difference with interval.

    The last column has the released difference in s: in d the formulas differ (`formula_table`).
    """
    rows = []
    for pair in pairs_of(runs):
        steps = "\u00a0/\u00a0".join(dict.fromkeys(str(arm.config["steps"]) for arm in (pair.first, pair.second)))
        for letter, score in LETTERS.items():
            rows.append(
                {"setting": pair.label, "steps": steps, "seeds": len(pair), "score": letter}
                | {"encoder": as_score(pair.first.mean(score)), "decoder": as_score(pair.second.mean(score))}
                | {"difference": with_interval(pair.difference(score), as_score)}
                | {RELEASED: released_difference(pair, "s") if letter == "s" else "–"}
            )
    return pd.DataFrame(rows)


def formula_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Encoder minus decoder in directionality at the end, by each formula that the paper's numbers rest on.

    Beside that of the released code stands the difference in the released models, which by the audit follows it.
    """
    return pd.DataFrame(
        {"setting": pair.label, "seeds": len(pair)}
        | {words: with_interval(pair.difference(score), as_score) for words, score in FORMULAS.items()}
        | {RELEASED: released_difference(pair, "d")}
        for pair in pairs_of(runs)
    )


def released_difference(pair: Contrast, letter: str) -> str:
    """Encoder minus decoder of the released models of 12 layers on a text or the one it stands for, or a dash."""
    ends = released_ends(letter).query("layers == 12").set_index("text")
    name = pair.first.runs[0].about["corpus"]["name"]
    title = STANDS_FOR.get(name, name)
    return as_score(ends["encoder"][title] - ends["decoder"][title]) if title in ends.index else "–"
