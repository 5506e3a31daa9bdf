"""The scores of layers as rows of one table: one row per layer, and one per head."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from attngeo.checkpoints.layers import AttentionLayer
from attngeo.forms.null_laws import null_laws, rank
from attngeo.forms.scores import GAMMA, Convention, score_rows
from attngeo.survey.quantisation import SCHEMES, quantised

SCORES = ("symmetry", "directionality", "directionality_released", "directionality_tables")
_LAYER = ("model", "revision", "part", "layer", "head", "d_model", "d_head", "rank")
# beside each score: mean and spread for random weights of the same shape, and how far out the score lies
NULL = tuple(f"{score}_{of}" for score in SCORES[:2] for of in ("null_mean", "null_sd", "z", "p"))
_MADE_BY = ("convention", "gamma", "n_rows_over", "n_cols_over", "dtype", "source")
COLUMNS = (*_LAYER, *SCORES[:2], *NULL, *SCORES[2:], *_MADE_BY)
TEXT = ("model", "revision", "part", "convention", "dtype", "source")
WHOLE = ("layer", "head", "d_model", "d_head", "rank", "n_rows_over", "n_cols_over")


@runtime_checkable
class Named(Protocol):
    """Whatever the layers are of, such as an `attngeo.checkpoints.layers.Checkpoint`."""

    name: str
    revision: str


def layer_rows(
    model: Named,
    layer: AttentionLayer,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict]:
    """The rows of one layer: the sum over heads, then each head; beside each score what random weights give.

    ``symmetry`` and ``directionality`` follow the convention; the columns of the other conventions stay.
    """
    convention = Convention(convention)
    common = {
        "model": model.name,
        "revision": model.revision,
        "part": layer.part,
        "layer": layer.layer,
        "d_model": layer.form.d_model,
        "d_head": layer.form.d_head,
        "convention": convention.value,
        "gamma": float(gamma),
        "dtype": str(layer.form.wq.dtype).removeprefix("torch."),
        "source": f"{layer.file}:{layer.module}",
    }
    rows = [common | row for row in score_rows(layer.form, gamma, per_head, convention)]
    for row in rows:
        row["rank"] = rank(layer.form, row["head"])
        for score, law in null_laws(layer.form, row["head"], gamma, convention).items():
            value = row[score]
            numbers = {"null_mean": law.mean, "null_sd": law.sd, "z": law.z(value), "p": law.p(value)}
            row |= {f"{score}_{name}": number for name, number in numbers.items()}
    return [{name: row[name] for name in COLUMNS} for row in rows]


def quantised_rows(model: Named, layer: AttentionLayer, gamma: float = GAMMA) -> list[dict]:
    """The sum over heads of one layer with its weights rounded: a row, with ``scheme``, for each in `quantisation`."""
    return [
        {"scheme": scheme} | row
        for scheme in SCHEMES
        for row in layer_rows(model, replace(layer, form=quantised(layer.form, scheme)), gamma, per_head=False)
    ]
