# ---
# jupyter:
#   attngeo:
#     reads: [data/runs]
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
# # Constraints
#
# The paper {cite}`saponati2025` names a way to keep a query-key matrix $\Wqk$ symmetric, or skew-symmetric
# ($\Wqk\T = -\Wqk$), all through training: a *constraint*, a term added to the loss (Appendix S2.1). It reports no
# result with it. What does a model lose that is held like this?
#
# In the small models trained for this book $\Wqk$ comes close to what either constraint asks for, and the loss on
# held-out text ends higher, beyond the noise between runs, in {glue:text}`n-hurts` of {glue:text}`n-settings` settings
# ({glue:text}`dear`). The models are small, their texts short and the runs few, so a lesser cost or a gain would not show.

# %% tags=["parameters", "remove-input"]
weight: float = 0.1  # weight of the constraint in the loss, gamma of Eq. S146; in [0.0001, 100]
layers: int = 2  # layers of the models trained on this page; in [1, 48]
d_model: int = 64  # width of the embedding; in [8, 4096]
heads: int = 4  # heads per layer, a divisor of the width; in [1, 64]
objective: str = "mlm"  # what is predicted; one of mlm | clm | released-decoder
corpus: str = "embedded"  # text: embedded, wikipedia, jigsaw, redpajama, wikitext, or a file or folder
block_size: int = 24  # tokens of a block; in [8, 2048]
batch_size: int = 32  # blocks of an update; in [2, 4096]
steps: int = 200  # updates; in [20, 1000000]
lr: float = 0.003  # largest learning rate; in [0.000001, 0.1]
max_characters: int = 1000000  # of the corpus; in [20000, 2000000000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from pathlib import Path
from tempfile import TemporaryDirectory

from attngeo.chapters.constraints import constrained_training, effects, figures, losses
from attngeo.display.page import glue, show, table
from attngeo.records.checkout import data
from attngeo.runs.estimates import HURTS
from attngeo.runs.experiments import recorded_runs
from attngeo.runs.labels import PARTS
from attngeo.runs.numbers_in_words import extent
from attngeo.training.config import configure
from attngeo.training.train import train

found = effects.constrained_and_free(recorded_runs(data("runs")))
used = {id(run): run for contrast in found for run in (*contrast.first.runs, *contrast.second.runs)}

# %% tags=["remove-input"]
figures.constrained_training(list(used.values()), "fig-constraint-recorded") if found else None

# %% [markdown]
# ## What is added to the loss
#
# ````{prf:definition} Eqs. S146 to S148 of the paper, with squared norms
# :label: def-constraints
#
# With the prediction loss $\mathcal{L}$ and a weight $\gamma > 0$ (not the $\gamma$ of {prf:ref}`def-3-2`), training
# minimises $\mathcal{L} + \gamma \mathcal{L}_c$, where $\mathcal{L}_c$ is the mean over the layers of
#
# $$
# \begin{aligned}
# \frac{\norm{M}^2}{\norm{M_s}^2} &= \frac{2}{1 + s} , \\
# \frac{\norm{M}^2}{\norm{M_n}^2} &= \frac{2}{1 - s} ,
# \end{aligned}
# $$ (eq-constraints)
#
# the first to make $M$ symmetric, the second to make it skew-symmetric. Here $M = \Wqk$ summed over heads, $M_s$ and $M_n$
# are its symmetric and skew-symmetric parts, and $s$ is its symmetry score.
# ````
#
# The second form of each fraction follows from $\norm{M_s}^2 = (1 + s) \norm{M}^2 / 2$ ({prf:ref}`lem-s1-16` with
# {prf:ref}`def-3-1`). So a constraint is a function of the score alone: shrinking the weights does not satisfy it. It
# binds the sum over heads, not each head. A random matrix has $s \approx 0$, so training starts at
# $\mathcal{L}_c \approx 2$, and all that can be gained is 1. The paper says nothing of the weight. By an audit of the
# released code, which this project has not read itself, that code contains no such term.

# %%
show(constrained_training.constrained_loss(), losses.squares_are_squared_norms())

# %% [markdown]
# The paper says of S147 that its minimum is at $s = 1$, and of S148 that it leads to $s = 0$. The second is least at
# $s = -1$; the printed 0 belongs to the score of the released code, which is 0 for a skew-symmetric matrix.

# %%
show(losses.symmetric_constraint(), losses.skew_constraint())

