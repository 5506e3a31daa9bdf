# ---
# jupyter:
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
# In float32 layers of width 1024 and more are {glue:text}`float32-least` to {glue:text}`float32-best` times as fast; at
# width 512, where small steps add up, {glue:text}`float32-small` times.
# The heads of a layer one by one, at $d =$ {glue:text}`heads-d` in {glue:text}`heads-dtype`, take
# {glue:text}`heads-ratio` times less.

# %% tags=["remove-cell"]
from attngeo.chapters.cost import measured
from attngeo.display.page import glue, table
from attngeo.bilinear.moments import ROUGH, WIDE

layers = measured.layers().sort_values(["d", "key_heads", "dtype"], kind="stable")
wide = layers.query("d == 8192").set_index("dtype")
ways = measured.other_ways().set_index("way")
full = layers.query("key_heads == heads and dtype == 'float32'").set_index("d")["ratio"]
heads = measured.layers("test_heads").query("key_heads == heads").sort_values("ratio").iloc[0]
glue("wide-seconds", wide.loc["bfloat16", "ours"], ".1f")
glue("wide-ratio", wide.loc["bfloat16", "ratio"], ".1f")
glue("float32-best", full.max(), ".2f")
glue("float32-least", full[full.index >= 1024].min(), ".2f")
glue("float32-small", full[512], ".2f")
glue("heads-d", str(heads["d"]))
glue("heads-dtype", heads["dtype"])
glue("heads-ratio", heads["ratio"], ".0f")
glue("alone", wide.loc["float32", "alone"], ".2f")
glue("reached", wide.loc["float32", "ratio"], ".2f")
errors = ways["error of a norm"]
glue("rounded-error", round(errors["tiles, factors rounded to bfloat16"] / errors["tiles, float32"], -2), ",.0f")
glue("wide", str(WIDE))
glue("rough", str(ROUGH))
glue("scatter", abs(ways.loc["tiles, float32", "times as fast"] / full[4096] - 1), ".0%")
run = measured.about("scores", "test_sum")
versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
glue("made", f"{run['date']}, commit {run['commit'][:10]}, {run['cpu']}, {run['threads']} thread, {versions}")

# %% tags=["remove-input"]
headings = {"ours": "seconds", "ratio": "times as fast", "alone": "one product alone"}
table(
    layers[["dtype", "d", "heads", "key_heads", *headings]].rename(columns=headings | {"key_heads": "key heads"}),
    name="tab-cost-layers",
    caption="Both scores of a layer's summed form: seconds, and the speed in multiples of the released way, beside that of one "
    "product of two $d \\times d$ matrices of that type and nothing else.",
    formats={"seconds": ".2g", "times as fast": ".2f", "one product alone": ".2f"},
)

# %% [markdown]
# ## Why float32 gains so little
#
# The scores need the norm of every row and column and the sum of the products $m_{ij} m_{ji}$. With as many columns in the
# factors as in the matrix, we know no way to them with less than one product of two $d \times d$ matrices (a step of
# Strassen's recursion would save an eighth of it, and some accuracy). At $d = 8192$ one product alone has
# {glue:text}`alone` times the released way's speed; ours, which multiplies tile by tile and never holds the matrix, has
# {glue:text}`reached` times. {numref}`tab-cost-ways` has what else was tried. Its first row times the sums alone, again and in
# other rounds: the two differ by {glue:text}`scatter`, and smaller gains count as none.

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
# Factors rounded to bfloat16 have errors {glue:text}`rounded-error` times as large, a loss that whoever stores float32 has
# not asked for, so it is not done. Float32 layers of widths from {glue:text}`rough` to below {glue:text}`wide` are multiplied in float32 first. Where a norm
# then lies so close to a threshold that rounding could decide, they are multiplied again, in float64; the time of both
# is then the cost. Layers below that width, and single heads, are summed in float64.
#
# ## Everything else

# %% tags=["remove-input"]
table(
    measured.everything_else(),
    name="tab-cost-else",
    caption="What other work costs, and what it stands beside. Seconds are processor time, in which other work on the "
    "machine does not count, but where the clock is named; a warm build has nothing to execute. The released configuration is that of the paper's code: "
    "transformers' Trainer with every document padded to the block and a head over the whole vocabulary at every position, "
    "in float32 since its fp16 needs a GPU.",
)

# %% [markdown]
# ## Measure it again
#
# `make benchmarks` times all of this and writes `data/benchmarks`, from which this page is made. The scores' ways take
# turns in one process on one thread, and medians of their rounds are compared; reading, commands and the book are timed
# in processes of their own, and of the rounds of training the best counts. The scores' record: {glue:text}`made`.
