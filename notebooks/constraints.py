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
# What does it cost a model to keep its query-key matrices symmetric, or skew-symmetric, all through training? In
# {glue:text}`n-hurts` of {glue:text}`n-settings` settings recorded here the loss on held-out text ends higher, beyond the
# noise between runs. Those models are small and their texts short.
#
# A symmetric start is one way to give a model a symmetric query-key matrix; training moves away from it. Appendix S2.1 of
# {cite}`saponati2025` names another: a *constraint*, a term added to the loss that pulls every $\Wqk$ towards symmetry, or
# towards skew-symmetry. The paper reports no result with it, and says nothing of the weight of the term. By an audit (a
# reading of the authors' released files made before this project's code was written) the released training code contains
# no such term; this project has not read that code itself.
#
# This page checks what the two terms are and where they are least, trains small models with each while it is built, and
# shows recorded runs of larger ones: what a constraint costs, and what it does to the scores.

# %% tags=["parameters"]
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
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from attngeo.chapters.constraints import constrained_training, effects, figures, losses
from attngeo.records.checkout import data
from attngeo.display.page import glue, show, table
from attngeo.training.bert import PRESETS, model_flops
from attngeo.runs.estimates import HURTS
from attngeo.runs.experiments import recorded_runs
from attngeo.training.train import train
from attngeo.training.config import configure
from attngeo.runs.numbers_in_words import extent

# %% [markdown]
# ## What is added to the loss
#
# ````{prf:definition} S146 to S148, with squared norms
# :label: def-constraints
#
# With the prediction loss $\mathcal{L}$ and a weight $\gamma > 0$ (not the $\gamma$ of {prf:ref}`def-3-2`), training
# minimises $\mathcal{L} + \gamma \mathcal{L}_c$, where $\mathcal{L}_c$ is the mean over the layers of
#
# $$
# \frac{\norm{M}^2}{\norm{M_s}^2} = \frac{2}{1 + s} \quad\text{(symmetric)}\qquad\text{or}\qquad
# \frac{\norm{M}^2}{\norm{M_n}^2} = \frac{2}{1 - s} \quad\text{(skew)},
# $$ (eq-constraints)
#
# $M = \Wqk$ summed over heads, $M_s$ and $M_n$ its symmetric and skew-symmetric parts, $s$ its symmetry score.
# ````
#
# The second form of each fraction follows from $\norm{M_s}^2 = (1 + s) \norm{M}^2 / 2$ ({prf:ref}`lem-s1-16` with
# {prf:ref}`def-3-1`). So a constraint is a function of the score alone. It does not change with the scale of $M$: its
# gradient is orthogonal to $M$, and shrinking the weights does not satisfy it. It binds the sum over heads, not each
# head. And since every random matrix has $s \approx 0$, training starts at $\mathcal{L}_c \approx 2$, with slope $\mp
# 2$ in $s$, which falls to $\mp 1/2$ at the minimum; all that can be gained is 1.

# %%
show(constrained_training.constrained_loss(), losses.squares_are_squared_norms())

# %% [markdown]
# ## Where they are least
#
# The paper says of S147 that its minimum is at $s = 1$, and of S148 that it leads to $s = 0$.

# %%
show(losses.symmetric_constraint(), losses.skew_constraint())

# %% tags=["remove-input"]
figures.constraint_values()

# %% [markdown]
# The printed 0 belongs to another convention. The released code scores $\norm{M_s}^2 / \norm{M}^2 = (1 + s)/2$, which
# is 0 for a skew-symmetric matrix; the definition in the paper, and its Proposition S1.17, give $-1$ there (see [Two
# scores](two_scores.py)).
#
# Either constraint is infinite where the other is least. A model that starts skew-symmetric cannot be given the symmetric
# constraint, nor one with $\Wk = \Wq$ the skew one. `attngeo train` refuses both with a sentence.

# %%
show(constrained_training.poles_of_the_constraints())

# %% [markdown]
# ## Training here and now
#
# Three models of {glue:text}`layers` layers of width {glue:text}`d-model` start from the same random weights and read
# the same text, spelled in single characters, for {glue:text}`steps` steps: one free, one with either constraint at
# $\gamma$ = {glue:text}`weight`.

# %%
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

# %% [markdown]
# ## Recorded runs
#
# Longer runs, each with a free run of the same settings and the same seed beside it. A difference in the final held-out
# loss is read with its interval of 95 % over seeds (Student's $t$ on the differences), which takes three seeds or more.

