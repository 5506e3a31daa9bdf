# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Encoders are more symmetric than decoders, and size matters, too
#
# An *encoder* is a model in which every token attends to the tokens on both sides, and a *decoder* is a model in which
# every token attends only to the tokens before it. If the query-key matrices of these two kinds of model differ in
# [symmetry](bilinear_form.py), then the weights of a model reveal how it was trained, and you know what symmetry score
# to expect from your own model. The paper {cite}`saponati2025` claims that encoders are more symmetric than decoders
# (Section 3).
#
# **For published language models, this is true. Among the language models whose scores the authors released, the
# encoder has the higher symmetry score in {glue:text}`pairs` encoder–decoder pairs ({glue:text}`share`).**
# {glue:md}`strength:myst` (for published text models) {glue:md}`text-alone:myst`
#
# Symmetry also depends on size. {glue:text}`by-size` A comparison is therefore fair only if the two models have a similar number of
# parameters. {glue:text}`equal-size-short`

# %% tags=["parameters", "remove-input"]
leave_out: list = []  # families of models to leave out, such as ALBERT or GPT; the page lists none by default

# %% tags=["remove-cell"]
from attngeo.experiments.runs.numbers_in_words import as_percent, joined_by_and, share_of, spelled
from attngeo.experiments.survey.families import GROUPS, least_told, of_families
from chapters.heads_or_sum.evidence import PARTS, evidence, families, heads_outside, whole
from chapters.heads_or_sum.pictures import symmetry_of_families
from chapters.pretrained_survey import sizes, tables, told
from chapters.pretrained_survey.by_family import symmetry_by_family
from chapters.pretrained_survey.chosen import chosen, without
from chapters.pretrained_survey.measures import end_against_half, of_modality, recorded_weights
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.display.page import glue, show, table
from livingpaper.display.strength import strength
from livingpaper.released_results import released_results

SOURCE = (
    "We use the released medians over layers, and we include only distinct, trained models whose weights were extracted"
    " correctly."
)

models = chosen(leave_out)
released = models.released
won, pairs = tables.pairs_won(released)
unsized = told.left_out(models.stacks)
glue("pairs", share_of(won, pairs))
glue("share", as_percent(won / pairs))
language = of_modality("text", "s", models.results)
assert language.low > 0.5 and language.family_low > 0.5  # "this is true", whichever families are left out
glue("strength", strength("solid"))
glue("by-size", told.by_size(released))
glue("equal-size-short", told.of_equal_size_in_short(released))
glue("equal-size", told.equal_size(released, models.read))

# %% tags=["remove-input"]
symmetry_by_family(models, unsized)

# %% tags=["remove-cell"]
in_figure = released_results().query("figure == '2'")
won_read, pairs_read = tables.families_won(models.stacks)
encoders = models.stacks.query("attention == 'bidirectional'")
count = of_families(models.stacks, ["symmetry"])["attention"].value_counts()
least = least_told(count["bidirectional"], count["causal"])
for name, value in {
    "n-drawn": len(in_figure),
    "n-left-out": int((~in_figure["counted"]).sum()),
    "n-families": released.query("part == 'encoder'")["family"].nunique(),
    "n-encoders": int((released["part"] == "encoder").sum()),
    "pairs-read": share_of(won_read, pairs_read),
    "share-read": as_percent(won_read / pairs_read),
    "which-read-text": told.which_read_text(models.stacks),
    "text-alone": told.of_text_alone(models.stacks),
    "pairs-of-families": told.of_families_alone(models.results),
    "learned": share_of(len(sizes.with_learned_positions(released)), int((released["part"] == "encoder").sum())),
    "other-modalities": told.other_modalities(models.results),
    "n-families-encoders": count["bidirectional"],
    "n-families-decoders": count["causal"],
    "least": as_percent(1 - least),
    "most": as_percent(least),
    "not-masked": joined_by_and(encoders[~encoders["objective"].str.startswith("masked")]["family"].unique()),
    "exceptions": told.exceptions(released),
    "reversed-halves": told.reversed_halves(models.results),
    "reverse-of-the-rule": told.reverse_of_the_rule(models.stacks),
}.items():
    glue(name, value)

