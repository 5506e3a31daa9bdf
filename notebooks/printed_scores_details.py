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
# Every row of Tables S2 and S3, beside our own score where its weights were read, and what is known against it
# ({numref}`tab-defects` says what the codes mean). The [chapter](printed_scores.py) says what follows.

# %% tags=["parameters", "remove-input"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
alike: float = 0.9  # how alike queries and keys of the made-up forms are; in [0, 1]
d_head: int = 16  # width of a head of the made-up forms; in [4, 64]
seed: int = 0  # seed of the made-up forms; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd

from chapters.printed_scores import extraction_effects, whole_table
from livingpaper.display.page import table
from attngeo.experiments.survey.measured import layer_medians, measured
from livingpaper.released_results import DEFECTS, released_results

medians = layer_medians(measured(models).query("head == -1"))

# %% [markdown]
# ## What is known against rows

# %% tags=["remove-input"]
known = released_results().query("row != ''")["defects"].str.split().explode().value_counts()
legend = pd.DataFrame({"code": DEFECTS.keys(), "meaning": DEFECTS.values()})
legend["printed rows"] = legend["code"].map(known).fillna(0).astype(int)
table(
    legend[legend["printed rows"] > 0],
    name="tab-defects",
    caption="What is known against printed rows, and of how many.",
)

# %% [markdown]
# ## What a wrong extraction does
#
# For some rows the released code multiplies the wrong factors. Each way of going wrong can be tried on forms made for the
# purpose, with symmetric heads (up to noise) and some strong columns.

# %% tags=["remove-input"]
names = {"s_released": "s, as released", "d_released": "d, as released"}
table(
    extraction_effects(alike, d_head, seed=seed).rename(columns=names),
    name="tab-extractions",
    caption="Scores of made-up forms, extracted rightly and as the released code does; d as in Table S3.",
    formats=dict.fromkeys(("s", "s, as released", "d", "d, as released"), ".2f"),
)

# %% [markdown]
# Pairing each query head with a wrong key head loses symmetry and leaves strong columns where they are. A product in head
# coordinates (ModernBERT) makes $d$ meaningless. Interleaved heads read as blocks (Pythia, DeBERTa) make both scores so.
#
# ## Table S2, every row
#
# Rows whose weights are *not read* wait for a machine that reaches the Hub. Llama 3.2 has no 8B: the row of that name holds
# the numbers of the 1B.

# %% tags=["remove-input"]
whole = whole_table("S2", "symmetry", medians)
table(whole, name="tab-s2-rows", caption="Table S2: median [to first quartile, to third quartile] of the symmetry.")

# %% [markdown]
# ## Table S3, every row
#
# Recomputed by {eq}`eq-table-s3`, since no other formula that we tried gives these numbers. The choice is not a detail. A few
# very large norms inflate the standard deviation, and the logarithm shrinks it. So more of their weight stands above the
# threshold, and rows that are merely a little long stop counting.

# %% tags=["remove-input"]
whole = whole_table("S3", "directionality_tables", medians)
table(whole, name="tab-s3-rows", caption="Table S3: median [to first quartile, to third quartile] of directionality.")
