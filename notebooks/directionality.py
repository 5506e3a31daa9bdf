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
# # Whether rows or columns dominate depends on a threshold that the paper does not state
#
# The second main claim of the paper {cite}`saponati2025` is about decoders, the models that predict the next token. According to
# this claim, training makes a few columns of their [query-key matrix](bilinear_form.py) much longer than the others, so that a few
# coordinates of the earlier tokens decide what a decoder attends to. The paper measures this effect by one number, the
# *directionality score* $d$, and explains it by a theorem.
#
# **The score, as the paper defines it, cannot decide this question.** The score contains a threshold $\gamma$, for
# which the paper gives no value. With $\gamma$ = {glue:text}`low`, GPT-2 scores {glue:text}`gpt2-low`, which the paper would read as
# dominance of rows. With $\gamma$ = {glue:text}`high`, the same GPT-2 scores {glue:text}`gpt2-high`, which the paper would read as
# dominance of columns. Even if a single column of a matrix is much longer than all others, the score can be positive, as if
# rows dominated {glue:md}`proven:myst`. The theorem that predicts long columns does not follow from its assumptions
# {glue:md}`proven:myst`, and whether decoders have longer columns than encoders remains open {glue:md}`not-shown:myst`.
#
# {glue:md}`at-the-threshold:myst`

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of the directionality score, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the random matrices with one strong column; in [128, 2048]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd
import torch

from attngeo.bilinear.scores import GAMMA, Convention, directionality_of
from attngeo.experiments.runs.numbers_in_words import as_percent, as_score, number, share_of
from attngeo.experiments.survey.families import auc
from attngeo.experiments.survey.measured import named, read_records
from attngeo.files.checkout import data
from attngeo.plot.typeset import typeset
from chapters.two_scores import told
from chapters.two_scores.thresholds import (
    COMPARED,
    WIDE,
    by_threshold,
    one_column_scores,
    one_strong_column,
    turning,
)
from chapters.two_scores.norms import FORMULAS, STACK, layer_scores, stacks
from chapters.training_scores import released_gaps, released_pairs
from chapters.training_scores.tables import LARGER, gap_outcome
from chapters.two_scores.laws import (
    first_positive_limit,
    norms_of_one_column,
    norms_with_strong_column,
    one_column_limit,
    positive_share,
    rows_behind_one_column,
)
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show, table
from livingpaper.display.strength import strength
from livingpaper.released_results import released_results

LOW = 1.0  # a threshold that is compared with the next, whatever the threshold of the page is
HIGH = 3.0
SIZED = 64  # rows from which the formula for the share of positive scores is accurate


def in_prose(text: str) -> str:
    """A sentence in one line, with its minus signs."""
    return typeset(" ".join(text.split()))


# %% tags=["remove-input"]
by_threshold(gamma)

