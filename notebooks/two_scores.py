# ---
# jupyter:
#   attngeo:
#     variants:
#       gamma: [1, 1.5, 2, 2.5, 3, 4]
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The directionality score can point the wrong way
#
# The paper {cite}`saponati2025` reads the [query-key matrix](bilinear_form.py) of an attention head by two numbers. The *symmetry
# score* $s$ says how symmetric it is. The *directionality score* $d$ says whether its rows or its columns are the long ones; below
# 0, columns dominate.
#
# **The symmetry score says what it should, once a printed factor 2 is dropped. The directionality score can have the wrong
# sign.** {glue:md}`one-column:myst`

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the matrices with one strong column; in [128, 2048]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from functools import cache

import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Float
from scipy.stats import norm
from torch import Tensor

from chapters.two_scores.build_a_matrix import build_a_matrix
from chapters.two_scores.laws import (
    first_positive_limit,
    head_directionality_sd,
    one_column_limit,
    positive_share,
    rows_behind_one_column,
    uneven_matrices,
    with_strong_column,
)
from livingpaper.display.page import glue, show, table
from attngeo.plot.style import CROSS, DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.plot.typeset import typeset
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.random_matrices import directionality_sd, sample_forms, symmetry_mean
from attngeo.bilinear.scores import (
    GAMMA,
    Convention,
    Scores,
    directionality_score,
    score_batch,
    score_heads,
    symmetry_score,
)
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo

FORMULAS = {  # field of `Scores`, in words
    "directionality": "sum of norms (Def. 3.2)",
    "directionality_released": "excess (released code)",
    "directionality_tables": "excess of logarithms (Table S3)",
}
PALETTE = dict(zip(FORMULAS.values(), (ENCODER, DECODER, CROSS), strict=True))
generator = torch.Generator().manual_seed(seed)


def by_formula(scores: Scores, **more: float | int) -> pd.DataFrame:
    """Directionality by each formula, a row per matrix and formula."""
    values = pd.DataFrame({words: getattr(scores, field).numpy() for field, words in FORMULAS.items()})
    return values.melt(var_name="formula", value_name="directionality d").assign(**more)


@house_style()
def one_strong_column(frame: pd.DataFrame, limit: float, n: int, gamma: float) -> CaptionedFigure:
    """Directionality against the factor on one column, by each formula, and the limit of Def. 3.2."""
    figure, panel = new_figure(8, 3.0)
    style = {"palette": PALETTE, "style": "formula", "dashes": False, "markers": ["o", "s", "^"], "errorbar": "sd"}
    sns.lineplot(frame, x="factor", y="directionality d", hue="formula", ax=panel, **style)
    panel.axhline(limit, color=ENCODER, linestyle=":", linewidth=1, label=f"limit of Def. 3.2, {limit:+.2f}")
    panel.axhline(0, color=NEUTRAL, linewidth=1)
    panel.set(xscale="log", xlabel="factor on one column", ylim=(-1.3, 1.3))
    for y, side in ((1.15, "read as: rows dominate"), (-1.15, "read as: columns dominate")):
        panel.text(1, y, side, color=NEUTRAL, fontsize="small", va="center")
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    mean = frame.groupby(["factor", "formula"])["directionality d"].mean()
    shown = 1.0, 2.0, frame["factor"].max()
    at_one, at_two, at_end = (", ".join(f"{mean[f, words]:+.2f}" for words in PALETTE) for f in shown)
    caption = f"""One column of a random matrix of {n} rows grows; three formulas score it, with a threshold of
    $\\gamma = {gamma:g}$ standard deviations. Bands: ± one standard deviation."""
    alt = f"""Three curves of directionality against the factor on one column: {"; ".join(PALETTE)}. Means in that order:
    at a factor of 1, {at_one}; of 2, {at_two}; at the end, {at_end}."""
    return CaptionedFigure(figure, "fig-one-strong-column", caption, alt)


