# ---
# jupyter:
#   attngeo:
#     reads: [data/runs, data/published]
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
# # Details: Symmetric initialisation
#
# What [Symmetric initialisation](symmetric_initialisation.py) rests on: every curve and interval of the runs, how they were
# measured, other learning rates and settings, what becomes of the symmetry, and further printed numbers.

# %% tags=["parameters"]
window: int = 5  # measurements of the held-out loss in a mean; in [1, 50]
d: int = 64  # width of the forms in the checks of the recipe; in [8, 512]
seed: int = 0  # seed of the checks of the recipe; in [0, 2147483647]

# %% tags=["remove-cell"]
from attngeo.chapters.symmetric_initialisation import balance, figures, printed_speed_ups, recipe, recorded_runs
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    PAIRS,
    TEXTS,
    experiments,
    main_experiments,
)
from attngeo.chapters.symmetric_initialisation.crossings import coverage
from attngeo.chapters.symmetric_initialisation.learning_rates import at_other_rates, families, rates_table
from attngeo.chapters.symmetric_initialisation.planned_figure import planned_figure
from attngeo.chapters.symmetric_initialisation.planned_runs import named, others_table, planned
from attngeo.chapters.symmetric_initialisation.planned_words import told
from attngeo.chapters.symmetric_initialisation.tables import (
    contrast_table,
    differences,
    matrix_table,
    table_1_beside_ours,
    tally,
    what_was_run,
)
from attngeo.display.page import glue, show, table
from attngeo.paper.seed_intervals import Training
from attngeo.runs.estimates import LEAST_SEEDS
from attngeo.runs.numbers_in_words import as_millions, as_nats, as_percent, extent
from attngeo.training.config import DEFAULTS

# %% tags=["remove-cell"]
ADDED_TO_PLAIN_TEXT = (3, 4, 5)  # seeds; data/runs/README.md tells why
runs = recorded_runs.recorded()
recorded = experiments(runs)
main = main_experiments(recorded)
encoders = [e for e in main if e.part == "encoder"]
by_pair = {(p.start, p.against): p for p in PAIRS}

# %% [markdown]
# ## The runs

# %% tags=["remove-input"]
if main:
    table(
        what_was_run(main),
        name="tab-init-runs",
        caption="The runs behind this page: per objective and text the setting with most runs.",
        formats={"hours": ".1f"},
    )
else:
    print("No runs with different starts are recorded yet.")

# %% tags=["remove-input"]
figures.loss_curves(main) if main else None

# %% [markdown]
# ## How the differences are measured
#
# *Final loss.* The last held-out loss of one start less that of the other, at the same seed: equal seeds have equal
# text, in equal order, and equal weights wherever the starts do not differ. The mean over seeds has a 95 % interval by
# Student's $t$. A start has a *lower* or a *higher loss* if the interval leaves out zero, and otherwise there is *no
# difference beyond the noise between seeds*. Fewer than {glue:text}`least` seeds give no interval and no verdict.
# {glue:text}`n-intervals` such intervals stand in {numref}`tab-init-answer`: were nothing different at all, about
# {glue:text}`n-false` of them would leave out zero by chance.
#
# *Speed-up.* As in Table 1, $1 - t/T$, but on the held-out loss, averaged over seeds and over {glue:text}`window`
# measurements, and with $t$ the step from which on the loss *stays* at or below the random start's last. Where it ends
# above, the speed-up is *never*. Its interval is made of resampled seeds, and with so few
# it is too narrow: simulated, such an interval holds the truth {glue:text}`coverage` of the time, not 95 %.
#
# *First crossing.* The paper's number for the same runs: training loss, one seed, first touch; one number for
# each seed, from the lowest to the highest.
#
# Brackets in the first row of each table: what two random starts of different seeds show over each other, one seed
# against one, by either measure. A speed-up of one seed within these bounds means nothing.

# %% tags=["remove-cell"]
with_seeds = [c for e in main for c in e.contrasts().values() if c.difference().has_interval]
glue("n-intervals", len(with_seeds), "d")
glue("n-false", 0.05 * len(with_seeds), ".1f")
glue("least", LEAST_SEEDS, "d")
glue("window", window, "d")
n_seeds = sorted(set(map(len, with_seeds)) or {LEAST_SEEDS})
glue("coverage", " and ".join(f"{as_percent(coverage(n))} ({n} seeds)" for n in n_seeds))

# %% tags=["remove-input"]
for experiment in main:
    table(
        matrix_table(experiment, window),
        name=f"tab-init-{experiment.config['objective']}-{experiment.config['text']}",
        caption=f"{experiment.label.capitalize()}: {experiment.size}. Differences and speed-ups against the random start.",
        formats={"final loss": ".3f", "random's": ".3f"},
    )

# %% [markdown]
# ## Every comparison