# %% [markdown]
# ## What the score compares
#
# The directionality score compares the longest rows of a matrix with its longest columns. A row counts as long if its norm
# exceeds the mean norm of all rows by more than $\gamma$ standard deviations. Let $\bar r$ be the sum of the norms of the long
# rows, and $\bar c$ the sum of the norms of the long columns. Then $d = (\bar r - \bar c) / (\bar r + \bar c)$
# ({prf:ref}`def-3-2`). The score lies between $-1$, if only columns are long, and 1, if only rows are long.
#
# The paper gives no value of $\gamma$. According to [a second-hand reading](../notation.md#the-audit) of the authors' code, the
# authors use $\gamma = 2$, and they add up not the norms but the amounts by which the norms exceed the threshold.
#
# We recorded the norms of all rows and columns in {glue:text}`n-layers` layers of {glue:text}`n-models` trained models and computed
# the score at every threshold. Between $\gamma = 1$ and $\gamma = 3$, the sign of the score changes in {glue:text}`n-turning` models
# of width {glue:text}`wide` or more. The formula of the authors' code is more robust: with this formula, the sign changes in only
# {glue:text}`n-turning-released` of these models, and GPT-2 has a negative score at both thresholds ({glue:text}`gpt2-released-low`
# and {glue:text}`gpt2-released-high`).
#
# :::{admonition} How sure is this
# - *The wrong sign*: we prove that the score of a large matrix with a single long column has the wrong sign. Simulations with
#   {glue:text}`n-strong` rows agree with the limit that we derive.
# - *Trained models*: we chose to compare $\gamma = 1$ with $\gamma = 3$ after we had seen the scores at all thresholds.
#   Readers can repeat the comparison with other thresholds, because the norms are recorded in `data/norms`.
# - *Encoders and decoders*: we read the weights of only {glue:text}`n-encoder-families` families of encoders and
#   {glue:text}`n-decoder-families` families of decoders, and fewer than half of these families of encoders are language
#   models. The scores that the authors released cover more models, but were computed with a formula that the paper does not
#   state.
# - *The theorem*: we prove that its conclusion does not follow from its assumptions. Long columns may still arise for another reason.
# :::
#
# ## Why one long column can look like many long rows
#
# Suppose that a random matrix has one column that is much longer than all others. The score should then be close to $-1$.
# Instead, two effects increase the score ({numref}`fig-one-column-by-threshold`). First, the long column raises the standard deviation
# of the column norms and therefore the threshold of the columns, so that no other column counts as long. Second, the same column adds
# a large entry to every row. The norms of the rows then vary as much as these entries, and some rows count as long by chance. If the
# column outgrows everything else, {glue:text}`share-over` % of the rows count as long. In a large matrix, the norms of these rows add
# up to more than the norm of a single column.

# %% tags=["remove-input"]
scores = one_column_scores(n_strong, gamma, seed)
one_strong_column(scores, n_strong, gamma)

# %% [markdown]
# {glue:md}`one-column:myst` {glue:md}`from-which-size:myst` {numref}`tab-first-wrong` shows this number of rows for other
# thresholds.

# %% tags=["remove-input"]
table(
    pd.DataFrame({"γ": f"{g:g}", "rows": f"{first_positive_limit(g):,}"} for g in sorted({*COMPARED, 1.5, 2.5, gamma})),
    name="tab-first-wrong",
    caption="The number of rows from which the score of a matrix with one dominant column tends to a positive value, by threshold.",
)

# %% [markdown]
# The same effects are at work in GPT-2. At $\gamma = 1$, {glue:text}`rows-over` rows but only {glue:text}`columns-over` columns of
# its median layer count as long, because the longest columns raise the threshold of all columns.
#
# A larger threshold does not solve this problem, because the scores of random matrices vary more at larger thresholds.
# {glue:md}`random-here:myst` {glue:md}`random-high:myst` The following check shows under which condition the sign is correct.


# %%
@claim(
    "3.2",
    "(reading of the sign)",
    "the sign of the directionality score shows whether rows or columns dominate",
    Verdict.ASSUMPTION,
    printed='"[P]ositive and negative directionality scores indicate the dominance of high norm rows or columns, respectively".',
    place="Sections 3 and S1.6",
    missing=("by chance",),
)
def sign_of_directionality(gamma=GAMMA, n=768, factor=1000.0, draws=16, seed=0):
    generator, first = torch.Generator().manual_seed(seed), first_positive_limit(gamma)
    norms = norms_with_strong_column(n, [factor], draws, generator)[:, 0]
    d, limit = directionality_of(norms, gamma, Convention.DEFINITION)[0], one_column_limit(n, gamma)
    said = rf"{n} rows, one column {factor:g} times as long, $\gamma = {gamma:g}$"
    if limit > 0:  # the formula is less accurate where few rows count as long
        yield monte_carlo(f"mean $d$, {said}, against the limit for large matrices", d, limit, paper="")
    if abs(limit) > 8 * float(d.std()) / draws**0.5:  # near 0, the mean of so few matrices has no clear sign
        yield monte_carlo(f"mean $d$, {said}, against 0", d, 0, ">" if limit > 0 else "<", paper="< 0")
    for rows in sizes_near(first, gamma):
        alone = norms_of_one_column(rows, 480 if rows < 10_000 else 120, generator)
        positive = (directionality_of(alone, gamma, Convention.DEFINITION)[0] > 0).double()
        words = rf"share of matrices with $d > 0$, {rows:,} rows of which one column is not 0, $\gamma = {gamma:g}$"
        if rows == 2 * SIZED:
            yield compare(words, float(positive.mean()), ">", 0.9, paper="= 0")
        else:
            yield monte_carlo(words, positive, positive_share(rows, gamma), paper="= 0")
    return {"holds": when_the_sign_holds(gamma)}


