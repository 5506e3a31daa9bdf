# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Pretrained models
#
# This page contains the evidence behind the page [Encoders and decoders](pretrained_survey.py). We list every model and
# every data point that the authors released, and we check the claims about vision, audio and encoder-decoder models and
# about the paper's second score (directionality). We also examine how further training and rounding affect the scores.
# Individual heads are the topic of [another page](heads_or_sum.py).

# %% tags=["parameters", "remove-input"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from attngeo.bilinear.null_laws import LEVEL
from attngeo.experiments.survey import families as by_family
from attngeo.experiments.survey.families import compared, of_families
from chapters.pretrained_survey.choices import FEW_BITS, TEXT_ALONE, WITHOUT_FEW_BITS, beaten, choices
from attngeo.experiments.survey.measured import layer_medians, measured
from chapters.pretrained_survey import choices as by_choice
from chapters.pretrained_survey import figures
from chapters.pretrained_survey.measures import (
    all_separations,
    bert_in_four_bits,
    both_ends,
    end_against_half,
    families_of_modality,
    formula_of_language,
    halves,
    losses_by_scheme,
    moved_by_scheme,
    null_bands,
    of_figure,
    of_modality,
    outside,
    recorded_weights,
    same_models,
    sign_test,
)
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.display.page import glue, show, table
from livingpaper.released_results import released_results
from attngeo.experiments.runs.numbers_in_words import as_percent, joined_by_and, spelled

SIX_DIGITS = 1e-6  # single precision
FORMULA = "the amounts by which the logarithms of the norms exceed the threshold"
SOURCE = "We use the released medians over layers, and only models that are distinct, trained and correctly extracted."
HERE = "families that we scored"
DIRECTIONAL = '"[D]ecoder-only models have higher degrees of directionality than encoder-only models"'

with_copies = measured(models, gamma)
scores = by_family.distinct(with_copies)
layers = scores[scores["head"] == -1]
stacks = by_family.with_kinds(layer_medians(layers))
bands = null_bands(scores, gamma)
recorded, results = recorded_weights(), released_results()
areas = all_separations(results)
every = by_family.with_kinds(layer_medians(with_copies.query("head == -1")))


def named(rows):
    """Rows with part and precision beside the name of the model."""
    rounded = rows["precision"].where(rows["precision"] == "", ", " + rows["precision"])
    return rows.assign(model=rows["model"] + ", " + rows["part"] + rounded)


copies = every.drop(by_family.distinct(every).index)["model"]
repeated = f"the model{'s' * (len(copies) > 1)} {joined_by_and(list(copies))}"
told = f"this applies to {repeated}" if len(copies) else "there are no such rows"
glue("copies", f"Here, {told}.")
glue("n-coarse", every[every["precision"].isin(FEW_BITS)]["model"].nunique())
glue("n-layers", len(layers))
glue("n-models", layers["model"].nunique())

# %% [markdown]
# ## How well the two scores separate encoders from decoders
#
# To compare two groups of models, we form all pairs of an encoder and a decoder. The AUC (area under the ROC curve) of a
# score is the share of these pairs in which the encoder has the higher score. The AUC is 1 if all encoders have higher
# scores than all decoders, and it is about 0.5 if the scores of the two groups do not differ. {numref}`fig-separations`
# shows the AUC of the symmetry score $s$ and of the directionality score $d$ for the released models that we count as
# evidence. The [directionality score](two_scores_details.py) is negative if columns dominate.

# %% tags=["remove-input"]
figures.separations(areas)

# %% [markdown]
# {numref}`fig-released-language` shows the scores of the released language models. Crosses mark the models that we do not
# count as evidence. The caption gives the AUC of both scores with and without these models.

# %% tags=["remove-input"]
figures.clean_figure(results)

# %% [markdown]
# ## Every model
#
# We scored {glue:text}`n-layers` layers of {glue:text}`n-models` models, which process text, images, sound, chemical
# reactions or proteins. For each layer, we score the sum of the query-key matrices over all heads (Eq. S20 of the paper).
# This sum does not include biases, rotary position embeddings or the gains of normalisation layers. We count cross-attention
# neither as an encoder nor as a decoder, so we show its scores but do not include them in the comparisons.

