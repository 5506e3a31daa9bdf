# ---
# jupyter:
#   attngeo:
#     reads: [data, ATTNGEO_WEIGHTS]
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
# # Pretrained models
#
# An encoder sees a sequence in both directions, a decoder only what came before. Does that show in the query-key
# matrices of open models? Section 3 of the paper {cite}`saponati2025` says so: "encoder-only models remarkably show a
# higher degree of symmetry than decoder-only", and "decoder-only models have higher degrees of directionality than
# encoder-only models", in language, vision and audio.
#
# *Symmetry* tells them apart among the authors' released scores of language models and, all modalities together, on
# weights that we read ourselves: a family's encoder is more symmetric than a family's decoder in {glue:text}`share-s`
# of pairs. On text alone it is {glue:text}`share-s-text`, which so few families do not tell from chance.
#
# *Directionality* tells them apart among the released language scores. By the formula behind these scores (Table S3)
# {glue:text}`share-d-tables` of pairs of families that we read point the paper's way, by Def. 3.2 of the paper
# {glue:text}`share-d`: too few families to tell either from chance. In vision and audio the released scores have one
# family of causal decoders each, which decides neither claim.
#
# The figure rests on the released scores. Take an encoder and a decoder at random: how often is the encoder's score the
# higher one? This share is the area under the ROC curve (AUC): 1 where a score separates the groups, 1/2 where it tells
# nothing.

# %% tags=["parameters"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from attngeo.chapters.pretrained_survey import on_weights, separation, tallies
from attngeo.chapters.pretrained_survey.bets import drawn, place_your_bet
from attngeo.chapters.pretrained_survey.clean_figure import FIGURE, clean_figure
from attngeo.chapters.pretrained_survey.explorer import explorer
from attngeo.chapters.pretrained_survey.figures import family_scores
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.chapters.pretrained_survey.released_points import separations
from attngeo.display.page import glue, show
from attngeo.survey import families as by_family
from attngeo.survey.measured import measured
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import layer_medians

# %% tags=["remove-cell"]
scores = by_family.distinct(measured(models, gamma))
layers = scores[scores["head"] == -1]
medians = layer_medians(layers)
stacks = by_family.with_kinds(medians)
families = by_family.of_families(stacks)
bands = null_bands(scores, gamma)
recorded = on_weights.recorded_weights()
results = released_results()

# %% tags=["remove-input"]
areas = separation.all_separations(results)
separations(areas[~areas["models"].str.startswith("Figure")])

# %% tags=["remove-cell"]
area = areas.set_index(["models", "score"])["auc"]
glue("auc-symmetry", area["language", "s"], ".2f")
glue("auc-directionality", area["language", "d"], ".2f")
by_families = separation.families_of_modality("text", "d", results)
glue("auc-directionality-families", by_families.separation.auc, ".2f")
in_figure = results[results["figure"] == FIGURE]
glue("n-drawn", len(in_figure), "d")
glue("n-left-out", int((~in_figure["counted"]).sum()), "d")
halves = separation.halves("s", results)
glue("n-halves", len(halves), "d")
glue("families-of-halves", ", ".join(halves["family"].unique()))

# %% tags=["remove-cell"]
told = by_family.compared_by_choice(recorded.stacks)
everything, text = told[by_family.ALL], told[by_family.TEXT_ALONE]
for score, name in (("s", "s"), ("d", "d"), ("d as in Table S3", "d-tables")):
    glue(f"share-{name}", everything[score].separation.auc, ".0%")
    glue(f"all-{name}", str(everything[score]))
    glue(f"only-{name}", str(told[by_family.ONLY][score]))
    glue(f"objective-{name}", str(told[by_family.OBJECTIVES][score]))
glue("text-s", str(text["s"]))
glue("share-s-text", text["s"].separation.auc, ".0%")
glue("least", everything["s"].least, ".2f")
glue("most", 1 - everything["s"].least, ".2f")
others = [f"{score}, {choice}: {it}" for (score, choice), it in by_family.other_answers(recorded.stacks).items()]
glue("other-answers", "; ".join(others) or "none")