def sizes_near(first: int, gamma: float) -> tuple[int, ...]:
    """The size at which half of the matrices have a positive score, and one at which most of them have."""
    if first < SIZED:
        return (2 * SIZED,)
    return first, next(rows for rows in (first * k // 10 for k in range(11, 30)) if positive_share(rows, gamma) > 0.8)


def when_the_sign_holds(gamma: float) -> str:
    """The condition that the sign needs, with its numbers at a threshold."""
    over, norms = rows_behind_one_column(gamma)
    return rf"""The sign of the score is correct if the sum of the norms of the long columns is larger than the sum of the norms of the
        rows that count as long by chance. At $\gamma = {gamma:g}$, up to {100 * over:.2g} % of the rows count as long by chance. If one column outgrows all
        others, the score tends to $(a\sqrt n - 1)/(a\sqrt n + 1)$ with $a = {norms:.2g}$ for large $n$. This limit is positive for
        matrices with at least {first_positive_limit(gamma):,} rows."""


show(sign_of_directionality(gamma=gamma, n=n_strong, seed=seed), unfolded=True)


# %% tags=["remove-cell"]
def gpt_2(gamma: float) -> pd.Series:
    """The medians over the layers of GPT-2."""
    return stacks(gamma).set_index(STACK).loc[("GPT-2", "decoder")]


def gap_to_survey() -> float:
    """Largest difference of a layer's scores from those that the survey recorded, at the survey's threshold."""
    survey = named(read_records(data("survey"))).query("head == -1")
    both = layer_scores(GAMMA).merge(survey, on=[*STACK, "layer"], suffixes=("", " of the survey"))
    return max(float((both[score] - both[f"{score} of the survey"]).abs().max()) for score in FORMULAS)


def n_turning(formula: str = "directionality") -> int:
    """How many wide models have scores of different signs at both thresholds."""
    return sum(len(turning(part, LOW, HIGH, formula)) for part in ("encoder", "decoder"))


# %%
@claim(
    "3.2",
    "(threshold)",
    "the sign of the directionality score of trained models depends on the threshold",
    Verdict.HOLDS,
    ours=True,
)
def the_threshold_decides():
    yield exact("largest difference of a score from the survey's, computed from the weights", gap_to_survey(), 0, 1e-5)
    low, high = gpt_2(LOW), gpt_2(HIGH)
    yield compare(rf"$d$ of GPT-2 by the paper's definition, $\gamma = {LOW:g}$", low["directionality"], ">", 0.1)
    yield compare(rf"$d$ of GPT-2 by the paper's definition, $\gamma = {HIGH:g}$", high["directionality"], "<", -0.1)
    excess = low["n_rows_over"] - low["n_columns_over"]
    yield compare(rf"long rows of GPT-2, minus long columns, $\gamma = {LOW:g}$, median layer", excess, ">", 0)
    for formula in ("directionality_released", "directionality_tables"):
        for found, at in ((low, LOW), (high, HIGH)):
            yield compare(rf"$d$ of GPT-2 by the {FORMULAS[formula]}, $\gamma = {at:g}$", found[formula], "<", -0.1)
    by_definition, by_code = n_turning(), n_turning("directionality_released")
    words = f"models of width {WIDE} or more whose sign changes: the paper's definition, against the formula of the authors' code"
    yield compare(words, by_definition, ">", by_code)
    return {
        "remark": f"""The sign changes in {by_definition} models with the paper's definition and in {by_code} with the formula of the
        authors' code. We chose both thresholds after we had seen the scores at all thresholds."""
    }


show(the_threshold_decides())

# %% [markdown]
# ## Decoders are the more directional models only in the authors' scores of language models
#
# The paper states that decoders have the more negative scores. In the scores that the authors released for language models, this is
# the case in {glue:text}`released-share` of the pairs of an encoder and a decoder ([survey](pretrained_survey_details.py)). As
# far as we could check, these scores were computed neither with the paper's definition nor with the formula of the authors'
# code, but with a third formula, which uses the logarithms of the norms ([printed
# scores](printed_scores_details.py#directionality-table-s3-follows-another-formula)).
#
# {glue:md}`separated:myst` {glue:md}`at-other-thresholds:myst` {numref}`tab-separation-by-formula` compares the three formulas.

# %% tags=["remove-input"]
table(
    told.separation_table(gamma),
    name="tab-separation-by-formula",
    caption=f"Share of the pairs of an encoder family and a decoder family in which the encoder has the higher directionality score at"
    f" $\\gamma = {gamma:g}$, with 95 % confidence intervals. The groups do not differ significantly if the interval includes 50 %.",
)

# %% [markdown]
# It is also open whether decoders become more directional during training. In the authors' own training runs, the decoder has the
# more negative score at the end of training in {glue:text}`d-holds` pairs of an encoder and a decoder, and only one of these
# differences is larger than we would expect between two random models. [The next page](training_scores.py) shows these runs and our
# own runs.
#
# ## The theorem that predicts long columns does not follow
#
# Theorem 2.3 of the paper states that next-token prediction produces more long columns than long rows. The argument has two steps,
# and we checked both of them.
#
# **First step: most tokens serve as context more often than they are predicted.** In *the dog met my old cat*, the first word helps to
# predict five words, and no word helps to predict the first word. Early tokens do serve as context more often, but only
# because of their positions in the sequences on which the model is trained. Correlations between tokens play no role. If the
# sequences are cut from a text at random positions, every token is context as often as it is predicted. Both counts have the
# same sum over the vocabulary. If some tokens are context more often than they are predicted, other tokens must therefore be
# predicted more often than they are context ([details](context_and_prediction_details.py)).
#
# **Second step: tokens that serve as context make columns long.** This does not follow. In every matrix, the
# squared norms of the columns have the same sum as the squared norms of the rows, so no token can favour the columns as a whole. If no token repeats and the coefficients of all pairs are drawn independently from
# one distribution, rows and columns of the update even have the same distribution. If tokens repeat, either the rows or the
# columns can have the larger norms, depending on how heavy the tails of the embeddings are
# ([details](column_dominance_details.py)).
#
# Columns do become long under other conditions, which the paper does not state. One condition is that the embeddings of the
# context lie closer to the coordinate axes than the embeddings of the predicted tokens. Another
# condition is a causal softmax together with embeddings that lie along the coordinate axes. The first positions of a sequence then
# contribute most to the columns. Of these two conditions, only the causal softmax is specific to decoders. We do not know
# whether the causal softmax caused the long columns of trained decoders.
#
# ## Which printed scores can be compared with yours
#
# Tables S2 and S3 of the paper list the scores of pretrained models. You can compare the symmetry scores of Table S2 with your own
# scores as they are printed. The directionality scores of Table S3 can only be compared with scores that are computed with the
# same formula, which uses the logarithms of the norms. Before you compare, look up the row: of the {glue:text}`n-rows` rows of
# Table S2, {glue:text}`n-distinct` show a distinct trained language model whose weights were extracted correctly ([every
# row](printed_scores_details.py#table-s2-every-row)).

# %% tags=["remove-cell"]
low, high = gpt_2(LOW), gpt_2(HIGH)
assert low["directionality"] > 0 > high["directionality"]  # "of rows", "of columns"
pairs, printed = released_pairs(), released_results()[lambda results: results["row"] != ""]
more_directional = pairs["d, decoder"] < pairs["d, encoder"]
apart = [gap.label for gap in (*released_gaps(12), *released_gaps(4)) if gap_outcome(gap) == LARGER]
assert len(apart) == 1 and set(apart) <= set(pairs.loc[more_directional, "text"])  # "one of these differences"
text = released_results()[
    lambda results: results["counted"] & (results["modality"] == "text") & (results["figure"] == "2")
]
encoders, decoders = (text.loc[text["attention"] == kind, "d"] for kind in ("bidirectional", "causal"))
wide, of_families = (
    stacks(LOW).query(f"width >= {WIDE}"),
    stacks(LOW).groupby(["attention", "family"])["modality"].first(),
)
n_families = of_families.groupby("attention").size()
assert of_families["bidirectional"].eq("text").mean() < 0.5  # "fewer than half"
assert low["directionality_released"] < 0 and high["directionality_released"] < 0  # "at both thresholds"
for name, words in {
    "at-the-threshold": told.at_the_threshold(gamma),
    "one-column": told.one_column(scores[gamma].mean(1).tolist(), n_strong, gamma),
    "from-which-size": told.from_which_size(gamma),
    "random-here": told.range_of_random(gamma),
    "random-high": told.range_of_random(HIGH) if gamma < HIGH else told.range_of_random(GAMMA),
    "separated": told.separated(gamma),
    "at-other-thresholds": told.separated_at_other_thresholds(),
    "proven": strength("proven"),
    "not-shown": strength("not shown"),
}.items():
    glue(name, in_prose(words))
for name, value in {
    "gpt2-low": as_score(low["directionality"]),
    "gpt2-high": as_score(high["directionality"]),
    "low": f"{LOW:g}",
    "high": f"{HIGH:g}",
    "gpt2-released-low": as_score(low["directionality_released"]),
    "gpt2-released-high": as_score(high["directionality_released"]),
    "n-encoder-families": n_families["bidirectional"],
    "n-decoder-families": n_families["causal"],
    "rows-over": number(low["n_rows_over"], 0),
    "columns-over": number(low["n_columns_over"], 0),
    "n-layers": len(layer_scores(LOW)),
    "n-models": layer_scores(LOW)["model"].nunique(),
    "n-turning": f"{n_turning()} of the {len(wide)}",
    "n-turning-released": n_turning("directionality_released"),
    "wide": WIDE,
    "n-strong": n_strong,
    "share-over": f"{100 * rows_behind_one_column(gamma)[0]:.2g}",
    "released-share": as_percent(auc(encoders, decoders)),
    "d-holds": share_of(more_directional.sum(), len(pairs)),
    "n-rows": len(printed),
    "n-distinct": int(printed["counted"].sum()),
}.items():
    glue(name, value)

# %% [markdown]
# ## What it means for you
#
# - Do not conclude from the sign of a directionality score that rows or columns dominate. Look at the norms themselves, or
#   count how many rows and columns exceed the threshold (`attngeo score MODEL -o x.csv` has both counts).
# - If you need one number, use the excess of the norms over the threshold (`attngeo score MODEL --convention released`). The
#   sign of this score depends much less on the threshold.
# - Whenever you report a directionality score, report its formula, its threshold and the range of random matrices of the same shape.
#   `attngeo score` prints this information.
#
# Next: [What happens during training?](training_scores.py)
