# ---
# jupyter:
#   attngeo:
#     reads: [data/benchmarks]
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
# # Cost
#
# Both scores of a layer of width 8192 in bfloat16 take {glue:text}`wide-seconds` s of one core,
# {glue:text}`wide-ratio` times less than by the *released way*, which forms $\Wqk$ in float32 as the paper's code does.
# Head by head it is {glue:text}`heads-ratio` times less; in float32 the sum over heads gains next to nothing.

# %% tags=["remove-cell"]
from attngeo.chapters.cost import figures, measured
from attngeo.display.page import glue, table

layers = measured.layers()
wide = layers.query("d == 8192").set_index("dtype")
ways = measured.other_ways().set_index("way")
narrow = layers.query("d == 2048 and dtype == 'float32'").iloc[0]
grouped = layers.query("key_heads < heads").set_index("dtype")
glue("wide-seconds", wide.loc["bfloat16", "ours"], ".1f")
glue("wide-ratio", wide.loc["bfloat16", "ratio"], ".1f")
glue("heads-ratio", measured.layers("test_heads").query("key_heads == heads")["ratio"].min(), ".0f")
glue("share", 1 / wide.loc["float32", "limit"], ".0%")
glue("limit", wide.loc["float32", "limit"], ".2f")
glue("reached", wide.loc["float32", "ratio"], ".2f")

# %% tags=["remove-cell"]
rounded, parts = ways.loc["tiles, factors rounded to bfloat16"], ways.loc["three bfloat16 products, summed in float32"]
glue("parts", parts["times as fast"], ".1f")
glue("rounded", rounded["times as fast"], ".1f")
glue("rounded-error", round(rounded["error of a norm"] / ways.loc["tiles, float32", "error of a norm"], -2), ",.0f")
glue("narrow", narrow["ratio"], ".1f")
glue("grouped", grouped["ratio"].min(), ".0f")
run = measured.about("scores", "test_sum")
versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
made = f"{run['date']}, commit {run['commit'][:10]}, {run['cpu']}, {run['threads']} thread, {versions}"
glue("made", made)

# %% tags=["remove-input"]
figures.ratios(layers)

# %% [markdown]
# ## Why float32 gains so little
#
# The scores need all entries of $\Wqk$: both norms of every row and column, and the products $m_{ij} m_{ji}$. With as many
# columns in the factors as in the matrix, one product of two $d \times d$ matrices is the least that gives them (a step of
# Strassen's recursion would save an eighth of it, and some accuracy). At $d = 8192$ that product alone takes
# {glue:text}`share` of the released way, so that float32 products allow {glue:text}`limit` times its speed; ours, which multiplies tile by tile
# and never holds the matrix, has {glue:text}`reached` times. {numref}`tab-cost-ways` has what else was tried.

# %% tags=["remove-input"]
table(
    ways,
    name="tab-cost-ways",
    caption="Ways to the sums behind both scores for float32 factors, $d = 4096$: products of two $d \\times d$ matrices, "
    "speed in multiples of the released way, and the largest relative error of a row's or column's norm against float64. "
    "Of three bfloat16 products only the products are timed.",
    formats={"times as fast": ".2f", "error of a norm": ".0e"},
)

# %% [markdown]
# Gram products take five such products. Factors split into two bfloat16 numbers each take three, in the faster type, but their sums
# must stay in float32: the products alone are {glue:text}`parts` times as fast as the whole released way. Factors rounded to
# bfloat16 are {glue:text}`rounded` times as fast, with errors {glue:text}`rounded-error` times as large: a loss that whoever
# stores float32 has not asked for, so it is not done. Float32 layers narrower than 4096 are summed in float64, at
# {glue:text}`narrow` times the released way's speed for $d = 2048$. Where query heads share keys, the sum has few columns,
# and float32 too is at least {glue:text}`grouped` times as fast.
#
# ## Everything else

# %% tags=["remove-input"]
table(
    measured.everything_else(),
    name="tab-cost-else",
    caption="What other work costs, and what it stands beside. Seconds are of one core: processor time, in which other work "
    "on the machine does not count.",
)

# %% [markdown]
# ## Measure it again
#
# `make benchmarks` times all of this and writes `data/benchmarks`, from which this page is made. All ways take turns in one
# process on one thread, and medians of their rounds are compared. The scores' record: {glue:text}`made`.