# %% tags=["remove-input"]
factors = [2.0**k for k in range(10)]
grown = {f: torch.stack([with_strong_column(n_strong, f, generator) for _ in range(40)]) for f in factors}
limit = one_column_limit(n_strong, gamma)
scores_by_factor = {f: score_batch(m, gamma) for f, m in grown.items()}
frame = pd.concat(by_formula(scores, factor=f) for f, scores in scores_by_factor.items())
one_strong_column(frame, limit, n_strong, gamma)


# %% tags=["remove-cell"]
def one_column_in_words(n: int, gamma: float, limit: float, at_two: float) -> str:
    """Where d tends to if one of n columns outgrows all others, and whether that is the wrong sign."""
    tends = f"At a threshold of $\\gamma = {gamma:g}$ standard deviations $d$ tends to {limit:+.2f}"
    if limit <= 0:
        return f"""Let one of {n} columns outgrow all others. {tends}, which correctly says that columns dominate. In matrices
            with at least {first_positive_limit(gamma):,} rows the limit is positive, as if rows dominated."""
    enough = f"A column that is twice as long as the others is enough, since the mean of $d$ is then {at_two:+.2f}."
    return f"Let one of {n} columns outgrow all others. {tends}, as if rows dominated. {enough if at_two > 0 else ''}"


def beside_the_definition(at_two: float, released: float, tables: float) -> str:
    """What the other two formulas say where the definition gives d at a factor of 2."""
    if max(released, tables) >= 0:
        return f"The excess over the threshold gives {released:+.2f}, and the excess of the logarithms {tables:+.2f}."
    if at_two > 0:
        return "The other two formulas still say that columns dominate."
    return "The other two formulas are negative, too, so all three say that columns dominate."


def in_prose(text: str) -> str:
    """A sentence in one line, with its minus signs."""
    return typeset(" ".join(text.split()))


share_over, _ = rows_behind_one_column(gamma)
at_two, *others_at_two = (float(getattr(scores_by_factor[2.0], field).mean()) for field in FORMULAS)
glue("one-column", in_prose(one_column_in_words(n_strong, gamma, limit, at_two)))
glue("others-at-two", in_prose(beside_the_definition(at_two, *others_at_two)))
glue("at-two", at_two, "+.2f")
glue("gamma", gamma, "g")
glue("share-over", 100 * share_over, ".2g")
glue("n-positive", first_positive_limit(gamma), ",")
glue("layer-sd", directionality_sd(768, gamma), ".2f")
glue("head-sd", head_directionality_sd(768, 64, gamma), ".2f")
for score, law in laws_of_shape(768, 768, gamma).items():
    for side, end in (("low", law.mean - law.half_width), ("high", law.mean + law.half_width)):
        within = max(-1.0, min(1.0, end))  # neither score leaves [-1, 1]
        glue(f"{score}-{side}", within, "+.2f" if score == "directionality" else "+.3f")

# %% [markdown]
# ## Both scores in a few lines of code
#
# A query-key matrix is symmetric if token $i$ always scores token $j$ as $j$ scores $i$: in *the dog met my old cat*, *dog* then
# scores *cat* as *cat* scores *dog*. It has long columns where a few coordinates of the scored token $j$ decide.


# %%
def symmetry(m):
    return float(torch.trace(m @ m) / m.square().sum())  # 1 if m = m.T, -1 if m = -m.T


def length_of_the_long(norms, gamma):
    threshold = norms.mean() + gamma * ((norms - norms.mean()) ** 2).mean().sqrt()
    return float(norms[norms > threshold].sum())


def directionality(m, gamma=2.0):
    rows, columns = m.square().sum(1).sqrt(), m.square().sum(0).sqrt()
    r, c = length_of_the_long(rows, gamma), length_of_the_long(columns, gamma)
    return (r - c) / (r + c) if r + c else 0.0  # negative if columns are the long ones


