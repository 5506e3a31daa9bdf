# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: heads or their sum
#
# A layer of attention has several heads, and each head has a query-key matrix of its own. The paper {cite}`saponati2025` scores the
# sum of these matrices, to which no softmax is ever applied. [The page on encoders and decoders](pretrained_survey.py) therefore asks
# whether the heads of trained encoders are symmetric or only their sum. This page has the evidence behind its answer.
#
# **In most families of encoders, the heads are symmetric, and their sum is more symmetric still.** In the median family of
# encoders, individual heads score {glue:text}`heads-encoders`, and the sum over heads scores {glue:text}`sum-encoders`. In the
# median family of decoders, individual heads score {glue:text}`heads-decoders`, and the sum scores {glue:text}`sum-decoders`.
# Summing adds more symmetry in encoders because the skew-symmetric parts of their heads add up less than those of decoders.

# %% tags=["parameters", "remove-input"]
model: str = "all-MiniLM-L6-v2"  # recorded model whose pairs of heads are computed again if its weights are at hand

# %% tags=["remove-cell"]
from itertools import product

import pandas as pd
import torch
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.survey.families import GROUPS, Compared, compared
from chapters.heads_or_sum.evidence import (
    PARTS,
    beside_survey,
    changes,
    evidence,
    families,
    heads_outside,
    single_heads,
    whole,
)
from chapters.heads_or_sum.overlaps import overlaps, parts, ratio
from chapters.heads_or_sum.pictures import gains, heads_and_sums
from chapters.heads_or_sum.record import verified
from chapters.pretrained_survey.measures import both_ends, end_against_half
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.display.page import glue, show, table

SIX_DIGITS = 1e-6  # single precision, in which narrow weights were surveyed
CHOSEN = "Each family counts once in each group. Its value is the mean over its models of their medians over layers."
OF_SUMS = f"{CHOSEN} Layers with a single head have no sum and are left out."
PRINTED = {
    "printed": '"[E]ncoder-only models remarkably show a higher degree of symmetry than decoder-only": of sums over heads.',
    "place": "Section 3, Figure 2",
}

layers = evidence().layers
of_families = families(whole(layers), PARTS)
of_families["added"] = of_families["symmetry"] - of_families["heads"]
more = int((of_families["added"] > of_families["heads"])[of_families["attention"] == "bidirectional"].sum())
outside, middle = heads_outside(evidence()), of_families.groupby("attention")[[*PARTS, "added"]].median()
for part, kind in GROUPS.items():
    for name, column in {"heads": "heads", "sum": "symmetry", "added": "added"}.items():
        glue(f"{name}-{part}s", middle.loc[kind, column], ".2f")
    glue(f"outside-{part}s", outside[kind], ".0%")
    for name in ("symmetric", "skew"):
        glue(f"{name}-gain-{part}s", middle.loc[kind, f"{name}_gain"], ".1f")
    glue(f"n-{part}s", int((of_families["attention"] == kind).sum()), "d")
assert middle.loc["bidirectional", "added"] > middle.loc["causal", "added"]
assert middle.loc["bidirectional", "skew_gain"] < middle.loc["causal", "skew_gain"]
encoders = of_families[of_families["attention"] == "bidirectional"]
assert (encoders["heads"] > 0).all() and (
    encoders["added"] > 0
).all()  # "the heads are symmetric, and their sum more so"
glue("more", more, "d")
several, alone = compared(of_families, "heads"), single_heads(evidence())
glue("share-several", several.separation.auc, ".0%")
glue("share-every", compared(alone, "heads").separation.auc, ".0%")
assert set(alone["family"]) - set(of_families["family"]) == {"BART g2p"}
gap = verified(model, evidence().pairs)
assert gap is None or gap < 1e-12
recomputed = f"""When this page was made, we computed the pairs of heads of {model} again from its weights, and the result agreed
    with the record."""
from_record = f"""All numbers come from the record of these models. The weights of {model} were not available when this page was
    made, so they were not computed again."""
glue("again", " ".join((from_record if gap is None else recomputed).split()))

# %% tags=["remove-input"]
heads_and_sums(evidence())

