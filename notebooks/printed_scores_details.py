# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: The printed scores
#
# Tables S2 and S3 of the paper {cite}`saponati2025` list the [symmetry score $s$ and the directionality score
# $d$](two_scores_details.py) of pretrained models. Each row contains the median score over the layers of one model. On this
# page, we examine what each row shows and which rows you can compare with the scores of your own model.
#
# **You can compare your symmetry scores with those in Table S2 if you first check what the row in question shows. You can
# compare your directionality scores with those in Table S3 only if you use a formula that the paper does not state.** Of
# the {glue:text}`n-rows` rows of Table S2, {glue:text}`n-trained` show the score of a trained language model. The other
# rows are for vision models ({glue:text}`n-vision`), for models with random weights ({glue:text}`n-random`) and for a model
# that does not exist ({glue:text}`n-missing`). If we count each language model only once, and only if its query and key
# weights were extracted correctly, {glue:text}`n-distinct` rows remain ({numref}`fig-kinds-of-rows`). For the models whose
# weights we scored ourselves, our scores agree with the printed numbers to the last digit.

# %% tags=["parameters", "remove-input"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
alike: float = 0.9  # how alike queries and keys of the made-up forms are; in [0, 1]
d_head: int = 16  # width of a head of the made-up forms; in [4, 64]
seed: int = 0  # seed of the made-up forms; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from functools import cache

import numpy as np
import pandas as pd

from attngeo.bilinear.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.experiments.runs.numbers_in_words import joined_by_and
from attngeo.experiments.survey.measured import layer_medians, measured, named, read_records
from attngeo.files.checkout import data
from chapters.printed_scores import (
    FORMULAS,
    NOT_READ,
    PrintedRow,
    extraction_effects,
    kinds_of_rows,
    printed_beside_ours,
    printed_rows,
    read_rows,
    what_rows_score,
    whole_table,
)
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.claims.published import printed_table
from livingpaper.claims.results import Comparison
from livingpaper.display.page import glue, show, table
from livingpaper.released_results import DEFECTS, released_results

HALF_UNIT = 0.005 + 1e-9  # of the second decimal: printed numbers are rounded to two
SIX_DIGITS = 1e-5  # single precision, summed over some thousand entries
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # standard error of a median of n normal values, times sqrt(n)
NUMBERS = ("median", "Q2 - Q1", "Q3 - Q2")
COME_OUT = {"S2": "symmetry", "S3": "directionality_tables"}
NO_MEDIANS = pd.DataFrame(columns=["model", "part"])


@cache
def recorded_medians() -> pd.DataFrame:
    """`layer_medians` of the recorded survey, by registry name."""
    return layer_medians(named(read_records(data("survey"))).query("head == -1"))


medians = layer_medians(measured(models).query("head == -1"))
read = [row for number, score in COME_OUT.items() for row in read_rows(number, score, medians)]
printed = released_results()[lambda results: results["row"] != ""]
distinct = printed[printed["counted"]]
about_rows = what_rows_score(printed)
assert distinct["model"].nunique() == len(distinct)  # each model once
assert (len(printed), about_rows["trained"], len(distinct)) == (70, 60, 30)  # page 7, too
for name, count in about_rows.items():
    glue(f"n-{name}", count, "d")
glue("n-rows", len(printed), "d")
glue("n-distinct", len(distinct), "d")
assert {row.verdict for row in read} <= {"reproduced"}  # the head; none of the models may be printed
glue("n-read", len({row.row for row in read}), "d")
glue("n-checkpoints", len({row.model for row in read}), "d")
glue("n-waiting", sum(row.verdict == NOT_READ for row in printed_rows("S2", "symmetry", medians)), "d")

# %% tags=["remove-input"]
kinds_of_rows(printed)

# %% [markdown]
# :::{admonition} How sure is this
# - We scored the weights of the models in {glue:text}`n-read` rows ourselves. These rows show {glue:text}`n-checkpoints`
#   different checkpoints. We could not check {glue:text}`n-waiting` other rows of Table S2, because our machine has no
#   access to the Hugging Face Hub.
# - We identified the repeated rows and the random weights from the numbers that the authors released. We have not read the
#   authors' code, and we know of the incorrect extractions only from [a second-hand report](../notation.md#the-audit) on
#   this code.
# :::
#
# ## What the rows show
#
# We exclude a row of a trained language model from the distinct, correctly extracted models for any of four reasons: the row
# repeats another row, the model was fine-tuned from the model of another row, the score covers only some of the layers, or
# the factors of the query-key matrix were [multiplied incorrectly](#what-an-incorrect-extraction-does).