# %% [markdown]
# :::{admonition} How sure is this?
# - We know the released scores only second-hand, from [an audit](../notation.md#the-audit): somebody else read the
#   authors' files before this project began, and we have not seen these files ourselves. Figure 2 of the paper shows
#   scores of {glue:text}`n-drawn` language models. We leave out {glue:text}`n-left-out` of these models, each of which
#   is a duplicate of another model, has random weights, was extracted incorrectly or is a different type of model (see
#   [every point](pretrained_survey_details.py#every-released-point)).
# - The {glue:text}`n-encoders` released encoders belong to only {glue:text}`n-families` families. If each family counts once, the
#   encoder family has the higher score in {glue:text}`pairs-of-families` pairs of families.
# - We also scored the published weights of other models ourselves. Among these models, the encoder family has the higher score in
#   {glue:text}`pairs-read` pairs of families ({glue:text}`share-read`). {glue:text}`which-read-text`
# - In small models, the symmetry of encoders depends on [the type of positional encoding](why.py). Because
#   {glue:text}`learned` released encoders have learned position embeddings, we cannot compare types of positional encoding here.
# - We classify models by what their tokens attend to, not by what the models were trained to predict. The encoders of
#   {glue:text}`not-masked` were never trained to fill in masked tokens.
# :::
#
# ## What we compared
#
# Each layer of a model has one query-key matrix, which is the sum of the query-key matrices of its heads. The score of a
# model is the median of the symmetry scores of its layers. The authors released such scores for language, vision and audio
# models. For each of these modalities, we compare every encoder with every decoder, and we count the pairs in which the
# encoder has the higher score ({numref}`tab-survey-modalities`). The share of pairs in which this is the case is also known
# as the area under the ROC curve (AUC). The AUC is 100 % if the score separates the two groups completely and about 50 % if
# the scores of the two groups do not differ.

# %% tags=["remove-input"]
table(
    tables.modalities(models.results),
    name="tab-survey-modalities",
    caption="Number of released models that count as evidence, and share of the pairs in which the encoder has the higher"
    " symmetry score. In models that contain both an encoder and a decoder, we compare these two parts of the same model.",
)

# %% [markdown]
# Among language models, the two groups hardly overlap. {glue:text}`exceptions` {glue:text}`other-modalities`
# {glue:text}`reversed-halves` The checks of vision, audio and encoder-decoder models are on the [details
# page](pretrained_survey_details.py#vision-audio-and-models-with-both-halves).
#
# For language models, we call the paper's claim confirmed if the 95 % confidence interval of the AUC lies above one half. We compute
# this interval in two ways, and we require both intervals to lie above one half. The first interval treats the models as
# independent. The second interval treats the families as independent: we resample whole families with all of their models.


# %%
@claim(
    "Section 3",
    "(symmetry, language)",
    "language encoders are more symmetric than decoders",
    Verdict.HOLDS,
    remark=SOURCE,
)
def section_3_symmetry_in_language(leave_out=()):
    results = without(released_results(), leave_out)
    language, score = of_modality("text", "s", results), ("symmetry", "language")
    yield end_against_half(language, "low", ">", *score, ", independent models")
    yield end_against_half(language, "family_low", ">", *score, ", independent families")


show(section_3_symmetry_in_language(leave_out), unfolded=True)

# %% [markdown]
# ## Larger encoders are less symmetric
#
# {glue:text}`falls` The last figure on the [front page](introduction.py) shows the symmetry score of every model against its
# size, and {numref}`tab-survey-sizes` shows the medians. {glue:text}`largest`
#
# {glue:text}`inside`

# %% tags=["remove-input"]
table(
    sizes.size_table(released),
    name="tab-survey-sizes",
    caption="Median symmetry score of the released language models of each size, with the number of models in parentheses.",
)

# %% [markdown]
# We also compared models of a similar size. For this purpose, we paired every encoder with every decoder whose number
# of parameters differs from that of the encoder by at most a factor of {glue:text}`equal`. {glue:text}`equal-size`
# {glue:md}`unsized:myst` We do not know why symmetry depends on size.


