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
# # Details: Scores during training
#
# Further checks, long tables and every recorded run behind the [chapter on scores during training](training_scores.py).
# An *encoder* predicts hidden tokens from both sides, a *decoder* each token from those on its left; $s$ is the symmetry
# score of $\Wqk$, $d$ its directionality score, both as the median over the layers.

# %% tags=["remove-cell"]
from attngeo.chapters.training_scores import columns, decoders, depth, encoders_and_decoders, growth, models, tables
from attngeo.chapters.training_scores.evidence import encoders_beside_decoders, evidence
from attngeo.chapters.training_scores.figures import by_layer, over_steps
from attngeo.chapters.training_scores.figures_by_text import scores_by_depth, texts_over_steps
from attngeo.chapters.training_scores.published_scores import released_training
from attngeo.chapters.training_scores.recorded_runs import arm_table, group_table, kind, shortened
from attngeo.display.page import glue, show, table
from attngeo.records.checkout import data
from attngeo.runs.experiments import recorded_runs
from attngeo.runs.numbers_in_words import as_score, extent

recorded = recorded_runs(data("runs"))
runs = evidence(recorded).runs
found = encoders_beside_decoders(runs)

# %% [markdown]
# ## The models
#
# Table S1 of the paper lists two configurations, here beside what our presets build. Preset `base` is its column BERT,
# `mini` its column BERT-mini; a third, of 24 layers, appears on the paper's web page only.

# %% tags=["remove-input"]
table(
    models.table_s1_beside_presets().rename(columns=lambda name: name.replace("bert", "BERT").replace("_", "-")),
    name="tab-training-s1",
    caption="Table S1 as printed, and the configurations that our presets build.",
)

# %%
show(models.table_s1_is_what_the_presets_build())

# %% [markdown]
# `attngeo train --preset mini` trains such a model with the paper's settings of Appendix S2.3: AdamW, a learning rate of
# $5\times10^{-5}$ reached after 200 steps and falling linearly to 0, weight decay 0.01, 256 blocks a step, 15 % of tokens
# masked. Mixed precision is bf16 here and fp16 there.
#
# Three things differ on purpose from the released code, as an audit found it; this project has not read that code itself.
#
# - *Decoders predict every next token* (`clm`). The released decoder predicts only the 15 % of tokens that the masking
#   chose, from a left context that is masked as well; it is available as `released-decoder`.
# - *Text is left alone* (`plain`). The released code puts a space between all characters of Wikipedia and Red Pajama, after
#   which every token is one character; that is available as `spaced`.
# - *Blocks are full*: documents follow each other between their marks, and nothing is padded.
#
# ## Rows first, then columns
#
# In the released scores directionality does not only grow. Early, $d$ is above 0, the side of rows, in
# {glue:text}`n-rows-first` of {glue:text}`n-encoders` encoders (not in {glue:text}`no-rows-first`), at the latest at step
# {glue:text}`rows-until`. In {glue:text}`n-rows-random` of these it stays within two spreads of random weights
# ({glue:text}`which-random`). From the next recorded step, {glue:text}`columns-from`, it is below 0 in all.
#
# Columns of decoders grow between the first recorded step and the end in {glue:text}`n-grown` of {glue:text}`n-deep`
# models of 12 layers and in {glue:text}`n-grown-shallow` of {glue:text}`n-shallow` of 4 layers. With 12 layers the
# encoders' $d$ moves by {glue:text}`encoders-move` from the first recorded step to the end, that of the decoders by
# {glue:text}`decoders-move`, so that the two come closer in {glue:text}`n-narrowed` of {glue:text}`n-deep` pairs.

# %% tags=["remove-cell"]
course = columns.released_course(released_training())
encoders = course[course["part"] == "encoder"]
never = encoders[encoders["last step above 0"] == 0]
glue("n-rows-first", len(encoders) - len(never), "d")
glue("n-encoders", len(encoders), "d")
glue("no-rows-first", ", ".join(f"{m.text} with {m.layers} layers" for m in never.itertuples()))
glue("rows-until", encoders["last step above 0"].max(), "d")
glue("columns-from", encoders["below 0 from"].max(), "d")
risen = encoders.drop(never.index)
random = risen[risen["most"] < 2 * risen["layers"].map(columns.random_median_sd)]
glue("n-rows-random", len(random), "d")
glue("which-random", ", ".join(f"{m.text} with {m.layers} layers" for m in random.itertuples()) or "none")
gaps = columns.gaps_over_training(course).query("layers == 12")
glue("n-narrowed", int((gaps["end"] < gaps["first"]).sum()), "d")
for part, models_of_it in course[course["layers"] == 12].groupby("part"):
    glue(f"{part}s-move", extent(models_of_it["end"] - models_of_it["first"], as_score))