# %% tags=["remove-cell"]
def against_others(rows: pd.DataFrame):
    """Rows marked as repetitions lie within rounding of another row's symmetry; no other two rows come near."""
    symmetry, directionality = (rows[[x, f"{x}_minus", f"{x}_plus"]].to_numpy() for x in "sd")
    gaps = np.abs(symmetry[:, None] - symmetry[None, :]).max(-1)  # (rows, rows)
    np.fill_diagonal(gaps, np.inf)
    repeats = rows["defects"].str.contains("duplicate").to_numpy()
    differ = np.abs(directionality - directionality[gaps.argmin(1)]).max(1)[repeats] >= SIX_DIGITS
    originals = f"largest difference in s between a repeated row and its original, {repeats.sum()} rows"
    yield exact(originals, gaps[repeats].min(1).max(), 0, SIX_DIGITS)
    nearest = gaps[np.ix_(~repeats, ~repeats)].min()
    yield compare("smallest difference in s between two other rows", nearest, ">", 0, 10 * SIX_DIGITS)
    marked = rows["defects"].str.contains("duplicate.*other-formula").sum()
    yield exact("repeated rows whose d differs", differ.sum(), marked, 0)


def against_chance(rows: pd.DataFrame):
    """Medians of rows that scored random weights lie in the range of random ones; those of the same models trained do not."""
    random = rows[rows["defects"].str.contains("random-weights")]
    for row in rows[rows["model"].isin(random["model"])].itertuples():
        relation = "=" if "random-weights" in row.defects else "≠"
        for score, mean, sd in (
            ("s", symmetry_mean(row.width), symmetry_sd(row.width)),
            ("d", 0.0, directionality_sd(row.width, convention="tables")),
        ):
            error = sd * MEDIAN_ERROR / math.sqrt(row.layers)
            words = f"{row.row} {row.model}: {score}"
            yield Comparison(words, getattr(row, score), relation, mean, 4 * error, error, "")


# %%
@claim(
    "Table S2",
    "and S3, what the rows are",
    "the 70 rows show scores of pretrained language models",
    Verdict.MISPRINT,
    printed="""
    "Symmetry score for open-source pretrained language models" and "All models are available on Hugging Face".""",
    place="the caption of Table S2",
    remark="""Since the caption does not state that each row shows a different model, repeated rows are not errors.
    Nevertheless, we count each model only once. To detect models with random weights, we compared the scores in each row with the scores of random matrices of the same width.""",
)
def table_s2_distinct_checkpoints():
    rows = released_results()[lambda results: results["row"] != ""]
    codes = ("vision", "random-weights", "no-such-model")
    vision, random, missing = (rows[rows["defects"].str.contains(code)] for code in codes)
    trained = what_rows_score(rows)["trained"]
    left = rows[rows["counted"]]["model"].nunique()
    yield from against_others(rows)
    yield from against_chance(rows)
    seen = (vision["modality"] == "vision").sum()
    yield compare("rows of vision models", seen, ">", 0, paper="= 0")
    yield compare("rows of networks with random weights", len(random), ">", 0, paper="= 0")
    unnamed = (missing["model"] == "").sum()
    yield compare("rows of no existing model", unnamed, ">", 0, paper="= 0")
    yield exact("rows of trained language models", trained, len(rows) - len(vision) - len(random) - len(missing))
    yield compare("distinct trained language models, correctly extracted", left, "<", trained)
    holds = f"""Of the {len(rows)} rows, {trained} show the score of a trained language model. The other rows show vision models
        ({len(vision)} rows), models with random weights ({len(random)}) and a model name for which no model exists ({len(missing)}).
        If we count
        each language model only once, and only if its query and key weights were extracted correctly, {left} rows remain."""
    return {"holds": holds}


show(table_s2_distinct_checkpoints(), unfolded=True)

# %% tags=["remove-input"]
known = printed["defects"].str.split().explode().value_counts()
legend = pd.DataFrame({"code": DEFECTS.keys(), "meaning": DEFECTS.values()})
legend["printed rows"] = legend["code"].map(known).fillna(0).astype(int)
table(
    legend[legend["printed rows"] > 0],
    name="tab-defects",
    caption="Known defects of the printed rows, and the number of rows that have each defect. A row can have several defects.",
)

# %% tags=["remove-cell"]
paired = extraction_effects(alike, d_head, seed=seed).set_index("defect").loc["head-pairing"].iloc[0]
of_shared_keys = printed[printed["defects"].str.contains("head-pairing")]
assert of_shared_keys["s"].abs().median() < 0.1  # "near zero"
glue("s-right", paired["s"], "+.2f")
glue("s-wrong", paired["s_released"], "+.2f")
glue("n-paired", len(of_shared_keys), "d")

