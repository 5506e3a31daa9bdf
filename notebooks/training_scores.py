# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Encoders become symmetric during training; whether decoders become directional is open
#
# If the paper's theorems describe what happens during training, we should see the effects that they predict as training
# proceeds. The query-key matrices of encoders should become symmetric, and the query-key matrices of decoders should become
# directional {cite}`saponati2025` (Section 4.1). The weights alone would then reveal how a model was trained. On this page, an
# *encoder* attends to both sides and was trained to fill in hidden tokens, and a *decoder* attends only to the left and was
# trained to predict the next token.
#
# **The prediction about symmetry is confirmed: in {glue:text}`s-holds` pairs of models whose scores the authors
# released, the encoder has the higher symmetry score at the end of training.** {glue:md}`measured:myst` **The
# prediction about directionality is undecided: the decoder is the more directional model in only {glue:text}`d-holds`
# pairs, and the difference between the two models is larger than expected by chance in only {glue:text}`n-apart`
# pair.** {glue:md}`not-shown:myst` In our character-level models, both differences between encoders and decoders depend
# on the type of positional encoding. {glue:md}`in-small-models:myst` With learned position embeddings, which the
# paper's models have, both differences have the sign that the paper predicts. With rotary position embeddings, both
# differences have the opposite sign. For directionality, however, the confidence interval of the difference excludes
# zero in only {glue:text}`d-rotary-reversed` of {glue:text}`d-rotary-characters` experiments.
#
# Two facts about the authors' models may surprise readers of the paper. First, the decoders with 4 layers end at
# symmetry scores between {glue:text}`skew-least` and {glue:text}`skew-most`, so their query-key matrices are more
# skew-symmetric than symmetric. The paper, which shows such scores only for models with 12 layers, calls the matrices
# of decoders "almost non-symmetric" (Section 4.1, second paragraph). Second, the authors' decoders were trained to
# predict only the masked tokens, and every token in their versions of Wikipedia and Red Pajama is a single character.
# We know the second fact only from [a second-hand report](../notation.md#the-audit) on the authors' code.

# %% tags=["remove-cell"]
from chapters.training_scores import prose
from chapters.training_scores.figures import released_over_steps
from chapters.training_scores.measures import beside, doubt, encoder_minus_decoder
from chapters.training_scores.planned import difference_table
from chapters.training_scores.released import counted, released_ends
from chapters.training_scores.tables import released_end_table
from livingpaper.claims.claim import Verdict, claim
from livingpaper.display.page import glue, show, table
from livingpaper.display.strength import strength

SECOND = "the second paragraph of Section 4.1"

# %% tags=["remove-input"]
released_over_steps()

