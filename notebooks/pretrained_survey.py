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
# Encoders, trained to fill in masked tokens, see a text in both directions; decoders, trained to predict the next token, see
# only what came before. Does that show in the query-key matrices of open models? Section 3 of the paper
# {cite}`saponati2025` says so: encoders are *more symmetric*, decoders *more directional*, in language, vision and audio.
#
# Symmetry tells them apart: on weights that we read ourselves, a family's encoder is more symmetric than another family's
# decoder in {glue:text}`share-s` of pairs. Directionality does so among the authors' released scores of language models, and
# not, as far as the models at hand can tell, on the weights that we read or in vision and audio.

# %% tags=["parameters"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from attngeo.chapters.pretrained_survey import on_weights, separation
from attngeo.chapters.pretrained_survey.bets import drawn, place_your_bet
from attngeo.chapters.pretrained_survey.clean_figure import clean_figure
from attngeo.survey.families import compared, of_families, with_kinds
from attngeo.chapters.pretrained_survey.explorer import explorer
from attngeo.chapters.pretrained_survey.figures import family_scores
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.chapters.pretrained_survey.released_points import separations
from attngeo.display.page import glue, show
from attngeo.survey.measured import measured
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import layer_medians

# %% tags=["remove-cell"]
scores = measured(models, gamma)
layers = scores[scores["head"] == -1]
medians = layer_medians(layers)
stacks = with_kinds(medians)
families = of_families(stacks)
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
for score, name in (("s", "symmetry"), ("d", "directionality")):
    glue(f"auc-{name}-elsewhere", " and ".join(f"{area[models, score]:.2f}" for models in ("vision", "audio")))
pairs = {score: compared(of_families(recorded.stacks), score) for score in ("symmetry", "directionality")}
glue("share-s", pairs["symmetry"].separation.auc, ".0%")
glue("share-d", pairs["directionality"].separation.auc, ".0%")
glue("least", pairs["symmetry"].least, ".2f")
glue("gamma", gamma, "g")
glue("n-layers", len(layers), "d")
glue("n-heads", int((scores["head"] >= 0).sum()), "d")
glue("n-models", layers["model"].nunique(), "d")

# %% tags=["remove-cell"]
banded = stacks.merge(bands, on=["model", "part"])
glue("n-stacks", len(banded), "d")
glue("n-within", int((banded["directionality"].abs() <= banded["d_median"]).sum()), "d")
glue("n-within-tables", int((banded["directionality_tables"].abs() <= banded["d_tables_median"]).sum()), "d")

# %% [markdown]
# The figure rests on the released scores. Take an encoder and a decoder at random: how often is the encoder's score the
# higher one? This share is the area under the ROC curve (AUC): 1 where a score separates the groups, 1/2 where it tells
# nothing.
#
# ## The released scores
#
# The paper's authors have released the scores behind Figures 2, S1 and S2: one point a model, the median over its layers of
# the [symmetry $s$ and the directionality $d$](two_scores.py), which is negative where columns dominate. The boxes
# leave out, and a cross marks in print, what cannot speak for a trained model of its kind: a repetition, random weights,
# queries and keys that were taken wrongly, another kind of attention, a model fine-tuned from another point
# ([every point](pretrained_survey_details.py#every-released-point)).

# %% tags=["remove-input"]
clean_figure(results, medians)

# %% [markdown]
# Among language models, these points left out, both claims hold, symmetry almost without exception.

# %%
show(separation.section_3_symmetry_in_language(), separation.section_3_directionality_in_language())

# %% [markdown]
# Outside language it depends on what is called a decoder. The only causal self-attentions that were scored in all
# layers are those of ImageGPT and of Whisper; Whisper's were computed and not drawn. The decoders drawn in [Figure S1 of the
# paper](pretrained_survey_details.py#the-other-figures-as-released) are object queries of detectors (bidirectional), a vision
# tower, MusicGen's *cross*-attention, and five of SpeechT5's six layers.

# %%
show(separation.section_3_symmetry_elsewhere(), separation.section_3_directionality_elsewhere())

# %% [markdown]
# The two halves of one model make the fairest pair: same data, same recipe, one objective. T5, BART and mBART have
# both.

# %%
show(separation.section_3_halves_of_one_model())

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
# We scored {glue:text}`n-layers` layers with {glue:text}`n-heads` heads of {glue:text}`n-models` checkpoints: of text, images,
# sound, chemical reactions and proteins. The matrix of a layer is the sum over its heads
# $W_{qk} = \sum_h W_{q,h} W_{k,g(h)}^\top$ (Eq. S20), where $g(h)$ is the key head that query head $h$ reads; biases, rotary
# positions and normalisation gains are outside it. Softmax acts on each head alone: what is symmetric, [heads or their
# sum](heads_or_sum.py), is a question of its own. Directionality is that of Def. 3.2 of the paper with $\gamma$ =
# {glue:text}`gamma`.

# %% tags=["remove-input"]
family_scores(with_kinds(layers), families, bands)

# %% [markdown]
# Models of a family share authors, data or recipe, so here a family counts once; cross-attention is neither encoder nor
# decoder and is left out. With so few families an AUC below {glue:text}`least` cannot be told from 1/2.

# %%
show(
    on_weights.section_3_symmetry_on_weights.of(recorded),
    on_weights.section_3_directionality_on_weights.of(recorded),
)

# %% [markdown]
# In symmetry the exception is a model of one layer with one head. In directionality the encoder scores higher in
# {glue:text}`share-d` of pairs, which is no better than chance; a difference is not ruled out either. [What one counts](pretrained_survey_details.py#other-choices) moves the numbers, and not the answer.
#
# A score needs its random value beside it. Symmetry of a few hundredths is already far from chance in wide matrices;
# directionality spreads widely: by Def. 3.2 of the paper the median of {glue:text}`n-within` of these
# {glue:text}`n-stacks` stacks of layers lies within the band of random weights, by the formula of Table S3 that of
# {glue:text}`n-within-tables` ([every model](pretrained_survey_details.py#every-model)).

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
# - Models with grouped keys, which are most of today's, have one family here. `attngeo survey --group llama-3.1` scores more
#   on any machine that reaches the Hub.