# %% tags=["remove-input"]
figures.family_scores(by_family.with_kinds(layers), of_families(stacks), bands)

# %% [markdown]
# In {glue:text}`n-coarse` of the checkpoints, the weights were rounded to eight or four bits. If the same weights occur
# in two rows of {numref}`tab-survey-models`, we count them only once. {glue:text}`copies` For every architecture, we
# use randomly initialised models to test whether we extract the matrices correctly. In every head, the attention
# probabilities that we compute from the extracted matrices differ from the attention probabilities of the model by at
# most $10^{-6}$.

# %% tags=["remove-cell"]
headings = {
    **{"n_layers": "layers", "symmetry": "s", "s_median": "random s ±"},
    **{"directionality": "d", "d_median": "random d ±"},
    **{"directionality_tables": "d of Table S3", "d_tables_median": "its random ±"},
}
every_band = null_bands(with_copies, gamma)
shown = named(every.merge(every_band, on=["model", "part"]))[["family", "model", *headings]].rename(columns=headings)

# %% tags=["remove-input"]
table(
    shown,
    name="tab-survey-models",
    caption=f"Median scores over layers of the sum over heads ($\\gamma = {gamma:g}$). Each score is followed by the"
    " half-width of the range that contains 95 % of the scores of random weights. If the weights are rounded, the"
    " precision is given after the name of the model.",
    formats=dict.fromkeys(list(headings.values())[1:], ".2f"),
)

# %% tags=["remove-input"]
figures.every_head(scores)

# %% [markdown]
# In the following check, we repeat the comparison from the page [Encoders and decoders](pretrained_survey.py) for the
# families that we scored ourselves.


# %%
@claim(
    "Section 3",
    "(symmetry, on weights)",
    "according to the weights that we scored ourselves, encoders are more symmetric than decoders",
    Verdict.HOLDS,
)
def section_3_symmetry_on_weights():
    read, losses = recorded_weights().stacks, bert_in_four_bits(recorded_weights().losses)["lost"]
    families = of_families(read)
    result = compared(families, "symmetry")
    every, text = result.separation, compared(of_families(choices(read)[TEXT_ALONE]), "symmetry").separation
    yield end_against_half(every, "low", ">", "symmetry", HERE, ", as if no family contained both kinds")
    yield end_against_half(every, "family_low", ">", "symmetry", HERE, ", independent families")
    words = f"two-sided p of a test with {result.n_exchanges} exchanges of encoders and decoders"
    yield compare(words, result.p, "<", 0.05)
    yield end_against_half(text, "low", "<", "symmetry", "families of language models")
    words = "share of its s that a layer of BERT base loses by rounding to 4 bits: median"
    yield compare(words, losses.median(), "<", 0.01, paper="")
    yield compare("the same: largest share", losses.max(), "<", 0.02, paper="")
    yield compare("the same: smallest share", losses.min(), ">", paper="")
    coarse = read[read["precision"].isin(FEW_BITS)]["model"].nunique()
    return {
        "remark": f"""For language models alone, the comparison is inconclusive. Moreover, {
            every.n_first - text.n_first
        } of the {every.n_first} families of encoders do not process text, whereas {text.n_second} of the
        {every.n_second} families of decoders do, so the comparison is partly a comparison of modalities. Each family
        is counted once in each group, and the score of a family is the mean of the median scores of its models. In all
        pairs in which the decoder has the higher score, the encoder belongs to {
            joined_by_and(list(beaten(families, "symmetry")))
        }. The weights of {coarse} models are rounded to 8 or 4 bits."""
    }


show(section_3_symmetry_on_weights())