# %% [markdown]
# ## What we compare
#
# The *symmetry score* $s$ of a matrix is 1 if the matrix is symmetric, $-1$ if it is skew-symmetric, and close to 0 if its
# entries are random. The *directionality score* $d$ is negative if a few columns of the matrix have much larger norms than
# the other columns, and positive if a few rows have much larger norms than the other rows. A model with a
# more negative score is more directional, in the paper's sense. Both scores are explained in [](two_scores_details.py). For each model, we report
# the median of each score over the layers.
#
# **The authors' models.** The authors released scores for {glue:text}`n-released` encoder–decoder pairs. The two models
# of a pair have the same depth (4 or 12 layers) and were trained on the same dataset (Wikipedia, Red Pajama or Jigsaw).
# The paper discusses only the pairs of models with 12 layers. Because each model was trained only once, we have no
# confidence intervals. Instead, we say that a difference in directionality is *larger than expected by chance* if it
# exceeds {glue:text}`scatter` standard deviations of the corresponding difference between two randomly initialised
# models. This standard deviation is {glue:text}`gap-sd-12` with 12 layers and {glue:text}`gap-sd-4` with 4 layers.
#
# **Our models.** We trained {glue:text}`n-runs` [small models](training_scores_details.py#recorded-runs) with learned
# position embeddings. We also use the {glue:text}`n-experiments` planned experiments in which we trained the same
# models with learned and with rotary position embeddings (see [Why are encoders symmetric?](why.py#what-we-changed)).
# Our decoders are trained to predict the next token at every position. Square brackets contain 95 % confidence
# intervals over at least three seeds.
#
# :::{admonition} How sure is this?
# - We know the authors' scores only second-hand. The audit was based on the authors' result files and code, neither of which
#   we have read ourselves. Our copy of the scores does not record which score belongs to which layer.
# - According to the audit, the authors computed their directionality scores with [a formula that differs from
#   Definition 3.2 of the paper](training_scores_details.py#three-formulas). For our own models, we use Definition 3.2.
# - Our models are much smaller than the models in the paper. Our models have {glue:text}`our-layers` layers and a hidden size
#   of {glue:text}`our-widths`, and they saw between {glue:text}`least-tokens` and {glue:text}`most-tokens` million tokens
#   during training. The paper's models have 12 layers and a hidden size of {glue:text}`paper-width`, and they saw about
#   {glue:text}`paper-tokens` billion tokens. Our models can therefore neither confirm nor refute a claim about models with 12
#   layers.
# - We planned the experiments on positional encoding in order to measure symmetry. Our results on directionality should
#   be tested again in a dedicated experiment.
# :::
#
# ## Encoders become more symmetric than decoders
#
# In {glue:text}`s-holds` pairs of the authors' models, the encoder has the higher symmetry score at the end of training
# ({numref}`tab-training-end`).

# %% tags=["remove-input"]
table(
    released_end_table(),
    name="tab-training-end",
    caption="Scores of the authors' models at the end of training. The paper predicts that the encoder has the higher symmetry"
    " score $s$ and that the difference in the directionality score $d$ is positive. The last column shows whether this"
    " difference is larger than expected by chance.",
)


# %%
@claim(
    "Section 4.1",
    "(symmetry)",
    "at the end of training, encoders are more symmetric than decoders on every dataset",
    Verdict.HOLDS,
    printed="""\"[E]ncoder-only models show a higher degree of symmetry than decoder-only models". The paper adds that "this
    difference", like the difference in directionality, was observed "on all datasets we tested".""",
    place=SECOND,
)
def symmetry_in_training():
    ends = released_ends("s").set_index("layers")
    larger = ends["encoder"] > ends["decoder"]
    words = "authors' {n} pairs with {layers} layers: pairs in which the encoder has the higher $s$"
    yield counted(words.replace("{layers}", "12"), larger[12])
    yield counted(words.replace("{layers}", "4 (not shown in the paper)"), larger[4], paper="")
    cases = encoder_minus_decoder("symmetry", "$s$ of the encoder minus $s$ of the decoder")
    yield from beside(cases)
    return {
        "remark": f"""We compare the median symmetry score over layers at the end of training. The verdict is based on the
        authors' models alone. {doubt(cases)}"""
    }


show(symmetry_in_training(), unfolded=True)

