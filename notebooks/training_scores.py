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
# # Scores during training
#
# Do encoders become symmetric while they train, and decoders directional, as the paper says (Section 4.1, Figures 3, S3,
# S4)? In the numbers that the authors released, the encoder ends more symmetric than the decoder in
# {glue:text}`s-holds` of {glue:text}`n-released` pairs. In the models trained for this book it does so in
# {glue:text}`s-as-stated` of {glue:text}`n-known` settings, but these models are too small to decide about the paper's.
#
# An *encoder* is here a BERT trained to predict hidden tokens from both sides, a *decoder* the same model trained to
# predict each token from those on its left. A pair has one of each, of the same depth and on the same text. The released
# numbers are of one training run for each model. This book's models were trained several times with other random numbers
# (*seeds*), so that a difference can be told from chance. They have 4 layers where the paper speaks of 12, and were
# trained for a small share of its steps. So a sentence of the paper for which nothing else speaks gets the verdict
# *undecided*.
#
# The page first trains a small encoder and a small decoder while it is built, and shows what their scores do; then it
# turns to the released numbers and to the recorded runs.

# %% tags=["parameters"]
layers: int = 2  # layers of the models trained on this page; in [1, 48]
d_model: int = 96  # width of the embedding; in [8, 4096]
heads: int = 4  # heads per layer, a divisor of the width; in [1, 64]
corpus: str = "embedded"  # text: embedded, wikipedia, jigsaw, redpajama, wikitext, or a file or folder
text: str = "spaced"  # plain, or with a space between all characters; one of plain | spaced
vocab_size: int = 256  # most tokens of the vocabulary; in [50, 60000]
block_size: int = 24  # tokens of a block; in [8, 2048]
batch_size: int = 64  # blocks of an update; in [2, 4096]
steps: int = 900  # updates; in [20, 1000000]
lr: float = 0.003  # largest learning rate; in [0.000001, 0.1]
dropout: float = 0.0  # of hidden states and attention; in [0, 0.5]
max_characters: int = 3000000  # of the corpus; in [20000, 2000000000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from attngeo.chapters.training_scores import (
    columns,
    decoders,
    depth,
    encoders_and_decoders,
    growth,
    models,
    published_scores,
    tables,
)
from attngeo.chapters.training_scores.evidence import encoders_beside_decoders, evidence
from attngeo.chapters.training_scores.figures import before_and_after, by_layer, over_steps
from attngeo.chapters.training_scores.figures_by_text import released_over_steps, scores_by_depth, texts_over_steps
from attngeo.chapters.two_scores.random_matrices import scores_at_initialisation
from attngeo.display.page import glue, show, table
from attngeo.forms.random_matrices import directionality_sd
from attngeo.paper import Verdict
from attngeo.records.checkout import data
from attngeo.runs.numbers_in_words import as_score, extent
from attngeo.runs.experiments import recorded_runs
from attngeo.chapters.training_scores.recorded_runs import arm_table, group_table, kind, shortened
from attngeo.training.config import configure
from attngeo.training.train import train

shown = []  # results, for the tally at the head of the page


def show_and_keep(*results):
    shown.extend(results)
    show(*results)


# %% [markdown]
# ## The models
#
# Table S1 lists two configurations, here beside what our presets build. Preset `base` is its column BERT, `mini` its
# column BERT-mini; a third, of 24 layers, appears on the paper's web page only.

# %% tags=["remove-input"]
table(
    models.table_s1_beside_presets(),
    name="tab-training-s1",
    caption="Table S1 as printed, and the configurations that our presets build.",
)

# %%
show_and_keep(models.table_s1_is_what_the_presets_build())