# %%
@claim(
    "Section 3",
    "(symmetry, equal size)",
    "language encoders are more symmetric than decoders of a similar size",
    Verdict.HOLDS,
    ours=True,
)
def section_3_symmetry_at_equal_size(leave_out=()):
    released = sizes.released_by_size(without(released_results(), leave_out))
    read = sizes.read_by_size(without(recorded_weights().stacks, leave_out))
    rho = sizes.rank_correlation(released, "encoder")
    yield compare("released encoders: rank correlation of s with the number of parameters", rho, "<", -0.5)
    for words, models in (("released scores", released), ("our own scores", read)):
        pairs = sizes.of_equal_size(models)
        if pairs.empty:  # so many families are left out
            continue
        higher = (pairs["difference"] > 0).sum()
        yield exact(
            f"{words}: pairs, of the {len(pairs)} of similar size, in which the encoder has the higher s",
            higher,
            len(pairs),
            0,
        )
        least = f"{words}: smallest difference in s, encoder minus decoder, among these pairs"
        yield compare(least, pairs["difference"].min(), ">")
    return {
        "remark": f"""We call two models similar in size if their parameter counts differ by at most a factor of
        {sizes.EQUAL}. The same model occurs in several pairs, so the pairs are not independent. Models with an unknown number
        of parameters are left out."""
    }


show(section_3_symmetry_at_equal_size(leave_out))

# %% tags=["remove-cell"]
of_families_here = without(families(whole(evidence().layers), PARTS), leave_out)
outside = heads_outside(evidence())
exception = (
    " The encoder of BART g2p is less symmetric than some decoders ([see below](#the-models-whose-weights-we-read))."
    if unsized
    else ""
)
for name, value in {
    "falls": told.falls_with_size(released),
    "equal": spelled(sizes.EQUAL),
    "inside": told.inside_encoder_decoder_models(models.halves),
    "largest": told.largest_encoder(released),
    "unsized": unsized + exception,
    **{f"outside-{part}s": as_percent(outside[kind]) for part, kind in GROUPS.items()},
    "heads-told": told.heads_against_sum(of_families_here),
}.items():
    glue(name, value)

# %% [markdown]
# ## The models whose weights we read
#
# We also scored published models whose weights we could download, including models for images, audio, chemical reactions and
# proteins (see [every model](pretrained_survey_details.py#every-model)). Here we compare families of models, and each family
# counts once, no matter how many models it contains. {numref}`tab-survey-read` shows how the result depends on the choice of
# models. {glue:text}`reverse-of-the-rule`

# %% tags=["remove-input"]
table(
    tables.read_here(models.stacks),
    name="tab-survey-read",
    caption="Pairs of an encoder family and a decoder family in which the encoder has the higher symmetry score, for several"
    " choices among the models that we scored ourselves.",
)

# %% [markdown]
# With {glue:text}`n-families-encoders` families of encoders and {glue:text}`n-families-decoders` families of decoders,
# the result could be due to chance if the encoder has the higher score in {glue:text}`least` to {glue:text}`most` of
# the pairs.
#
# ## Are the heads symmetric, or only their sum?
#
# So far, every score has been computed from the sum of the query-key matrices over all heads in a layer. A model never
# applies a softmax [to this sum](bilinear_form.py). Instead, it applies a softmax to the scores of each head separately. We
# therefore also scored the individual heads ({numref}`fig-heads-or-sum`). {glue:text}`heads-told`

# %% tags=["remove-input"]
symmetry_of_families(of_families_here)

# %% [markdown]
# Most individual heads are more symmetric than random heads. In encoders, {glue:text}`outside-encoders` of the individual heads
# score above the range that contains 95 % of heads with random weights. In decoders, {glue:text}`outside-decoders` of the heads
# score above this range. Summing over heads increases the symmetry more in encoders than in decoders, because the skew-symmetric
# parts of the heads reinforce each other less in encoders (see [the details](heads_or_sum.py)).
#
# ## What it means for you
#
# - To score your own model, run `attngeo score MODEL`. The command also reports the scores of random weights of the same shape.
# - Compare your model only with models of a similar size, because [larger encoders are less
#   symmetric](#larger-encoders-are-less-symmetric), and only with models that have the same type of positional encoding.
# - [Fine-tuning on labelled
#   data](pretrained_survey_details.py#the-same-models-in-the-paper-and-what-later-training-does) and [rounding the
#   weights to four bits](pretrained_survey_details.py#weights-in-fewer-bits) changed the symmetry score only slightly
#   in the models that we could compare.
# - To score more recent models, run `attngeo survey --group llama-3.1` on a computer with access to the Hugging Face Hub.
#
# The [details page](pretrained_survey_details.py) lists every model and every score that the authors released, repeats the
# analysis for other selections of models, and covers the paper's second score, directionality.
#
# Next: [Why are encoders symmetric?](why.py)