# %% [markdown]
# Both scores lie in $[-1, 1]$. At random weights $s$ is near 0, and $d$ only on average. The band that holds nineteen in
# twenty random layers as wide as BERT-base goes from {glue:text}`symmetry-low` to {glue:text}`symmetry-high` in $s$. In $d$, with
# $\gamma$ = {glue:text}`gamma`, it goes from {glue:text}`directionality-low` to {glue:text}`directionality-high`. A score inside says nothing about training;
# {numref}`tab-expected-at-random` has other widths.
#
# ## Symmetry is right without the printed 2
#
# ````{prf:definition} Def. 3.1 of the paper: symmetry score, without the printed factor 2
# :label: def-3-1
#
# A square matrix $M \ne 0$ has the parts $M_s = (M + M\T) / 2$ and $M_n = (M - M\T) / 2$. Its *symmetry score* is
#
# $$
# s = \frac{\norm{M_s}^2 - \norm{M_n}^2}{\norm{M}^2} = \frac{\tr(M M)}{\norm{M}^2},
# $$ (eq-3-1)
#
# with Frobenius norms. For $M = 0$ we set $s = 0$.
# ````
#
# The paper prints twice this number. Its own bounds and its printed tables need the score without the 2, which [lies in
# $[-1, 1]$](two_scores_details.py#range-and-extremes-of-symmetry). It is 1 if and only if $M\T = M$, and $-1$ if and only if
# $M\T = -M$.


# %%
@claim(
    "3.1",
    "",
    "the factor of the symmetry score",
    Verdict.MISPRINT,
    printed=r'"$s = 2 \frac{\|M_s\|_F^2 - \|M_n\|_F^2}{\|M\|_F^2}$".',
    place="Section 3, Definition 3.1, Eq. 15",
    holds=r"$s = (\|M_s\|^2 - \|M_n\|^2) / \|M\|^2 = \operatorname{Tr}(MM) / \|M\|^2$.",
    remark="Proposition S1.17 (1) and (2) and the printed tables need the score without the 2.",
)
def factor_of_the_symmetry_score(n=16, seed=0):
    m = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    symmetric, skew = (m + m.T) / 2, (m - m.T) / 2
    printed = [symmetry_score(part, Convention.PRINTED) for part in (symmetric, skew)]
    yield exact("score of a symmetric matrix, as printed", printed[0], 2, paper="= 1")  # Eq. S132
    yield exact("score of a skew-symmetric matrix, as printed", printed[1], -2, paper="= -1")
    yield exact("score of a symmetric matrix, corrected", symmetry(symmetric), 1)
    yield exact("score of a skew-symmetric matrix, corrected", symmetry(skew), -1)
    yield exact("corrected score of a random matrix less `symmetry_score`", symmetry(m) - symmetry_score(m))


show(factor_of_the_symmetry_score(seed=seed))

# %% [markdown]
# ## Directionality depends on the basis
#
# ````{prf:definition} Def. 3.2 of the paper: directionality score
# :label: def-3-2
#
# Let $r_k = \norm{m_{k, \cdot}}$ be the row norms of an $n \times n$ matrix and $\mu_r, \sigma_r$ their mean and
# standard deviation (with divisor $n$); $c_k, \mu_c, \sigma_c$ likewise for columns. With a threshold of $\gamma$
# standard deviations,
#
# $$
# d = \frac{\bar r - \bar c}{\bar r + \bar c}, \qquad \bar r = \sum_{k :\, r_k > \mu_r + \gamma \sigma_r} r_k , \qquad
# \bar c = \sum_{k :\, c_k > \mu_c + \gamma \sigma_c} c_k ,
# $$ (eq-3-2)
#
# and $d = 0$ where no row and no column exceeds its threshold. Negative values are read as dominance of columns.
# ````
#
# The text gives no value of $\gamma$, on which the score depends. We take $\gamma = 2$ where nothing else is said. So does the
# released code, says [an audit](../notation.md#the-audit) of it; we have not read that code. The score lies in $[-1, 1]$, and [it is 1
# or $-1$](two_scores_details.py#range-and-extremes-of-directionality) where only rows, or only columns, exceed.


