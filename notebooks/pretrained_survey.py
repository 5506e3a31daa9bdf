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
# Section 3 of the paper scores the query-key matrices of open checkpoints and reports two regularities: encoders,
# trained bidirectionally, are *more symmetric* than decoders, trained autoregressively, and decoders are *more
# directional* than encoders, in language, vision and audio. Figures 2, S1 and S2 plot the medians over layers; Tables
# S2 and S3 print those of language models, and [The printed scores](printed_scores.py) takes them row by row.
#
# On weights that we read ourselves, a family's encoder is more symmetric than another family's decoder in
# {glue:text}`share-s` of pairs; in {glue:text}`share-d` it is less column-dominated, which is no better than chance.
# The first part of this page rests on these weights alone, layer by layer and head by head. The second redraws the
# paper's figures from the scores that the authors released, leaves out what is no score of a trained model, and
# measures how well the rest tells encoders from decoders.

# %% tags=["parameters"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from attngeo.records.checkout import data
from attngeo.chapters.pretrained_survey import on_weights, separation
from attngeo.chapters.pretrained_survey.clean_figure import clean_figure
from attngeo.display.page import glue, show, table
from attngeo.chapters.pretrained_survey.released_points import released_scores, results_in_figures, separations
from attngeo.chapters.pretrained_survey.families import choices_table, compared, of_families, with_kinds
from attngeo.chapters.pretrained_survey.figures import family_scores, form_pictures, heads_beside_sum
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.chapters.pretrained_survey.same_models import same_models
from attngeo.survey.released_results import released_results
from attngeo.chapters.pretrained_survey.pictures import read_picture
from attngeo.survey.measured import measured
from attngeo.survey.score_table import layer_medians

# %%
scores = measured(models, gamma)
layers = scores[scores["head"] == -1]
medians = layer_medians(layers)
stacks = with_kinds(medians)
families = of_families(stacks)
bands = null_bands(scores, gamma)
recorded = on_weights.recorded_weights()
results = released_results()

# %% tags=["remove-cell"]
pairs = {score: compared(of_families(recorded.stacks), score) for score in ("symmetry", "directionality")}
glue("share-s", pairs["symmetry"].separation.auc, ".0%")
glue("share-d", pairs["directionality"].separation.auc, ".0%")
glue("least", pairs["symmetry"].least, ".2f")
glue("gamma", gamma, "g")
glue("n-layers", len(layers), "d")
glue("n-heads", int((scores["head"] >= 0).sum()), "d")
glue("n-models", layers["model"].nunique(), "d")
glue("n-coarse", stacks[stacks["precision"].isin(["8-bit", "4-bit"])]["model"].nunique(), "d")

# %% [markdown]
# ## Encoders against decoders, on weights
#
# For each attention layer the form is $W_{qk} = \sum_h W_{q,h} W_{k,g(h)}^\top$ (Eq. S20), rows on the query side,
# columns on the key side, where $g(h)$ is the key head that query head $h$ reads. Biases, rotary positions and
# normalisation gains are outside it. Scores are those of the chapter [Two scores](two_scores.py): symmetry
# $s\in[-1,1]$, and directionality $d$ of Def. 3.2 of the paper with $\gamma$ = {glue:text}`gamma`, negative where columns
# dominate.
#
# {glue:text}`n-layers` layers with {glue:text}`n-heads` heads of {glue:text}`n-models` checkpoints were scored: of
# text, images, sound, chemical reactions and proteins. {glue:text}`n-coarse` of them are held in 8 or 4 bits.

# %% tags=["remove-input"]
family_scores(with_kinds(layers), families, bands)

# %% [markdown]
# Take a family of encoders and one of decoders at random: how often is the encoders' score the higher one? This share
# is the area under the ROC curve (AUC): 1 where the scores separate the groups, 1/2 where they tell nothing. Models of
# a family share authors, data or recipe, so a family counts once. With so few families an AUC below {glue:text}`least`
# cannot be told from 1/2, and intervals are wide. Cross-attention is neither encoder nor decoder and is left out.

# %%
show(
    on_weights.section_3_symmetry_on_weights.of(recorded),
    on_weights.section_3_directionality_on_weights.of(recorded),
)

# %% [markdown]
# What one counts moves the numbers, and not the answer: symmetry is told by families of all kinds together, text alone
# is too few families to tell anything.

# %% tags=["remove-input"]
table(
    choices_table(recorded.stacks),
    name="tab-survey-choices",
    caption="AUC over families, with Newcombe's interval of 95 % and p of exchanging encoders and decoders, for other "
    "choices of models and, in directionality, of formula.",
)

