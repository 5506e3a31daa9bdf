"""The recorded layers as the page tells them: medians of each model's part, means of families, what families differ in.

One-head layers have no pairs and are not in the record; their one head stands in the survey's, and counts as a head.
Cross-attention is neither encoder nor decoder. Weights that are recorded twice count once.
"""

from typing import NamedTuple

import pandas as pd

from attngeo.chapters.heads_or_sum.overlaps import SUMS, parts, ratio
from attngeo.chapters.heads_or_sum.record import LAYER, recorded
from attngeo.chapters.heads_or_sum.removals import NOTHING
from attngeo.chapters.heads_or_sum.spectrum import in_eigenvalues_at_random
from attngeo.forms.null_laws import LEVEL
from attngeo.forms.scores import SUM
from attngeo.records.checkout import data
from attngeo.survey.families import GROUPS, distinct, of_families, with_kinds
from attngeo.survey.measured import named, read_records

PARTS = ("symmetry", "heads", "symmetric_gain", "skew_gain", "factor", "symmetric_overlap", "skew_overlap")
SPECTRA = ("in_eigenvalues", "real", "positive")
SKEW = ("agreeing", "opposed")


class Evidence(NamedTuple):
    """Tables with a row per layer, and the survey's own record of the same layers."""

    layers: pd.DataFrame  # and part taken: removed, at_random, PARTS
    pairs: pd.DataFrame  # and pair of heads: g, h, product, trace
    spectra: pd.DataFrame  # and head: SPECTRA, n_positive, n_negative
    survey: pd.DataFrame  # `attngeo.survey.measured.named`


def evidence() -> Evidence:
    """What is recorded, with what follows from it by layer."""
    removals, pairs, spectra = recorded()
    survey = named(read_records(data("survey"))[0])
    return Evidence(*(distinct(table) for table in (with_parts(removals), pairs, spectra, survey)))


def with_parts(removals: pd.DataFrame) -> pd.DataFrame:
    """A recorded table of `removals` with the columns PARTS and ``left``, the share of the sum's squared norm.

    Overlaps are gains per pair, ``(G - 1) / (H - 1)`` for H heads: what a gain is made of, whatever their number.
    """
    told, others = parts(*(removals[name] for name in SUMS)), removals["heads"] - 1
    overlaps = {f"{kind}_overlap": (told[f"{kind}_gain"] - 1) / others for kind in ("symmetric", "skew")}
    full = removals["square"].where(removals["removed"] == NOTHING).groupby([removals[key] for key in LAYER])
    return removals.assign(**told, **overlaps, left=removals["square"] / full.transform("max"))


def whole(layers: pd.DataFrame) -> pd.DataFrame:
    """The rows of layers from which nothing is taken."""
    return layers[layers["removed"] == NOTHING]


