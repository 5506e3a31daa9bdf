"""A layer's score by its heads: pairs of heads, parts taken away; their record, and families of models.

With ``M = sum_h M_h`` (Eq. S20), S and N the symmetric and skew-symmetric parts of M, S_h and N_h those of a head:

    Tr(M M) = sum_gh Tr(M_g M_h)         ||M||^2 = sum_gh <M_g, M_h>
    <S_g, S_h> = (<M_g, M_h> + Tr(M_g M_h)) / 2       <N_g, N_h> = (<M_g, M_h> - Tr(M_g M_h)) / 2
    ||S||^2 / ||N||^2 = (G_s / G_n) sum_h ||S_h||^2 / sum_h ||N_h||^2

where G_s = ||S||^2 / sum_h ||S_h||^2 says how far the heads' symmetric parts add up, G_n likewise for the skew ones.

``python -m chapters.heads_or_sum`` writes what is recorded of every checkpoint under ATTNGEO_WEIGHTS:

    data/heads_or_sum/removals.parquet   a row per layer and part that is taken from it: the sums behind `parts`
                      pairs.parquet      a row per layer and pair of heads g <= h: both inner products
                      record.json        SHA-256 of the weights, versions, date

Layers of one head are left out, since their sum adds nothing; their one head stands in the survey's record, and counts
as a head. Cross-attention is neither encoder nor decoder. Weights that are recorded twice count once.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import form_moments
from attngeo.bilinear.null_laws import LEVEL
from attngeo.bilinear.scores import SUM
from attngeo.checkpoints.layers import AttentionLayer, open_checkpoint
from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data
from attngeo.files.provenance import sha256
from attngeo.experiments.survey.families import GROUPS, distinct, of_families, with_kinds
from attngeo.experiments.survey.measured import named, read_records
from attngeo.experiments.survey.models import local_weights
from attngeo.experiments.survey.record import write_provenance

Numbers = TypeVar("Numbers", float, Tensor, pd.Series)
TABLES = ("removals", "pairs")
LAYER = ["model", "part", "layer"]
SUMS = ("trace", "square", "own_trace", "own_square")  # arguments of `parts`
PARTS = ("symmetry", "heads", "symmetric_gain", "skew_gain", "factor", "symmetric_overlap", "skew_overlap")
MIRRORS = ("to_transpose", "to_itself", "nearer", "mirrored", "gain", "from_mirrors")
NOTHING = "nothing"
COORDINATES = 0.01  # share of the coordinates that are taken
LEADING = {"leading pair": 0.0, "leading 2 %": 0.02, "leading 10 %": 0.1}  # share of d, at least 1 pair


@dataclass(frozen=True)
class Overlaps:
    """Two inner products for every pair of heads: of M_g^T with M_h, and of M_g with M_h."""

    traces: Float[Tensor, "heads heads"]  # Tr(M_g M_h)
    products: Float[Tensor, "heads heads"]  # <M_g, M_h> = Tr(M_g^T M_h)

    @property
    def symmetric(self) -> Float[Tensor, "heads heads"]:
        """``<S_g, S_h>`` of the heads' symmetric parts."""
        return (self.products + self.traces) / 2

    @property
    def skew(self) -> Float[Tensor, "heads heads"]:
        """``<N_g, N_h>`` of the heads' skew-symmetric parts."""
        return (self.products - self.traces) / 2

    def sums(self) -> dict[str, Float[Tensor, ""]]:
        """``Tr(M M)`` and ``||M||^2`` of the layer, and the sums over its heads of theirs: the arguments of `parts`."""
        of_heads = self.traces.trace(), self.products.trace()
        return dict(zip(SUMS, (self.traces.sum(), self.products.sum(), *of_heads), strict=True))


def overlaps(form: BilinearForm) -> Overlaps:
    """Both inner products of every pair of heads, from products of factors that are d_head x d_head.

    With ``C_gh = W_k,g^T W_q,h``: ``Tr(M_g M_h) = sum(C_gh * C_hg^T)``, and ``<M_g, M_h> = sum((W_q,g^T W_q,h) *
    (W_k,g^T W_k,h))``.
    """
    q, k = (w.double() for w in form.per_head())
    c = torch.einsum("gdi,hdj->ghij", k, q)
    products = torch.einsum("gdi,hdj->ghij", q, q) * torch.einsum("gdi,hdj->ghij", k, k)
    return Overlaps(torch.einsum("ghij,hgji->gh", c, c), products.sum((-2, -1)))


