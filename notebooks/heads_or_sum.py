# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # In encoders the heads are symmetric, and their sum more so
#
# A layer of attention has several heads, each with its own query-key matrix. The paper {cite}`saponati2025` scores their
# sum, which no softmax sees. Are the heads of trained encoders symmetric, or is it the sum?
#
# **Both, in most families of models.** The [score $s$](two_scores.py) of a symmetric matrix is 1. The heads of encoders have
# {glue:text}`heads-encoders` in the median family, and their sum {glue:text}`sum-encoders`. In decoders it is
# {glue:text}`heads-decoders` and {glue:text}`sum-decoders`. The sum gains more in encoders: there the heads'
# skew-symmetric parts add up less.

# %% tags=["parameters", "remove-input"]
model: str = "all-MiniLM-L6-v2"  # recorded model whose pairs of heads are computed again where its weights are at hand

# %% tags=["remove-cell"]
from itertools import product

import pandas as pd
import seaborn as sns
import torch
from torch import Tensor

from chapters.heads_or_sum import (
    PARTS,
    Evidence,
    beside_survey,
    changes,
    evidence,
    families,
    heads_outside,
    medians,
    overlaps,
    parts,
    ratio,
    single_heads,
    verified,
    whole,
)
from chapters.pretrained_survey.measures import both_ends, end_against_half
from livingpaper.display.page import glue, show, table
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, compare, exact
from attngeo.experiments.survey.families import GROUPS, Compared, compared, with_kinds