# %% tags=["remove-cell"]
numbers = columns.columns_over_training.judge(evidence([])).numbers
names = {"grown": "n-grown", "deep": "n-deep", "small": "n-shallow", "grown_small": "n-grown-shallow"}
for key, name in names.items():
    glue(name, numbers[key], "d")

# %% [markdown]
# ## Recorded runs
#
# The runs of this project are far smaller than the paper's, and some have several seeds, which the paper's have not. The
# page [Recorded runs](../recorded_runs.md) gives the experiments, and the runs that would need a GPU. *Characters* means
# a space between all characters, as in the released code; *pieces* are the tokens of text as it is. Common Crawl stands
# where the paper used Red Pajama, which is filtered Common Crawl.

# %% tags=["remove-input"]
if recorded:
    settings_shown, same = shortened(group_table(recorded))
    table(
        settings_shown,
        name="tab-training-settings",
        caption="Recorded runs by kind, and their hours." + (f" The same in all: {same}." if same else ""),
        formats={"hours": ".1f"},
    )
else:
    print("No runs are recorded yet.")

# %% [markdown]
# The paper says that both scores are zero at initialisation. They are those of
# [random matrices](two_scores.py#random-matrices): small, and not zero.

# %%
show(*(result for result in (growth.recorded_starts(runs=runs),) if result.comparisons))

# %% [markdown]
# ## Encoders against decoders
#
# Encoder and decoder of one seed start from the same weights. Decoders learn from every position of a block; where they
# were given fewer steps, the table says so, and also compares both where the shorter run ends (there the other one's
# learning rate has not yet fallen to 0). An interval of 95 % (Student's $t$ on the differences, seed by seed) takes
# three seeds; without one nothing is decided. The last column has the difference in the released models of 12 layers,
# one seed, for $s$. The released $d$ is not that of Def. 3.2 of the paper, by which this table goes: it
# stands [below](#three-formulas) beside $d$ by the formula of the released code.

# %% tags=["remove-input"]
if found:
    table(
        tables.contrast_table(runs),
        name="tab-training-contrasts",
        caption="Encoder and decoder at the end: medians over layers, mean over seeds, and encoder less decoder; $d$ by"
        " Def. 3.2 of the paper.",
    )
else:
    print("No encoder and decoder of equal settings are recorded yet.")

# %% tags=["remove-input"]
texts_over_steps(found, name="fig-training-recorded") if found else None

# %% tags=["remove-cell"]
changed = []
for letter, score in (("s", "symmetry"), ("d", "directionality")):
    cases = [encoders_and_decoders.at_the_end(pair, score) for pair in found]
    known = [case for case in cases if case.known]
    glue(f"{letter}-as-stated", sum(case.met for case in known), "d")
    glue(f"{letter}-reversed", sum(case.reversed for case in known), "d")
    equal = [encoders_and_decoders.at_equal_steps(pair, score) for pair in found]
    both = [(a, b) for a, b in zip(cases, equal, strict=True) if a.known and a.outcome != b.outcome]
    changed += [f"${letter}$ on {a.label}, {a.outcome} at the end and {b.outcome} then" for a, b in both]
glue("n-known", len(known), "d")
glue("n-outcomes", 2 * len(known), "d")
glue("n-changed", len(changed), "d")
glue("changed", "; ".join(changed) or "none")

# %% [markdown]
# {glue:text}`n-known` settings have an interval. Beyond the noise between seeds the encoder is the more symmetric in
# {glue:text}`s-as-stated` of them, the decoder in {glue:text}`s-reversed`; the decoder is the more directional in
# {glue:text}`d-as-stated`, the encoder in {glue:text}`d-reversed`. After equal steps {glue:text}`n-changed` of the
# {glue:text}`n-outcomes` outcomes with an interval are others: {glue:text}`changed`.
#
# ## Three formulas
#
# What a difference in directionality is depends on the formula: Def. 3.2 of the paper sums norms above a threshold, the
# released code their excess over it, and Table S3 the excess of their logarithms ([The printed
# scores](printed_scores.py)).