# %% [markdown]
# ## What an incorrect extraction does
#
# For some rows, the factors of the query-key matrix are multiplied incorrectly in the authors' code. In models whose heads
# share keys, such as Llama 3 and Mistral, query heads are paired with the wrong key heads, which affects
# {glue:text}`n-paired` rows. We applied each type of error to artificial heads that are symmetric except for noise and have
# a few columns with large norms ({numref}`tab-extractions`). With the wrong pairing, the symmetry score of these heads
# changes from {glue:text}`s-right` to {glue:text}`s-wrong`. Therefore, a printed symmetry score near zero tells us little
# about a model whose heads share keys.

# %% tags=["remove-input"]
names = {"s_released": "s, authors' code", "d_released": "d, authors' code"}
table(
    extraction_effects(alike, d_head, seed=seed).rename(columns=names),
    name="tab-extractions",
    caption="Scores of artificial heads if they are extracted correctly, and if they are extracted with the errors in the authors' code. For d, we used the formula behind Table S3.",
    formats=dict.fromkeys(("s", "s, authors' code", "d", "d, authors' code"), ".2f"),
)

# %% [markdown]
# If query heads are paired with the wrong key heads, the symmetry is lost, but the columns with large norms remain. For
# ModernBERT, the weights were multiplied along the wrong dimension, so that the rows and columns of the product correspond
# to the coordinates of heads instead of the coordinates of tokens. Since the norm of such a product differs from the norm of
# $\Wqk$, the symmetry score of the product is wrong and the directionality score is meaningless. For Pythia and DeBERTa,
# interleaved heads were read as contiguous blocks, so both scores are meaningless.
#
# ## Symmetry: Table S2 can be reproduced
#
# In the rows whose weights we scored ourselves, the printed values of $s$ do *not* contain the factor of 2 in Definition 3.1 of
# the paper. Our scores agree to five digits with the scores that the authors released ({numref}`fig-printed-beside-ours`).

# %% tags=["remove-input"]
printed_beside_ours(medians)


# %% tags=["remove-cell"]
def as_printed(rows: list[PrintedRow], of: str):
    """All three numbers of every row, to both printed decimals."""
    for row in rows:
        for what, theirs, ours in zip(NUMBERS, row.theirs, row.ours, strict=True):
            yield exact(f"{row.row} {row.printed_as}: {what} of {of}", ours, theirs, HALF_UNIT)


def as_released(rows: list[PrintedRow], of: str):
    """All three numbers of every checkpoint, to six digits."""
    for row in {row.model: row for row in rows}.values():
        for what, theirs, ours in zip(NUMBERS, row.released, row.ours, strict=True):
            yield exact(f"{row.model}: {what} of {of}, released", ours, theirs, SIX_DIGITS)


def compared(rows: list[PrintedRow], number: str) -> str:
    """How many rows of a table we compared with our scores."""
    return f"""We compared our scores with the printed scores in {len(rows)} of the {len(printed_table(number))} rows. These rows
        show {len({row.model for row in rows})} different checkpoints."""


# %%
@claim(
    "Table S2",
    "rows whose weights were read",
    "the printed symmetry scores agree with the weights that we scored ourselves",
    Verdict.HOLDS,
)
def table_s2_symmetry(medians=None):
    medians = recorded_medians() if medians is None else medians
    rows = read_rows("S2", "symmetry", medians)
    yield from as_printed(rows, "s")
    yield from as_released(rows, "s")
    found = "The printed values of $s$ do not contain the factor of 2 in Def. 3.1 of the paper."
    return {"remark": f"{compared(rows, 'S2')} {found}"}


@claim(
    "Table S2",
    "and S3, all rows",
    "the printed numbers agree with the result files that the authors released",
    Verdict.HOLDS,
)
def tables_round_the_released_results():
    for number in ("S2", "S3"):
        gaps = np.array([row.theirs - row.released for row in printed_rows(number, "symmetry", NO_MEDIANS)])
        yield exact(f"largest gap in {gaps.size} numbers of Table {number}", np.abs(gaps).max(), 0, HALF_UNIT)


show(table_s2_symmetry(medians), tables_round_the_released_results())