COLOURS = {**{kind: PART_COLOURS[part] for part, kind in GROUPS.items()}, "cross": PART_COLOURS["cross"]}
# labels of encoders in `gains` that would lie on one another: points upwards
NUDGED = {"RXN": 3, "BERT": -4, "Whisper": -8, "Sapiens": 3, "DeiT": -4, "T5": -11}
SIX_DIGITS = 1e-6  # single precision, in which narrow weights were surveyed
CHOSEN = "A family counts once on either side, with the mean of its models' medians over layers."
OF_SUMS = f"{CHOSEN} A layer of one head has no sum and is left out."
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
assert (encoders["heads"] > 0).all() and (encoders["added"] > 0).all()  # the title, where layers have several heads
glue("more", more, "d")
several, alone = compared(of_families, "heads"), single_heads(evidence())
glue("share-several", several.separation.auc, ".0%")
glue("share-every", compared(alone, "heads").separation.auc, ".0%")
assert set(alone["family"]) - set(of_families["family"]) == {"BART g2p"}
gap = verified(model, evidence().pairs)
assert gap is None or gap < 1e-12
at_hand = f"For {model} they were computed again from its weights for this page, with this result"
glue("again", f"The weights of {model} are not at hand for this page" if gap is None else at_hand)


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the line that they stand in: model and part."""
    return rows.assign(line=rows["model"] + ", " + rows["part"])


@house_style()
def heads_and_sums(of: Evidence) -> CaptionedFigure:
    """Symmetry of every head, of the heads of a layer together and of their sum, a line for each model and part."""
    stacks = medians(whole(of.layers), ("symmetry", "heads"))
    stacks = pd.concat(stacks[stacks["attention"] == kind].sort_values("symmetry", ascending=False) for kind in COLOURS)
    heads = with_kinds(beside_survey(of).query("head >= 0"))
    figure, panel = new_figure(7.4, 0.15 * len(stacks) + 1)
    lines = {"y": "line", "order": list(named(stacks)["line"]), "ax": panel}
    points = {"hue": "attention", "palette": COLOURS, "size": 2.5, "alpha": 0.3, "jitter": 0.3, "rasterized": True}
    sns.stripplot(named(heads), x="symmetry", **points, **lines)
    panel.hlines(range(len(stacks)), stacks["heads"], stacks["symmetry"], color="black", linewidth=1)
    marks = {"heads": ("o", "white", "its heads together"), "symmetry": ("D", "black", "layer: sum over heads")}
    for column, (marker, face, label) in marks.items():
        panel.plot(stacks[column], range(len(stacks)), marker, color="black", markerfacecolor=face, label=label)
    panel.axvline(0, color=NEUTRAL, linewidth=0.8)
    panel.tick_params(axis="y", labelsize=8)
    panel.set(xlabel="symmetry s", ylabel="", ylim=(len(stacks) - 0.4, -0.6))
    handles, words = panel.get_legend_handles_labels()
    for handle in handles[: len(COLOURS)]:  # of heads
        handle.set(alpha=1, markersize=6)
    panel.get_legend().remove()
    figure.legend(handles, words, loc="outside upper center", ncols=3)
    caption = rf"""Symmetry of {len(heads)} heads (points), a line for each model and part whose layers have several.
        In black medians over layers: of the mean of the heads' scores weighted with $\|M_h\|^2$ (circles), and of the sum
        (diamonds)."""
    further = int((stacks["symmetry"] > stacks["heads"]).sum())
    alt = f"""Strip plot of symmetry, {len(stacks)} rows, one per model and part: pale points for heads, a circle for the heads
        of a layer together, a diamond for their sum. The diamond lies right of the circle in {further} rows, far right
        in most encoders; decoders stay near 0."""
    return CaptionedFigure(figure, "fig-heads-and-sums", caption, alt)


# %% tags=["remove-input"]
heads_and_sums(evidence())

# %% [markdown]
# :::{admonition} How sure is this
# - Models that share authors, data or recipe are a *family*, which counts once. Numbers above are those of the median
#   family, of {glue:text}`n-encoders` of encoders and {glue:text}`n-decoders` of decoders. {glue:text}`again`.
# - Their layers have several heads. BART g2p, the one family whose layers have one head, goes the other way.
# - The models have different sizes, and we did not match them. Among released encoders, [larger models are less
#   symmetric](pretrained_survey.py#larger-encoders-are-less-symmetric).
# - What sets the two kinds apart was found by looking at these families and tested on the same ones. Several measures were
#   compared, and no p is corrected for that.
# :::
#
# Random heads have hardly any symmetry, and a band around 0 holds 95 % of them. Of the single heads of encoders
# {glue:text}`outside-encoders` lie above it, of decoders {glue:text}`outside-decoders`. Of pairs of families, one
# of each kind, whose layers have several heads, the encoder's heads are the more symmetric in
# {glue:text}`share-several`. With BART g2p it is {glue:text}`share-every`, and too few families to decide.


# %%
@claim(
    "Section 3",
    "(symmetry, single heads)",
    "the heads of encoders are more symmetric than those of decoders, on the mean of their scores",
    Verdict.UNDECIDED,
    **PRINTED,
    remark=f"""Judged on the mean of the heads' scores in a layer, weighted with their squared norms. {CHOSEN} Where layers have
    several heads, encoders' are the more symmetric; with the one family of one head, which goes the other way, the
    interval holds 1/2.""",
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
# ## A sum's score comes from pairs of heads
#
# ````{prf:proposition} the symmetry of a sum over heads
# :label: prop-sum-over-heads
#
# Let $M = \sum_h M_h$ be the sum over heads (Eq. S20 of the paper), $M_h = W_{q,h} W_{k,h}^\top$, where $W_{k,h}$ is the key
# factor that head $h$ reads, with symmetric and skew-symmetric parts $M = S + N$, $M_h = S_h + N_h$.
#
# 1. Let $t_{gh} = \mathrm{Tr}(M_g M_h)$ and $p_{gh} = \langle M_g, M_h \rangle$. Then $\mathrm{Tr}(MM) = \sum_{g,h} t_{gh}$
#    and $\|M\|_F^2 = \sum_{g,h} p_{gh}$.
# 2. $\langle S_g, S_h \rangle = \tfrac12 (p_{gh} + t_{gh})$ and $\langle N_g, N_h \rangle = \tfrac12 (p_{gh} - t_{gh})$.
# 3. Let $s_0$ be the mean of the heads' scores weighted with $\|M_h\|_F^2$, $G_s = \|S\|_F^2 / \sum_h \|S_h\|_F^2$ and
#    $G_n = \|N\|_F^2 / \sum_h \|N_h\|_F^2$. The ratio $\|S\|_F^2 / \|N\|_F^2$ is, unless $N$ or all $S_h$ vanish,
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
# 1 is bilinear. Its terms take products of size $d_h \times d_h$ only. With $C_{gh} = W_{k,g}^\top W_{q,h}$, $t_{gh}$ is the
# sum of the entries of $C_{gh} \odot C_{hg}^\top$, and $p_{gh}$ that of $W_{q,g}^\top W_{q,h} \odot W_{k,g}^\top W_{k,h}$:
# $\mathrm{Tr}(W_{q,g} W_{k,g}^\top W_{q,h} W_{k,h}^\top) = \mathrm{Tr}(C_{gh} C_{hg})$ and
# $\mathrm{Tr}(M_g^\top M_h) = \mathrm{Tr}\bigl((W_{k,g}^\top W_{k,h})^\top W_{q,g}^\top W_{q,h}\bigr)$ by turning the
# factors round. For 2 insert $S_h = (M_h + M_h^\top)/2$, $N_h = (M_h - M_h^\top)/2$ and use
# $\langle M_g, M_h^\top \rangle = t_{gh}$. For one head 2 says
# $\|S_h\|_F^2 = \tfrac12 (1 + s_h) \|M_h\|_F^2$ and $\|N_h\|_F^2 = \tfrac12 (1 - s_h) \|M_h\|_F^2$; summed over heads, the two
# have the ratio $(1 + s_0)/(1 - s_0)$, which the gains turn into that of the layer. For 4,
# $\mathbb{E} \|\sum_h \epsilon_h S_h\|_F^2 = \sum_{g,h} \mathbb{E}[\epsilon_g \epsilon_h] \langle S_g, S_h \rangle$, and only
# $g = h$ is left.
# ```
# ````
#
# So a sum can be more symmetric than its heads in two ways: their symmetric parts resemble one another, or their skew parts
# cancel, as those of a head and its transpose do.


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
# ## In encoders the skew parts add up less
#
# Symmetric parts add up in both kinds: in the median families of encoders and decoders their sum has
# {glue:text}`symmetric-gain-encoders` and {glue:text}`symmetric-gain-decoders` times the squared norm that they have by
# themselves. Whether the kinds differ in that is open. The skew parts set them apart: their sum has
# {glue:text}`skew-gain-encoders` times the norm in encoders, and {glue:text}`skew-gain-decoders` in decoders. So the sum adds
# {glue:text}`added-encoders` to the $s$ of the heads in encoders, and {glue:text}`added-decoders` in decoders.


# %% tags=["remove-cell"]
@house_style()
def gains(of: Evidence) -> CaptionedFigure:
    """How far the heads' symmetric parts add up against how far their skew parts do: layers and families."""
    rows, of_families = with_kinds(whole(of.layers)).query("attention != 'cross'"), families(whole(of.layers), PARTS)
    figure, panel = new_figure(7.4, 3.1)
    low, high, ticks = 0.45, 4.6, [0.5, 1, 2, 4]
    panel.plot([low, high], [low, high], color=NEUTRAL, linewidth=1, linestyle="--")
    for line in (panel.axhline, panel.axvline):
        line(1, color=NEUTRAL, linewidth=0.8)
    style = {"x": "skew_gain", "y": "symmetric_gain", "hue": "attention", "palette": COLOURS, "ax": panel}
    style["hue_order"] = list(GROUPS.values())
    sns.scatterplot(rows, s=10, alpha=0.3, linewidth=0, legend=False, **style)
    sns.scatterplot(of_families, s=45, edgecolor="black", **style)
    for row in of_families.itertuples():
        encoder = row.attention == "bidirectional"
        at = (-6, NUDGED.get(row.family, -2)) if encoder else (6, 3)
        where = {"xytext": at, "textcoords": "offset points", "ha": "right" if encoder else "left"}
        panel.annotate(row.family, (row.skew_gain, row.symmetric_gain), fontsize=8, **where)
    panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(0.8, high))
    panel.set_xticks(ticks, [f"{t:g}" for t in ticks])
    panel.set_yticks(ticks[1:], [f"{t:g}" for t in ticks[1:]])
    panel.minorticks_off()
    panel.set(xlabel="gain of skew parts $G_n$", ylabel="gain of symmetric parts $G_s$")
    panel.legend(loc="lower right", bbox_to_anchor=(0, 0.13, 1, 1), title="mean of a family's medians")
    caption = """How much larger the squared norm of the sum is than the squared norms of the heads together, for symmetric and
        for skew parts; both are 1 on average for heads of random sign. Small points are layers. On the dashed line the sum has
        the symmetry of its heads."""
    alt = """Scatter plot on log axes, gain of symmetric parts against gain of skew parts. Decoders lie along the diagonal;
        encoders lie above it, near a skew gain of one."""
    return CaptionedFigure(figure, "fig-head-gains", caption, alt)


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
    yield end_against_half(by_pair, "low", ">", "gains by pair, symmetric less skew", "families")
    adds = "how far skew parts add up"
    yield end_against_half(skew, "high", "<", adds, "families")
    yield end_against_half(skew, "family_high", "<", adds, "families drawn anew")
    return {
        "remark": f"""Judged on the factor by which the sum multiplies the ratio of the symmetric
        to the skew part. Times {len(results)}, as many measures as were compared, its p is
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
    yield from both_ends(results["symmetric_gain"].separation, "how far symmetric parts add up", "families")
    yield from both_ends(results["symmetric_overlap"].separation, "the same by pair of heads", "families")
    yield from both_ends(results["multiple"].separation, "s of the sum over s of heads, where positive,", "families")
    return {
        "remark": f"""By pair, which the number of heads does not touch, p is {results["symmetric_overlap"].p:.2f}, and the interval
        holds 1/2. {OF_SUMS}"""
    }


show(section_3_symmetric_parts_of_heads())

# %% [markdown]
# ## No single direction carries what the sum adds
#
# Does what the sum adds lie in one direction that all heads share, in a few coordinates of large weights, or on the diagonal?
# We took each of these from every head, and none of them carries it.


# %% tags=["remove-cell"]
def without_parts(layers: pd.DataFrame) -> pd.DataFrame:
    """Medians over families once a part is taken from every head."""
    by_part = changes(layers).query("not at_random").groupby(["removed", "attention"], sort=False)
    middle = by_part[["left", "symmetry", "kept"]].median().unstack()
    columns = {
        "squared norm left": middle["left", "bidirectional"].map("{:.0%}".format),
        "s, encoders": middle["symmetry", "bidirectional"],
        "s, decoders": middle["symmetry", "causal"],
        "kept, encoders": middle["kept", "bidirectional"].map("{:.0%}".format),
    }
    return pd.DataFrame(columns).rename_axis("without the")


kept = changes(layers).query("attention == 'bidirectional' and not at_random").groupby("removed")["kept"].median()
assert (kept.drop(["leading 2 %", "leading 10 %"]) > 0.9).all() and kept["leading 2 %"] < 0.8  # "no single direction"
by_chance = changes(layers).query("at_random")["change"].abs().max()


# %% tags=["remove-input"]
table(
    without_parts(layers),
    name="tab-without-parts",
    caption="Symmetry of the sum in the median family without a part of its heads, and the share kept of what it adds in"
    f" encoders. As much at random moves a family's $s$ by {by_chance:.2f} at most.",
    formats={"s, encoders": ".2f", "s, decoders": ".2f"},
    folded="Symmetry without each of these parts",
)

# %% [markdown]
# The mean direction is $(1, \dots, 1)$, which layer normalisation subtracts (not in T5, SmolLM2 and Llama). Coordinates are
# the hundredth with the largest norms, leading pairs the sum's first singular vectors. Only a fiftieth or a tenth of these
# matter. But they hold much of the squared norm, and the sum itself chose them, so that some of the loss is by choice.


# %%
@claim(
    "Section 3",
    "(symmetry, without parts of the form)",
    "encoders stay more symmetric without their largest coordinates, directions or the diagonal",
    Verdict.HOLDS,
    remark=f"""The same part is taken from every head. Without the leading tenth of the pairs of directions it is not told
    whether the sum still adds more in encoders. {OF_SUMS}""",
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
# - A layer's score is that of a sum which no softmax computes. In {glue:text}`more` of {glue:text}`n-encoders` families of
#   encoders this sum adds more to $s$ than the heads have.
# - So look at both: `attngeo score MODEL --per-head`. Twelve heads have 66 pairs that can add to a sum and two heads have one:
#   compare layers of equally many heads, or compare heads.
# - What makes the heads of an encoder agree in their symmetric parts and not in the others is open. [Positions](positions.py)
#   are part of it.
