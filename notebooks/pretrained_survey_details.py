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
# # Details: Pretrained models
#
# What [Pretrained models](pretrained_survey.py) rests on: every model and every released point, other choices, what later
# training and rounding do, and the matrices themselves; single heads have [a chapter](heads_or_sum.py).

# %% tags=["parameters"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from attngeo.chapters.pretrained_survey import on_weights, separation
from attngeo.chapters.pretrained_survey.figures import form_pictures
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.chapters.pretrained_survey.pictures import read_picture
from attngeo.chapters.pretrained_survey.released_points import released_scores, results_in_figures, separations
from attngeo.chapters.pretrained_survey.same_models import same_models
from attngeo.display.page import glue, show, table
from attngeo.records.checkout import data
from attngeo.survey import families as by_family
from attngeo.survey.measured import measured
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import layer_medians

# %% tags=["remove-cell"]
scores = measured(models, gamma)
medians = layer_medians(scores[scores["head"] == -1])
stacks = by_family.with_kinds(medians)
bands = null_bands(scores, gamma)
recorded = on_weights.recorded_weights()
results = released_results()

# %% tags=["remove-cell"]
told = by_family.compared_by_choice(recorded.stacks)
glue("text-least", told[by_family.TEXT_ALONE]["s"].least, ".2f")
lost = by_family.beaten(by_family.of_families(recorded.stacks.query("modality == 'text'")), "symmetry")
glue("text-lost", ", ".join(f"{family} ({n} pairs)" for family, n in lost.items()) or "none")
copies = stacks.drop(by_family.distinct(stacks).index)["model"]
glue("copies", ", ".join(copies) or "none")
glue("n-coarse", stacks[stacks["precision"].isin(["8-bit", "4-bit"])]["model"].nunique(), "d")

# %% [markdown]
# ## Other choices
#
# On text alone symmetry is not told from chance, though an AUC of {glue:text}`text-least` would be: the pairs that
# encoders lose are those of {glue:text}`text-lost` alone.

# %% tags=["remove-input"]
table(
    by_family.choices_table(recorded.stacks),
    name="tab-survey-choices",
    caption="AUC over families, with Newcombe's interval of 95 % and p of exchanging encoders and decoders, for other "
    "choices of models and, in directionality, of formula.",
)

# %% [markdown]
# ## Every model
#
# {glue:text}`n-coarse` of the checkpoints are held in 8 or 4 bits. Weights that another row has already,
# and that count nowhere else: {glue:text}`copies`. Every extraction is tested against the model itself: attention
# probabilities rebuilt from the extracted forms equal those that the model computes, to $10^{-6}$, for every head of
# randomly initialised models of each architecture.

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

# %% tags=["remove-input"]
table(
    shown,
    name="tab-survey-models",
    caption=f"Medians over layers of the summed form, gamma = {gamma:g}, and the band of 95 % for random weights. "
    "Precision is that of the weights as held, where they are rounded.",
    formats=dict.fromkeys(list(headings.values())[1:], ".2f"),
)

# %% [markdown]
# ## The same models in the paper, and what later training does
#
# Where the paper's authors scored the same weights, their medians and ours agree to six digits; where the weights were
# trained on since, the difference is what that training did and, where a precision is given, what rounding did too.

# %% tags=["remove-cell"]
beside = same_models(recorded.stacks)
further = beside[~beside["same"]].set_index(["model", "part"])
changed = (further["s"] / further["s_released"] - 1).abs()
glue("changed-bert", changed["BERT base CTPE", "encoder"], ".1%")
glue("changed-vit", changed["ViT base retinopathy", "encoder"], ".1%")
glue("changed-t5-encoder", changed["FLAN-T5 small titler", "encoder"], ".0%")
for when, score in (("before", "s_released"), ("after", "s")):
    glue(f"t5-decoder-{when}", further.loc[("FLAN-T5 small titler", "decoder"), score], ".3f")
contrast = stacks[stacks["objective"].str.contains("contrast")]["symmetry"]
glue("n-contrast", len(contrast), "d")
glue("contrast-from", contrast.min() if len(contrast) else float("nan"), ".2f")
glue("contrast-to", contrast.max() if len(contrast) else float("nan"), ".2f")

# %% tags=["remove-input"]
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
# - *Fine-tuning* on labels leaves the median $s$ almost as it was: that of BERT base changes by
#   {glue:text}`changed-bert`, that of ViT base by {glue:text}`changed-vit`, rounding included. T5, trained on instructions,
#   then on another task, and held in 8 bits, lost {glue:text}`changed-t5-encoder` of it in its encoder; its decoder's
#   is near zero before and after ({glue:text}`t5-decoder-before` and {glue:text}`t5-decoder-after`).
# - *Contrastive training* cannot be judged alone, since no weights from before it are at hand. The encoders that
#   went through it ({glue:text}`n-contrast`) have median $s$ from {glue:text}`contrast-from` to {glue:text}`contrast-to`,
#   among the other encoders.

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
moved = on_weights.moved_by_scheme(recorded.losses)
glue("moved-int8", moved.loc["int8", "d as in Table S3, a median"], ".2f")
glue("moved-q4", moved.loc["q4_0", "d as in Table S3, a median"], ".2f")
table(
    on_weights.losses_by_scheme(recorded.losses, least=0.05).join(moved),
    name="tab-rounded",
    caption="The share of its symmetry that a layer loses when its weights are rounded, of layers with |s| > 0.05; then "
    "the largest change of d, of any layer and of any model's median over layers.",
    formats={"median": ".2%", "least": ".1%", "most": ".1%", **dict.fromkeys(moved.columns, ".2f")},
)

# %% [markdown]
# Four bits take {glue:text}`bert-lost` of its symmetry from the median layer of BERT base and at most
# {glue:text}`bert-most`: far less than what sets encoders and decoders apart in symmetry.
# Directionality is not safe in the same way: a norm that rounding pushes over the threshold enters the sum, or leaves
# it, as a whole. By the formula of Table S3 a model's median moves by up to {glue:text}`moved-int8` in 8 bits and
# {glue:text}`moved-q4` in 4. {numref}`tab-survey-choices` has $d$ without checkpoints of few bits.
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
# ## The other figures, as released

# %% tags=["remove-input"]
released_scores(results, {"S1 vision": "vision", "S1 audio": "audio"}, "fig-released-vision-audio", medians)

# %% tags=["remove-input"]
released_scores(results, {"S2": "encoder-decoder models"}, "fig-released-halves")

# %% [markdown]
# Taken as they are drawn, crosses and all, do the points lie as the captions say? An AUC is over pairs of models; its
# interval is that of Newcombe for independent models, and since models of a family share data and recipe, we also draw whole
# families.

# %%
show(separation.figure_2_as_drawn(), separation.figure_s1_as_drawn())

# %% tags=["remove-input"]
separations(separation.all_separations(results), name="fig-separations-all")

# %% [markdown]
# ## Every released point

# %% tags=["remove-input"]
table(
    results_in_figures(results),
    name="tab-released-results",
    caption="Every point of Figures 2, S1 and S2: released medians, whether the result counts, what is known against it.",
    formats={"parameters": ",", "s": ".3f", "d": ".3f"},
)
