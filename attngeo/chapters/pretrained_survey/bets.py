"""Place your bet: six matrices of the survey, encoders or decoders, before and after their names are shown."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from attngeo.chapters.pretrained_survey.pictures import read_picture
from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive, packed
from attngeo.display.mirror_clouds import mirror_clouds
from attngeo.display.style import CaptionedFigure
from attngeo.records.checkout import data
from attngeo.runs.numbers_in_words import number
from attngeo.survey.auc import auc
from attngeo.survey.families import GROUPS, with_kinds
from attngeo.survey.measured import named, read_records

EACH = 3  # encoders, and as many decoders
SEED = 0
SIDE = 128  # rows and columns shown: all of them would not fit on the page


@dataclass(frozen=True)
class Drawn:
    """One of the matrices: the middle layer of a recorded model."""

    title: str  # A, B, C ...
    model: str
    part: str
    layer: int
    s: float
    d: float
    picture: np.ndarray


def drawn(folder: Path | None = None) -> list[Drawn]:
    """Of each family one encoder and one decoder, the first by name; of these three each, drawn and shuffled by a seed.

    Raises:
        RecordError: of a model drawn no picture is recorded.
    """
    folder = folder or data("survey")
    scores, _ = read_records(folder)
    layers = with_kinds(named(scores.assign(folder=scores["model"])))[lambda t: t["head"] == -1]
    count = layers.groupby(["model", "part"])["layer"].transform("size")
    middle = layers[layers["layer"] == count // 2].sort_values("model").drop_duplicates(["family", "attention"])
    rng = np.random.default_rng(SEED)
    groups = [middle[middle["attention"] == kind].sample(EACH, random_state=rng) for kind in GROUPS.values()]
    chosen = pd.concat(groups).sample(frac=1, random_state=rng)
    return [
        Drawn(
            *(chr(ord("A") + k), row.model, row.part, row.layer, row.symmetry, row.directionality),
            read_picture(folder, row.folder, f"{row.part}-{row.layer}")[:SIDE, :SIDE],
        )
        for k, row in enumerate(chosen.itertuples())
    ]


def wins(shown: list[Drawn], score: str) -> float:
    """In how many pairs of an encoder and a decoder the encoder's score is the higher one; a tie is half."""
    return EACH**2 * auc(*(np.array([getattr(one, score) for one in shown if one.part == part]) for part in GROUPS))


def place_your_bet(shown: list[Drawn]) -> Interactive:
    """The pictures, and behind them what each is and scores."""
    counts = {score: wins(shown, score) for score in "sd"}
    pictures = [
        {
            **{"title": one.title, "part": one.part, "words": f"{one.model}, {one.part} layer {one.layer}"},
            **{"s": round(one.s, 4), "d": round(one.d, 4), "side": len(one.picture)},
            "levels": packed(np.rint(one.picture * 127).astype(np.int8)),
        }
        for one in shown
    ]
    return Interactive("bets", {"pictures": pictures, "pairs": EACH**2, **counts}, _still(shown, counts))


def _still(shown: list[Drawn], counts: dict[str, float]) -> CaptionedFigure:
    titles = {f"{one.title}: {one.part}\ns {number(one.s, 2)}, d {number(one.d, 2)}": one.picture for one in shown}
    told = f"the encoder has the higher $s$ in {counts['s']:g} of {EACH**2} pairs, the higher $d$ in {counts['d']:g}"
    return captioned(
        mirror_clouds(titles, width=9),
        __package__,
        "fig-bets",
        each=EACH,
        seed=SEED,
        side=SIDE,
        told=told,
        shown=len(shown),
        encoders=_range(shown, "encoder"),
        decoders=_range(shown, "decoder"),
    )


def _range(shown: list[Drawn], part: str) -> str:
    own = [one.s for one in shown if one.part == part]
    return f"from {number(min(own), 2)} to {number(max(own), 2)}"