def medians(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """A row per model and part: n_layers, medians over layers, and what the registry says of it."""
    grouped = rows.groupby(["model", "part"], sort=False)
    return with_kinds(grouped[list(columns)].median().assign(n_layers=grouped.size()).reset_index())


def families(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """A row per family and kind of attention: means of its models' `medians`; cross-attention left out."""
    found = of_families(medians(rows, columns), columns)
    return found[found["attention"].isin(GROUPS.values())]


def with_added(told: pd.DataFrame) -> pd.DataFrame:
    """`families` of PARTS with what the sum makes of the heads' s: ``added``, and ``multiple`` of it."""
    return told.assign(added=told["symmetry"] - told["heads"], multiple=told["symmetry"] / told["heads"])


def single_heads(found: Evidence) -> pd.DataFrame:
    """`families` of the heads' own symmetry, with the layers that have one head."""
    most = found.survey.groupby(LAYER)["head"].transform("max")
    alone = found.survey[most == 0].query("head == 0").rename(columns={"symmetry": "heads"})
    return families(pd.concat([whole(found.layers), alone])[[*LAYER, "heads"]], ("heads",))


def owed_to_the_sum(told: pd.DataFrame) -> dict[str, pd.Series]:
    """Whether each family's symmetry owes more to the sum than to its heads, on two scales.

    ``ratio``: the sum multiplies (1 + s) / (1 - s) by more than the heads have; ``s``: it adds more than they.
    """
    return {
        "ratio": told["factor"] > ratio(told["heads"]),
        "s": told["symmetry"] - told["heads"] > told["heads"],
    }


def changes(layers: pd.DataFrame) -> pd.DataFrame:
    """What each removal does to every family: removed, at_random, family, attention, PARTS, left, change and kept.

    ``change`` is that of s; ``kept`` the share that is left of what the sum adds to the heads' s.
    """
    of = {key: families(rows, (*PARTS, "left")) for key, rows in layers.groupby(["removed", "at_random"], sort=False)}
    before = of.pop((NOTHING, False))
    added = before["symmetry"] - before["heads"]
    told = [
        own.assign(
            removed=name,
            at_random=drawn,
            change=own["symmetry"] - before["symmetry"],
            kept=(own["symmetry"] - own["heads"]) / added,
        )
        for (name, drawn), own in of.items()
    ]
    return pd.concat(told, ignore_index=True)


def skew_shares(pairs: pd.DataFrame) -> pd.DataFrame:
    """How far the skew parts of two heads agree or oppose each other, in ``sum_h ||N_h||^2`` of the layer.

    Returns:
        A row per layer: ``agreeing``, the sum of the positive ``<N_g, N_h>`` over g != h, and ``opposed``, that of the
        negative ones without sign: ``G_n = 1 + agreeing - opposed``.
    """
    skew = (pairs["product"] - pairs["trace"]) / 2
    same = pairs["g"] == pairs["h"]
    sums = {"own": skew.where(same, 0), "agreeing": 2 * skew.mask(same, 0).clip(lower=0)}
    sums["opposed"] = -2 * skew.mask(same, 0).clip(upper=0)
    found = pairs[LAYER].assign(**sums).groupby(LAYER, sort=False).sum()
    return found[list(SKEW)].div(found["own"], axis=0).reset_index()


def beside_survey(found: Evidence) -> pd.DataFrame:
    """Scores of layers (head -1) and heads from the pairs; ``recorded`` by the survey, with p of random weights."""
    own = found.pairs[found.pairs["g"] == found.pairs["h"]]
    heads = own[LAYER].assign(head=own["g"], symmetry=own["trace"] / own["product"])
    sums = whole(found.layers)[[*LAYER, "symmetry"]].assign(head=SUM)
    names = {"symmetry": "recorded", "symmetry_p": "p"}
    survey = found.survey[[*LAYER, "head", *names]].rename(columns=names)
    return pd.concat([sums, heads]).merge(survey, on=[*LAYER, "head"], how="left")


def heads_outside(found: Evidence) -> pd.DataFrame:
    """Shares of single heads outside the band of random weights, a row per kind of attention: symmetric, skew."""
    heads = with_kinds(beside_survey(found).query("head >= 0"))
    sides = {"symmetric": heads["recorded"] > 0, "skew": heads["recorded"] <= 0}
    told = heads.assign(**{side: own & (heads["p"] < LEVEL) for side, own in sides.items()})
    return told.groupby("attention")[list(sides)].mean()


def spectra_table(found: Evidence) -> pd.DataFrame:
    """Medians over families of SPECTRA, of single heads and of sums, for encoders and decoders.

    ``at random`` is the first factor of normal weights of these shapes.
    """
    shapes = found.survey[[*LAYER, "head", "d_model", "rank"]]
    spectra = found.spectra.merge(shapes, on=[*LAYER, "head"], how="left", validate="1:1")
    spectra = spectra.assign(at_random=in_eigenvalues_at_random(spectra["d_model"], spectra["rank"]))
    columns = (SPECTRA[0], "at_random", *SPECTRA[1:])
    rows = []
    for form, own in (("heads", spectra[spectra["head"] != SUM]), ("sums", spectra[spectra["head"] == SUM])):
        told = families(own, columns)
        for part, kind in GROUPS.items():
            middle = told[told["attention"] == kind][list(columns)].median().rename(lambda name: name.replace("_", " "))
            rows.append({"matrices": f"{form} of {part}s", **middle})
    return pd.DataFrame(rows)


def families_table(found: Evidence) -> pd.DataFrame:
    """What the sum adds, family by family: s of the heads and of the sum, both gains and their quotient."""
    headings = {
        "heads": "s of heads",
        "symmetry": "s of the sum",
        "symmetric_gain": "G_s",
        "skew_gain": "G_n",
        "factor": "G_s / G_n",
    }
    told = families(whole(found.layers), PARTS).sort_values(["attention", "symmetry"], ascending=[True, False])
    return told[["family", "attention", *headings]].rename(columns=headings)
