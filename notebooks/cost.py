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
# {glue:text}`wide-ratio` times less than by the *released way*, which forms $\Wqk$ in float32 as the
# paper's code does, by an audit of it (not read here).
# In float32 ours is faster by {glue:text}`float32-faster`, where a gain below {glue:text}`scatter`, by which two benchmarks of
# the same work differ, counts as none; narrower layers, for the sake of sums in float64, take up to
# {glue:text}`float32-longer` times as long.
# The heads of a layer one by one, at $d =$ {glue:text}`heads-d` in {glue:text}`heads-dtype`, take
# {glue:text}`heads-ratio` times less.

# %% tags=["remove-cell"]
from attngeo.chapters.cost import figures, measured
from attngeo.display.page import glue, table
from attngeo.forms.moments import WIDE

layers = measured.layers()
wide = layers.query("d == 8192").set_index("dtype")
ways = measured.other_ways().set_index("way")
full = layers.query("key_heads == heads and dtype == 'float32'").set_index("d")["ratio"]
faster, slower = full[full > 1], full[full <= 1]
grouped = layers.query("key_heads < heads").set_index("dtype")
glue("wide-seconds", wide.loc["bfloat16", "ours"], ".1f")
glue("wide-ratio", wide.loc["bfloat16", "ratio"], ".1f")
heads = measured.layers("test_heads").query("key_heads == heads").sort_values("ratio").iloc[0]
for name in ("d", "dtype"):
    glue(f"heads-{name}", str(heads[name]))
glue("heads-ratio", heads["ratio"], ".0f")
glue("float32-faster", " and ".join(f"{ratio - 1:.0%} (d = {d})" for d, ratio in faster.items()))
glue("float32-least", faster.min() - 1, ".0%")
glue("float32-longer", 1 / slower.min(), ".1f")
glue("share", 1 / wide.loc["float32", "alone"], ".0%")
glue("alone", wide.loc["float32", "alone"], ".2f")
glue("reached", wide.loc["float32", "ratio"], ".2f")

# %% tags=["remove-cell"]
rounded, parts = ways.loc["tiles, factors rounded to bfloat16"], ways.loc["three bfloat16 products, summed in float32"]
glue("parts", parts["times as fast"], ".1f")
glue("rounded", rounded["times as fast"], ".1f")
glue("rounded-error", round(rounded["error of a norm"] / ways.loc["tiles, float32", "error of a norm"], -2), ",.0f")
again, before = ways.loc["tiles, float32", "times as fast"], full[4096]  # the width of both
glue("wide", str(WIDE))
glue("again", again, ".2f")
glue("before", before, ".2f")
glue("scatter", abs(again / before - 1), ".0%")
glue("narrow", " and ".join(f"{ratio:.2f} (d = {d})" for d, ratio in slower.items()))
glue("grouped", grouped["ratio"].min(), ".1f")
run = measured.about("scores", "test_sum")
versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
made = f"{run['date']}, commit {run['commit'][:10]}, {run['cpu']}, {run['threads']} thread, {versions}"
glue("made", made)

# %% tags=["remove-input"]
figures.ratios(layers)

# %% [markdown]
# ## Why float32 gains so little
#
# The scores need the norm of every row and column and the sum of the products $m_{ij} m_{ji}$. With as many columns in the
# factors as in the matrix, we know no way to them with less than one product of two $d \times d$ matrices (a step of
# Strassen's recursion would save an eighth of it, and some accuracy). At $d = 8192$ one product alone takes
# {glue:text}`share` of the released way, and so has {glue:text}`alone` times its speed; ours, which multiplies tile by tile
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
# The first row times the sums alone, again and in other rounds than the figure, which has {glue:text}`before` there
# in place of {glue:text}`again`. Two benchmarks thus differ by {glue:text}`scatter`, against which gains are to be held: the
# smallest above is {glue:text}`float32-least`.
#
# Gram products take five such products. Factors split into two bfloat16 numbers each take three, in the faster type, but their sums
# must stay in float32: the products alone are {glue:text}`parts` times as fast as the whole released way. Factors rounded to
# bfloat16 are {glue:text}`rounded` times as fast, with errors {glue:text}`rounded-error` times as large: a loss that whoever
# stores float32 has not asked for, so it is not done. Float32 layers narrower than {glue:text}`wide` are summed in
# float64, at {glue:text}`narrow` times the released way's speed. Where query heads share keys, the sum has few columns,
# and float32 too is at least {glue:text}`grouped` times as fast.
#
# ## Everything else

# %% tags=["remove-input"]
table(
    measured.everything_else(),
    name="tab-cost-else",
    caption="What other work costs, and what it stands beside. Seconds are processor time, in which other work on the "
    "machine does not count, but where the clock is named. The released configuration is that of the paper's code: "
    "transformers' Trainer with every document padded to the block and a head over the whole vocabulary at every position, "
    "in float32 since its fp16 needs a GPU.",
)

# %% [markdown]
# ## Measure it again
#
# `make benchmarks` times all of this and writes `data/benchmarks`, from which this page is made. The scores' ways take
# turns in one process on one thread, and medians of their rounds are compared; reading, commands and the book are timed
# in processes of their own, and of the rounds of training the best counts. The scores' record: {glue:text}`made`.
