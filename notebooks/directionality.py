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
# The second main claim of the paper {cite}`saponati2025` is about decoders, the models that predict the next token.
# According to this claim, training gives a few columns of their [query-key matrix](bilinear_form.py) a much larger norm than
# the other columns, so that a few coordinates of the embeddings of earlier tokens determine what a decoder attends to. We
# call a row or a column *long* if its norm is large. The paper measures this effect with the *directionality score* $d$,
# which is negative if columns dominate, and explains it with a theorem.
#
# **The score, as the paper defines it, cannot tell us whether rows or columns dominate.** The score contains a threshold
# $\gamma$, for which the paper gives no value. With $\gamma$ = {glue:text}`low`, GPT-2 scores {glue:text}`gpt2-low`, which
# the paper would interpret as dominance of the rows. With $\gamma$ = {glue:text}`high`, the same model scores
# {glue:text}`gpt2-high`, which the paper would interpret as dominance of the columns. Both scores are larger in magnitude
# than expected by chance. Among random models of the same shape, 95 % have scores between {glue:text}`random-low-from` and
# {glue:text}`random-low-to` with $\gamma$ = {glue:text}`low`, and between {glue:text}`random-high-from` and
# {glue:text}`random-high-to` with $\gamma$ = {glue:text}`high`. Even if one column of a matrix is much longer than all other
# columns, the score can be positive, as if rows dominated. {glue:md}`proven:myst` The theorem that predicts long columns
# does not follow from its assumptions. {glue:md}`proven:myst` Whether decoders have longer columns than encoders remains
# open. {glue:md}`not-shown:myst` (The labels are explained on the [front page](introduction.py#what-we-found).)
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
from attngeo.experiments.runs.numbers_in_words import as_percent, as_score
from attngeo.experiments.survey.measured import named, read_records
from attngeo.files.checkout import data
from attngeo.plot.typeset import typeset
from chapters.pretrained_survey.measures import of_modality
from chapters.two_scores import told
from chapters.two_scores.thresholds import WIDE, by_threshold, random_median, turning, turning_beyond_chance
from chapters.two_scores.norms import FORMULAS, STACK, layer_scores, longest_over_mean, stacks
from chapters.training_scores.prose import ends_of_released_models
from chapters.two_scores.laws import (
    first_positive_limit,
    norms_of_one_column,
    norms_with_strong_column,
    one_column_limit,
    positive_share,
    rows_behind_one_column,
)
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show
from livingpaper.display.strength import strength
from livingpaper.released_results import released_results

LOW = 1.0  # a threshold that is compared with the next, whatever the threshold of the page is
HIGH = 3.0
SIZED = 64  # rows from which the formula for the share of positive scores is accurate


# %% tags=["remove-input"]
by_threshold(gamma)

# %% [markdown]
# ## What the score compares
#
# The directionality score compares the long rows of a matrix with its long columns. A row counts as long if its norm exceeds the
# mean norm of all rows by more than $\gamma$ standard deviations of these norms, and the same rule applies to columns. We write
# $\bar r$ for the sum of the norms of the long rows and $\bar c$ for the sum of the norms of the long columns. The score is
# $d = (\bar r - \bar c) / (\bar r + \bar c)$ ({prf:ref}`def-3-2`). It is $-1$ if only columns are long, and 1 if only rows are
# long.
#
# In GPT-2, the longest columns stand out from the average column more than the longest rows stand out from the average row.
# These few columns raise the standard deviation of the column norms, and therefore the threshold that every column has to
# exceed. With a small $\gamma$, fewer columns than rows count as long, so the score is positive. With a large $\gamma$, only
# the few longest columns still count as long, and they outweigh the long rows ({numref}`fig-directionality-by-threshold`).
#
# GPT-2 is not an exception. Between $\gamma = 1$ and $\gamma = 3$, the score changes sign in {glue:text}`n-turning` models
# of width {glue:text}`wide` or more. In {glue:text}`n-clear` of these models, all of them decoders, both scores are larger
# in magnitude than expected by chance.
#
# According to [a second-hand report](../notation.md#the-audit) on the authors' code, which we have not read ourselves, the
# authors use $\gamma = 2$ and add up the amounts by which the norms exceed the threshold, not the norms themselves. Scores
# computed with this formula depend less on the threshold: among the models of this width, the sign changes in only
# {glue:text}`n-turning-released`, and the score of GPT-2 is negative at both thresholds.
#
# :::{admonition} How sure is this?
# - *The wrong sign*: we prove that the score has the wrong sign for large matrices with a single long column.
#   Simulations with {glue:text}`n-strong` rows agree with the limit that we derive.
# - *Trained models*: we compare $\gamma = 1$ with $\gamma = 3$, and we chose these two thresholds only after we had seen the
#   scores at all thresholds. Readers can try other thresholds, because the norms of all {glue:text}`n-layers` layers of
#   {glue:text}`n-models` models are recorded in `data/norms`.
# - *Encoders and decoders*: we scored the weights of only {glue:text}`n-encoder-families` encoder families and
#   {glue:text}`n-decoder-families` decoder families, and fewer than half of the encoder families consist of language models.
# - *The theorem*: we prove that its conclusion does not follow from its assumptions. Long columns may still arise for
#   another reason.
# :::


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