# %% [markdown]
# ## Vision, audio, and models with both halves
#
# Among the vision models, there is only one family of causal decoders for which the authors scored all layers, and the same
# is true of the audio models. Figure S2 of the paper shows models that contain both an encoder and a decoder. The encoder
# and the decoder of such a model are trained together, on the same data and with the same objective. The two parts differ
# in the attention mask and in the cross-attention of the decoder. The paper's theory, however, is about the objective.


# %% tags=["remove-cell"]
def sizes_of(drawn) -> str:
    """``3 families (9 of the models belong to T5)``."""
    counts = drawn["family"].value_counts()
    return f"{len(counts)} families ({counts.iloc[0]} of the models belong to {counts.index[0]})"


# %%
@claim(
    "Section 3",
    "(symmetry, vision and audio)",
    "vision and audio encoders are more symmetric than decoders",
    Verdict.UNDECIDED,
    printed="""\"[E]ncoder-only models remarkably show a higher degree of symmetry than decoder-only", which "is consistent
    across multiple families of models and input modalities".""",
    place="Section 3 and Figure S1",
)
def section_3_symmetry_elsewhere():
    results = released_results()
    found = {modality: families_of_modality(modality, "s", results) for modality in ("vision", "audio")}
    for modality, one in found.items():
        yield end_against_half(one.separation, "low", "<", "symmetry", f"{modality}, each family once")
        words = f"share of the encoder families with a higher s than the causal decoders, {modality}"
        yield exact(words, one.separation.auc, 1)
        yield exact(f"number of families of causal decoders, {modality}", one.separation.n_second, 1)
    drawn = of_figure("S1 vision", "s", results)
    yield end_against_half(drawn, "low", "<", "symmetry", "all vision models in Figure S1")
    vision, audio = (one.p for one in found.values())
    return {
        "remark": f"""The authors scored only one family of causal decoders in each modality, ImageGPT in vision and Whisper
        in audio. In both modalities, the mean score of the decoder family is lower than the mean score of every encoder
        family. With a single family in one group, we cannot draw a conclusion (a permutation test that exchanges encoders
        and decoders gives p = {vision:.1f} in vision and p = {audio:.1f} in audio). Most of the points that are shown as
        decoders in Figure S1 are not decoders but object queries of detectors, a vision tower, or cross-attention. If we
        include these points, symmetry does not separate the two groups in vision. {SOURCE}"""
    }


@claim(
    "Figure S2",
    "(symmetry)",
    "in these encoder-decoder models, the encoder is more symmetric than the decoder",
    Verdict.HOLDS,
)
def section_3_halves_of_one_model():
    drawn = halves("s", released_results())
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    count = f"{(gaps > 0).sum()} of {len(drawn)}"
    yield compare(f"share of the models in which the encoder has the higher s: {count}", (gaps > 0).mean(), ">", 0.5)
    yield compare("s of the encoder minus s of the decoder, smallest mean of any family", means.min(), ">")
    yield compare("t5-11b, the exception: s of the encoder minus s of the decoder", gaps["t5-11b"], "<", paper="")
    yield exact("number of models in which the decoder has the higher s", (gaps < 0).sum(), 1, 0, paper="")
    words = f"encoder more symmetric in {(means > 0).sum()} of {len(means)} families: p of a sign test"
    yield compare(words, sign_test(means), ">", 0.05, paper="")
    return {
        "remark": f"""The statement applies only to the {len(drawn)} models compared here, which belong to
        {sizes_of(drawn)}. With so few families, we cannot draw a conclusion about other models."""
    }


show(section_3_symmetry_elsewhere(), section_3_halves_of_one_model())

# %% tags=["remove-cell"]
banded = outside(stacks.merge(bands, on=["model", "part"]))
for part, kind in by_family.GROUPS.items():
    columns = banded.loc[banded["attention"] == kind, "columns"]
    glue(f"{part}s-columns", f"{columns.sum()} of the {len(columns)}")