# %% [markdown]
# :::{admonition} How sure is this?
# - Models that share authors, data or training recipe form a *family*, and each family counts once. The numbers above are those of
#   the median family, out of {glue:text}`n-encoders` families of encoders and {glue:text}`n-decoders` families of decoders.
#   {glue:text}`again`
# - The layers of all these families have several heads. BART g2p, the only family whose layers have a single head, shows the
#   opposite: its decoder is more symmetric than its encoder.
# - The models have different sizes, and we did not match them. Among released encoders, [larger models are less
#   symmetric](pretrained_survey.py#larger-encoders-are-less-symmetric).
# - We found the difference between the skew-symmetric parts by looking at these families, and we tested it on the same families. We
#   compared several measures, and no p-value is corrected for that.
# :::
#
# ## Single heads
#
# Heads with random weights have a symmetry score close to 0, and we know the range that contains 95 % of them. Among the single
# heads of encoders, {glue:text}`outside-encoders` are more symmetric than this range. Among those of decoders, it is
# {glue:text}`outside-decoders`. If we compare each family of encoders with each family of decoders whose layers have several
# heads, the heads of the encoder are the more symmetric ones in {glue:text}`share-several` of the pairs. If we include BART g2p,
# this share is {glue:text}`share-every`, and there are too few families to tell it from chance.


# %%
@claim(
    "Section 3",
    "(symmetry, single heads)",
    "the heads of encoders are more symmetric than the heads of decoders",
    Verdict.UNDECIDED,
    **PRINTED,
    remark=f"""We compare the mean of the heads' scores in a layer, weighted with the squared norms of the heads. {CHOSEN} Among
    families whose layers have several heads, the heads of encoders are more symmetric. If we include the only family
    whose layers have a single head, the interval of the AUC contains 1/2, because this family shows the opposite.""",
    ours=True,
)
def section_3_symmetry_of_heads():
    several = compared(families(whole(evidence().layers), PARTS), "heads")
    every = compared(single_heads(evidence()), "heads")
    survey = beside_survey(evidence())
    yield from both_ends(every.separation, "the heads' s", "all families")
    yield compare(f"two-sided p of {every.n_exchanges} exchanges of encoders and decoders", every.p, ">", 0.05)
    yield end_against_half(several.separation, "low", ">", "the heads' s", "families whose layers have several heads")
    yield compare(f"layers of several heads: two-sided p of {several.n_exchanges} exchanges", several.p, "<", 0.05)
    largest = (survey["symmetry"] - survey["recorded"]).abs().max(skipna=False)
    words = f"largest gap of the scores of {len(survey)} layers and heads from those of the survey"
    yield exact(words, largest, 0, SIX_DIGITS)


show(section_3_symmetry_of_heads())