# %% tags=["remove-cell"]
own = recorded.stacks.query("attention == 'bidirectional'")
glue("n-encoders", own["family"].nunique(), "d")
glue("n-not-text", own[own["modality"] != "text"]["family"].nunique(), "d")
glue("not-masked", ", ".join(own[~own["objective"].str.startswith("masked")]["family"].unique()))
by_objective = by_family.choices(recorded.stacks)[by_family.OBJECTIVES].query("attention == 'bidirectional'")
glue("n-objective-encoders", by_objective["family"].nunique(), "d")
glue("n-objective-not-text", by_objective[by_objective["modality"] != "text"]["family"].nunique(), "d")
theirs = recorded.stacks.query("attention == 'causal'")
glue("n-decoders", theirs["family"].nunique(), "d")
glue("n-decoders-text", theirs[theirs["modality"] == "text"]["family"].nunique(), "d")
beaten = by_family.beaten(by_family.of_families(recorded.stacks), "symmetry")
glue("losers", ", ".join(tallies.sizes(own[own["family"].isin(beaten)], scores)) or "none")

# %% tags=["remove-cell"]
glue("gamma", gamma, "g")
glue("n-layers", len(layers), "d")
glue("n-heads", int((scores["head"] >= 0).sum()), "d")
glue("n-models", layers["model"].nunique(), "d")
banded = tallies.outside(stacks.merge(bands, on=["model", "part"]))
glue("n-stacks", len(banded), "d")
glue("n-outside", int(banded["definition"].sum()), "d")
glue("n-outside-tables", int(banded["tables"].sum()), "d")
glue("n-by-chance", tallies.expected_outside(len(banded)), ".1f")
glue("outside-by-kind", tallies.by_kind(banded))
grouped = tallies.grouped_keys(scores)
glue("grouped", ", ".join(f"{model} ({heads})" for model, heads in grouped.items()) or "none")

# %% tags=["remove-cell"]
for kind, name in (("bidirectional", "encoder"), ("causal", "decoder")):
    alone = banded[(banded["attention"] == kind) & by_family.one_part(banded)]
    glue(f"n-{name}-only", len(alone), "d")
    glue(f"n-{name}-columns", int(alone["columns"].sum()), "d")
    glue(f"{name}-columns", ", ".join(alone[alone["columns"]]["model"]) or "none")
comparable = tallies.encoders_with_bands_of_decoders(banded[by_family.one_part(banded)])
glue("n-encoder-narrow", len(comparable), "d")
glue("n-encoder-narrow-columns", int(comparable["columns"].sum()), "d")

# %% [markdown]
# ## The released scores
#
# The paper's authors have released the scores behind Figures 2, S1 and S2: one point a model, the median over its layers of
# the [symmetry $s$ and the directionality $d$](two_scores.py), which is negative where columns dominate. The boxes
# leave out, and a cross marks in print, what cannot speak for a trained model of its kind: a repetition, random weights,
# queries and keys that were taken wrongly, scores of some layers only, a model of images, one fine-tuned from another
# point. These are
# {glue:text}`n-left-out` of the {glue:text}`n-drawn` points of Figure 2
# ([every point](pretrained_survey_details.py#every-released-point)).

# %% tags=["remove-input"]
clean_figure(results, medians)

# %% [markdown]
# Among language models, these points left out, both claims hold, symmetry almost without exception.

# %%
show(separation.section_3_symmetry_in_language(), separation.section_3_directionality_in_language())

# %% [markdown]
# Outside language one family of causal decoders each was scored in all layers: ImageGPT in vision, which is
# drawn, and Whisper's in audio, which is not. On the mean of its models either lies below every family of encoders in
# symmetry; one family cannot carry an interval. The other decoders drawn in
# [Figure S1 of the paper](pretrained_survey_details.py#the-other-figures-as-released) are object queries of detectors
# (bidirectional), a vision tower, MusicGen's *cross*-attention, and five of SpeechT5's six layers. Nor is $d$ one score: by
# the checkpoints that we could compare, language has the [formula of Table S3, vision that of the released
# code](pretrained_survey_details.py#the-same-models-in-the-paper-and-what-later-training-does).

# %%
show(separation.section_3_symmetry_elsewhere(), separation.section_3_directionality_elsewhere())

# %% [markdown]
# The two halves of one model share data, recipe and objective: the mask and cross-attention set them apart, not the
# objective, of which the paper speaks. Figure S2 has {glue:text}`n-halves` such models, of
# {glue:text}`families-of-halves`.

# %%
show(separation.section_3_halves_of_one_model(), separation.directionality_of_the_halves())

# %% [markdown]
# ## Place your bet
#
# Encoder or decoder? A symmetric matrix is its own mirror image across the diagonal from the upper left to the lower
# right. Does the eye find it?

# %% tags=["remove-input"]
place_your_bet(drawn())