# %% [markdown]
# **In our small models, whether the encoder or the decoder is more symmetric depends on the type of positional
# encoding.** In {glue:text}`n-learned` planned experiments, the encoders with learned position embeddings learned more
# than just the frequencies of tokens. In all of these experiments, the encoders are more symmetric than the decoders,
# and the confidence interval of the difference excludes zero. With rotary position embeddings, the decoders are more
# symmetric than the encoders in {glue:text}`n-rotary-decoders` of {glue:text}`n-rotary` planned experiments, and the
# intervals of these differences exclude zero. Each experiment is listed on the page [Why are encoders
# symmetric?](why.py#what-we-changed).
#
# **The symmetry of encoders grows during training.** In all six of the authors' encoders, the symmetry score increases
# between step {glue:text}`first-step` and step {glue:text}`last-step`. The symmetry scores of our own encoders with learned
# position embeddings grow as well, and the confidence interval of this growth excludes zero in {glue:text}`n-grown-beyond`
# of {glue:text}`n-grown-settings` settings (see [all
# settings](training_scores_details.py#how-much-the-symmetry-of-encoders-grows)). With rotary position embeddings, the
# symmetry of our encoders hardly grows. In the first character-level experiment, for example, their mean score rises to
# {glue:text}`rotary-peak` and falls back to {glue:text}`rotary-end`.
#
# ## Whether decoders become more directional is undecided
#
# **The authors' models do not settle whether decoders are more directional than encoders.** The decoder is the more
# directional model in only {glue:text}`d-holds` pairs, namely in the 12-layer models trained on {glue:text}`d-which`. Of
# these datasets, {glue:text}`which-apart` is the only one on which the difference is larger than expected by chance. Earlier
# in training, some of the differences are much larger ({numref}`fig-training-released`), because in most of the authors'
# encoders, [rows dominate at first](training_scores_details.py#rows-first-then-columns). Columns with large norms are not
# specific to decoders. At the end of training, the directionality score is negative in all {glue:text}`n-models` models,
# encoders included.
#
# The paper predicts that these columns grow during training, but we cannot tell whether they do. In the decoders with
# 12 layers, columns already dominate at step {glue:text}`first-step` of {glue:text}`last-step`, which is the first step
# for which scores were released. The directionality scores of these decoders lie between {glue:text}`d-first-low` and
# {glue:text}`d-first-high` at this step, and between {glue:text}`d-end-low` and {glue:text}`d-end-high` at the end of
# training. After this step, the directionality scores of the encoders decrease more than those of the decoders, so the
# difference between encoder and decoder becomes smaller in all three pairs of models with 12 layers.
#
# **In our small models, whether encoders or decoders are more directional depends on the type of positional encoding**
# ({numref}`tab-training-positions-d`). With learned position embeddings, the decoders are more directional than the encoders
# in all {glue:text}`d-learned-met` character-level experiments, and all intervals exclude zero. With rotary position
# embeddings, the encoders are more directional than the decoders in {glue:text}`d-rotary-negative` of these experiments, but
# the interval excludes zero in only {glue:text}`d-rotary-reversed` of them. The experiments with subword tokens do not show
# which models are more directional, because the confidence intervals of all the differences include zero.

# %% tags=["remove-input"]
table(
    difference_table("directionality"),
    name="tab-training-positions-d",
    caption="Final directionality score (Definition 3.2) of the encoder minus that of the decoder in our small models, for two"
    " types of positional encoding, with 95 % confidence intervals over seeds. A positive difference means that the decoder is"
    " the more directional model, as the paper predicts.",
)

# %% tags=["remove-cell"]
numbers = (
    prose.ends_of_released_models()
    | prose.course_of_released_models()
    | prose.planned_experiments()
    | prose.growth_of_symmetry()
    | prose.sizes_of_models()
)
for name, text in numbers.items():
    glue(name, text)
glue("measured", strength("measured, unexplained"))
glue("in-small-models", strength("in small models"))
glue("not-shown", strength("not shown"))

# %% [markdown]
# ## What this means for you
#
# - Suppose that you have an encoder and a decoder that were trained as a pair with learned position embeddings, like the models
#   in the paper. The encoder is then the model with the higher symmetry score. First check the type of positional encoding, though,
#   because in our small character-level models with rotary position embeddings, the decoder has the higher score. Compare
#   only models of a similar size, because [larger encoders are less
#   symmetric](pretrained_survey.py#larger-encoders-are-less-symmetric).
# - Do not use the directionality score to infer whether a model is an encoder or a decoder.
# - To train a model and record both scores during training, run `attngeo train --preset mini --objective mlm -o RUN`.
# - To decide whether the paper's Figure 3 is right, one would have to train encoders and decoders with 12 layers and a
#   hidden size of 768 on ordinary text that is not split into characters, with three seeds each. The page on recorded
#   runs contains [the commands for this experiment](../recorded_runs.md#runs-that-still-need-a-gpu).
#
# The [details page](training_scores_details.py#the-other-checks-of-section-41) contains the other checks of Section 4.1,
# together with all settings and numbers.