# %% [markdown]
# ## Directionality: Table S3 follows another formula
#
# In Definition 3.2 of the paper, the norms that exceed their mean by more than $\gamma$ standard deviations are added up. In
# the authors' code, the amounts by which the norms exceed this threshold are added up instead. Neither of these two formulas
# gives the printed numbers. The printed numbers can be reproduced from the amounts by which the *logarithms* of the norms
# exceed a threshold:
#
# $$
# \begin{aligned}
# d &= \frac{r - c}{r + c}, \\
# r &= \sum_k \max\bigl(0,\ \log\lVert m_{k,\cdot}\rVert - \mu_r - 2\sigma_r\bigr) .
# \end{aligned}
# $$ (eq-table-s3)
#
# Here, $\mu_r$ and $\sigma_r$ are the mean and the population standard deviation of the logarithms of the row norms. The
# number $c$ is defined in the same way for the columns. We found this formula by trying variants until one of them
# reproduced every row. Agreement to two decimals could be a coincidence, but the results of this formula agree to five
# digits with the medians that the authors released.


# %%
@claim(
    "Table S3",
    "rows whose weights were read",
    "the printed directionality scores follow from the definition",
    Verdict.ASSUMPTION,
    printed="""
    "Directionality score for open-source pretrained language models" (caption). Def. 3.2 of the paper uses "the
    sum of the norm of the columns that are higher than a given threshold", and the same sum over rows.""",
    place="Table S3 and Definition 3.2",
    holds=r"""The numbers follow from a formula that the paper does not state, namely $d = (r - c)/(r + c)$ with
    $r = \sum_k \max(0, \log\lVert m_{k,\cdot}\rVert - \mu_r - 2\sigma_r)$. The number $c$ is defined in the same way for columns, and
    $\mu$ and $\sigma$ are the mean and the standard deviation of the logarithms.""",
    missing=("logarithms",),
)
def table_s3_directionality(medians=None):
    medians = recorded_medians() if medians is None else medians
    by_definition, by_code, by_logarithms = (read_rows("S3", formula, medians) for formula in FORMULAS)
    yield from as_printed(by_logarithms, "d from logarithms of norms")
    yield from as_released(by_logarithms, "d from logarithms of norms")
    for formula, rows in (("Def. 3.2 of the paper", by_definition), ("the authors' code", by_code)):
        for row in {row.model: row for row in rows}.values():
            words = f"{row.model}: median of d by {formula}, released"
            yield compare(words, row.ours[0], "≠", row.released[0], SIX_DIGITS)
    once = {row.model: row for row in by_definition}.values()
    others = joined_by_and([f"{row.ours[0]:.2f} instead of {row.theirs[0]:.2f} for {row.model}" for row in once])
    remark = f"""{compared(by_definition, "S3")} The paper does not mention the logarithm. According to a second-hand report on the authors'
        code, which we did not read ourselves, this code does not use logarithms either. Instead, it adds up the amounts
        by which the norms exceed their threshold. All conclusions that are drawn from the numbers in Table S3 depend on
        the formula with logarithms. With Definition 3.2 of the paper, the medians are {others}. These medians do not
        differ between encoders and decoders. We judge the statements in Section 3 separately."""
    return {"remark": remark}


show(table_s3_directionality(medians))

# %% [markdown]
# The choice of the formula matters for two reasons. First, a few very large norms increase the standard deviation and
# therefore the threshold, and taking the logarithm reduces this effect. Second, if we add up excesses instead of norms, rows
# and columns that are only slightly above the threshold contribute very little.
#
# ## What it means for you
#
# - Compare your model with models of a similar size, because [larger encoders are less
#   symmetric](pretrained_survey.py#larger-encoders-are-less-symmetric).
# - You can compare symmetry scores with the printed values in Table S2, but first [look up what the row in question
#   shows](#table-s2-every-row).
# - Compare directionality scores with Table S3 only if you use the formula of Table S3: `attngeo score MODEL --convention tables`.
# - To check the remaining rows, run `attngeo survey --group printed` on a machine with access to the Hugging Face Hub. If
#   you then rerun the code of this page, the page will include these rows.
#
# ## Table S2, every row
#
# A row is marked *not read* if we had no access to the weights. The codes in the last column are explained in
# {numref}`tab-defects`. A Llama 3.2 model with 8B parameters does not exist. The row with this name repeats the numbers of
# the model with 1B parameters.

# %% tags=["remove-input"]
whole = whole_table("S2", "symmetry", medians)
table(
    whole,
    name="tab-s2-rows",
    caption="Symmetry scores of Table S2: the printed values and our own values. Each cell contains the median over the layers and, in brackets, its distances from the first and from the third quartile.",
)

# %% [markdown]
# ## Table S3, every row
#
# We computed our own values with {eq}`eq-table-s3`, because no other formula that we tried reproduces the printed numbers.

# %% tags=["remove-input"]
whole = whole_table("S3", "directionality_tables", medians)
table(
    whole,
    name="tab-s3-rows",
    caption="Directionality scores of Table S3: the printed values and our own values. Each cell contains the median over the layers and, in brackets, its distances from the first and from the third quartile.",
)