area = areas.set_index(["models", "score"])["auc"]
told = by_choice.compared_by_choice(recorded.stacks)
everything, text, masked = (told[choice] for choice in (by_choice.ALL, TEXT_ALONE, by_choice.OBJECTIVES))
assert everything["s"].side == masked["s"].side == 1 and everything["d"].side == text["s"].side == 0
others = by_choice.other_answers(recorded.stacks)
assert len(others) == 2
for name, value in {
    "pairs-d": as_percent(area["language", "d"]),
    "share-d": as_percent(everything["d"].separation.auc),
    "share-d-tables": as_percent(everything["d as in Table S3"].separation.auc),
    "other-answers": joined_by_and([f"the entry for “{score}” in the row “{choice}”" for score, choice in others]),
    "n-stacks": len(banded),
    "n-outside": banded["definition"].sum(),
    "n-by-chance": spelled(round(LEVEL * len(banded))),
    "gamma": f"{gamma:g}",
}.items():
    glue(name, value)

# %% [markdown]
# ## Directionality separates only the released language models
#
# The paper's second claim is that decoders are more directional than encoders, which means that decoders have a lower
# directionality score $d$ than encoders. Among the released language models, the decoder has the lower $d$ in
# {glue:text}`pairs-d` of all pairs that consist of one encoder and one decoder. However, the released scores were not
# computed with Def. 3.2 of the paper. For the models that we also scored ourselves, the released scores agree with [the
# formula behind Table S3](printed_scores_details.py). Among all families that we scored, the decoder has the lower $d$ in
# {glue:text}`share-d-tables` of the pairs if we use this formula, and in {glue:text}`share-d` of the pairs if we use Def.
# 3.2 of the paper. With so few families, both shares are compatible with chance.


# %%
@claim(
    "Section 3",
    "(directionality, language)",
    "with the formula behind Table S3, columns dominate more in language decoders than in language encoders",
    Verdict.ASSUMPTION,
    missing=("logarithms",),
    printed=f"""{DIRECTIONAL}, with the score of Def. 3.2 of the paper: "the sum of the norm of the columns that are higher than
    a given threshold". No other formula is stated.""",
    place="Section 3 (Figure 2 and Definition 3.2)",
    holds=f"""The statement is true for a different score. For the models that we scored ourselves, the released scores
    follow the formula behind Table S3, which adds up {FORMULA}. With Def. 3.2 of the paper, the confidence interval of the
    AUC for the language models that we scored contains 1/2. These language models belong to only a few families, and most
    of them are not among the released models.""",
    remark=SOURCE,
)
def section_3_directionality_in_language():
    language = of_modality("text", "d", released_results())
    yield end_against_half(language, "low", ">", "directionality", "language", ", independent models")
    yield end_against_half(language, "family_low", ">", "directionality", "language", ", independent families")
    yield compare("AUC of d, language, which is below 1 because the groups overlap", language.auc, "<", 1, paper="")
    yield from formula_of_language()
    read = compared(of_families(choices(recorded_weights().stacks)[TEXT_ALONE]), "directionality").separation
    yield from both_ends(read, "d by Def. 3.2 of the paper", "families of language models that we scored")


@claim(
    "Section 3",
    "(directionality, on weights)",
    "according to the weights that we scored ourselves, columns dominate more in decoders than in encoders",
    Verdict.UNDECIDED,
    printed=f"{DIRECTIONAL}.",
    place="Section 3 (Figures 2 and S1)",
)
def section_3_directionality_on_weights():
    read, tables = recorded_weights().stacks, "directionality by Table S3's formula"
    for formula, score in (
        ("directionality by Definition 3.2 of the paper", "directionality"),
        (tables, "directionality_tables"),
    ):
        found = compared(of_families(read), score)
        yield from both_ends(found.separation, formula, HERE)
    chosen = compared(of_families(choices(read)[WITHOUT_FEW_BITS]), "directionality_tables")
    yield end_against_half(chosen.separation, "low", ">", tables, f"{HERE}, {WITHOUT_FEW_BITS}")
    return {
        "remark": f"""With both formulas, the confidence interval of the AUC contains 1/2. With so few families, any
        AUC between {1 - found.least:.2f} and {found.least:.2f} is compatible with chance. With the formula behind
        Table S3, which was also used for Figure 2, the decoder is the more directional model in most pairs, as the
        paper claims. If we leave out the models with weights of 8 or 4 bits, the confidence interval of this AUC
        excludes 1/2, although the permutation test gives p = {chosen.p:.2f}. With Def. 3.2 of the paper, the AUC lies below 1/2."""
    }


