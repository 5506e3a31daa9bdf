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
# Both: an encoder's heads are more symmetric than a decoder's, and their sum is more symmetric still, since the heads'
# symmetric parts resemble one another and their skew-symmetric parts hardly do. In the median family of encoders the sum
# multiplies the ratio of the two by {glue:text}`factor`; in decoders both parts add up alike, and the ratio hardly changes.

# %% tags=["parameters"]
model: str = "all-MiniLM-L6-v2"  # recorded model whose pairs of heads are computed again where its weights are at hand

# %% tags=["remove-cell"]
from attngeo.chapters.heads_or_sum import algebra, figures, on_weights
from attngeo.chapters.heads_or_sum.evidence import (
    PARTS,
    SKEW,
    beside_survey,
    changes,
    evidence,
    families,
    skew_shares,
    spectra_table,
    whole,
)
from attngeo.chapters.heads_or_sum.overlaps import ratio
from attngeo.chapters.heads_or_sum.record import verified
from attngeo.display.page import glue, show, table
from attngeo.forms.null_laws import LEVEL, symmetry_null
from attngeo.survey.families import compared

# %% tags=["remove-cell"]
found = evidence()
told = families(whole(found.layers), PARTS)
middle = told.groupby("attention")[list(PARTS)].median()
glue("factor", middle.loc["bidirectional", "factor"], ".1f")
for kind, words in {"bidirectional": "encoders", "causal": "decoders"}.items():
    glue(f"heads-{words}", middle.loc[kind, "heads"], ".2f")
    glue(f"sum-{words}", middle.loc[kind, "symmetry"], ".2f")
    glue(f"symmetric-{words}", middle.loc[kind, "symmetric_gain"], ".1f")
    glue(f"skew-{words}", middle.loc[kind, "skew_gain"], ".1f")
glue("half-head", symmetry_null(768, 64).half_width, ".3f")
glue("outside", (beside_survey(found).query("head >= 0")["p"] < LEVEL).mean(), ".0%")
encoders = told[told["attention"] == "bidirectional"]
glue("n-encoders", len(encoders), "d")
glue("n-sum", int((encoders["factor"] > ratio(encoders["heads"])).sum()), "d")
glue("least", compared(told, "factor").least, ".2f")

# %% tags=["remove-cell"]
skew = families(skew_shares(found.pairs), SKEW).groupby("attention")[list(SKEW)].median()
small = changes(found.layers).query("attention == 'bidirectional' and removed not in ['leading 2 %', 'leading 10 %']")
glue("moved", small["change"].abs().max(), ".2f")
glue("opposed-encoders", skew.loc["bidirectional", "opposed"], ".0%")
glue("opposed-decoders", skew.loc["causal", "opposed"], ".0%")
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
# In the median family of encoders the heads of a layer have together $s$ = {glue:text}`heads-encoders`, their sum
# {glue:text}`sum-encoders`; in decoders it is {glue:text}`heads-decoders` and {glue:text}`sum-decoders`. Of the single heads
# {glue:text}`outside` lie outside the band that holds 95 % of random heads; for BERT base's shape that band ends within
# {glue:text}`half-head` of its mean 1/768, and the band of random sums is as narrow.
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
#    $G_n = \|N\|_F^2 / \sum_h \|N_h\|_F^2$. The ratio $\|S\|_F^2 / \|N\|_F^2$ is, unless $N$ or all $N_h$ vanish,
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
# We have the pairs of heads of every layer of the [survey](pretrained_survey.py). {glue:text}`again`.

# %% tags=["remove-input"]
figures.gains(found)

# %% [markdown]
# The heads of a layer resemble one another in decoders as well. What tells the two kinds apart is the skew parts: in the
# median family of encoders their sum has {glue:text}`skew-encoders` times the squared norm that they have by themselves, in
# decoders {glue:text}`skew-decoders` times. The symmetric parts' gains, {glue:text}`symmetric-encoders` and
# {glue:text}`symmetric-decoders`, do not tell them apart.

# %%
show(on_weights.section_3_symmetry_of_heads.of(found), on_weights.section_3_symmetry_of_the_sum.of(found))

# %% [markdown]
# Several measures were compared on the same few families, and no p is corrected for that; an AUC below
# {glue:text}`least` cannot be told from 1/2.

# %% tags=["remove-input"]
figures.pair_matrices(found, {("BERT base CTPE", "encoder"): "BERT base", ("GPT-2", "decoder"): "GPT-2"})

# %% [markdown]
# Some heads of encoders are in part each other's transpose: their symmetric parts agree and their skew parts are opposed
# (blue, below the diagonal). Opposed pairs take {glue:text}`opposed-encoders` from the skew parts' squared norm in the median
# family of encoders, {glue:text}`opposed-decoders` in decoders. A decoder sees nothing of what comes after, so that a
# head that mirrors another has no use there; whether this is the reason is not tested here.
#
# ## In which directions
#
# Is it one direction that all heads share, a few coordinates of large weights, or the diagonal? We took each from the queries
# and keys of every head, and as much at random.

# %% tags=["remove-input"]
figures.without_parts(found.layers)

# %% [markdown]
# None of these: without the mean direction, the largest hundredth of the coordinates, the diagonal or the leading pair of
# singular vectors no family of encoders changes its $s$ by more than {glue:text}`moved`. Without the
# leading tenth of the directions most of what the sum adds is gone; but they hold most of the form, and they were chosen by
# the sum itself, so that some of that loss is by choice.

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
    spectra_table(found.spectra),
    name="tab-head-spectra",
    caption="Medians over families (means of their models' medians): the two factors of $s$, and the share of "
    "$\\|S\\|_F^2$ in positive eigenvalues.",
    formats=dict.fromkeys(("in eigenvalues", "real", "positive"), ".2f"),
)

# %% [markdown]
# The first factor, the share of the squared norm that is in eigenvalues, is small for a head: it reads queries and keys
# from partly different directions. It is larger for the sum, most of all in encoders. The symmetric part is mostly positive, in encoders more so: along its
# large directions a token scores high with tokens like itself.
#
# ## What it means for you
#
# - For the paper's claim: that encoders are more symmetric holds for single heads too; how symmetric they are owes, in
#   {glue:text}`n-sum` of {glue:text}`n-encoders` families, more to a sum that no softmax computes than to the heads.
# - `attngeo score MODEL --per-head` shows both. Twelve heads have 66 pairs that can add to a sum and two heads have one:
#   compare layers of equally many heads, or compare heads.
# - What sets the two kinds apart here was found by looking, on few families, and what makes the heads of an encoder
#   agree in their symmetric parts and not in the others is open.
