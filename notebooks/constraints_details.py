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
# # Details: Constraints
#
# Values, poles and further measurements behind the [chapter on constraints](constraints.py): terms added to the loss that
# pull $\Wqk$ towards symmetry, $\mathcal{L}_c = 2 / (1 + s)$, or towards skew-symmetry, $\mathcal{L}_c = 2 / (1 - s)$, with
# a weight $\gamma$ ({prf:ref}`def-constraints`).

# %% tags=["remove-cell"]
from dataclasses import replace

from attngeo.chapters.constraints import constrained_training, effects, figures
from attngeo.display.page import glue, show, table
from attngeo.records.checkout import data
from attngeo.runs.experiments import recorded_runs
from attngeo.training.bert import model_flops
from attngeo.training.choices import PRESETS

found = effects.constrained_and_free(recorded_runs(data("runs")))
used = {id(run): run for contrast in found for run in (*contrast.first.runs, *contrast.second.runs)}

# %% [markdown]
# ## Values and poles

# %% tags=["remove-input"]
figures.constraint_values()

# %% [markdown]
# A constraint does not change with the scale of $M$, so its gradient is orthogonal to $M$. At a random start its slope in
# $s$ is $\mp 2$, and it falls to $\mp 1/2$ at the minimum. The released code, by an audit of it (not read here), scores
# $\norm{M_s}^2 / \norm{M}^2 = (1 + s)/2$, which is 0 for a skew-symmetric matrix; the definition in the paper, and its Proposition S1.17, give $-1$
# there (see [Two scores](two_scores.py)).
#
# Either constraint is infinite where the other is least. A model that starts skew-symmetric cannot be given the symmetric
# constraint, nor one with $\Wk = \Wq$ the skew one. `attngeo train` refuses both with a sentence.

# %%
show(constrained_training.poles_of_the_constraints())

# %% [markdown]
# ## Heads and the last steps

# %% tags=["remove-input"]
if found:
    table(
        effects.heads_table(found),
        name="tab-constraint-heads",
        caption="At the end: symmetry of the sum over heads (median over layers) and of single heads (median over layers "
        "and heads), and directionality of the sum. Over the last fifth of the steps: fall of the held-out loss in nats, "
        "and how far it exceeds the free run's.",
        formats={"fall of the loss": ".3f"},
    )
else:
    print("No run with a constraint is recorded yet.")

# %% [markdown]
# The losses were still falling at the end. Where a constrained loss fell more than the free one, the difference was still
# moving in favour of the constraint. The learning rate falls to 0 there, so a longer run would tell more than this one
# can.
#
# The table rests on {glue:text}`n-runs` runs (layers × width: {glue:text}`widths`) at {glue:text}`most-seeds` seeds at
# most, made in {glue:text}`hours` hours on the machine that each record names. One weight $\gamma$ was tried where the
# table shows one. A difference smaller than the intervals cannot be seen with so few seeds.

# %% tags=["remove-cell"]
glue("n-runs", len(used), "d")
glue("hours", sum(run.about["seconds"] for run in used.values()) / 3600, ".1f")
glue("most-seeds", max(map(len, found), default=0), "d")
glue("widths", ", ".join(sorted({f"{r.config['layers']} × {r.config['d_model']}" for r in used.values()})) or "none")
mini = model_flops(replace(PRESETS["mini"], vocab_size=256), 512, round(0.15 * 512)) * 256 * 200_000
glue("mini-flops", f"{mini:.1e}")
glue("mini-hours", mini / 4e14 / 3600, ".1f")

# %% [markdown]
# ## What would settle it
#
# The same at the paper's four layers and steps, over several weights, with three seeds or more, would:
#
# ```sh
# attngeo train --preset mini --corpus redpajama --text spaced --vocab-size 256 \
#   --constraint symmetric --gamma 0.1 --seed 0 -o data/runs/constraint_symmetric_mini-mlm/random-0
# ```
#
# and the same with `--constraint skew`, with neither, and with `--objective clm`: {glue:text}`mini-flops` operations a
# run by `attngeo.training.bert.model_flops`, {glue:text}`mini-hours` hours at an assumed 400 TFLOP/s. A constraint that
# lowers the final loss with an interval that excludes 0 would say that the structure is worth enforcing; one that costs
# nothing while $|s|$ stays near 1 would say that it is free to have; one that raises it, that the constraint hinders
# training, by delay or by what it forbids.