# %% [markdown]
# `attngeo train --preset mini` trains such a model with the paper's settings of Appendix S2.3: AdamW, a learning rate of
# $5\times10^{-5}$ reached after 200 steps and falling linearly to 0, weight decay 0.01, 256 blocks a step, 15 % of tokens
# masked. Mixed precision is bf16 here and fp16 there.
#
# Three things differ from the released code on purpose. *Decoders predict every next token* (`clm`); the released decoder
# predicts only the 15 % of tokens that the masking chose, from a left context that is masked as well, and is available as
# `released-decoder`. *Text is left alone* (`plain`); the released code puts a space between all characters of Wikipedia
# and RedPajama, after which every token is one character, and that is available as `spaced`. *Blocks are full*: documents
# follow each other between their marks, and nothing is padded.

# %% [markdown]
# ## Training here and now
#
# The text is the documentation that comes with Python and with the installed packages, split by document into a part
# for training and a part that is held out. The models have {glue:text}`layers` layers of width {glue:text}`d-model`
# with {glue:text}`heads` heads and read blocks of {glue:text}`block-size` tokens, {glue:text}`batch-size` at a time,
# for {glue:text}`steps` steps. This is far below the paper's sizes, and the settings were chosen, after others had been
# tried, so that something happens within a minute: single characters instead of words, short blocks, a large learning
# rate, dropout {glue:text}`dropout`. Other text behaves otherwise: {numref}`tab-training-climbs` has recorded examples.