def parts(trace: Numbers, square: Numbers, own_trace: Numbers, own_square: Numbers) -> dict[str, Numbers]:
    """A layer's score s, that of its heads together, and what the sum adds; of tensors, or of columns of a table.

    Returns:
        ``symmetry`` s; ``heads``, the mean of the heads' s weighted with ``||M_h||^2``; ``symmetric_gain`` G_s and
        ``skew_gain`` G_n; ``factor``, their quotient, by which the sum multiplies ``(1 + s) / (1 - s)``. Heads that
        are all symmetric have no skew gain: NaN or infinite.
    """
    gains = (square + trace) / (own_square + own_trace), (square - trace) / (own_square - own_trace)
    scores = {"symmetry": trace / square, "heads": own_trace / own_square}
    return scores | {"symmetric_gain": gains[0], "skew_gain": gains[1], "factor": gains[0] / gains[1]}


def ratio(s: Numbers) -> Numbers:
    """``||S||^2 / ||N||^2 = (1 + s) / (1 - s)`` of a matrix with score s."""
    return (1 + s) / (1 - s)


def without_directions(form: BilinearForm, basis: Float[Tensor, "d n"]) -> BilinearForm:
    """``P M_h P`` for every head, P the projection off the span of orthonormal columns."""
    return BilinearForm(*(w - basis @ (basis.T @ w) for w in (form.wq, form.wk)))


def without_coordinates(form: BilinearForm, indices: Int[Tensor, " n"]) -> BilinearForm:
    """Every ``M_h`` with these rows and columns set to 0."""
    return BilinearForm(*(w.index_fill(1, indices, 0) for w in (form.wq, form.wk)))


def without_diagonal(form: BilinearForm) -> Overlaps:
    """Overlaps of ``M_h`` less its diagonal: ``<diag M_g, diag M_h>`` is taken from either inner product."""
    q, k = form.per_head()
    diagonals = (q * k).sum(2).double()  # (H, d)
    whole, taken = overlaps(form), diagonals @ diagonals.T
    return Overlaps(whole.traces - taken, whole.products - taken)


def leading_directions(form: BilinearForm, n: int) -> Float[Tensor, "d size"]:
    """Orthonormal basis of the n leading left and the n leading right singular vectors of the summed form."""
    (z_q, r_q), (z_k, r_k) = (torch.linalg.qr(factor) for factor in form.merged())
    left, _, right = torch.linalg.svd(r_q @ r_k.T)
    return _orthonormal(torch.cat([z_q @ left[:, :n], z_k @ right.mT[:, :n]], 1))


def _orthonormal(columns: Float[Tensor, "d n"]) -> Float[Tensor, "d size"]:
    """An orthonormal basis of the columns' span; of columns that depend on others, none is kept."""
    left, singular, _ = torch.linalg.svd(columns, full_matrices=False)
    return left[:, singular > 1e-10 * singular[0]]


def removals(form: BilinearForm, seed: int = 0) -> dict[tuple[str, bool], Overlaps]:
    """Overlaps of the layer as it is and without each part: (what is taken, whether at random) -> `Overlaps`.

    The same part is taken from every head, on the side of the queries and on that of the keys. The mean direction is
    (1, ..., 1): without it rows and columns have mean 0. The largest coordinates are those of the largest norms of row
    and column together. A diagonal has no counterpart at random; by chance it holds a d-th of the squared norm.
    """
    form = form.to(torch.float64)
    d, generator = form.d_model, torch.Generator().manual_seed(seed)

    def drawn(n: int) -> Tensor:
        return _orthonormal(torch.randn(d, n, generator=generator, dtype=torch.float64))

    moments, n = form_moments(form), math.ceil(COORDINATES * d)
    largest = (moments.row_norms.square() + moments.column_norms.square()).topk(n).indices
    mean = torch.full((d, 1), d**-0.5, dtype=torch.float64)
    left = {
        (NOTHING, False): overlaps(form),
        ("mean direction", False): overlaps(without_directions(form, mean)),
        ("mean direction", True): overlaps(without_directions(form, drawn(1))),
        ("largest coordinates", False): overlaps(without_coordinates(form, largest)),
        ("largest coordinates", True): overlaps(without_coordinates(form, torch.randperm(d, generator=generator)[:n])),
        ("diagonal", False): without_diagonal(form),
    }
    for name, share in LEADING.items():
        basis = leading_directions(form, max(1, math.ceil(share * d)))
        left[name, False] = overlaps(without_directions(form, basis))
        left[name, True] = overlaps(without_directions(form, drawn(basis.shape[1])))
    return left


