# ---
# jupyter:
#   attngeo:
#     reads: [data, ATTNGEO_WEIGHTS]
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Heads or their sum
#
# A layer of attention has several heads, each with a query-key matrix and a softmax of its own. The paper
# {cite}`saponati2025` scores their sum, which no softmax sees. Are the heads of trained encoders symmetric, or is it the sum?
#
# Both, where a layer has several heads; the one family whose layers have one head leaves the heads' part undecided. On the
# paper's [symmetry score $s$](two_scores.py), from $-1$ (skew) to 1 (symmetric), the heads of a layer have on average,
# weighted with their squared norms, {glue:text}`heads-encoders` in the median family of encoders, against
# {glue:text}`heads-decoders` of decoders; their sum has {glue:text}`sum-encoders`, against {glue:text}`sum-decoders`. Every
# matrix is a symmetric plus a skew-symmetric part: summing multiplies the ratio of the two parts' squared norms by
# {glue:text}`factor-encoders` in encoders and by {glue:text}`factor-decoders` in decoders. That factor, and the difference
# between $s$ of the sum and of the heads, set encoders and decoders apart; the quotient of the two $s$ does not.

# %% tags=["parameters"]
model: str = "all-MiniLM-L6-v2"  # recorded model whose pairs of heads are computed again where its weights are at hand

# %% tags=["remove-cell"]
from attngeo.chapters.heads_or_sum import algebra, figures, on_weights
from attngeo.chapters.heads_or_sum.evidence import (
    PARTS,
    SKEW,
    changes,
    evidence,
    families,
    families_table,
    heads_outside,
    owed_to_the_sum,
    single_heads,
    skew_shares,
    spectra_table,
    whole,
    with_added,
)
from attngeo.chapters.heads_or_sum.record import verified
from attngeo.display.page import glue, show, table
from attngeo.forms.null_laws import symmetry_null
from attngeo.runs.numbers_in_words import extent
from attngeo.survey.families import compared

# %% tags=["remove-cell"]
found = evidence()
kinds = {"bidirectional": "encoders", "causal": "decoders"}
told = with_added(families(whole(found.layers), PARTS))
middle = told.groupby("attention")[list(PARTS)].median()
for kind, words in kinds.items():
    glue(f"factor-{words}", middle.loc[kind, "factor"], ".1f")
    glue(f"heads-{words}", middle.loc[kind, "heads"], ".2f")
    glue(f"sum-{words}", middle.loc[kind, "symmetry"], ".2f")
    glue(f"symmetric-{words}", middle.loc[kind, "symmetric_gain"], ".1f")
    glue(f"skew-{words}", middle.loc[kind, "skew_gain"], ".1f")
glue("half-head", symmetry_null(768, 64).half_width, ".3f")
sides = heads_outside(found)
for kind, words in kinds.items():
    for side in sides:
        glue(f"{side}-heads-{words}", sides.loc[kind, side], ".0%")
    of_kind = told["attention"] == kind
    glue(f"n-{words}", int(of_kind.sum()), "d")
    for scale, owed in owed_to_the_sum(told).items():
        glue(f"{scale}-{words}", int(owed[of_kind].sum()), "d")
    glue(f"added-{words}", told[of_kind]["added"].median(), "+.2f")
    glue(f"multiple-{words}", told[of_kind & (told["heads"] > 0)]["multiple"].median(), ".1f")
several, alone = compared(told, "heads"), single_heads(found)
glue("auc-several", str(several))
glue("auc-every", str(compared(alone, "heads")))
glue("one-head", ", ".join(sorted(set(alone["family"]) - set(told["family"]))))
glue("least", several.least, ".2f")
glue("most", 1 - several.least, ".2f")
for name in ("gain", "overlap"):
    glue(f"auc-{name}", str(compared(told, f"symmetric_{name}")))
overlap = compared(told, "symmetric_overlap")
apart = ", where the two tests disagree: one gives an interval that holds 1/2, the other a p below 0.05"
glue("overlap-tests", apart if overlap.side == 0 and overlap.p < 0.05 else "")
glue("auc-multiple", str(compared(told[told["heads"] > 0], "multiple")))
glue("auc-added", str(compared(told, "added")))

