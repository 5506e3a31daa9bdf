"""The scores of a checkpoint as a long table: one row per layer, and one per head."""

from collections.abc import Iterable, Iterator

import pandas as pd
from torch import Tensor

from attngeo.checkpoints.layers import AttentionLayer, Checkpoint
from attngeo.forms.scores import GAMMA, Scores, score, score_heads

COLUMNS = (
    "model",
    "revision",
    "part",
    "layer",
    "head",
    "d_model",
    "d_head",
    "symmetry",
    "directionality",
    "directionality_released",
    "directionality_tables",
    "gamma",
    "n_rows_over",
    "n_cols_over",
    "dtype",
    "source",
)
SUM = -1  # value of ``head`` for the sum over heads, W_qk of Eq. S20


def score_table(checkpoint: Checkpoint, gamma: float = GAMMA, per_head: bool = True) -> pd.DataFrame:
    """``s`` (Def. 3.1) and ``d`` (Def. 3.2) of every layer's summed form, and of every head's form.

    Args:
        checkpoint: from `attngeo.open_checkpoint`.
        gamma: threshold of the directionality score in standard deviations.
        per_head: also a row per head.

    Returns:
        One row per (part, layer, head) with the columns COLUMNS; head -1 is the sum over heads. ``source`` names the
        weight file and the attention module in it.

    Raises:
        CheckpointError: a tensor cannot be read or is not finite.
        ParameterError: gamma is not a finite number >= 0.
    """
    rows = [row for layer in checkpoint for row in layer_rows(checkpoint, layer, gamma, per_head)]
    return as_table(rows)


def layer_rows(
    checkpoint: Checkpoint, layer: AttentionLayer, gamma: float = GAMMA, per_head: bool = True
) -> Iterator[dict]:
    """The rows of one layer: the sum over heads, then each head."""
    form = layer.form
    common = {
        "model": checkpoint.name,
        "revision": checkpoint.revision,
        "part": layer.part,
        "layer": layer.layer,
        "d_model": form.d_model,
        "d_head": form.d_head,
        "gamma": float(gamma),
        "dtype": str(form.wq.dtype).removeprefix("torch."),
        "source": f"{layer.file}:{layer.module}",
    }
    yield {"head": SUM, **_values(score(form, gamma)), **common}
    if per_head:
        scores = score_heads(form, gamma)
        yield from ({"head": h, **_values(scores, h), **common} for h in range(form.n_heads))


def as_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Rows of `layer_rows` as a table with the columns in order."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def _values(scores: Scores, head: int | None = None) -> dict:
    def pick(values: Tensor) -> float | int:
        return values.item() if head is None else values[head].item()

    return {
        "symmetry": pick(scores.symmetry),
        "directionality": pick(scores.directionality),
        "directionality_released": pick(scores.directionality_released),
        "directionality_tables": pick(scores.directionality_tables),
        "n_rows_over": pick(scores.n_rows_over),
        "n_cols_over": pick(scores.n_columns_over),
    }
