"""What is recorded of pairs of heads and of removals, by layer and by family of models."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from attngeo.bilinear.null_laws import LEVEL
from attngeo.bilinear.scores import SUM
from attngeo.experiments.survey.families import GROUPS, distinct, of_families, with_kinds
from attngeo.experiments.survey.measured import named, read_records
from attngeo.files.checkout import data
from chapters.heads_or_sum.overlaps import SUMS, parts
from chapters.heads_or_sum.removals import NOTHING

TABLES = ("removals", "pairs")
LAYER = ["model", "part", "layer"]
PARTS = ("symmetry", "heads", "symmetric_gain", "skew_gain", "factor", "symmetric_overlap", "skew_overlap")
MIRRORS = ("to_transpose", "to_itself", "nearer", "mirrored", "gain", "from_mirrors")


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