def measure(model: str, layer: AttentionLayer) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of one layer in both of TABLES, in their order."""
    form, place = layer.form.to(torch.float64), dict(zip(LAYER, (model, layer.part, layer.layer), strict=True))
    shape = {"heads": form.n_heads, "d_model": form.d_model, "rank": form.n_kv_heads * form.d_head}
    without = removals(form, seed=layer.layer)
    square = float(without[NOTHING, False].products.sum())
    sums = [
        place | shape | {"removed": name, "at_random": drawn} | {k: float(v) / square for k, v in left.sums().items()}
        for (name, drawn), left in without.items()
    ]
    pairs = [place | row for row in pair_rows(without[NOTHING, False])]
    return pd.DataFrame(sums), pd.DataFrame(pairs)


def pair_rows(of_layer: Overlaps) -> Iterator[dict]:
    """Rows of all pairs g <= h: both inner products over the layer's ``||M||^2``."""
    square = float(of_layer.products.sum())
    for g, h in torch.triu_indices(*of_layer.traces.shape).T.tolist():
        numbers = {"trace": of_layer.traces[g, h] / square, "product": of_layer.products[g, h] / square}
        yield {"g": g, "h": h} | {name: float(value) for name, value in numbers.items()}


def verified(model: str, pairs: pd.DataFrame) -> float | None:
    """Largest difference of a model's recorded pairs from its weights; None where these are not at hand."""
    if model not in (folders := local_weights()):
        return None
    again = [
        pd.DataFrame(pair_rows(overlaps(layer.form))).assign(model=model, part=layer.part, layer=layer.layer)
        for layer in open_checkpoint(folders[model])
        if layer.form.n_heads > 1
    ]
    both = pairs[pairs["model"] == model].merge(pd.concat(again), on=[*LAYER, "g", "h"], how="outer")
    return float(max((both[f"{name}_x"] - both[f"{name}_y"]).abs().max(skipna=False) for name in ("trace", "product")))


def record(folder: Path) -> None:
    """Measure every checkpoint under ATTNGEO_WEIGHTS and write the tables.

    Raises:
        CheckpointError: there is none, or one cannot be read.
    """
    rows, files = [], {}
    for model, path in local_weights(needed=True).items():
        rows += [measure(model, layer) for layer in open_checkpoint(path) if layer.form.n_heads > 1]
        files[model] = {file.name: sha256(file) for file in sorted(Path(path).glob("*.safetensors"))}
        print(model, flush=True)
    for name, tables in zip(TABLES, zip(*rows, strict=True), strict=True):
        with atomic_path(folder / f"{name}.parquet") as file:
            pd.concat(tables, ignore_index=True).to_parquet(file, index=False)
    write_provenance(folder, sha256=files)


class Evidence(NamedTuple):
    """Tables with a row per layer, and the survey's own record of the same layers."""

    layers: pd.DataFrame  # and part taken: removed, at_random, PARTS, and left: the share of the sum's squared norm
    pairs: pd.DataFrame  # and pair of heads: g, h, product, trace
    survey: pd.DataFrame  # `attngeo.experiments.survey.measured.named`


@cache
def evidence() -> Evidence:
    """What is recorded, with what follows from it by layer.

    Overlaps are gains per pair, ``(G - 1) / (H - 1)`` for H heads: what a gain is made of, whatever their number.
    """
    sums, pairs = (pd.read_parquet(data("heads_or_sum", f"{name}.parquet")) for name in TABLES)
    of_sums, others = parts(*(sums[name] for name in SUMS)), sums["heads"] - 1
    by_pair = {f"{kind}_overlap": (of_sums[f"{kind}_gain"] - 1) / others for kind in ("symmetric", "skew")}
    full = sums["square"].where(sums["removed"] == NOTHING).groupby([sums[key] for key in LAYER])
    layers = sums.assign(**of_sums, **by_pair, left=sums["square"] / full.transform("max"))
    return Evidence(*map(distinct, (layers, pairs, named(read_records(data("survey"))))))


def whole(layers: pd.DataFrame) -> pd.DataFrame:
    """The rows of layers from which nothing is taken."""
    return layers[layers["removed"] == NOTHING]