# %%
recorded = recorded_runs(data("runs"))
found = effects.constrained_and_free(recorded)
used = {id(run): run for contrast in found for run in (*contrast.first.runs, *contrast.second.runs)}

# %% tags=["remove-input"]
if found:
    table(
        effects.effects_table(found),
        name="tab-constraint-effects",
        caption="Final held-out loss with and without a constraint, difference (constrained less free), what its interval "
        "says, and both scores of the sum over heads.",
        formats={"loss, free": ".3f", "constrained": ".3f"},
    )
else:
    print("No run with a constraint is recorded yet.")

# %% tags=["remove-input"]
figures.constrained_training(list(used.values()), "fig-constraint-recorded") if found else None

# %% tags=["remove-input"]
if found:
    table(
        effects.heads_table(found),
        name="tab-constraint-heads",
        caption="At the end: symmetry of the sum over heads (median over layers) and of single heads (median over layers "
        "and heads). Over the last fifth of the steps: fall of the held-out loss in nats, and how far it exceeds the free "
        "run's.",
        formats={"fall of the loss": ".3f"},
    )

# %% tags=["remove-cell"]
sums, single = (effects.reached(found, measure) for measure in ("symmetry", effects.symmetry_of_heads))
glue("said", effects.sentence(found))
glue("n-hurts", sum(contrast.outcome() == HURTS for contrast in found))
glue("n-settings", len(found))
glue("falls", effects.fall_sentence(found))
glue("s-sums", extent(sums, "{:.2f}".format))
glue("s-heads", extent(single, "{:.2f}".format))
glue("heads-below", f"{sum(head < whole for head, whole in zip(single, sums, strict=True))} of {len(found)}")

# %% tags=["remove-cell"]
glue("n-runs", len(used), "d")
glue("hours", sum(run.about["seconds"] for run in used.values()) / 3600, ".1f")
glue("most-seeds", max(map(len, found), default=0), "d")
glue("widths", ", ".join(sorted({f"{r.config['layers']} x {r.config['d_model']}" for r in used.values()})) or "none")
mini = model_flops(replace(PRESETS["mini"], vocab_size=256), 512, round(0.15 * 512)) * 256 * 200_000
glue("mini-flops", f"{mini:.1e}")
glue("mini-hours", mini / 4e14 / 3600, ".1f")

# %% [markdown]
# What the constraint does to the final loss, in nats, with intervals over seeds; γ is its weight. {glue:text}`said`.
#
# The constraint acts on the sum over heads. There the symmetry asked for ends at $|s|$ = {glue:text}`s-sums`, arm by
# arm; in a single head at {glue:text}`s-heads`, lower in {glue:text}`heads-below` arms. So a head need not have the
# structure of its layer: in the sum, what is forbidden in one head can be cancelled or outweighed by the others.
#
# The losses were still falling at the end. Fall over the last fifth of the steps, against the free run:
# {glue:text}`falls`. Where it is more, the difference in loss was still moving in favour of the constraint: a cost may
# be a delay, in part or in all. The learning rate falls to 0 there, so a longer run would tell more than this one can.
#
# What was run: {glue:text}`n-runs` runs (layers x width: {glue:text}`widths`) at {glue:text}`most-seeds` seeds at most,
# in {glue:text}`hours` hours on the machine that each record names. These models are small, their texts short, and one
# weight $\gamma$ was tried where the table shows one; a difference smaller than the intervals cannot be seen with so
# few seeds.
#
# What would settle it: the same at the paper's four layers and steps, over several weights, with three seeds or more.
#
# ```sh
# attngeo train --preset mini --corpus redpajama --text spaced --vocab-size 256 \
#   --constraint symmetric --gamma 0.1 --seed 0 -o data/runs/constraint_symmetric_mini-mlm/random-0
# ```
#
# and the same with `--constraint skew`, with neither, and with `--objective clm`: {glue:text}`mini-flops` operations a
# run by `attngeo.training.bert.model_flops`, {glue:text}`mini-hours` hours at an assumed 400 TFLOP/s. A constraint that lowers
# the final loss with an interval that excludes 0 would say that the structure is worth enforcing; one that costs
# nothing while $|s|$ stays near 1 would say that it is free to have; one that raises it, that the constraint hinders
# training, by delay or by what it forbids.
