"""The scores of comparable models, from the recorded medians in ``recorded_models.csv``.

``python -m livingpaper.recorded_models`` writes that file in a checkout.
"""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from attngeo.bilinear.scores import SUM
from attngeo.bilinear.summary import is_dead

FILE = Path(__file__).with_name("recorded_models.csv")
SAME = 1e-4  # because records have four digits
FEWEST = 5  # smallest number of models in a comparison
ALIKE = 4  # sizes differ by at most this factor; the size of a model is its number of layers times its squared width
NAMES_OF_VISION = ("vit", "vision", "image", "swin", "deit", "dino", "timm")  # parts of model types for images


class Recorded(NamedTuple):
    """A part of a model and its median symmetry over layers."""

    model: str
    part: str
    modality: str
    model_type: str
    positions: str
    size: int
    symmetry: float


@lru_cache(maxsize=1)
def recorded_models() -> tuple[Recorded, ...]:
    """The recorded models."""
    rows = csv.DictReader(FILE.read_text("utf-8").splitlines())
    return tuple(
        Recorded(
            model=row["model"],
            part=row["part"],
            modality=row["modality"],
            model_type=row["model_type"],
            positions=row["positions"],
            size=int(row["n_layers"]) * int(row["d_model"]) ** 2,
            symmetry=float(row["symmetry"]),
        )
        for row in rows
    )


def comparisons(model_type: str, rows: Sequence[dict]) -> list[str]:
    """The sentences of `comparison` for the encoder and the decoder of a model, from its rows of scores."""
    lines = []
    for part in ("encoder", "decoder"):
        layers = [row for row in rows if row["part"] == part and row["head"] == SUM]
        if not all(map(is_dead, layers)):
            first = layers[0]
            middle = median(row["symmetry"] for row in layers if not is_dead(row))
            lines.append(comparison(part, first["positions"], model_type, len(layers), first["d_model"], middle))
    return lines


def modality_of(model_type: str) -> str:
    """What most models of a type read: as recorded, images if the name of the type suggests it, or otherwise text."""
    recorded = _modalities(model_type)
    if recorded:
        return recorded.most_common(1)[0][0]
    return "vision" if _is_named_for_images(model_type) else "text"


def _is_named_for_images(model_type: str) -> bool:
    return any(word in model_type for word in NAMES_OF_VISION)


def _modalities(model_type: str) -> Counter[str]:
    return Counter(other.modality for other in recorded_models() if other.model_type == model_type)


def comparison(
    part: str, positions: str, model_type: str, n_layers: int, d_model: int, symmetry: float = math.nan
) -> str:
    """A sentence about the median symmetry of recorded models of the same kind.

    They are encoders or decoders like this one, of the modality of its model_type (`modality_of`), with the same type
    of positional encoding, if it is known, and with a size within the factor `ALIKE`. If there are fewer than `FEWEST`,
    first the size and then also the type of positional encoding may be any. A record of the same size whose symmetry
    is the median symmetry of this model is that of the model itself, and is left out.
    """
    modality, size = modality_of(model_type), n_layers * d_model**2
    kind = [
        other
        for other in recorded_models()
        if (other.part, other.modality) == (part, modality)
        and not (other.size == size and abs(other.symmetry - symmetry) < SAME)
    ]
    with_positions = [other for other in kind if positions in ("", other.positions)]
    of_size = [other for other in with_positions if size / ALIKE <= other.size <= size * ALIKE]
    encoding = f" with {positions} position{' embedding' if positions == 'learned' else ''}s" if positions else ""
    reads = {"text": "language", "proteins": "protein"}.get(modality, modality)
    models, few = f"{reads} {part}s", f"fewer than {FEWEST}"
    for chosen, words, why in (
        (of_size, f" of about this size{encoding}", ""),
        (with_positions, f" of any size{encoding}", f" There are {few} records of about this size."),
        (kind, " of any size with any type of positional encoding", f" There are {few} records{encoding}."),
    ):
        if len(chosen) >= FEWEST:
            scores = [other.symmetry for other in chosen]
            is_sure = len(_modalities(model_type)) == 1 or _is_named_for_images(model_type)
            only = "" if is_sure else f" Do not compare with them unless this is a {reads} model."
            return (
                f"For comparison, {len(chosen)} {models}{words} have a median symmetry of {median(scores):.2f} (lowest"
                f" {min(scores):.2f}, highest {max(scores):.2f}).{why}{only}"
            )
    return f"There is no comparison, because {few} {models} are recorded."