def medians(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """A row per model and part: n_layers, medians over layers, and what the registry says of it."""
    grouped = rows.groupby(["model", "part"], sort=False)
    return with_kinds(grouped[list(columns)].median().assign(n_layers=grouped.size()).reset_index())


def families(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """A row per family and kind of attention: means of its models' `medians`; cross-attention left out."""
    every = of_families(medians(rows, columns), columns)
    return every[every["attention"].isin(GROUPS.values())]


def single_heads(of: Evidence) -> pd.DataFrame:
    """`families` of the heads' own symmetry, with the layers that have one head."""
    most = of.survey.groupby(LAYER)["head"].transform("max")
    alone = of.survey[most == 0].query("head == 0").rename(columns={"symmetry": "heads"})
    return families(pd.concat([whole(of.layers), alone])[[*LAYER, "heads"]], ("heads",))


def changes(layers: pd.DataFrame) -> pd.DataFrame:
    """What each removal does to every family: removed, at_random, family, attention, PARTS, left, change and kept.

    ``change`` is that of s; ``kept`` the share that is left of what the sum adds to the heads' s.
    """
    of = {key: families(rows, (*PARTS, "left")) for key, rows in layers.groupby(["removed", "at_random"], sort=False)}
    before = of.pop((NOTHING, False))
    added = before["symmetry"] - before["heads"]
    without = [
        rows.assign(
            removed=name,
            at_random=drawn,
            change=rows["symmetry"] - before["symmetry"],
            kept=(rows["symmetry"] - rows["heads"]) / added,
        )
        for (name, drawn), rows in of.items()
    ]
    return pd.concat(without, ignore_index=True)


def beside_survey(of: Evidence) -> pd.DataFrame:
    """Scores of layers (head -1) and heads from the pairs; ``recorded`` by the survey, with p of random weights."""
    same = of.pairs[of.pairs["g"] == of.pairs["h"]]
    heads = same[LAYER].assign(head=same["g"], symmetry=same["trace"] / same["product"])
    sums = whole(of.layers)[[*LAYER, "symmetry"]].assign(head=SUM)
    names = {"symmetry": "recorded", "symmetry_p": "p"}
    survey = of.survey[[*LAYER, "head", *names]].rename(columns=names)
    return pd.concat([sums, heads]).merge(survey, on=[*LAYER, "head"], how="left")


def heads_outside(of: Evidence) -> pd.Series:
    """Share of single heads more symmetric than the band of random weights, by kind of attention."""
    heads = with_kinds(beside_survey(of).query("head >= 0"))
    return ((heads["recorded"] > 0) & (heads["p"] < LEVEL)).groupby(heads["attention"]).mean()


def mirrors(pairs: pd.DataFrame) -> pd.DataFrame:
    """Mirror pairs, two heads of which one is near the transpose of the other: a row per layer of the recorded pairs.

    Definition, fixed before the numbers were seen. From the recorded products ``p_gh = <M_g, M_h>`` and ``t_gh =
    Tr(M_g M_h) = <M_g, M_h^T>`` a pair g < h has ``cos(M_g, M_h) = p_gh / sqrt(p_gg p_hh)`` and ``cos(M_g, M_h^T) =
    t_gh / sqrt(p_gg p_hh)``. It is a mirror pair if ``t_gh > p_gh`` and ``t_gh > 0``: nearer to the transpose, on its
    side. With s_0 the heads' own score the sum's gain comes apart by pairs, ``s - s_0 = sum_{g<h} 2 (t_gh - s_0 p_gh)
    / ||M||^2``.

    Returns:
        ``to_transpose`` and ``to_itself``, means over pairs of both cosines, and ``nearer``, their difference;
        ``mirrored``, the share of pairs that are mirror pairs; ``gain``, s of the sum less the heads' own; and
        ``from_mirrors``, what of it mirror pairs bring.
    """
    rows = []
    for place, layer in pairs.groupby(LAYER, sort=False):
        same = layer["g"] == layer["h"]
        own, off = layer[same].set_index("g"), layer[~same]
        lengths = np.sqrt(off["g"].map(own["product"]) * off["h"].map(own["product"]))
        square = own["product"].sum() + 2 * off["product"].sum()
        s_0 = own["trace"].sum() / own["product"].sum()
        brings = 2 * (off["trace"] - s_0 * off["product"]) / square
        mirrored = (off["trace"] > off["product"]) & (off["trace"] > 0)
        cosines = (off["trace"] / lengths).mean(), (off["product"] / lengths).mean()
        numbers = (*cosines, cosines[0] - cosines[1], mirrored.mean(), brings.sum(), brings[mirrored].sum())
        rows.append(dict(zip((*LAYER, *MIRRORS), (*place, *numbers), strict=True)))
    return pd.DataFrame(rows)


if __name__ == "__main__":
    try:
        record(data("heads_or_sum"))
    except AttngeoError as error:
        sys.exit(f"{error}")