# %% tags=["remove-input"]
if found:
    table(
        tables.formula_table(runs),
        name="tab-training-formulas",
        caption="Directionality at the end, encoder less decoder, by three formulas; the paper's sign is plus. Released models:"
        " one seed each, $d$ by the formula of the released code, as the audit says; without their weights this cannot be checked.",
    )

# %% [markdown]
# ## Over the steps
#
# Symmetry need not grow to the end. The table follows the median over layers, averaged over seeds, to its peak and from
# there to the last step; what a seed loses is taken from where the other seeds peak.

# %% tags=["remove-input"]
if runs:
    table(
        tables.climb_table(runs),
        name="tab-training-climbs",
        caption="Median symmetry of models with a random start: at the start, at its peak, at the end.",
        formats=dict.fromkeys(("s, start", "s, peak", "s, end"), ".2f"),
    )

# %% [markdown]
# Where encoder and decoder end apart in directionality, either may have moved: encoders may lose column dominance, or
# decoders gain it. As both start alike, their difference at the end is the encoder's change less the decoder's.

# %% tags=["remove-input"]
if found:
    table(
        tables.moves_table(runs),
        name="tab-training-moves",
        caption="Median directionality (Def. 3.2 of the paper) at both ends, and its change, with intervals over seeds.",
    )

# %% tags=["remove-cell"]
moved = [move for move in columns.moves(runs) if move.encoder.known]
glue("n-lose", sum(move.encoder.met for move in moved), "d")
glue("n-gain", sum(move.decoder.met for move in moved), "d")
larger = [m.pair.label for m in moved if abs(m.encoder.estimate.value) > abs(m.decoder.estimate.value)]
glue("larger", "; ".join(larger) or "none of them")

# %% [markdown]
# Of the {glue:text}`n-known` settings with an interval, encoders lose column dominance beyond the noise between seeds
# in {glue:text}`n-lose`, decoders gain it in {glue:text}`n-gain`. The encoders' mean change is the larger in size in
# {glue:text}`larger`. A difference between the two can be clear where neither change is: the noise of the common start
# cancels in it.

# %% tags=["remove-input"]
large = [run for run in runs if kind(run) == "large"]
over_steps(large, name="fig-training-large") if large else None

# %% [markdown]
# ## Layer by layer
#
# Late and early are here the two halves of the layers, and the middle is the middle half. The paper speaks of 12 layers;
# ours have fewer, so intervals over their seeds do not decide what it says.

# %% tags=["remove-input"]
by_layer([*found[0].first.runs, *found[0].second.runs], name="fig-training-recorded-layers") if found else None

# %% tags=["remove-input"]
scores_by_depth(found) if found else None

# %% tags=["remove-input"]
if found:
    table(
        tables.layer_table([run for pair in found for run in (*pair.first.runs, *pair.second.runs)]),
        name="tab-training-layers",
        caption="What is said of the layers, at the end of training, on the seeds that encoder and decoder share: mean,"
        " interval, and what it says of the claim.",
    )

# %%
show(
    decoders.skew_layers_elsewhere(runs=runs),
    depth.encoder_layers_elsewhere(runs=runs),
    depth.middle_layers_elsewhere(runs=runs),
    depth.directionality_of_layers_elsewhere(runs=runs),
)

# %% [markdown]
# ## Every recorded arm
#
# An *arm* is a group of runs that differ in their seed only. Recorded are {glue:text}`n-recorded` runs of
# {glue:text}`n-hours` hours in all; {glue:text}`n-pairs` settings have an encoder and a decoder, and
# {glue:text}`n-with-interval` of these three seeds or more. All are far below the paper's models in width, depth,
# vocabulary and steps, and both scores depend on these: at random directionality has a spread of several times
# width$^{-1/2}$, so that models of this width can show only large differences in it.

# %% tags=["remove-cell"]
glue("n-pairs", len(found), "d")
glue("n-with-interval", sum(len(pair) > 2 for pair in found), "d")
glue("n-recorded", len(recorded), "d")
glue("n-hours", sum(run.about["seconds"] for run in recorded) / 3600, ".1f")

# %% tags=["remove-input"]
if recorded:
    arms_shown, same = shortened(arm_table(recorded))
    table(
        arms_shown,
        name="tab-training-arms",
        caption="Every recorded arm: held-out loss and scores at the end, mean ± standard deviation over seeds."
        + (f" The same in all: {same}." if same else ""),
    )