# %% tags=["remove-cell"]
headings = {
    "n_layers": "layers",
    "symmetry": "s",
    "s_median": "s at random ±",
    "directionality": "d",
    "d_median": "d at random ±",
    "directionality_tables": "d of Table S3",
    "d_tables_median": "its random ±",
}
rows = stacks.merge(bands, on=["model", "part"])
shown = rows[["family", "model", "part", "attention", "precision", *headings]].rename(columns=headings)
within = (rows["directionality"].abs() <= rows["d_median"]).sum()
glue("n-stacks", len(rows), "d")
glue("n-within", int(within), "d")
glue("n-within-tables", int((rows["directionality_tables"].abs() <= rows["d_tables_median"]).sum()), "d")

# %% tags=["remove-input"]
table(
    shown,
    name="tab-survey-models",
    caption=f"Medians over layers of the summed form, gamma = {gamma:g}, and the band of 95 % for random weights. "
    "Precision is that of the weights as held, where they are rounded.",
    formats=dict.fromkeys(list(headings.values())[1:], ".2f"),
)

# %% [markdown]
# A score needs its random value beside it. Symmetry of a few hundredths is already far from chance in wide matrices;
# directionality is a sum over the few longest rows and columns and spreads widely. By Def. 3.2 of the paper the median of
# {glue:text}`n-within` of these {glue:text}`n-stacks` stacks of layers lies within the band of random weights, by the
# formula of Table S3 that of {glue:text}`n-within-tables`.
#
# Every extraction is tested against the model itself: attention probabilities rebuilt from the extracted forms equal
# those that the model computes, to $10^{-6}$, for every head of randomly initialised models of each architecture.
#
# ## The same models in the paper, and what later training does
#
# Where the paper's authors scored the same weights, their median and ours agree to six digits; where the weights were
# trained on since, the difference is what that training did.

# %%
beside = same_models(recorded.stacks)

# %% tags=["remove-input"]
further = beside[~beside["same"]].set_index(["model", "part"])
changed = (further["s"] / further["s_released"] - 1).abs()
glue("changed-bert", changed["BERT base CTPE", "encoder"], ".1%")
glue("changed-vit", changed["ViT base retinopathy", "encoder"], ".1%")
glue("changed-t5", changed["FLAN-T5 small titler", "encoder"], ".0%")
contrast = stacks[stacks["objective"].str.contains("contrast")]["symmetry"]
glue("contrast-from", contrast.min() if len(contrast) else float("nan"), ".2f")
glue("contrast-to", contrast.max() if len(contrast) else float("nan"), ".2f")
table(
    beside.assign(same=beside["same"].map({True: "same weights", False: "trained on from it"})).rename(
        columns=lambda name: name.replace("_", ", ")
    ),
    name="tab-same-models",
    caption="Medians over layers beside the released ones of the same model or of its base; d by the formula of the "
    "released number, a dash where that is not known.",
    formats=dict.fromkeys(("s", "s, released", "d", "d, released"), ".4f"),
)

# %% [markdown]
# - *Fine-tuning* on labels leaves the forms almost alone: the median $s$ of BERT base changes by
#   {glue:text}`changed-bert`, that of ViT base by {glue:text}`changed-vit`. T5's encoder, trained on instructions and
#   then on another task, has moved by {glue:text}`changed-t5`.
# - *Contrastive training* cannot be judged alone, since no weights from before it are at hand. The two encoders that
#   went through it have median $s$ from {glue:text}`contrast-from` to {glue:text}`contrast-to`, among the other
#   encoders.

# %%
show(on_weights.figure_s1_formula.of(recorded))

# %% [markdown]
# ## Weights in fewer bits
#
# Rounding adds to the factors errors that are independent of the weights. They add to $\lVert W_{qk}\rVert^2$ and, on
# average, nothing to $\mathrm{Tr}(W_{qk}W_{qk})$, so $s$ shrinks by the share of the errors in the norm. We rounded the
# {glue:text}`n-rounded` checkpoints that are held in 16 or 32 bits as quantised files are: half precision, one scale a
# tensor (8 bits), blocks of 32 weights (4 bits).

# %% tags=["remove-input"]
bert = on_weights.bert_in_four_bits(recorded.losses)["lost"]
glue("bert-lost", bert.median(), ".1%")
glue("bert-most", bert.max(), ".1%")
glue("n-rounded", recorded.losses["model"].nunique(), "d")
table(
    on_weights.losses_by_scheme(recorded.losses, least=0.05),
    name="tab-rounded",
    caption="The share of its symmetry that a layer loses when its weights are rounded; layers with |s| > 0.05.",
    formats={"median": ".2%", "least": ".1%", "most": ".1%", "largest change of d": ".2f"},
)