# %% tags=["remove-cell"]
glue("definite", tally(main, [by_pair["symmetric", "symmetric-indefinite"]]))
glue("sign", tally(main, [by_pair["symmetric-indefinite", "skew"]]))
glue("logit-toy", recipe.self_logit(128, heads=4), ".2f")
glue("logit-scaled", recipe.self_logit(128, heads=4, scale=recipe.scale_factor(128)), ".1f")
glue("scaled-values", tally(main, [by_pair["scaled-values", "random"]]))
for arm in ("symmetric", "symmetric-indefinite"):
    added = [e.only(ADDED_TO_PLAIN_TEXT) for e in encoders if e.text == TEXTS["plain"]]
    glue(f"added-{arm}", differences(added, by_pair[arm, "random"]))

# %% tags=["remove-input"]
figures.answer(main, name="fig-init-all") if main else None

# %% tags=["remove-input"]
table(
    contrast_table(main),
    name="tab-init-answer",
    caption="What each change of the start is worth: difference of the final held-out losses, with its interval. "
    "*Within noise*: no difference beyond the noise between seeds. A dash: not run.",
)

# %% tags=["remove-input"]
figures.speed_ups(main) if main else None

# %% [markdown]
# *Definiteness.* `symmetric` against `symmetric-indefinite` ($W_{k,h} = W_{q,h} S_h$ with a random symmetric orthogonal $S_h$)
# ends {glue:text}`definite`. At this width `symmetric` is a mild change, a logit of {glue:text}`logit-toy` between a token
# and itself; `scaled-symmetric` less `scaled`, where it is {glue:text}`logit-scaled`, is the stronger test.
#
# *The sign.* `symmetric-indefinite` against `skew`, the same with a skew-symmetric $S_h$, ends {glue:text}`sign`.
#
# *The values.* Values multiplied to the released scale, and nothing else, end {glue:text}`scaled-values` against the random
# start.
#
# *Seeds added after a look.* Three seeds of encoders on plain text were added because the first three showed a gain there. By
# themselves these give a difference from the random start of {glue:text}`added-symmetric` (`symmetric`) and
# {glue:text}`added-symmetric-indefinite` (`symmetric-indefinite`). The starts `scaled`, `scaled-values` and `scaled-symmetric`
# were added, too, after the other seven had been run, and only where `default-linear` shows a gain.
#
# ## Further planned comparisons
#
# Beside its primary comparison each plan names others. None of them decides its question.

# %% tags=["remove-input"]
beside = others_table(planned())
if len(beside):
    table(
        beside,
        name="tab-init-planned-others",
        caption="Further comparisons of the planned runs, of those that are complete.",
    )
else:
    print("None of them is complete yet.")

# %% [markdown]
# ## Does the scale act through the logits?
#
# A larger scale of queries and keys multiplies the logits before the softmax. If it helps by that alone, the same factor
# should do as well where the weights stay as BERT has them: `hot` is a random start whose logits are multiplied by
# {glue:text}`hot-factor`, as those of `scaled` are. The plan said before the first run that `hot` refutes this if it ends
# higher than `scaled`, with {glue:text}`hot-seeds` seeds of its own.
#
# {glue:text}`hot-outcome`

# %% tags=["remove-input"]
temperature = named(planned(), "confirm_temperature")
planned_figure([temperature], name="fig-init-temperature") if temperature else print("These runs are not complete yet.")

# %% tags=["remove-cell"]
difference = as_nats(temperature.contrast.difference().value).lstrip("+") if temperature else ""
glue("hot-outcome", told("hot", temperature, difference=difference))
glue("hot-factor", temperature.arms["hot"].config["logit_scale"] if temperature else recipe.scale_factor(128), ".2f")
glue("hot-seeds", len(temperature.contrast) if temperature else "ten")

# %% [markdown]
# ## Learning rates
#
# A start that needs another learning rate would look bad at a fixed one. The paper uses $5\times10^{-5}$ for all. Below
# are the settings that were run at several rates, each start also at the best of those tried for it. That best is
# chosen on the losses that it is then judged by, and some rates have fewer seeds than others: the last column shows
# whether a fixed rate misleads, and is no test of its own.

# %% tags=["remove-input"]
tried = families(runs)
for number, family in enumerate(tried, 1):
    table(
        rates_table(family),
        name=f"tab-init-rates-{number}",
        caption=f"Final held-out loss by learning rate ({family[0].label}; {family[0].size.split(', learning')[0]}). "
        "In brackets: seeds.",
    )
if not tried:
    print("No setting has been run at more than one learning rate yet.")

# %% [markdown]
# ## Symmetry after a symmetric start
#
# Figure S5 shows that a symmetric start loses symmetry, ends with more of it than the random one, and brings the layers closer together.

# %% tags=["remove-input"]
s5 = next((e for e in encoders if "symmetric" in e.arms), None)
figures.figure_s5(s5) if s5 else None

# %%
show(recorded_runs.figure_s5_on_recorded_runs())

# %% [markdown]
# ## Other settings
#
# Runs of other lengths, blocks and models, with fewer starts or seeds.

# %% tags=["remove-input"]
at_rates = set(at_other_rates(tried, main))
others = [e for e in recorded if e not in main and e.runs[0] not in at_rates]
for number, experiment in enumerate(others, 1):
    table(
        matrix_table(experiment, window),
        name=f"tab-init-other-{number}",
        caption=f"{experiment.label.capitalize()}: {experiment.size}. Against the random start.",
        formats={"final loss": ".3f", "random's": ".3f"},
    )