show(section_3_directionality_in_language(), section_3_directionality_on_weights())

# %% [markdown]
# Directionality does not separate encoders from decoders in vision, in audio, or within encoder-decoder models either. For
# the only vision model whose released score we could [compare](#the-same-models-in-the-paper-and-what-later-training-does)
# with our own score, the released $d$ follows yet another formula, namely the formula in the authors' code.


# %%
@claim(
    "Section 3",
    "(directionality, vision and audio)",
    "the difference in directionality is consistent across all modalities",
    Verdict.UNDECIDED,
    printed=f"""{DIRECTIONAL}, and "this difference is consistent across all the models and input modalities we
    consider".""",
    place="Section 3 and Figure S1",
    remark=f"""We judge each modality separately. In language, the decoder has the lower d in most pairs but not in all
    pairs, so "all the models" is too strong. Vision and audio each have only one family of causal decoders, and in both
    modalities, the confidence interval of the AUC contains 1/2. The clear separation in the audio panel of Figure S1 is due
    to the cross-attention of MusicGen. {SOURCE}""",
)
def section_3_directionality_elsewhere():
    results = released_results()
    for modality in ("vision", "audio"):
        found = families_of_modality(modality, "d", results).separation
        yield end_against_half(found, "low", "<", "directionality", f"{modality}, each family once")
    drawn = of_figure("S1 vision", "d", results)
    yield end_against_half(drawn, "low", "<", "directionality", "all vision models in Figure S1")
    whisper = results[(results["model"] == "whisper-large-v3") & (results["part"] == "encoder")]["d"].item()
    yield compare("median d of the encoder of whisper-large-v3, in which rows dominate", whisper, ">")


@claim(
    "Figure S2",
    "(directionality)",
    "the encoders and the decoders of these models do not differ significantly in directionality",
    Verdict.UNDECIDED,
    printed="""\"The encoder and decoder components of these models do not show significant differences in directionality
    scores" (caption), but Section 3 states that "a similar pattern is observed when including full encoder-decoder
    Transformers (e.g. the language T5 models [Xue et al., 2021]), despite these models having an overall lower degree of
    directionality".""",
    place="Section 3 and Figure S2",
)
def directionality_of_the_halves():
    drawn = halves("d", released_results())
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    words = "share of the models in which the decoder has the lower d"
    yield compare(f"{words}: {(gaps > 0).sum()} of {len(drawn)}", (gaps > 0).mean(), ">", 0.5)
    yield compare("d of the encoder minus d of the decoder, smallest mean of any family", means.min(), ">")
    yield compare("p of a sign test that treats these models as independent", sign_test(gaps), ">", 0.05)
    words = f"decoder with the lower d in {(means > 0).sum()} of {len(means)} families: p of a sign test"
    yield compare(words, sign_test(means), ">", 0.05)
    return {
        "remark": f"""In most of these models, columns dominate more in the decoder than in the encoder, as the text of
        the paper states. However, we have only {sizes_of(drawn)}. We can therefore neither confirm nor refute the two
        statements, because a test that finds no difference does not show that there is none."""
    }


show(section_3_directionality_elsewhere(), directionality_of_the_halves())