# %% tags=["remove-cell"]
skew = families(skew_shares(found.pairs), SKEW).groupby("attention")[list(SKEW)].median()
moved = changes(found.layers).query("attention == 'bidirectional' and not at_random")
small = moved[~moved["removed"].isin(["leading 2 %", "leading 10 %"])]
glue("moved", small["change"].abs().max(), ".2f")
kept = moved.groupby("removed")["kept"].agg(["min", "median"])
left = moved.groupby("removed")["left"].median()
glue("kept-others", extent(kept.loc[small["removed"].unique(), "median"], "{:.0%}".format))
glue("kept-least", small["kept"].min(), ".0%")
for name, words in (("2 %", "fiftieth"), ("10 %", "tenth")):
    glue(f"kept-{words}", kept.loc[f"leading {name}", "median"], ".0%")
    glue(f"left-{words}", left[f"leading {name}"], ".0%")
for measure in SKEW:
    for kind, words in kinds.items():
        glue(f"{measure}-{words}", skew.loc[kind, measure], ".0%")
gap = verified(model, found.pairs)
alone = f"The weights of {model} are not at hand for this page, so that the record stands alone"
again = f"Those of {model} were computed again from its weights for this page"
same = (
    "with the same result"
    if gap is not None and gap < 1e-12
    else f"with differences of up to {gap} of the squared norm"
)
glue("again", alone if gap is None else f"{again}, {same}")

# %% tags=["remove-input"]
figures.heads_and_sums(found)

# %% [markdown]
# Random heads have $s$ near 0: for BERT base's shape 95 % of them lie within {glue:text}`half-head` of 1/768, and random
# sums as near. Of the single heads of encoders {glue:text}`symmetric-heads-encoders` are more symmetric than such a band
# allows and {glue:text}`skew-heads-encoders` more skew; of decoders {glue:text}`symmetric-heads-decoders` and
# {glue:text}`skew-heads-decoders`.
#
# Take a family of encoders and one of decoders: how often are the encoder's heads the more symmetric (AUC, its interval of
# 95 %, p of exchanging encoders and decoders)? Where layers have several heads {glue:text}`auc-several`; with
# {glue:text}`one-head`, the one family whose layers have one head, which goes the other way, {glue:text}`auc-every`.
# Families as few as these do not tell the latter from 1/2.
#
# ## The score of a sum
#
# ````{prf:proposition} the symmetry of a sum over heads
# :label: prop-sum-over-heads
#
# Let $M = \sum_h M_h$ be the sum over heads (Eq. S20 of the paper), $M_h = W_{q,h} W_{k,h}^\top$, where $W_{k,h}$ is the key
# factor that head $h$ reads, with symmetric and skew-symmetric parts $M = S + N$, $M_h = S_h + N_h$.
#
# 1. Let $t_{gh} = \mathrm{Tr}(M_g M_h)$ and $p_{gh} = \langle M_g, M_h \rangle$. Then $\mathrm{Tr}(MM) = \sum_{g,h} t_{gh}$
#    and $\|M\|_F^2 = \sum_{g,h} p_{gh}$. With $C_{gh} = W_{k,g}^\top W_{q,h}$ every term takes products of size
#    $d_h \times d_h$ only: $t_{gh}$ is the sum of the entries of $C_{gh} \odot C_{hg}^\top$, and $p_{gh}$ that of
#    $W_{q,g}^\top W_{q,h} \odot W_{k,g}^\top W_{k,h}$.
# 2. $\langle S_g, S_h \rangle = \tfrac12 (p_{gh} + t_{gh})$ and $\langle N_g, N_h \rangle = \tfrac12 (p_{gh} - t_{gh})$.
# 3. Let $s_0$ be the mean of the heads' scores weighted with $\|M_h\|_F^2$, $G_s = \|S\|_F^2 / \sum_h \|S_h\|_F^2$ and
#    $G_n = \|N\|_F^2 / \sum_h \|N_h\|_F^2$. The ratio $\|S\|_F^2 / \|N\|_F^2$ is, unless $N$ or all $S_h$ vanish,
#
#    $$
#    \frac{1 + s}{1 - s} = \frac{G_s}{G_n} \cdot \frac{1 + s_0}{1 - s_0} .
#    $$ (eq-sum-over-heads)
#
# 4. If every head had a random sign, independent of the others', $G_s$ and $G_n$ would be 1 on average.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# 1 is bilinear. For its terms, $\mathrm{Tr}(W_{q,g} W_{k,g}^\top W_{q,h} W_{k,h}^\top) = \mathrm{Tr}(C_{gh} C_{hg})$ and
# $\mathrm{Tr}(M_g^\top M_h) = \mathrm{Tr}\bigl((W_{k,g}^\top W_{k,h})^\top W_{q,g}^\top W_{q,h}\bigr)$ by turning the
# factors round. For 2 insert $S_h = (M_h + M_h^\top)/2$, $N_h = (M_h - M_h^\top)/2$ and use
# $\langle M_g, M_h^\top \rangle = t_{gh}$. For one head 2 says
# $\|S_h\|_F^2 = \tfrac12 (1 + s_h) \|M_h\|_F^2$ and $\|N_h\|_F^2 = \tfrac12 (1 - s_h) \|M_h\|_F^2$; summed over heads, the two
# have the ratio $(1 + s_0)/(1 - s_0)$, which the gains turn into that of the layer. For 4,
# $\mathbb{E} \|\sum_h \epsilon_h S_h\|_F^2 = \sum_{g,h} \mathbb{E}[\epsilon_g \epsilon_h] \langle S_g, S_h \rangle$, and only
# $g = h$ is left.
# ```
# ````