if not others:
    print("There are none.")

# %% [markdown]
# ## What training does to a symmetric start
#
# ````{prf:proposition} gradient flow conserves a difference
# :label: prop-s2-1-balance
#
# Let a loss be differentiable and depend on the query weights $W_q$ and key weights $W_k$ of a head, both
# $d \times d_h$ and not used elsewhere, only through $W_q W_k^\top$. Then $W_q^\top W_q - W_k^\top W_k$ does not change under gradient flow,
# $\dot W_q = -\partial\mathcal{L}/\partial W_q$ and $\dot W_k = -\partial\mathcal{L}/\partial W_k$. From $W_q = W_k$ it
# stays 0. One step of gradient descent with rate $\eta$ changes it by
# $\eta^2 (W_k^\top G^\top G W_k - W_q^\top G G^\top W_q)$, where $G = \partial\mathcal{L}/\partial(W_q W_k^\top)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# By the chain rule $\dot W_q = -G W_k$ and $\dot W_k = -G^\top W_q$. So the derivative of $W_q^\top W_q$ is
# $-W_k^\top G^\top W_q - W_q^\top G W_k$, and that of $W_k^\top W_k$ is $-W_q^\top G W_k - W_k^\top G^\top W_q$: the same. For a
# step of descent the terms of first order in $\eta$ are these and cancel; those of second order remain.
# ```
# ````
#
# Two things change the statement. With biases $b_q$ and $b_k$ the logits depend on the factors with a row added to each,
# and $W_q^\top W_q + b_q b_q^\top - W_k^\top W_k - b_k b_k^\top$ is conserved instead. Where several query heads share
# their keys, the same proof with the query heads stacked conserves $\sum_h W_{q,h}^\top W_{q,h} - W_k^\top W_k$.
#
# For a symmetric start this means that, under gradient flow and without biases, queries and keys keep equal Gram matrices
# and so equal singular values, while $W_{qk}$ may lose its symmetry. Training with Adam keeps this less well: its first step
# changes the difference in proportion to the learning rate, and not to its square.

# %%
show(balance.flow_conserves_imbalance(seed=seed))

# %% [markdown]
# ## The skew-symmetric recipe
#
# For a skew-symmetric start Section S2.1 of the paper sets $W_k = W_q S^\top$ with $S = A - A^\top$ and a random $A$. What comes
# out depends on the shape of $S$, which the section leaves open; our `skew` draws an $S$ for each head.

# %%
show(recipe.skew_recipe(d=d, seed=seed))

# %% [markdown]
# ## Table 1 beside these runs
#
# No row of Table 1 was run with as much text. With the paper's settings a run reads up to {glue:text}`paper-tokens` tokens;
# the runs here read up to {glue:text}`our-tokens`. Beside each row stands the speed-up of `released`, for good, in our
# earlier runs on such text. Two of the paper's texts were split into characters before training, by the audit's reading.

# %% tags=["remove-input"]
table(
    table_1_beside_ours(main),
    name="tab-init-table-1",
    caption="Table 1 as printed, its speed-ups taken for good (released curves, second-hand), and our earlier runs.",
)


# %% tags=["remove-cell"]
ours = [e.config for e in recorded] + [p.config for p in planned()]
glue("paper-tokens", as_millions(Training.of(DEFAULTS).tokens))
glue("our-tokens", as_millions(max(Training.of(config).tokens for config in ours)))

# %% [markdown]
# ## The web page's numbers, and decoders
#
# The web page of the paper quotes larger numbers than its table has.

# %%
show(printed_speed_ups.web_table_repeats_table_1(), printed_speed_ups.sentences_of_the_web_page())

# %% [markdown]
# The file of released curves holds decoders, of which the paper does not report. At 4 layers decoders gain too, on
# every text: {glue:text}`small-decoders` for good. At 12 layers encoders gain for good on {glue:text}`n-encoders-gain` of
# {glue:text}`n-texts` texts ({glue:text}`large-encoders`), and decoders at most {glue:text}`large-decoders`. By Table 1's
# measure, the first touch, decoders of 12 layers gain {glue:text}`large-touch`.

# %% tags=["remove-cell"]
curves = printed_speed_ups.printed().curves
small, large = (printed_speed_ups.gains_for_good(curves, layers) for layers in (4, 12))
touch = curves.query("layers == 12 and part == 'decoder'").dropna(subset="first_crossing_percent")
gaining = large["encoder"][large["encoder"] > 0]
glue("small-decoders", f"{extent(small['decoder'], '{:.0f}'.format)} %")
glue("n-encoders-gain", len(gaining), "d")
glue("n-texts", len(large), "d")
glue("large-encoders", f"{extent(gaining, '{:.0f}'.format)} %")
glue("large-decoders", f"{large['decoder'].max():.1f} %")
glue("large-touch", " and ".join(f"{r.first_crossing_percent:.0f} % on {r.dataset}" for r in touch.itertuples()))

# %%
show(printed_speed_ups.decoders_in_the_released_curves())
