"""The scores of the layers of a checkpoint, sentences about them, and the position spaces that can split them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from torch import Tensor

from attngeo.bilinear.positions import position_space
from attngeo.bilinear.rows import form_rows, with_heads, with_split
from attngeo.bilinear.scores import GAMMA, SUM, Convention
from attngeo.checkpoints.architectures.entry import Positions
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.recorded_models import comparisons
from attngeo.errors import CheckpointError, MatrixError

SCORED = {"qk": "W_qk", "ov": "W_o W_v^T"}  # the scored matrix, by the value of the option matrix


def _about_formulas(opened: Checkpoint, convention: Convention | str) -> list[str]:
    """Sentences that say how the scores differ from those of W_qk by the definitions, if they do."""
    lines = []
    if convention != Convention.DEFINITION:
        lines.append("These scores do not follow the definitions. Compare them only with scores of the same formula.")
    if opened.reading.fold_norm:
        inputs = "queries and keys" if opened.reading.matrix == "qk" else "values"
        lines.append(
            f"The scores are those of {SCORED[opened.reading.matrix]} with the gains of the layer normalisation before"
            f" {inputs}."
        )
        parts = dict.fromkeys(plan.part for plan in opened.plans if not plan.norm)
        if "cross" in parts:
            lines.append("No gains are folded into the cross layers, whose queries and keys come from two sequences.")
        if without := " and ".join(part for part in parts if part != "cross"):
            lines.append(f"No gains are folded into {without} layers before which no layer normalisation is known.")
    lines += opened.included
    if opened.reading.matrix == "ov":
        lines.append(
            "The scores are those of the value-output map W_o W_v^T: heads write its rows and read its columns."
        )
    return lines


def title(opened: Checkpoint, gamma: float, convention: Convention | str) -> str:
    """The title of the table of a model."""
    name = f"{opened.name} {opened.revision[:12]}".strip()
    return f"{name}: scores of {SCORED[opened.reading.matrix]}, gamma = {gamma:g}{in_formulas(convention)}"


def in_formulas(convention: Convention | str) -> str:
    """The end of a title, which names the formulas of the scores if they are not those of the definitions."""
    return "" if convention == Convention.DEFINITION else f", formulas of {Convention(convention).value}"


def notes(
    opened: Checkpoint, convention: Convention | str, unread: Sequence[str], rows: Sequence[dict] = ()
) -> list[str]:
    """Sentences below the table of a model, about comparable models, what was read, and what the scores leave out.

    Args:
        opened: the model.
        convention: formulas of the scores.
        unread: weights that have the name of query weights but belong to no layer.
        rows: the scores of all layers, to compare the model with others.
    """
    lines = _about_formulas(opened, convention)
    if not lines:
        lines += comparisons(opened.model_type, rows)
    if parts := "; ".join(opened.left_out):
        lines.append(f"These parts of the attention are outside of W_qk, so no score includes them: {parts}.")
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        lines.append(f"No layer was found for weights whose names are those of queries: {unread[0]}{more}.")
    lines += opened.remarks
    if opened.taken_for:
        lines.append(
            f"The installed package gguf does not know the architecture {opened.model_type}. Its queries and keys were"
            f" found by the usual names, and its layers are labelled as those of {opened.taken_for}s."
        )
    return lines


def table_rows(
    model: Checkpoint,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
    spaces: Mapping[tuple[str, Positions | None], Tensor] | None = None,
) -> Iterator[list[dict]]:
    """The rows of each layer of a model, with the columns about its heads.

    With the ``spaces`` of `position_spaces`, s is also split by them.
    """
    with closing(iter(model)) as layers:
        for plan, layer in zip(model.plans, layers, strict=True):
            rows = layer_rows(model, layer, gamma, per_head, convention)
            rows = with_heads(rows, layer.form, plan.positions.kind if plan.positions else "")
            yield rows if spaces is None else with_split(rows, layer.form, spaces.get((plan.part, plan.positions)))


def layer_rows(
    model: Checkpoint,
    layer: AttentionLayer,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict]:
    """The rows of one layer of a model (`attngeo.bilinear.rows.form_rows`)."""
    gains = (layer.norm, *layer.qk_norms) if layer.norm else layer.qk_norms
    source = f"{layer.file}:{layer.module}" + "".join(f" * {name}" for name in gains)
    source += f" at distance {layer.distance}" if layer.distance is not None else ""
    source += (f" ({layer.matrix})" if layer.matrix != "qk" else "") + (f" as {layer.read_as}" if layer.read_as else "")
    about: dict[str, str | int] = {"model": model.name, "revision": model.revision, "source": source}
    about |= {"part": layer.part, "layer": layer.layer}
    rows = form_rows(layer.form, about, gamma, per_head, convention, layer.reweighted)
    if layer.head_numbers:
        for row in rows:
            row["head"] = SUM if row["head"] == SUM else layer.head_numbers[row["head"]]
    return rows


def position_spaces(checkpoint: Checkpoint) -> tuple[dict[tuple[str, Positions | None], Tensor], list[str]]:
    """Orthonormal bases (d, k) of position spaces, by part and positions of a plan, and why other plans have none.

    Raises:
        CheckpointError: no layer has position embeddings that can be read.
    """
    spaces: dict[tuple[str, Positions | None], Tensor] = {}
    missing: dict[tuple[str, Positions | None], str] = {}
    for plan in checkpoint.plans:
        place = plan.part, plan.positions
        if place in spaces or place in missing:
            continue
        try:
            spaces[place] = position_space(checkpoint.position_rows(plan))
        except CheckpointError as error:
            missing[place] = str(error)
        except MatrixError as error:
            missing[place] = f"{checkpoint.name}: {str(error)[:-1]}; score it without splitting by positions."
    if not spaces:
        raise CheckpointError(next(iter(missing.values())))
    return spaces, list(missing.values())