# %% [markdown]
# Although the directionality scores of random weights vary widely, the directionality scores of trained models are not mere
# noise. With Def. 3.2 of the paper and $\gamma$ = {glue:text}`gamma`, {glue:text}`n-outside` of the {glue:text}`n-stacks`
# encoders, decoders and cross-attention modules have a median $d$ outside the range that contains 95 % of the scores of
# random weights. By chance, we would expect {glue:text}`n-by-chance` of these medians to lie outside this range. According
# to both formulas, columns dominate in {glue:text}`decoders-columns` decoders and in {glue:text}`encoders-columns`
# encoders. For models with a small hidden size, the range is so wide that a score can lie inside it even if there is a real
# effect.
#
# ## The same models in the paper, and what later training does
#
# Where we scored the same weights as the authors, the medians agree to six digits ({numref}`tab-same-models`). Where our
# weights were obtained from the authors' weights by further training, the difference between the medians shows the effect of
# this training. Where the table gives a precision, the difference also includes the effect of rounding.

# %% tags=["remove-cell"]
beside = same_models(recorded.stacks)
further = beside[~beside["same"]].set_index(["model", "part"])
changed = (further["s"] / further["s_released"] - 1).abs()
glue("changed-bert", changed["BERT base radiology", "encoder"], ".1%")
glue("changed-vit", changed["ViT base retinopathy", "encoder"], ".1%")
glue("changed-t5-encoder", changed["FLAN-T5 small titler", "encoder"], ".0%")
for when, score in (("before", "s_released"), ("after", "s")):
    glue(f"t5-decoder-{when}", further.loc[("FLAN-T5 small titler", "decoder"), score], ".3f")

# %% tags=["remove-input"]
relation = beside["same"].map({True: "same weights", False: "trained further"})
shown = named(beside).assign(same=relation).drop(columns=["part", "precision"])
table(
    shown.rename(columns=lambda name: name.replace("_", ", ")),
    name="tab-same-models",
    caption="Our median scores, next to the released median scores of the same model or of the model from which our"
    " model was obtained by further training. We computed the directionality d with the formula of the released"
    " score. A dash means that this formula is not known.",
    formats=dict.fromkeys(("s", "s, released", "d", "d, released"), ".4f"),
)

# %% [markdown]
# *Fine-tuning* on labelled data hardly changes the median symmetry score. The median score changes by
# {glue:text}`changed-bert` for BERT base and by {glue:text}`changed-vit` for ViT base, including the effect of rounding.
# FLAN-T5 small was trained on instructions, then trained on another task, and finally rounded to eight bits. Through these
# three steps, the symmetry score of its encoder decreased by {glue:text}`changed-t5-encoder`. The symmetry score of its
# decoder was close to zero both before ({glue:text}`t5-decoder-before`) and after these steps
# ({glue:text}`t5-decoder-after`).


# %%
@claim(
    "Figure S1",
    "(formula of directionality)",
    "Figure S1 shows the directionality of vision models by Def. 3.2 of the paper",
    Verdict.ASSUMPTION,
    missing=("excess",),
    printed="""\"[S]ee Figure S1 for vision and audio models". Figure S1 extends Figure 2 to these models and shows the same
    score, that of Def. 3.2 of the paper.""",
    place="Section 3 (Figure S1 and Definition 3.2)",
    holds=f"""The score of DeiT-tiny equals, to six digits, the excess of the norms over the threshold. This is the
    formula in the authors' code, which the paper does not state. Table S3 and Figure 2 instead use {FORMULA}. Judging from
    this single model, the two figures therefore have different scales. For audio models, the formula is not known.""",
    remark="""DeiT-tiny is the only vision model in the figure that we scored ourselves. Its released symmetry score also
    agrees with ours. For every other checkpoint that we scored as well as the authors, both of our scores agree with the
    released scores if we use the formula of the figure that shows this checkpoint. Whether directionality separates
    encoders from decoders in Figure S1 is the subject of another check.""",
)
def figure_s1_formula():
    read, name = recorded_weights().stacks, "deit-tiny-patch16-224"
    ours, theirs = read.set_index("model").loc[name], released_results().query("model == @name").iloc[0]
    yield exact("median s of DeiT-tiny, released", ours["symmetry"], theirs["s"], SIX_DIGITS)
    by_code = ours["directionality_released"]
    yield exact("median d of DeiT-tiny by the authors' code, released", by_code, theirs["d"], SIX_DIGITS)
    yield compare("the same by Def. 3.2 of the paper", ours["directionality"], "≠", theirs["d"], 1e-3)
    yield compare("the same by Table S3's formula", ours["directionality_tables"], "≠", theirs["d"], 1e-3)
    same = same_models(read)[lambda rows: rows["same"]]
    of = {
        "s": "largest difference between our median s and the released one, among {} checkpoints with the same weights"
    }
    for score, words in (of | {"d": "the same for d, among {} checkpoints"}).items():
        gaps = (same[score] - same[f"{score}_released"]).abs()
        yield exact(words.format(gaps.count()), gaps.max(), 0, SIX_DIGITS, paper="")


