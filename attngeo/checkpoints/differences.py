"""Checkpoints of one shape, layer by layer: the scores of each, and how far its W_qk is from the first one's."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from statistics import median
from typing import NamedTuple

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.rows import COLUMNS as OF_SCORES
from attngeo.bilinear.scores import GAMMA, SUM, Convention
from attngeo.bilinear.similarity import similarity
from attngeo.bilinear.summary import filled
from attngeo.checkpoints.architectures.entry import Part
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.rows import layer_rows
from attngeo.errors import MatrixError, ParameterError

SHOWN = ("symmetry", "directionality")
SPECS = {"symmetry_change": "+.4f", "directionality_change": "+.4f", "cosine": ".4f", "relative_change": ".3g"}
CHANGES = tuple(SPECS)
COLUMNS = ("checkpoint", "reference", *OF_SCORES, *CHANGES)


class Compared(NamedTuple):
    """A checkpoint, and the name by which the user asked for it."""

    asked: str
    opened: Checkpoint


def require_alike(compared: Sequence[Compared], per_head: bool) -> None:
    """Refuse checkpoints whose layers do not pair.

    Raises:
        ParameterError: parts, layers or, where they are compared one by one, heads differ.
    """

    first, *others = compared
    for other in others:
        layers = [Counter(plan.part for plan in each.opened.plans) for each in (first, other)]
        if layers[0] != layers[1]:
            raise _unlike(first, other, "layers", layers, "")
        heads = [{plan.part: plan.heads for plan in each.opened.plans} for each in (first, other)]
        if per_head and heads[0] != heads[1]:
            raise _unlike(first, other, "heads", heads, " head by head")


def _unlike(
    first: Compared, other: Compared, what: str, counts: Sequence[Mapping[Part, int]], how: str
) -> ParameterError:
    """The error for two checkpoints with different numbers of layers or heads, which are given by part."""
    a, b = (", ".join(f"{count} {part}" for part, count in of.items()) for of in counts)
    return ParameterError(
        f"{first.asked} has {a} {what} and {other.asked} has {b} {what}; only models of the same shape can be"
        f" compared{how}."
    )


def difference_rows(
    compared: Sequence[Compared],
    layers: Sequence[AttentionLayer],
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict]:
    """The rows of one layer of every checkpoint, as in `layer_rows`, with the `CHANGES` from the first checkpoint.

    Raises:
        ParameterError: the layers differ in d.
    """
    first, rows = compared[0], []
    before = layer_rows(first.opened, layers[0], gamma, per_head, convention)
    for (asked, opened), layer in zip(compared, layers, strict=True):
        now = before if opened is first.opened else layer_rows(opened, layer, gamma, per_head, convention)
        try:
            distances = _distances(layers[0].form, layer.form, per_head)
        except MatrixError as error:
            raise ParameterError(f"{first.asked} and {asked} do not have the same shape: {error}") from error
        for row, old, (cosine, relative_change) in zip(now, before, distances, strict=True):
            changes = {f"{score}_change": row[score] - old[score] for score in SHOWN}
            changes |= {"cosine": cosine, "relative_change": relative_change}
            rows.append({"checkpoint": asked, "reference": first.asked} | row | changes)
    return sorted(rows, key=lambda row: row["head"])


def _distances(before: BilinearForm, now: BilinearForm, per_head: bool) -> list[tuple[float, float]]:
    """Cosine and relative change of the sum over heads, and then of each head."""
    cosine, relative_change = similarity(before, now)
    distances = [(float(cosine), float(relative_change))]
    if per_head:
        cosines, relative_changes = similarity(before, now, per_head=True)
        distances += zip(cosines.tolist(), relative_changes.tolist(), strict=True)
    return distances


def cells(rows: Sequence[dict], letters: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Names of columns and rounded cells, for people. Changes are blank for the first checkpoint and without scores."""
    with_heads = any(row["head"] != SUM for row in rows)
    names = ["", "part", "layer", *(["head"] if with_heads else [])]
    names += [name for score in SHOWN for name in (score, f"{score} change")] + ["cosine", "relative change"]
    shown = []
    for row in rows:
        head = ["all" if row["head"] == SUM else str(row["head"])] if with_heads else []
        s, d = ("zero" if isnan(row[score]) else f"{row[score]:.4f}" for score in SHOWN)
        blank = {name for name in CHANGES if row["checkpoint"] == row["reference"] or isnan(row[name])}
        by_s, by_d, *far = ("" if name in blank else f"{row[name]:{spec}}" for name, spec in SPECS.items())
        shown.append([letters[row["checkpoint"]], row["part"], str(row["layer"]), *head, s, by_s, d, by_d, *far])
    return filled(names, shown)


def summary(rows: Sequence[dict], letters: dict[str, str]) -> list[str]:
    """For each part of each checkpoint other than the first, a line with the medians over layers."""
    lines = []
    for asked, letter in list(letters.items())[1:]:
        own = [row for row in rows if row["checkpoint"] == asked and row["head"] == SUM]
        for part in dict.fromkeys(row["part"] for row in own):
            medians = []
            for name, spec in SPECS.items():
                if values := [row[name] for row in own if row["part"] == part and not isnan(row[name])]:
                    medians.append(f"{name.replace('_', ' ')} {median(values):{spec}}")
            lines.append(f"{letter}, median over {part} layers: {', '.join(medians) or 'queries or keys are zero'}")
    return lines