# %%
show(algebra.score_of_a_sum())

# %% [markdown]
# So a sum can be more symmetric than its heads in two ways: their symmetric parts resemble one another, or their skew parts
# cancel, as those of a head and its transpose do.
#
# ## What the sum adds
#
# We have the pairs of heads of every layer of the [survey](pretrained_survey.py) that has several; weights that
# occur twice count once. {glue:text}`again`.

# %% tags=["remove-input"]
figures.gains(found)

# %% [markdown]
# The heads of a layer resemble one another in decoders as well. The skew parts tell the two kinds apart: in the median family
# of encoders their sum has {glue:text}`skew-encoders` times the squared norm that they have by themselves, in decoders
# {glue:text}`skew-decoders` times. Whether the symmetric parts differ too, whose gains are
# {glue:text}`symmetric-encoders` and {glue:text}`symmetric-decoders`, is open: their AUC is {glue:text}`auc-gain`; by pair of
# heads, $(G_s - 1) / (H - 1)$ for $H$ heads, it is {glue:text}`auc-overlap`{glue:text}`overlap-tests`.
#
# Where the heads have a positive $s$, that of their sum is {glue:text}`multiple-encoders` times as large in the median family
# of encoders and {glue:text}`multiple-decoders` times in that of decoders (AUC {glue:text}`auc-multiple`). What the sum adds
# to $s$, {glue:text}`added-encoders` and {glue:text}`added-decoders`, has {glue:text}`auc-added`.

# %%
show(on_weights.section_3_symmetry_of_heads.of(found), on_weights.section_3_symmetry_of_the_sum.of(found))

# %% [markdown]
# Several measures were compared on the same few families, and no p is corrected for that; an AUC between
# {glue:text}`most` and {glue:text}`least` cannot be told from 1/2.

# %% tags=["remove-input"]
figures.pair_matrices(found, {("BERT base CTPE", "encoder"): "BERT base", ("GPT-2", "decoder"): "GPT-2"})

# %% [markdown]
# The skew parts of encoders agree less and oppose each other more: pairs that agree add {glue:text}`agreeing-encoders` to
# their squared norm in the median family of encoders, {glue:text}`agreeing-decoders` in decoders; opposed pairs (blue, below
# the diagonal), whose skew parts cancel in part, take {glue:text}`opposed-encoders` and
# {glue:text}`opposed-decoders`.
#
# ## In which directions
#
# Does what the sum adds lie in one direction that all heads share, in a few coordinates of large weights, or on the
# diagonal? We removed directions and coordinates from the queries and keys of every head, and as many at random; the
# diagonal from every head's matrix, for which nothing random corresponds. The *mean direction* is $(1, \dots, 1)$, which
# layer normalisation subtracts before its gains (that of T5, SmolLM2 and Llama subtracts nothing); that of the mean
# embedding is not tried, as embeddings are not at hand. *Leading* directions are the left and right singular vectors of the
# sum with the largest singular values, in pairs.

# %% tags=["remove-input"]
figures.without_parts(found.layers)