# %%
settings = {
    **{"layers": layers, "d_model": d_model, "heads": heads, "dropout": dropout, "vocab_size": vocab_size},
    **{"corpus": corpus, "text": text, "max_characters": max_characters, "block_size": block_size},
    **{"batch_size": batch_size, "steps": steps, "lr": lr, "seed": seed, "checkpoint_every": 0},
    **{"record_every": max(1, steps // 45), "evaluate_every": max(1, steps // 9)},
}
with TemporaryDirectory() as folder:
    encoder, decoder = (
        train(configure({**settings, "objective": objective}), Path(folder) / objective) for objective in ("mlm", "clm")
    )

# %% tags=["remove-cell"]
for name in ("layers", "d_model", "heads", "block_size", "batch_size", "steps", "text"):
    glue(name.replace("_", "-"), settings[name])
glue("dropout", dropout, "g")
for part, run in (("encoder", encoder), ("decoder", decoder)):
    glue(f"{part}-s-start", run.first("symmetry"), ".2f")
    glue(f"{part}-s-end", run.last("symmetry"), ".2f")
    glue(f"{part}-d-end", run.last("directionality"), ".2f")
    glue(f"{part}-loss-end", run.last("held_out_loss"), ".2f")
glue("d-sd", directionality_sd(d_model), ".2f")
apart = encoder.last("symmetry") - decoder.last("symmetry")
glue("apart", apart, ".2f")
glue("order", "is more symmetric than" if apart > 0.1 else "is not clearly more symmetric than")

# %% tags=["remove-input"]
over_steps([encoder, decoder])

# %% [markdown]
# Both start where a random matrix lies. At the end the encoder {glue:text}`order` the decoder: median $s$ =
# {glue:text}`encoder-s-end` against {glue:text}`decoder-s-end`, a difference of {glue:text}`apart`. In runs like this the
# encoder's loss first stays near the level where only the frequencies of characters are used; $s$ is small there, and
# rises when the loss leaves that level, in the step range where the left panel bends.
#
# Directionality ends at {glue:text}`encoder-d-end` and {glue:text}`decoder-d-end`; for random matrices of this width it
# is 0 ± {glue:text}`d-sd`. Its spread falls only with the square root of the width, so models this narrow can say
# little about it.
#
# One seed of two small models is an illustration, not evidence.

# %% tags=["remove-input"]
by_layer([encoder, decoder])

# %% tags=["remove-input"]
before_and_after([encoder, decoder])

# %% [markdown]
# ## What the authors released
#
# The scores behind Figures 3, S3 and S4 were released for one seed of each of twelve models: encoders and decoders of
# 12 and of 4 layers on three texts. An audit read seven steps of each from the released files. This project has not
# read those files itself; its copy of the audit's extract has medians and quartiles over the layers, of symmetry also
# the extremes, and does not tell which layer is which. Of the 4-layer models the paper shows only the encoder on Red
# Pajama, in Figure S5.

# %% tags=["remove-input"]
released_over_steps(published_scores.released_training())

# %% tags=["remove-input"]
ends, course = tables.released_pairs(), columns.released_course(published_scores.released_training())
table(
    ends,
    name="tab-training-released",
    caption=f"Released medians over layers after {course['steps'].max()} steps, and what they say of the claims of Section 4.1:"
    " the sign of the difference, one seed each.",
    formats=dict.fromkeys(("s, encoder", "s, decoder", "d, encoder", "d, decoder"), ".2f"),
)

# %% tags=["remove-cell"]
small = ends[ends["layers"] == 4]
glue("n-released", len(ends), "d")
for letter, column in (("s", "encoder more symmetric"), ("d", "decoder more directional")):
    glue(f"{letter}-holds", int((ends[column] == "as stated").sum()), "d")
glue("skew-least", small["s, decoder"].max(), ".2f")
glue("skew-most", small["s, decoder"].min(), ".2f")

# %% tags=["remove-cell"]
encoders = course[course["part"] == "encoder"]
never = encoders[encoders["last step above 0"] == 0]
glue("n-rows-first", len(encoders) - len(never), "d")
glue("n-encoders", len(encoders), "d")
glue("no-rows-first", ", ".join(f"{m.text} with {m.layers} layers" for m in never.itertuples()))
glue("rows-until", encoders["last step above 0"].max(), "d")
glue("columns-from", encoders["below 0 from"].max(), "d")
gaps = columns.gaps_over_training(course).query("layers == 12")
glue("n-deep", len(gaps), "d")
glue("n-narrowed", int((gaps["end"] < gaps["first"]).sum()), "d")

# %% tags=["remove-cell"]
deep = course[course["layers"] == 12]
for part, models_of_it in deep.groupby("part"):
    glue(f"{part}s-move", extent(models_of_it["end"] - models_of_it["first"], as_score))
numbers = columns.columns_over_training.judge(evidence([])).numbers
glue("n-grown", numbers["grown"], "d")
glue("n-shallow", numbers["small"], "d")
glue("n-grown-shallow", numbers["grown_small"], "d")
glue("first-step", numbers["first_step"], "d")
glue("d-first", numbers["first"])
glue("d-last", numbers["end"])
glue("n-once-deeper", numbers["fallen"], "d")
glue("n-decoders", numbers["n"], "d")

# %% [markdown]
# Encoders end more symmetric in {glue:text}`s-holds` of {glue:text}`n-released` pairs. Decoders do not all stay near
# zero: those of four layers end at $s$ between {glue:text}`skew-least` and {glue:text}`skew-most`. That decoders end
# the more directional holds in {glue:text}`d-holds` of {glue:text}`n-released` pairs.
#
# Directionality does not only grow. Rows dominate early, $d > 0$, in {glue:text}`n-rows-first` of
# {glue:text}`n-encoders` released encoders (not in {glue:text}`no-rows-first`), at the latest at step
# {glue:text}`rows-until`; from the next recorded step, {glue:text}`columns-from`, columns dominate in all. Decoders of
# 12 layers have $d$ from {glue:text}`d-first` at the first recorded step, {glue:text}`first-step`, and from
# {glue:text}`d-last` at the end; in between, the dominance of columns grows in {glue:text}`n-grown` of
# {glue:text}`n-deep`, and in {glue:text}`n-grown-shallow` of {glue:text}`n-shallow` decoders of 4 layers. In
# {glue:text}`n-once-deeper` of all {glue:text}`n-decoders` decoders it was once larger than at the end. So with 12
# layers the columns come early, before the first recorded step; later they do not keep growing. From that step to the end,
# $d$ of encoders of 12 layers moves by {glue:text}`encoders-move`, that of decoders by {glue:text}`decoders-move`: the
# difference between the two narrows in {glue:text}`n-narrowed` of {glue:text}`n-deep` pairs.

# %%
show_and_keep(
    decoders.decoders_almost_non_symmetric(),
    encoders_and_decoders.directionality_differs_less_elsewhere(),
)

# %% [markdown]
# ## Recorded runs
#
# The runs of this project are far smaller than the paper's, and some have several seeds, which the paper's have not.
# {numref}`tab-training-settings` lists what was run; the page [Recorded runs](../recorded_runs.md) gives the
# experiments, and the runs that would need a GPU. *Characters* means a space between all characters, as in the
# released code; *pieces* are the tokens of text as it is. Common Crawl stands where the paper used Red Pajama, which is
# filtered Common Crawl.

# %%
recorded = recorded_runs(data("runs"))
runs = evidence(recorded).runs
found = encoders_beside_decoders(runs)

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
# ### At the start
#
# The paper says that both scores are zero at initialisation. They are those of random matrices: small, and not zero.

# %%
show_and_keep(*(r for r in (scores_at_initialisation(), growth.recorded_starts(runs=runs)) if r.comparisons))

# %% [markdown]
# ### Encoders against decoders
#
# Encoder and decoder of one seed start from the same weights. Decoders learn from every position of a block; where they
# were given fewer steps, the table says so, and also compares both where the shorter run ends (there the other one's
# learning rate has not yet fallen to 0). An interval of 95 % (Student's $t$ on the differences, seed by seed) takes
# three seeds; without one nothing is decided. The last column has the difference in the released models of 12 layers,
# one seed.

# %% tags=["remove-input"]
if found:
    table(
        tables.contrast_table(runs),
        name="tab-training-contrasts",
        caption="Encoder and decoder at the end: medians over layers, mean over seeds, and encoder less decoder.",
    )
else:
    print("No encoder and decoder of equal settings are recorded yet.")

# %% tags=["remove-input"]
texts_over_steps(found[:6], name="fig-training-recorded") if found else None

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
# Settings with an interval: {glue:text}`n-known`. Beyond the noise between seeds the encoder is the more symmetric in
# {glue:text}`s-as-stated`, the decoder in {glue:text}`s-reversed`; the decoder is the more directional in
# {glue:text}`d-as-stated`, the encoder in {glue:text}`d-reversed`. After equal steps {glue:text}`n-changed` of the
# {glue:text}`n-outcomes` outcomes with an interval are others: {glue:text}`changed`.

# %%
show_and_keep(
    encoders_and_decoders.symmetry_in_training(runs=runs),
    encoders_and_decoders.directionality_in_training(runs=runs),
)

# %% [markdown]
# What a difference in directionality is depends on the formula: Def. 3.2 of the paper sums norms above a threshold, the
# released code their excess over it, and Table S3 the excess of their logarithms ([The printed
# scores](printed_scores.py)).

# %% tags=["remove-input"]
if found:
    table(
        tables.formula_table(runs),
        name="tab-training-formulas",
        caption="Directionality at the end, encoder less decoder, by three formulas; the paper's sign is plus.",
    )

# %% [markdown]
# ### Over the steps
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

# %%
show_and_keep(growth.growth_on_wikipedia(runs=runs), growth.growth_on_other_texts(runs=runs))

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

# %%
show_and_keep(columns.columns_over_training(runs=runs))

# %% tags=["remove-input"]
large = [run for run in runs if kind(run) == "large"]
over_steps(large, name="fig-training-large") if large else None

# %% [markdown]
# ### Layer by layer
#
# Section 4.1 says more of the layers: late layers of encoders are more symmetric than early ones and get there sooner;
# the middle layers of decoders are skew; late layers are more directional, in decoders most. It says the last of both
# *when training unidirectionally*; an encoder is trained bidirectionally. Late and early are here the two halves of the
# layers, and the middle is the middle half. The paper shows this for 12 layers; ours have fewer.

# %% tags=["remove-input"]
by_layer([*found[0].first.runs, *found[0].second.runs], name="fig-training-recorded-layers") if found else None

# %% tags=["remove-input"]
scores_by_depth(found[:4]) if found else None

# %% tags=["remove-input"]
if found:
    table(
        tables.layer_table([run for pair in found for run in (*pair.first.runs, *pair.second.runs)]),
        name="tab-training-layers",
        caption="What is said of the layers, at the end of training, on the seeds that encoder and decoder share: mean,"
        " interval, and what it says of the claim.",
    )

# %% [markdown]
# That some layers are skew, the released extremes and quartiles tell: of the squared norm of the most skew layer of the
# decoders of 12 layers, {glue:text}`skew-shares` is skew-symmetric, against half of it at random. How much is
# *strongly*, the paper does not say. That these are the middle layers, this project's copy cannot show. These sentences
# speak of models of 12 layers. Intervals over seeds of smaller models do not decide them, and are told with the verdict
# *undecided*.

# %%
checks = [
    depth.encoder_layers_on_wikipedia(runs=runs),
    decoders.skew_layers_on_wikipedia(runs=runs),
    depth.middle_layers_on_wikipedia(runs=runs),
    depth.directionality_of_layers_on_wikipedia(runs=runs),
    models.no_encoder_is_trained_unidirectionally(),
    depth.encoder_layers_elsewhere(runs=runs),
    decoders.skew_layers_elsewhere(runs=runs),
    depth.middle_layers_elsewhere(runs=runs),
    depth.directionality_of_layers_elsewhere(runs=runs),
]
show_and_keep(*checks)

# %% tags=["remove-cell"]
glue("skew-shares", decoders.skew_shares(published_scores.released_training()))
glue("n-undecided", sum(result.verdict is Verdict.UNDECIDED for result in checks), "d")
glue("n-layer-checks", len(checks), "d")
glue("n-pairs", len(found), "d")
glue("n-with-interval", sum(len(pair) > 2 for pair in found), "d")
glue("n-recorded", len(recorded), "d")
glue("n-hours", sum(run.about["seconds"] for run in recorded) / 3600, ".1f")
tally = Counter(str(result.verdict) if result.supported else "not supported" for result in shown)
glue(
    "verdicts", ", ".join(f"{words} {tally[words]}" for words in (*map(str, Verdict), "not supported") if tally[words])
)

# %% [markdown]
# Of {glue:text}`n-layer-checks` statements on layers, {glue:text}`n-undecided` are undecided. The verdicts of all checks
# of this page: {glue:text}`verdicts`.
#
# ## What this leaves open
#
# Recorded are {glue:text}`n-recorded` runs of {glue:text}`n-hours` hours in all. Settings with an encoder and a
# decoder: {glue:text}`n-pairs`; of these with three seeds or more: {glue:text}`n-with-interval`. All are far below the
# paper's models in width, depth, vocabulary and steps, and both scores depend on these: at random directionality has a
# spread of several times width$^{-1/2}$, so that models of this width can show only large differences in it. What would
# settle Figure 3 are 12 layers of width 768, encoder and decoder, three seeds each, on plain text: [Recorded
# runs](../recorded_runs.md#runs-still-worth-a-gpu) lists the commands, the operations, and which outcome would change a
# verdict here.
#
# ### Every recorded arm

# %% tags=["remove-input"]
if recorded:
    arms_shown, same = shortened(arm_table(recorded))
    table(
        arms_shown,
        name="tab-training-arms",
        caption="Every recorded arm: held-out loss and scores at the end, mean ± standard deviation over seeds."
        + (f" The same in all: {same}." if same else ""),
    )