show(figure_s1_formula())

# %% [markdown]
# ## Other choices of models and formula
#
# In {numref}`tab-survey-choices`, we repeat the comparison for other choices of models and, for directionality, with a
# second formula. With two exceptions, all choices lead to the same conclusion. The exceptions are
# {glue:text}`other-answers`. If we sort the models by their training objective instead of their attention mask, symmetry
# also separates the two groups. However, in these models, the objective determines the mask.

# %% tags=["remove-input"]
table(
    by_choice.choices_table(recorded.stacks),
    name="tab-survey-choices",
    caption="AUC between encoder families and decoder families, with 95 % confidence interval (Newcombe) and the"
    " p-value of a permutation test that exchanges encoders and decoders. We computed d with Def. 3.2 of the paper"
    " unless another formula is named.",
)

# %% [markdown]
# ## Weights in fewer bits
#
# Rounding adds errors to the weights, and we assume that these errors are independent of the weights. The errors increase
# $\lVert W_{qk}\rVert^2$, but on average, they do not change $\mathrm{Tr}(W_{qk}W_{qk})$. The relative decrease of the
# symmetry score is therefore equal to the share of the squared norm that is due to the errors. To measure this effect, we
# rounded the weights of all {glue:text}`n-rounded` checkpoints whose weights are stored at higher precision. As is common
# in quantised files, we used half precision, eight bits with one scale per tensor, and four bits with one scale per block
# of 32 weights ({numref}`tab-rounded`).

# %% tags=["remove-input"]
bert = bert_in_four_bits(recorded.losses)["lost"]
glue("bert-lost", bert.median(), ".1%")
glue("bert-most", bert.max(), ".1%")
glue("n-rounded", recorded.losses["model"].nunique(), "d")
moved = moved_by_scheme(recorded.losses)
glue("moved-int8", moved.loc["int8", "d as in Table S3, a median"], ".2f")
glue("moved-q4", moved.loc["q4_0", "d as in Table S3, a median"], ".2f")
table(
    losses_by_scheme(recorded.losses, least=0.05).join(moved),
    name="tab-rounded",
    caption="Relative decrease of the symmetry score of a layer if its weights are rounded, for layers with $|s| >"
    " 0.05$. The last columns show the largest change of d in any layer and the largest change of the median d of"
    " any model.",
    formats={"median": ".2%", "least": ".1%", "most": ".1%", **dict.fromkeys(moved.columns, ".2f")},
)

# %% [markdown]
# If the weights of BERT base are rounded to four bits, the median layer loses {glue:text}`bert-lost` of its symmetry score,
# and no layer loses more than {glue:text}`bert-most`. This loss is much smaller than the difference between encoders and
# decoders. The directionality score is less robust than the symmetry score. If rounding moves a norm above the threshold,
# the whole norm is added to the sum, and if rounding moves a norm below the threshold, the whole norm is removed from the
# sum. With the formula behind Table S3, the median score of a model changes by up to {glue:text}`moved-int8` for eight bits
# and {glue:text}`moved-q4` for four bits. {numref}`tab-survey-choices` therefore also shows $d$ without the checkpoints that
# are rounded to eight or four bits.
#
# ## The other figures, drawn from the released scores

# %% tags=["remove-input"]
figures.released_scores(results, {"S1 vision": "vision", "S1 audio": "audio"}, "fig-released-vision-audio")