def n_turning_beyond_chance() -> int:
    """How many of these models score more than random models of their shape at both thresholds."""
    return sum(len(turning_beyond_chance(part, LOW, HIGH)) for part in ("encoder", "decoder"))


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
    words = r"$d$ of GPT-2 by the paper's definition, against the range of random models, $\gamma = {:g}$"
    yield compare(words.format(LOW), low["directionality"], ">", random_median(low, LOW))
    yield compare(words.format(HIGH), high["directionality"], "<", -random_median(high, HIGH))
    for found, at, relation in ((low, LOW, ">"), (high, HIGH, "<")):
        excess = found["n_rows_over"] - found["n_columns_over"]
        yield compare(rf"long rows minus long columns of GPT-2, $\gamma = {at:g}$, median layer", excess, relation, 0)
    for formula in ("directionality_released", "directionality_tables"):
        for found, at in ((low, LOW), (high, HIGH)):
            yield compare(rf"$d$ of GPT-2 by the {FORMULAS[formula]}, $\gamma = {at:g}$", found[formula], "<", -0.1)
    by_definition, by_code, clear = n_turning(), n_turning("directionality_released"), n_turning_beyond_chance()
    words = f"models of width {WIDE} or more whose sign changes: the paper's definition, against the formula of the authors' code"
    yield compare(words, by_definition, ">", by_code)
    yield compare("models among them with both scores outside the range of random models", clear, ">", 1)
    return {
        "remark": f"""Between the two thresholds, the sign of the score changes in {by_definition} models if we use the
            paper's definition, and in {by_code} if we use the formula of the authors' code. In {clear} of the
            {by_definition} models, both scores lie outside the range in which 95 % of random models score. We chose
            both thresholds after we had seen the scores at all thresholds."""
    }


show(the_threshold_decides())

# %% [markdown]
# ## Why one long column can look like many long rows
#
# Suppose that one column of a random matrix is much longer than all other columns. The score should then be close to $-1$,
# but two effects increase it. First, the long column raises the standard deviation of the column norms so much that no other
# column counts as long. Second, the long column adds a large entry to every row. The norms of the rows then vary as much as
# these entries, and up to {glue:text}`share-over` % of the rows count as long by chance. In a large matrix, the sum of the
# norms of these rows exceeds the norm of the single long column. {glue:md}`from-which-size:myst` The [details
# page](two_scores_details.py#one-strong-column-norm-by-norm) gives the proof and the corresponding numbers of rows for other
# thresholds.


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
    return rf"""The sign of the score is correct if the sum of the norms of the long columns exceeds the sum of the norms of the
        rows that exceed the threshold merely by chance. At $\gamma = {gamma:g}$, up to {100 * over:.2g} % of the rows exceed it by chance. If
        one column outgrows all others and $n$ is large, the score is close to $(a\sqrt n - 1)/(a\sqrt n + 1)$, where
        $a = {norms:.2g}$. For matrices with {first_positive_limit(gamma):,} or more rows, this value is positive, which is the wrong sign."""


show(sign_of_directionality(gamma=gamma, n=n_strong, seed=seed))