# %% [markdown]
# ## The score of a sum comes from pairs of heads
#
# ````{prf:proposition} The symmetry of a sum over heads (ours)
# :label: prop-sum-over-heads
#
# Let $M = \sum_h M_h$ be the sum over heads (Eq. S20 of the paper) with $M_h = W_{q,h} W_{k,h}^\top$, where $W_{k,h}$ is the key
# factor that head $h$ uses. Let $M = S + N$ and $M_h = S_h + N_h$ be the decompositions into symmetric and skew-symmetric parts.
#
# 1. Let $t_{gh} = \mathrm{Tr}(M_g M_h)$ and $p_{gh} = \langle M_g, M_h \rangle$. Then $\mathrm{Tr}(MM) = \sum_{g,h} t_{gh}$
#    and $\|M\|_F^2 = \sum_{g,h} p_{gh}$.
# 2. $\langle S_g, S_h \rangle = \tfrac12 (p_{gh} + t_{gh})$ and $\langle N_g, N_h \rangle = \tfrac12 (p_{gh} - t_{gh})$.
# 3. Let $s_0$ be the mean of the scores of the heads, weighted with $\|M_h\|_F^2$. Let
#    $G_s = \|S\|_F^2 / \sum_h \|S_h\|_F^2$ be the gain of the symmetric parts, and let
#    $G_n = \|N\|_F^2 / \sum_h \|N_h\|_F^2$ be the gain of the skew-symmetric parts. Then the ratio $\|S\|_F^2 / \|N\|_F^2$ is,
#    unless $N$ or all $S_h$ vanish,
#
#    $$
#    \frac{1 + s}{1 - s} = \frac{G_s}{G_n} \cdot \frac{1 + s_0}{1 - s_0} .
#    $$ (eq-sum-over-heads)
#
# 4. If the heads had independent random signs, $G_s$ and $G_n$ would be 1 on average.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Both sides are bilinear in the heads. The terms need only products of size $d_h \times d_h$: with
# $C_{gh} = W_{k,g}^\top W_{q,h}$, the number $t_{gh}$ is the sum of the entries of $C_{gh} \odot C_{hg}^\top$, and $p_{gh}$ is the
# sum of the entries of $W_{q,g}^\top W_{q,h} \odot W_{k,g}^\top W_{k,h}$. This follows from
# $\mathrm{Tr}(W_{q,g} W_{k,g}^\top W_{q,h} W_{k,h}^\top) = \mathrm{Tr}(C_{gh} C_{hg})$ and, by a cyclic exchange of the factors, from
# $\mathrm{Tr}(M_g^\top M_h) = \mathrm{Tr}\bigl((W_{k,g}^\top W_{k,h})^\top W_{q,g}^\top W_{q,h}\bigr)$.
#
# *2.* Insert $S_h = (M_h + M_h^\top)/2$ and $N_h = (M_h - M_h^\top)/2$, and use $\langle M_g, M_h^\top \rangle = t_{gh}$.
#
# *3.* For a single head, part 2 says that $\|S_h\|_F^2 = \tfrac12 (1 + s_h) \|M_h\|_F^2$ and
# $\|N_h\|_F^2 = \tfrac12 (1 - s_h) \|M_h\|_F^2$. Summed over heads, these two numbers have the ratio $(1 + s_0)/(1 - s_0)$. The gains
# turn this ratio into the ratio of the layer.
#
# *4.* $\mathbb{E} \|\sum_h \epsilon_h S_h\|_F^2 = \sum_{g,h} \mathbb{E}[\epsilon_g \epsilon_h] \langle S_g, S_h \rangle$, and only the
# terms with $g = h$ remain. The same holds for the skew-symmetric parts.
# ```
# ````
#
# So the sum can be more symmetric than its heads for two reasons. Either the symmetric parts of the heads resemble each other, or
# their skew-symmetric parts cancel. The latter happens, for example, if one head is the transpose of another.


# %% tags=["remove-cell"]
def related_heads(n_heads: int = 6, n_kv_heads: int = 3, d: int = 24, d_head: int = 3, seed: int = 0) -> BilinearForm:
    """Normal factors with a common part, so that heads overlap and are neither symmetric nor the contrary."""
    generator = torch.Generator().manual_seed(seed)
    common, *own = (
        torch.randn(n, d, d_head, generator=generator, dtype=torch.float64) for n in (1, n_heads, n_kv_heads)
    )
    return BilinearForm(*(common + w for w in own))


def products_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """Frobenius products of every pair: (g, d, d) and (h, d, d) to (g, h)."""
    return torch.einsum("gij,hij->gh", a, b)


def largest_gap(a: Tensor, b: Tensor) -> float:
    """Largest difference, relative to the largest entry."""
    return float((a - b).abs().max() / b.abs().max())


# %%
@claim(
    "S1.5",
    "(score of the sum)",
    "a layer's symmetry score is a quotient of two sums over pairs of heads",
    Verdict.HOLDS,
    ours=True,
)
def score_of_a_sum():
    form = related_heads()
    m, by_pair = torch.stack([*form.heads()]), overlaps(form)
    symmetric, skew = (m + m.mT) / 2, (m - m.mT) / 2
    traces = r"largest gap of $\operatorname{Tr}(M_g M_h)$ by small products from the matrices themselves"
    for words, pairs, left, right in (
        (traces, "traces", m.mT, m),
        (r"the same of $\langle M_g, M_h \rangle$", "products", m, m),
        (r"the same of $\langle S_g, S_h \rangle$", "symmetric", symmetric, symmetric),
        (r"the same of $\langle N_g, N_h \rangle$", "skew", skew, skew),
    ):
        yield exact(words, largest_gap(getattr(by_pair, pairs), products_of_pairs(left, right)))
    s, layer = symmetry_score(form.dense()), parts(**by_pair.sums())
    yield exact(f"score of the layer by pairs of {len(m)} heads, against that of the dense sum", layer["symmetry"], s)
    quotient = layer["factor"] * ratio(layer["heads"]) / ratio(s)
    yield exact("product of the heads' ratio and the factor over the layer's ratio", quotient, 1)
    for name, of, words in (("G_s", symmetric, "symmetric"), ("G_n", skew, "skew")):
        dense = of.sum(0).square().sum() / of.square().sum()
        yield exact(f"${name}$ by pairs, against the dense {words} parts", layer[f"{words}_gain"], dense)
    signs = torch.tensor(list(product((1, -1), repeat=len(m))), dtype=torch.float64)
    turned = torch.stack([torch.einsum("g,gh,h->", e, by_pair.symmetric, e) for e in signs])
    yield exact("mean of $G_s$ over all signs of the heads", turned.mean() / by_pair.symmetric.trace(), 1)