# %%
def released_directionality(m: Float[Tensor, "n n"], gamma: float) -> float:
    """``(r - c) / (r + c)`` of the released code: r, c sum excesses over mean + gamma sd, squares over n - 1."""
    norms = torch.stack([m.square().sum(1).sqrt(), m.square().sum(0).sqrt()])
    mean = norms.mean(1, keepdim=True)
    sd = ((norms - mean).square().sum(1, keepdim=True) / (len(m) - 1)).sqrt()
    r, c = (norms - mean - gamma * sd).clamp_min(0).sum(1).tolist()
    return (r - c) / (r + c) if r + c else 0.0


@claim(
    "3.2",
    "",
    "the directionality score",
    Verdict.ASSUMPTION,
    printed=r'"$\gamma$ is a scaling factor"; no value is given.',
    place="Section 3, Definition 3.2, Eqs. 18 and 19",
    missing=(r"$\gamma =$",),
)
def directionality_as_defined(n=48, draws=40, seed=0):
    matrices = uneven_matrices(n, draws, seed)
    worst = max(abs(directionality_score(m, g) - directionality(m, g)) for m in matrices for g in (1.0, 2.0, 3.0))
    gaps = [directionality_score(m, 2.0, "released") - released_directionality(m, 2.0) for m in matrices]
    moved = max(abs(directionality_score(m, 1.0) - directionality_score(m, 2.0)) for m in matrices)
    yield exact("largest difference of `directionality_score` from the definition, γ of 1, 2 and 3", worst)
    released = "largest difference of the released variant, squares over $n - 1$, from its formula"
    yield exact(released, max(map(abs, gaps)))
    zero = directionality_score(torch.zeros(4, 4))
    yield exact("score of the zero matrix, where no norm exceeds", zero)
    yield compare(r"largest change of a score from $\gamma = 1$ to $\gamma = 2$", moved, ">", 0.1)
    where = "$d = 0$ where no row and no column exceeds (stated in the proof of Proposition S1.18)"
    return {"holds": rf"$\gamma = {GAMMA:g}$, as in the released code, and {where}."}


show(directionality_as_defined(seed=seed))

# %% [markdown]
# Three such formulas are in use. The definition adds up *norms*. The released code adds up their *excess* over the threshold, with
# the divisor $n - 1$. The printed Table S3 rests on the excess of the *logarithms* ([The printed scores](printed_scores.py)). The
# package calls them `definition`, `released` and `tables`. None is a property of the bilinear form alone: turn the basis below, and
# $s$ stays while $d$ changes.

# %% tags=["remove-input"]
build_a_matrix(generator, gamma)

# %% [markdown]
# ## One strong column can turn the sign
#
# At a factor of 2 in {numref}`fig-one-strong-column`, the mean $d$ of the definition is {glue:text}`at-two`.
# {glue:md}`others-at-two:myst` The strong column raises its own threshold. It also spreads the norms of *all* rows, since each row
# has one large entry. So {glue:text}`share-over` % of the rows exceed their threshold by chance. With $\gamma$ = {glue:text}`gamma`,
# the norms of these rows add up to more than the one column's from about {glue:text}`n-positive` rows on ([a limit for large
# $n$](two_scores_details.py#one-strong-column-norm-by-norm)). The check below uses matrices of 768 rows and $\gamma = 2$.


# %%
def one_column_alone(n: int, draws: int, generator: torch.Generator) -> Float[Tensor, " draws"]:
    """Directionality of matrices whose other columns are 0."""
    column = torch.randn(draws, n, 1, generator=generator, dtype=torch.float64)
    return score_heads(BilinearForm(column, torch.eye(n, 1, dtype=torch.float64).expand_as(column))).directionality