# %% [markdown]
# Four bits take {glue:text}`bert-lost` of its symmetry from the median layer of BERT base and at most
# {glue:text}`bert-most`: far less than what sets encoders and decoders apart, so checkpoints of few bits count above.
# Directionality is not safe in the same way: a norm that rounding pushes over the threshold enters the sum, or leaves
# it, as a whole.
#
# ## The matrices themselves
#
# Figure 2 of the paper shows $W_{qk}$ of BERT-tiny's layer 1 and of a small decoder trained on TinyStories. Below,
# beside BERT-tiny, stand the first layer of a TinyStories decoder (not the same checkpoint) and a layer of GPT-2.

# %% tags=["remove-input"]
form_pictures(
    {
        "BERT-tiny, encoder layer 1": read_picture(data("survey"), "bert-tiny-google", "encoder-1"),
        "stories260K, decoder layer 0": read_picture(data("survey"), "stories260K", "decoder-0"),
        "GPT-2, decoder layer 6": read_picture(data("survey"), "gpt2-small", "decoder-6"),
    }
)

# %% [markdown]
# ## Heads and their sum
#
# The paper scores the sum over heads. Softmax acts on each head alone, so a layer can hold symmetric heads whose sum
# is not, and the other way round: the sum is a choice of summary, not what attention computes (Remark S1.5).

# %% tags=["remove-input"]
heads_beside_sum(scores, bands)

# %% [markdown]
# ## The figures, as released
#
# Each point is one released result. A cross marks what cannot speak for a trained model of its kind: a repetition,
# random weights, queries and keys that were taken wrongly, another kind of attention, a model fine-tuned from another
# point.

# %% tags=["remove-input"]
clean_figure(results, medians)

# %% tags=["remove-input"]
released_scores(results, {"S1 vision": "vision", "S1 audio": "audio"}, "fig-released-vision-audio", medians)

# %% tags=["remove-input"]
released_scores(results, {"S2": "encoder-decoder models"}, "fig-released-halves")

# %% [markdown]
# Taken as they are drawn, crosses and all, do the points lie as the captions say? The measure is that of the next
# section.

# %%
show(separation.figure_2_as_drawn(), separation.figure_s1_as_drawn())

# %% tags=["remove-input"]
table(
    results_in_figures(results),
    name="tab-released-results",
    caption="Every point of Figures 2, S1 and S2: released medians, whether the result counts, what is known against it.",
    formats={"parameters": ",", "s": ".3f", "d": ".3f"},
)

# %% [markdown]
# ## Encoders against decoders, as released
#
# Here an AUC is over pairs of models. Its interval is that of Newcombe for independent models; since models of a family
# share data and recipe, we also draw whole families. Among language models, crosses left out, both claims hold,
# symmetry almost without exception.

# %%
show(separation.section_3_symmetry_in_language(), separation.section_3_directionality_in_language())

# %% [markdown]
# Outside language it depends on what is called a decoder. The only causal self-attentions that were scored in all
# layers are those of ImageGPT and of Whisper; Whisper's were computed and not drawn. The decoders drawn in Figure S1
# are object queries of detectors (bidirectional), a vision tower, MusicGen's *cross*-attention, and five of SpeechT5's
# six layers.

# %%
show(separation.section_3_symmetry_elsewhere(), separation.section_3_directionality_elsewhere())

# %%
compared = separation.all_separations(results)

# %% tags=["remove-input"]
separations(compared)

# %% tags=["remove-cell"]
area = compared.set_index(["models", "score"])["auc"]
glue("auc-symmetry", area["language", "s"], ".2f")
glue("auc-directionality", area["language", "d"], ".2f")
glue("auc-directionality-elsewhere", " and ".join(f"{area[models, 'd']:.2f}" for models in ("vision", "audio")))

# %% [markdown]
# The two halves of one model make the fairest pair: same data, same recipe, one objective. T5, BART and mBART have
# both.

# %%
show(separation.section_3_halves_of_one_model())

# %% [markdown]
# ## What this shows
#
# - *Symmetry* tells encoders from decoders, on released scores and, independently of them, on weights that were read
#   here. The exception here is a model of one layer with one head.
# - *Directionality* tells them apart in the released scores of language models. On the weights read here, and in vision
#   and audio, it does not; there are too few families here to rule a difference out. And by which formula $d$ is
#   computed differs between the paper's own figures.
# - Models with grouped keys, which are most of today's, have one family here. `attngeo survey --group llama-3.1` scores
#   more on any machine that reaches the Hub, as it does every row of [the printed scores](printed_scores.py) that still
#   waits.