show(score_of_a_sum())

# %% [markdown]
# ## In encoders the skew-symmetric parts add up less
#
# {numref}`fig-head-gains` compares the squared norm of the sum with the squared norms of the heads together. We call this ratio the
# gain, and we compute it for the symmetric parts and for the skew-symmetric parts of the heads.
#
# The symmetric parts add up in encoders and in decoders. Their gain is {glue:text}`symmetric-gain-encoders` in the median family of
# encoders and {glue:text}`symmetric-gain-decoders` in the median family of decoders. Whether encoders and decoders differ in this
# gain is open. The skew-symmetric parts do separate the two groups: their gain is {glue:text}`skew-gain-encoders` in encoders and
# {glue:text}`skew-gain-decoders` in decoders. As a result, summing raises the symmetry score by {glue:text}`added-encoders` in
# encoders and by {glue:text}`added-decoders` in decoders.

# %% tags=["remove-input"]
gains(evidence())


# %% tags=["remove-cell"]
def of_sums() -> dict[str, Compared]:
    """Encoders against decoders by each of nine measures of what a sum adds."""
    every = families(whole(evidence().layers), PARTS)
    every = every.assign(by_pair=every["symmetric_overlap"] - every["skew_overlap"])
    multiple = every[every["heads"] > 0].assign(multiple=lambda rows: rows["symmetry"] / rows["heads"])
    results = {measure: compared(every, measure) for measure in (*PARTS, "by_pair")}
    return results | {"multiple": compared(multiple, "multiple")}


# %%
@claim(
    "Section 3",
    "(symmetry, sum over heads)",
    "the sum over heads adds more symmetry in encoders than in decoders, found and tested on the same families",
    Verdict.HOLDS,
    ours=True,
)
def section_3_symmetry_of_the_sum():
    results = of_sums()
    factor, skew = results["factor"], results["skew_gain"].separation
    by_pair, exchanges = results["by_pair"].separation, factor.n_exchanges
    yield end_against_half(factor.separation, "low", ">", "the factor", "families")
    yield compare(f"two-sided p of {exchanges} exchanges, of the factor", factor.p, "<", 0.05)
    yield end_against_half(by_pair, "low", ">", "gain per pair, symmetric minus skew-symmetric", "families")
    adds = "gain of the skew-symmetric parts"
    yield end_against_half(skew, "high", "<", adds, "families")
    yield end_against_half(skew, "family_high", "<", adds, "families drawn anew")
    return {
        "remark": f"""We compare the factor by which summing multiplies the ratio of the symmetric to the skew-symmetric part.
        We compared {len(results)} measures. If its p-value is multiplied by this number, it is
        {min(1.0, len(results) * factor.p):.3f}. {OF_SUMS}"""
    }


show(section_3_symmetry_of_the_sum(), unfolded=True)


# %%
@claim(
    "Section 3",
    "(symmetry, symmetric parts of heads)",
    "the symmetric parts of heads add up more in encoders than in decoders",
    Verdict.UNDECIDED,
    **PRINTED,
    ours=True,
)
def section_3_symmetric_parts_of_heads():
    results = of_sums()
    yield from both_ends(results["symmetric_gain"].separation, "gain of the symmetric parts", "families")
    yield from both_ends(results["symmetric_overlap"].separation, "the same per pair of heads", "families")
    yield from both_ends(
        results["multiple"].separation, "s of the sum divided by s of the heads, if positive,", "families"
    )
    return {
        "remark": f"""The gain per pair of heads does not depend on the number of heads. For this gain, p is
        {results["symmetric_overlap"].p:.2f}, and the interval of the AUC contains 1/2. {OF_SUMS}"""
    }