@cache
def strong_columns(n: int, factor: float, draws: int, seed: int) -> tuple[Scores, Scores, dict[int, Tensor]]:
    """Scores with one column times a factor, and times sqrt(n); d of one column alone, by the rows it has."""
    generator, first = torch.Generator().manual_seed(seed), first_positive_limit()
    by = (torch.stack([with_strong_column(n, f, generator) for _ in range(draws)]) for f in (factor, n**0.5))
    return *map(score_batch, by), {rows: one_column_alone(rows, 30 * draws, generator) for rows in (first, 2 * first)}


@claim(
    "3.2",
    "(reading of the sign)",
    "what the sign of directionality says",
    Verdict.ASSUMPTION,
    printed='"[P]ositive and negative directionality scores indicate the dominance of high norm rows or columns, respectively".',
    place="Sections 3 and S1.6",
    missing=("by chance",),
)
def sign_of_directionality(n=768, factor=1000.0, draws=16, seed=0):
    strong, weaker, alone = strong_columns(n, factor, draws, seed)
    d, said = strong.directionality, rf"one column {factor:g} times the others, $\gamma = {GAMMA:g}$"
    yield monte_carlo(f"mean $d$, {said}", d, one_column_limit(n))
    yield monte_carlo(f"mean $d$, {said}, against 0", d, 0, ">", paper="< 0")
    yield exact(f"share of $d > 0$, {said}", (d > 0).double().mean(), 1, 0, paper="= 0")
    for k, scores in alone.items():
        words = f"share of $d > 0$, one column alone, $n$ = {k}"
        yield monte_carlo(words, (scores > 0).double(), positive_share(k), paper="= 0")
    released, logarithms = strong.directionality_released, strong.directionality_tables
    yield monte_carlo("mean $d$ from the excess (released code)", released, 0, "<")
    yield monte_carlo("mean $d$ from the logarithms (Table S3)", logarithms, -0.9, "<")
    words = r"mean $d$ from the logarithms, the factor $\sqrt n$"
    yield monte_carlo(words, weaker.directionality_tables, 0, ">")
    return in_words(n)


def in_words(n: int) -> dict[str, str]:
    """What holds instead, and which formulas read a strong column right."""
    (over, norms), first = rows_behind_one_column(), first_positive_limit()
    even, uneven = 100 * norm.sf(GAMMA), 100 * over  # norms of rows that nothing spreads are close to normal
    even_chance, almost_sure = 100 * positive_share(first), 100 * positive_share(256)
    holds = rf"""It does when the columns over their threshold add up to more than the {even:.0f} to {uneven:.0f} % of rows
        that exceed theirs by chance. One column that outgrows all others gives $d \to (a\sqrt n - 1)/(a\sqrt n + 1)$ with
        $a = {norms:.3f}$ at $\gamma = {GAMMA:g}$, a limit for large $n$. At $n = {first}$, where it changes its
        sign, {even_chance:.0f} % of the matrices have a positive $d$, at $n = 256$ {almost_sure:.0f} %."""
    remark = rf"""The excess over the threshold reads this size of matrix right. The excess of logarithms reads very strong
        columns right and, at $n = {n}$, those of about $\sqrt n$ times the others wrong."""
    return {"holds": holds, "remark": remark}


show(sign_of_directionality(seed=seed), unfolded=True)

# %% [markdown]
# ## Random matrices
#
# A score of trained weights says something only where it leaves the range of random ones:
#
# - [Symmetry](two_scores_details.py#symmetry-of-random-matrices) has the mean $1 / n$, not the printed $8 / n$, and for normal
#   entries a standard deviation of about $\sqrt 2 / n$. One random matrix in four has $s < 0$, but none of a few
#   hundred rows is far from 0.
# - [Directionality](two_scores_details.py#directionality-of-random-matrices) has the mean 0 and a [large standard
#   deviation](two_scores_details.py#the-spread-of-directionality). With $\gamma$ = {glue:text}`gamma` we expect {glue:text}`layer-sd`
#   in a random layer of width 768, and {glue:text}`head-sd` in one of [its heads](two_scores_details.py#heads) of width 64.
#
# The paper says that both scores of every layer are zero at initialisation (Section 4.1). Of symmetry that is true, to within about
# $1/n$. Of directionality it is true of the mean, and not of a layer. The check below uses $\gamma = 2$.