# %% [markdown]
# None of these carries what the sum adds. Without the mean direction, the largest hundredth of the coordinates, the
# diagonal or the leading pair of singular vectors no family of encoders changes its $s$ by more than {glue:text}`moved`,
# and the median family keeps {glue:text}`kept-others` of what the sum adds to the $s$ of its heads (no family less than
# {glue:text}`kept-least`). Without the leading fiftieth of the pairs the median family keeps {glue:text}`kept-fiftieth`,
# without the leading tenth {glue:text}`kept-tenth`; but these removals leave only {glue:text}`left-fiftieth` and
# {glue:text}`left-tenth` of the sum's squared norm, and the pairs were chosen by the sum itself, so that some of that loss
# is by choice.

# %%
show(on_weights.section_3_symmetry_after_removals.of(found))

# %% [markdown]
# ## Why a head alone is less symmetric
#
# ````{prf:proposition} eigenvalues of a head
# :label: prop-head-spectrum
#
# Let $M = W_q W_k^\top$ with factors of size $d \times r$ and eigenvalues $\lambda_i$.
#
# 1. Apart from zeros they are those of $W_k^\top W_q$, of size $r \times r$, and, unless all are 0,
#    $s = \dfrac{\sum_i |\lambda_i|^2}{\|M\|_F^2} \cdot \dfrac{\sum_i \lambda_i^2}{\sum_i |\lambda_i|^2}$. The first factor is at
#    most 1, with equality for normal $M$; the second is 1 where all eigenvalues are real.
# 2. If the $2r$ columns of $W_q$ and $W_k$ are independent, the symmetric part of $M$ has exactly $r$ positive and $r$
#    negative eigenvalues.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $W_q (W_k^\top)$ and $W_k^\top W_q$ have the same nonzero eigenvalues, and $\mathrm{Tr}(MM) = \sum_i \lambda_i^2$. The bound
# is Schur's inequality. For 2 write the symmetric part as $\tfrac12 Z J Z^\top$ with $Z = [W_q\ W_k]$ and
# $J = \bigl(\begin{smallmatrix} 0 & I \\ I & 0 \end{smallmatrix}\bigr)$, which has $r$ eigenvalues 1 and $r$ eigenvalues
# $-1$. Where the columns of $Z$ are independent they can be completed to a basis, and Sylvester's law of inertia applies.
# ```
# ````

# %%
show(algebra.spectrum_of_a_sum())

# %% tags=["remove-input"]
table(
    spectra_table(found),
    name="tab-head-spectra",
    caption="Medians over families (means of their models' medians): the two factors of $s$, the first of them beside its "
    "value for normal weights of the same shapes, and the share of $\\|S\\|_F^2$ in positive eigenvalues, 1/2 at random.",
    formats=dict.fromkeys(("in eigenvalues", "at random", "real", "positive"), ".2f"),
)

# %% [markdown]
# The first factor, the share of the squared norm that is in eigenvalues, is small for a random head because its rank is: of
# wide random factors it is $R (3 - R) / 6$ with $R = r / d$, and 1/3 for a sum of full rank. In the median family the heads
# of either kind have more of it than random ones, encoders' the most; of the sums those of encoders have more and those of
# decoders less. The eigenvalues of encoders also lie nearer to the real axis. And though by part 2 a head's symmetric part
# has as many positive as negative eigenvalues, the positive ones hold more of the squared norm, in encoders the most: on
# balance the form favours pairs of like vectors. Which vectors tokens have was not looked at.
#
# ## What it means for you
#
# - For the paper's claim: where layers have several heads, those of encoders are the more symmetric before they are summed,
#   too; with the one family whose layers have one head it is undecided. How symmetric a layer is owes more to a sum that no
#   softmax computes than to its heads in {glue:text}`s-encoders` of {glue:text}`n-encoders` families of encoders on the
#   scale of $s$, in {glue:text}`ratio-encoders` on that of the ratio above (decoders: {glue:text}`s-decoders` and
#   {glue:text}`ratio-decoders` of {glue:text}`n-decoders`).
# - `attngeo score MODEL --per-head` shows both. Twelve heads have 66 pairs that can add to a sum and two heads have one:
#   compare layers of equally many heads, or compare heads.
# - What sets the two kinds apart here was found by looking, on few families, and what makes the heads of an encoder
#   agree in their symmetric parts and not in the others is open.
#
# ## Family by family

# %% tags=["remove-input"]
table(
    families_table(found),
    name="tab-heads-families",
    caption="Means of a family's models' medians over layers, behind the counts above. A family that has an encoder and a "
    "decoder stands twice.",
    formats=dict.fromkeys(("s of heads", "s of the sum", "G_s", "G_n", "G_s / G_n"), ".2f"),
)