# %% [markdown]
# ## Whether decoders are more directional depends on the models and on the formula
#
# The paper states that the scores of decoders are more negative than those of encoders. Among the language models whose
# scores the authors released, the decoder has the lower score in {glue:text}`released-share` of all encoder–decoder pairs
# ([details](pretrained_survey_details.py)). As far as we can tell, these scores were computed with a formula that uses the
# logarithms of the norms, and the paper does not state this formula. You can compare your own directionality scores with
# [Table S3 of the paper](printed_scores_details.py#directionality-table-s3-follows-another-formula) only if you use the same
# formula.
#
# {glue:md}`separated:myst` For the three formulas and for other thresholds, see the
# [details](two_scores_details.py#encoders-and-decoders-by-three-formulas).
#
# It is also open whether decoders become more directional during training. In {glue:text}`d-holds` pairs among the authors' own
# training runs, the decoder ends with a more negative score than the encoder, and only one of these differences is larger than we
# would expect between two random models ([next page](training_scores.py)). Among our own small character-level models, decoders
# are more directional than encoders if both have learned position embeddings, but not if both have rotary ones.
#
# ## The theorem that predicts long columns does not follow
#
# Theorem 2.3 of the paper states that next-token prediction produces more long columns than long rows. The argument has two steps,
# and we checked both of them.
#
# **First step: most tokens serve as context more often than they are predicted.** In the sentence *the dog met my old cat*,
# for example, the first word helps to predict each of the other five words, but none of them helps to predict the first
# word. Early tokens do serve as context more often than later tokens, but only because of their positions. If the training
# sequences are cut from a text at random positions, every token serves as context as often as it is predicted
# ([details](context_and_prediction_details.py)).
#
# **Second step: a token that serves as context increases the norms of columns.** This does not follow. The squared norms of
# the columns and the squared norms of the rows have the same sum, namely the sum of all squared entries of the matrix.
# Therefore, no update can make the columns, on average, longer than the rows. An update can still distribute this sum more
# unevenly over the columns than over the rows, but the assumptions of the theorem do not imply that this happens
# ([details](column_dominance_details.py)).
#
# Columns do become long under other conditions, but the paper does not state these conditions. One of these conditions is
# specific to decoders: with a softmax and a causal mask, the first positions of a sequence contribute most to the update. If
# each embedding at these positions is dominated by a single coordinate, a few columns become long. We do not know whether
# the causal mask caused the long columns of trained decoders. Rotary position embeddings are another possible cause:
# according to {cite:t}`jin2025`, these embeddings produce very large values in a few dimensions of queries and keys. Whether
# these values also make a few columns of $W_{qk}$ long has not been tested.

# %% tags=["remove-cell"]
low, high = gpt_2(LOW), gpt_2(HIGH)
assert low["directionality"] > 0 > high["directionality"]  # "of rows", "of columns"
wide, of_families = (
    stacks(LOW).query(f"width >= {WIDE}"),
    stacks(LOW).groupby(["attention", "family"])["modality"].first(),
)
n_families = of_families.groupby("attention").size()
assert of_families["bidirectional"].eq("text").mean() < 0.5  # "fewer than half"
assert low["directionality_released"] < 0 and high["directionality_released"] < 0  # "at both thresholds"
assert low["n_rows_over"] > low["n_columns_over"] and high["n_rows_over"] < high["n_columns_over"]
assert longest_over_mean("GPT-2", "column_norms") > longest_over_mean("GPT-2", "row_norms")
assert not turning_beyond_chance("encoder", LOW, HIGH)  # "all of them decoders"
by_chance = {"low": random_median(low, LOW), "high": random_median(high, HIGH)}
assert low["directionality"] > by_chance["low"] and high["directionality"] < -by_chance["high"]
for name, half in by_chance.items():
    glue(f"random-{name}-from", as_score(-half))
    glue(f"random-{name}-to", as_score(half))
for name, words in {
    "at-the-threshold": told.at_the_threshold(gamma),
    "from-which-size": told.from_which_size(gamma),
    "separated": told.separated(gamma),
    "proven": strength("proven"),
    "not-shown": strength("not shown"),
}.items():
    glue(name, typeset(words))
for name, value in {
    "gpt2-low": as_score(low["directionality"]),
    "gpt2-high": as_score(high["directionality"]),
    "low": f"{LOW:g}",
    "high": f"{HIGH:g}",
    "n-encoder-families": n_families["bidirectional"],
    "n-decoder-families": n_families["causal"],
    "n-layers": len(layer_scores(LOW)),
    "n-models": layer_scores(LOW)["model"].nunique(),
    "n-turning": f"{n_turning()} of the {len(wide)}",
    "n-clear": n_turning_beyond_chance(),
    "n-turning-released": n_turning("directionality_released"),
    "wide": WIDE,
    "n-strong": n_strong,
    "share-over": f"{100 * rows_behind_one_column(gamma)[0]:.2g}",
    "released-share": as_percent(of_modality("text", "d", released_results()).auc),
    "d-holds": ends_of_released_models()["d-holds"],
}.items():
    glue(name, value)

# %% [markdown]
# ## What it means for you
#
# - Do not infer from the sign of a directionality score whether rows or columns dominate. Look at the norms themselves, or
#   count how many rows and columns exceed the threshold (`attngeo score MODEL -o x.csv` writes both counts).
# - If you need a single number, add up the amounts by which the norms exceed the threshold, not the norms themselves
#   (`attngeo score MODEL --convention released`). The sign of this score is less sensitive to the threshold than that of the
#   paper's score.
# - Whenever you report a directionality score, also state its formula, its threshold and the range of scores of random
#   matrices of the same shape. The command `attngeo score` prints this information.
#
# Next: [What happens during training?](training_scores.py)