show(section_3_symmetric_parts_of_heads())

# %% [markdown]
# ## No single direction carries what the sum adds
#
# Summing might add symmetry because all heads share one direction, a few coordinates with large weights, or the diagonal. We
# removed each of these from every head and scored the sum again. None of them explains what the sum adds.


# %% tags=["remove-cell"]
def without_parts(layers: pd.DataFrame) -> pd.DataFrame:
    """Medians over families after a part was removed from every head."""
    by_part = changes(layers).query("not at_random").groupby(["removed", "attention"], sort=False)
    middle = by_part[["left", "symmetry", "kept"]].median().unstack()
    columns = {
        "squared norm left": middle["left", "bidirectional"].map("{:.0%}".format),
        "s, encoders": middle["symmetry", "bidirectional"],
        "s, decoders": middle["symmetry", "causal"],
        "share left, encoders": middle["kept", "bidirectional"].map("{:.0%}".format),
    }
    return pd.DataFrame(columns).rename_axis("without the")


kept = changes(layers).query("attention == 'bidirectional' and not at_random").groupby("removed")["kept"].median()
assert (kept.drop(["leading 2 %", "leading 10 %"]) > 0.9).all() and kept["leading 2 %"] < 0.8  # "no single direction"
by_chance = changes(layers).query("at_random")["change"].abs().max()


# %% tags=["remove-input"]
table(
    without_parts(layers),
    name="tab-without-parts",
    caption="Symmetry score of the sum in the median family after a part was removed from every head, and the share that is left"
    " of the symmetry that summing adds in encoders. Removing as many random directions or coordinates changes the score of a"
    f" family by at most {by_chance:.2f}.",
    formats={"s, encoders": ".2f", "s, decoders": ".2f"},
    folded="Show the symmetry score without each of these parts",
)

# %% [markdown]
# The mean direction is $(1, \dots, 1)$, which layer normalisation subtracts (T5, SmolLM2 and stories260K have a normalisation that
# does not subtract it). The largest coordinates are the 1 % of coordinates whose rows and columns have the largest norms. The leading
# pairs are the first singular vectors of the sum. Only when we removed 2 % or 10 % of all pairs of singular vectors did the sum lose
# a large part of what it adds. These vectors carry much of the squared norm, and we selected them by the sum itself, so part of this
# loss is due to the selection.


# %%
@claim(
    "Section 3",
    "(symmetry, without parts of the form)",
    "encoders stay more symmetric without their largest coordinates, directions or the diagonal",
    Verdict.HOLDS,
    remark=f"""The same part is removed from every head. Without the leading 10 % of the pairs of directions, we cannot tell
    whether summing still adds more symmetry in encoders. {OF_SUMS}""",
    ours=True,
)
def section_3_symmetry_after_removals():
    moved = changes(evidence().layers)
    taken = dict(list(moved[~moved["at_random"]].groupby("removed", sort=False)))
    for name, rows in taken.items():
        result = compared(rows, "symmetry")
        yield end_against_half(result.separation, "low", ">", "s", f"families without {name}")
    largest = moved[moved["at_random"]]["change"].abs().max()
    yield compare("largest change of a family's s when as much is taken at random", largest, "<", 0.05)
    tenth = compared(taken["leading 10 %"], "factor").separation
    yield from both_ends(tenth, "the factor", "families without the leading 10 %")


show(section_3_symmetry_after_removals())

# %% [markdown]
# ## What it means for you
#
# - The score of a layer is the score of a sum to which no softmax is ever applied. In {glue:text}`more` of {glue:text}`n-encoders` families of
#   encoders, this sum adds more to the symmetry score than the heads have themselves.
# - So look at the heads as well as at the sum: `attngeo score MODEL --per-head`.
# - Compare only layers with the same number of heads, or compare single heads. Twelve heads form 66 pairs, all of which can add
#   symmetry to the sum, whereas two heads form only one pair.
# - We do not know why the symmetric parts of the heads of an encoder agree more than their skew-symmetric parts. [The positions of
#   tokens](positions.py) are part of the reason.