# %%
@cache
def untrained_layers(d: int, n_heads: int, draws: int, seed: int) -> Scores:
    """Layers with normal weights, heads summed."""
    return sample_forms(n_heads, d, d // n_heads, draws, seed)


@claim(
    "Section 4.1",
    "(initialisation)",
    "the directionality of a layer starts at zero",
    Verdict.MISPRINT,
    printed='"At initialization, the symmetry and directionality score of the matrix $W_{qk}$ at any layer is zero".',
    place="Section 4.1",
    repeats="one_random_matrix_has_a_direction",
)
def scores_at_initialisation(d=256, n_heads=4, draws=150, seed=0):
    layers = untrained_layers(d, n_heads, draws, seed)
    s, direction = layers.symmetry, layers.directionality
    rate, scatter = d * symmetry_mean(d), float(direction.std())
    yield monte_carlo("mean symmetry of a layer, times d", d * s, rate, paper="")
    yield monte_carlo("squared spread of a layer's symmetry, times $d^2$", (d * s - rate).square(), 2, paper="")
    yield monte_carlo(rf"mean directionality of a layer, $\gamma = {GAMMA:g}$", direction, 0)
    magnitude = r"mean magnitude of directionality, against $1/\sqrt{d}$"
    yield monte_carlo(magnitude, direction.abs(), d**-0.5, ">", paper="= 0")
    holds = rf"""Of directionality the mean is zero; that of one layer scatters by about ${scatter * d**0.5:.1f}\, d^{{-1/2}}$.
        Of symmetry the sentence holds, to within $1/d$ in the mean and $\sqrt{{2}}/d$ in one layer."""
    trained = "Directionality below this scatter says nothing about training; at width"
    return {"holds": holds, "remark": f"{trained} {d} that is about {scatter:.1f}."}


show(scores_at_initialisation(seed=seed))


# %% tags=["remove-cell"]
def bands(widths: list[int], n_heads: int, gamma: float) -> pd.DataFrame:
    """Half the width of the band that holds 95 % of random weights: of layers, and of one of some heads."""
    layers, heads = ([laws_of_shape(d, d // k, gamma) for d in widths] for k in (1, n_heads))
    columns = {
        "$s$, mean": [law["symmetry"].mean for law in layers],
        "$s$, ±": [law["symmetry"].half_width for law in layers],
        "$d$, ±": [min(1.0, law["directionality"].half_width) for law in layers],  # d does not leave [-1, 1]
        "$d$ of a head, ±": [min(1.0, law["directionality"].half_width) for law in heads],
    }
    return pd.DataFrame(columns, index=pd.Index(widths, name="width"))


# %% tags=["remove-input"]
table(
    bands([128, 256, 512, 768, 1024, 2048, 4096], 8, gamma),
    name="tab-expected-at-random",
    caption=f"What untrained weights score with $\\gamma = {gamma:g}$: the band that holds 95 % of them, for a layer and for"
    " one of its 8 heads. A score inside its band says nothing about training.",
    formats={"$s$, mean": ".2g", "$s$, ±": ".2g", "$d$, ±": ".2f", "$d$ of a head, ±": ".2f"},
    folded="What untrained weights score, by width",
)

# %% [markdown]
# ## What it means for you
#
# - Trust $s$: in a matrix of a few hundred rows, a few hundredths are already far from chance.
# - Before you read a $d$, say which formula and which $\gamma$ it comes from. Set it beside its value at random;
#   `attngeo score` prints both.
# - Do not read a positive $d$ as long rows. Whether one column dominates is seen from the norms themselves.