# %% [markdown]
# ## On weights that we read
#
# We scored {glue:text}`n-layers` layers with {glue:text}`n-heads` heads of {glue:text}`n-models` checkpoints: of text,
# images, sound, chemical reactions and proteins; weights that occur twice count once. The matrix of a layer is the sum over
# its heads
# $W_{qk} = \sum_h W_{q,h} W_{k,g(h)}^\top$ (Eq. S20), where $g(h)$ is the key head that query head $h$ reads; biases, rotary
# positions and normalisation gains are outside it. Softmax acts on each head alone: what is symmetric, [heads or their
# sum](heads_or_sum.py), is a question of its own. Directionality is that of Def. 3.2 of the paper or, where it is said,
# that of Table S3, of [norms longer than the mean](two_scores.py) by $\gamma$ = {glue:text}`gamma` standard deviations.

# %% tags=["remove-input"]
family_scores(by_family.with_kinds(layers), families, bands)

# %% [markdown]
# Models of a family share authors, data or recipe, so here a family counts once; cross-attention is neither encoder nor
# decoder and is left out. What counts is the attention mask: the encoders of {glue:text}`not-masked` were never trained
# to fill in masks. With {glue:text}`n-encoders` families of encoders and {glue:text}`n-decoders` of decoders an AUC between
# {glue:text}`most` and {glue:text}`least` cannot be told from 1/2.

# %%
show(
    on_weights.section_3_symmetry_on_weights.of(recorded),
    on_weights.section_3_directionality_on_weights.of(recorded),
)

# %% [markdown]
# AUC, its interval of 95 % and p of exchanging encoders and decoders:
#
# - *Symmetry.* All families {glue:text}`all-s`; all pairs that are lost are those of the encoder of
#   {glue:text}`losers`. {glue:text}`n-not-text` of {glue:text}`n-encoders` families of encoders are not of text,
#   {glue:text}`n-decoders-text` of {glue:text}`n-decoders` of decoders are, so modalities are compared too. Text alone:
#   {glue:text}`text-s`.
# - *Directionality.* By the formula of Table S3 {glue:text}`all-d-tables`, of encoder-only and decoder-only models alone
#   {glue:text}`only-d-tables`. Both intervals hold chance. The released language scores have
#   {glue:text}`auc-directionality` over models and {glue:text}`auc-directionality-families` over families, mostly of other
#   models, and of text alone. By Def. 3.2 of the paper {glue:text}`all-d`.
# - *By objective*, which the theorems of the paper are about: models of one part, trained first on masked or on next
#   tokens, have {glue:text}`objective-s` in $s$ and {glue:text}`objective-d` in $d$ by Def. 3.2 of the paper. Objective and
#   mask coincide in these models; {glue:text}`n-objective-not-text` of their {glue:text}`n-objective-encoders` families of
#   encoders are not of text.
#
# Of the [other choices](pretrained_survey_details.py#other-choices) these alone answer otherwise than all families, as to
# whether the interval holds 1/2. {glue:text}`other-answers`.
#
# A score needs its random value beside it. Symmetry of a few hundredths is already far from chance in wide matrices.
# Directionality spreads widely, and yet is not noise: by Def. 3.2 of the paper the medians of {glue:text}`n-outside` of
# these {glue:text}`n-stacks` stacks of layers lie outside the band of random weights, by the formula of Table S3 those of
# {glue:text}`n-outside-tables`, where {glue:text}`n-by-chance` are expected by chance. By kind, those by Table S3's formula
# in brackets: {glue:text}`outside-by-kind`. By both formulas columns dominate beyond chance in
# {glue:text}`n-decoder-columns` of {glue:text}`n-decoder-only` decoder-only models ({glue:text}`decoder-columns`) and
# {glue:text}`n-encoder-columns` of {glue:text}`n-encoder-only` encoder-only ones ({glue:text}`encoder-columns`). But narrow
# models have wide bands: only {glue:text}`n-encoder-narrow` of these encoder-only ones have bands no wider than the widest
# of the decoders counted here, and columns dominate in {glue:text}`n-encoder-narrow-columns` of them; see [every
# model](pretrained_survey_details.py#every-model).

# %% tags=["remove-input"]
explorer(scores)

# %% [markdown]
# ## What it means for you
#
# - `attngeo score MODEL` scores your model and says what random weights of its shape would give.
# - In the models at hand [fine-tuning on
#   labels](pretrained_survey_details.py#the-same-models-in-the-paper-and-what-later-training-does) and [rounding to four
#   bits](pretrained_survey_details.py#weights-in-fewer-bits) change the symmetry little; directionality is not safe from
#   rounding in the same way.
# - Most of today's models have grouped keys; of those read here {glue:text}`grouped`.
#   `attngeo survey --group llama-3.1` scores more on any machine that reaches the Hub.