# %% tags=["remove-input"]
figures.released_scores(results, {"S2": "encoder-decoder models"}, "fig-released-halves")

# %% [markdown]
# We also tested the statements in the captions of the paper's figures on all points in the figures, including the points
# that we mark with crosses. For each AUC, we give Newcombe's interval, which treats the models as independent. However,
# models of the same family share training data or training recipes. By resampling whole families, we therefore also compute
# an interval that treats only the families as independent.


# %%
@claim(
    "Figure 2",
    "",
    "language encoders have higher scores than language decoders in both panels, where panel b uses the formula behind Table S3",
    Verdict.ASSUMPTION,
    missing=("logarithms",),
    printed="""\"[D]ecoder-only models have higher degrees of directionality than encoder-only models", with the score of Def.
    3.2 of the paper: "the sum of the norm of the columns that are higher than a given threshold". No other formula is
    stated.""",
    place="Section 3 (Figure 2 and Definition 3.2)",
    holds=f"""With all points of the figure, both panels separate encoders from decoders. Panel a shows the score of Def.
    3.1 of the paper. For the models that we scored ourselves, panel b does not show the score of Def. 3.2 of the paper.
    Instead, it shows the score of the formula behind Table S3, which adds up {FORMULA}.""",
)
def figure_2_as_drawn():
    results = released_results()
    drawn = results[results["figure"] == "2"]
    for letter, score in (("s", "symmetry"), ("d", "directionality")):
        found = of_figure("2", letter, results)
        yield end_against_half(found, "low", ">", score, "Figure 2")
        yield end_against_half(found, "family_low", ">", score, "Figure 2", ", independent families")
    words = f"number of points that count as evidence, among the {len(drawn)} points of the figure"
    yield compare(words, drawn["counted"].sum(), "<", len(drawn), paper="")
    yield from formula_of_language()
    return {
        "remark": f"""Only {drawn["counted"].sum()} of the {len(drawn)} points represent distinct, trained and
        correctly extracted models. In the checks of Section 3, we use only these models, and the outcome is the same."""
    }


show(figure_2_as_drawn())


# %%
@claim(
    "Figure S1",
    "",
    "vision and audio encoders have higher scores than decoders in both panels",
    Verdict.UNDECIDED,
    printed="""The differences in Figure 2 are "consistent across multiple families of models and input modalities" in symmetry and
    "across all the models and input modalities we consider" in directionality ("see Figure S1 for vision and audio
    models").""",
    place="Section 3 and Figure S1",
    remark="""If we use all points in the figure, we find neither of the two differences in vision models, but both
    differences in audio models. Without MusicGen, whose points represent a text encoder and cross-attention, the
    directionality scores of the two groups of audio models do not differ significantly. For this check, we use the released median
    scores of all models in the figure.""",
)
def figure_s1_as_drawn():
    results, scores = released_results(), {"s": "symmetry", "d": "directionality"}
    for letter, score in scores.items():
        yield from both_ends(of_figure("S1 vision", letter, results), score, "Figure S1 vision")
    for letter, score in scores.items():
        yield end_against_half(of_figure("S1 audio", letter, results), "low", ">", score, "Figure S1 audio")
    without = results[~results["defects"].str.contains("cross-attention|text-encoder")]
    words = "Figure S1 audio without MusicGen"
    yield end_against_half(of_figure("S1 audio", "s", without), "low", ">", "symmetry", words)
    yield from both_ends(of_figure("S1 audio", "d", without), "directionality", words)


show(figure_s1_as_drawn())

# %% [markdown]
# ## Every released point

# %% tags=["remove-input"]
table(
    figures.results_in_figures(results),
    name="tab-released-results",
    caption="All points in Figures 2, S1 and S2 of the paper, with the released median scores. The last two columns"
    " show whether we count a point as evidence and, if we do not, the reason.",
    formats={"parameters": ",", "s": ".3f", "d": ".3f"},
)