# %% [markdown]
# Each constraint is infinite [where the other is least](constraints_details.py#values-and-poles), so that a model that
# starts skew-symmetric cannot be given the symmetric one, nor one with $\Wk = \Wq$ the skew one.
#
# ## What it costs
#
# Each constrained model stands beside a free one of the same settings and the same random numbers (*seed*). A difference
# in the final held-out loss is read with its interval of 95 % over seeds (Student's $t$ on the differences), which takes
# three seeds or more.

# %% tags=["remove-input"]
if found:
    table(
        effects.effects_table(found),
        name="tab-constraint-effects",
        caption="Final held-out loss in nats with and without a constraint, difference (constrained less free) with its"
        " interval over seeds, and what the interval says. γ is the weight of the constraint.",
        formats={"loss, free": ".3f", "constrained": ".3f"},
    )
else:
    print("No run with a constraint is recorded yet.")

# %% tags=["remove-cell"]
sums, single = (effects.reached(found, measure) for measure in ("symmetry", effects.symmetry_of_heads))
dear = [contrast for contrast in found if contrast.outcome() == HURTS]
configs = [contrast.first.config for contrast in dear]
glue("n-hurts", len(dear), "d")
glue("n-settings", len(found), "d")
glue("dear", "; ".join(f"{PARTS[c['objective']]} under the {c['constraint']} constraint" for c in configs) or "none")
glue("s-sums", extent(sums, "{:.2f}".format))
glue("s-heads", extent(single, "{:.2f}".format))
glue("heads-below", sum(head < whole for head, whole in zip(single, sums, strict=True)), "d")
glue("n-more-fall", sum(contrast.outcome(effects.last_fall) == HURTS for contrast in found), "d")

# %% [markdown]
# A cost may be a delay, in part or in all: in {glue:text}`n-more-fall` of {glue:text}`n-settings` settings the
# constrained loss [fell more over the last fifth of the steps](constraints_details.py#heads-and-the-last-steps) than the
# free one.
#
# The sum over heads ends at $|s|$ = {glue:text}`s-sums`, single heads at {glue:text}`s-heads`, lower in
# {glue:text}`heads-below` of {glue:text}`n-settings` settings. So a head need not have the structure of its layer: in
# the sum, what is forbidden in one head can be cancelled or outweighed by the others.
#
# ## Training here and now
#
# While this page was built, three models of {glue:text}`layers` layers of width {glue:text}`d-model` were trained from
# the same random weights on the same text for {glue:text}`steps` steps: one free, one with either constraint at
# $\gamma$ = {glue:text}`weight`.

# %% tags=["hide-input"]
settings = {
    **{"layers": layers, "d_model": d_model, "heads": heads, "dropout": 0.0, "vocab_size": 256, "text": "spaced"},
    **{"objective": objective, "corpus": corpus, "max_characters": max_characters, "block_size": block_size},
    **{"batch_size": batch_size, "steps": steps, "lr": lr, "seed": seed, "checkpoint_every": 0},
    **{"record_every": max(1, steps // 40), "evaluate_every": max(1, steps // 10)},
}
with TemporaryDirectory() as folder:
    live = [
        train(configure({**settings, "constraint": name, "gamma": gamma}), Path(folder) / name)
        for name, gamma in (("none", 0.0), ("symmetric", weight), ("skew", weight))
    ]

# %% tags=["remove-cell"]
for name in ("layers", "d_model", "steps"):
    glue(name.replace("_", "-"), settings[name])
glue("weight", weight, "g")
ends = {run.config["constraint"]: run.last("symmetry") for run in live}
for name, s in ends.items():
    glue(f"s-{name}", s, ".2f")
reached = min(ends["symmetric"], -ends["skew"]) > 0.9
glue("reached", "reach" if reached else "move towards, without reaching them in these few steps,")

# %% tags=["remove-input"]
figures.constrained_training(live, "fig-constraint-live")

# %% [markdown]
# Both constrained models {glue:text}`reached` the structure that is asked for: $s$ = {glue:text}`s-symmetric` and
# {glue:text}`s-skew`, against {glue:text}`s-none` for the free one. One seed of so small a model says that the gradient
# pulls as it should. It says nothing about what a constraint costs.
#
# ## What it means for you
#
# - `attngeo train --constraint symmetric --gamma 0.1 -o RUN` trains with the symmetric term, `--constraint skew` with the
#   other, and refuses with a sentence a start that lies outside the term's domain.
# - If each head is to be symmetric, this term does not see to it. Look at the heads with `attngeo score RUN/model --per-head`.
# - Whether the structure is worth enforcing is open: [what would settle it](constraints_details.py#what-would-settle-it).
