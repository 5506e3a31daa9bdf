"""The scores of a model that is being trained: rows per layer and head, also where its weights are sharded."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from transformers import PreTrainedModel

from attngeo.bilinear import BilinearForm
from attngeo.models import forms
from attngeo.scores import Scores


def score_rows(step: int, layer: int, whole: Scores, heads: Scores) -> list[dict]:
    """Rows of the score table for one layer: its sum over heads (head -1), then its heads."""
    columns = {
        "symmetry": [float(whole.symmetry), *heads.symmetry.tolist()],
        "directionality": [float(whole.directionality), *heads.directionality.tolist()],
        "directionality_released": [float(whole.directionality_released), *heads.directionality_released.tolist()],
        "directionality_tables": [float(whole.directionality_tables), *heads.directionality_tables.tolist()],
        "n_rows_over": [int(whole.n_rows_over), *heads.n_rows_over.tolist()],
        "n_cols_over": [int(whole.n_columns_over), *heads.n_columns_over.tolist()],
    }
    values = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{"step": step, "layer": layer, "head": head, **row} for head, row in enumerate(values, -1)]


@contextmanager
def whole_forms(wrapped: torch.nn.Module, model: PreTrainedModel) -> Iterator[list[BilinearForm]]:
    """The forms of a model's layers, also where its weights are sharded over processes; each of them must ask.

    Args:
        wrapped: the model in what shares it between processes, or the model itself.
        model: the model.
    """
    from torch.distributed.fsdp import FullyShardedDataParallel

    sharded = isinstance(wrapped, FullyShardedDataParallel)  # FSDP 1; the weights of FSDP 2 know how to be whole
    with FullyShardedDataParallel.summon_full_params(wrapped, writeback=False) if sharded else nullcontext():
        yield forms(getattr(model, "_orig_mod", model))
