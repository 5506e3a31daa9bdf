# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Encoders are more symmetric; directionality separates only released language scores
#
# An *encoder* sees a sequence in both directions, a *decoder* only what came before. Encoders, says the paper
# {cite}`saponati2025` (Section 3), are more symmetric, decoders more directional.
#
# **Of symmetry this holds: among released language scores the encoder is ahead in {glue:text}`pairs-s` of pairs,
# on weights that we read in {glue:text}`share-s`.** Of directionality it holds among these scores, in
# {glue:text}`pairs-d` of pairs, by a formula that is not stated. On our weights it is
# {glue:text}`share-d-tables` by that formula and {glue:text}`share-d` by the paper's, both with $\gamma = 2$: too few families to
# decide.

# %% tags=["parameters"]
models: list = []  # names of recorded models, folders or Hub ids; empty means every recorded model
gamma: float = 2.0  # threshold of directionality in standard deviations of the norms; in [0, 10]

# %% tags=["remove-cell"]
from chapters.pretrained_survey import figures, sizes
from chapters.pretrained_survey.measures import (
    all_separations,
    bert_in_four_bits,
    both_ends,
    end_against_half,
    families_of_modality,
    formula_of_language,
    halves,
    null_bands,
    of_figure,
    of_modality,
    outside,
    recorded_weights,
    sign_test,
)
from livingpaper.display.page import glue, show, table
from attngeo.bilinear.null_laws import LEVEL
from livingpaper.claims.claim import Verdict, claim, compare, exact
from attngeo.experiments.survey import families as by_family
from attngeo.experiments.survey.families import (
    FEW_BITS,
    TEXT_ALONE,
    WITHOUT_FEW_BITS,
    beaten,
    choices,
    compared,
    of_families,
)
from attngeo.experiments.survey.measured import layer_medians, measured
from livingpaper.released_results import released_results
from livingpaper.sizes import recorded_parameters
from attngeo.experiments.runs.numbers_in_words import number, share_of

SOURCE = "Judged on the released medians of distinct, trained, rightly extracted models; intervals of 95 %."
HERE = "families read here"
DIRECTIONAL = '"[D]ecoder-only models have higher degrees of directionality than encoder-only models"'

scores = by_family.distinct(measured(models, gamma))
layers = scores[scores["head"] == -1]
medians = layer_medians(layers)
stacks = by_family.with_kinds(medians)
bands = null_bands(scores, gamma)
recorded, results = recorded_weights(), released_results()
areas = all_separations(results)
released_sizes, read_sizes = sizes.released_by_size(results), sizes.read_by_size(recorded.stacks)

# %% tags=["remove-input"]
figures.separations(areas)

# %% [markdown]
# :::{admonition} How sure is this
# - [An audit](../notation.md#the-audit) read the released scores. Of the {glue:text}`n-drawn` points in Fig. 2 of the paper we leave out
#   {glue:text}`n-left-out`: [repeated, random, wrongly extracted or of another
#   kind](pretrained_survey_details.py#every-released-point).
# - On the weights that we read a *family* (shared authors, data or recipe) counts once: {glue:text}`n-encoders` of
#   encoders, {glue:text}`n-decoders` of decoders. So few leave any AUC between {glue:text}`most` and {glue:text}`least` undecided.
# - Most of these encoders are not of text, and most decoders are. On text alone the encoder is ahead in
#   {glue:text}`share-s-text` of pairs, with too few families to decide.
# - Groups go by the mask, not by the objective: encoders of {glue:text}`not-masked` were never trained to fill in masks.
# :::
#
# ## Symmetry separates encoders from decoders
#
# The share of pairs in which the encoder scores higher is the area under the ROC curve (AUC): 1 where a score separates
# the groups, a half where it tells nothing. The [symmetry $s$ and the directionality $d$](two_scores.py) of a model are
# medians over its layers; $d$ is negative where columns dominate.
#
# The authors released the scores behind their figures, a point per model. Some points cannot speak for a trained model of its
# kind. The caption says how well encoders and decoders separate with those points and without them.

# %% tags=["remove-input"]
figures.clean_figure(results)


# %%
@claim(
    "Section 3",
    "(symmetry, language)",
    "language encoders are more symmetric than decoders",
    Verdict.HOLDS,
    remark=SOURCE,
)
def section_3_symmetry_in_language():
    language, score = of_modality("text", "s", released_results()), ("symmetry", "language")
    yield end_against_half(language, "low", ">", *score, ", independent models")
    yield end_against_half(language, "family_low", ">", *score, ", independent families")


show(section_3_symmetry_in_language(), unfolded=True)

# %% [markdown]
# So it does on weights that we read: {glue:text}`n-layers` layers of {glue:text}`n-models` checkpoints of text, images, sound,
# chemical reactions and proteins. The matrix of a layer is the [sum over its heads](heads_or_sum.py) (Eq. S20), without biases,
# rotary positions and normalisation gains. Cross-attention is neither encoder nor decoder and is left out.

# %% tags=["remove-input"]
figures.family_scores(by_family.with_kinds(layers), of_families(stacks), bands)

# %% [markdown]
# All pairs that are lost in symmetry are those of {glue:text}`loser`, whose encoder has a single layer.


# %%
@claim(
    "Section 3",
    "(symmetry, on weights)",
    "encoders are more symmetric than decoders, on weights that were read here",
    Verdict.HOLDS,
)
def section_3_symmetry_on_weights():
    read, losses = recorded_weights().stacks, bert_in_four_bits(recorded_weights().losses)["lost"]
    families = of_families(read)
    result = compared(families, "symmetry")
    every, text = result.separation, compared(of_families(choices(read)[TEXT_ALONE]), "symmetry").separation
    yield end_against_half(every, "low", ">", "symmetry", HERE, ", as if no family had both halves")
    yield end_against_half(every, "family_low", ">", "symmetry", HERE, ", independent families")
    yield compare(f"two-sided p of {result.n_exchanges} exchanges of encoders and decoders", result.p, "<", 0.05)
    yield end_against_half(text, "low", "<", "symmetry", "families of text")
    yield compare(
        "share of its s that a layer of BERT base loses in 4 bits, median", losses.median(), "<", 0.01, paper=""
    )
    yield compare("the same: largest share", losses.max(), "<", 0.02, paper="")
    yield compare("the same: smallest share", losses.min(), ">", paper="")
    coarse = read[read["precision"].isin(FEW_BITS)]["model"].nunique()
    return {
        "remark": f"""On text alone it is undecided. {every.n_first - text.n_first} of {every.n_first} families of encoders are
        not of text, {text.n_second} of {every.n_second} of decoders are, so the comparison is one of modalities too. A family
        counts once on either side, with the mean of its models' medians over layers; intervals of 95 %. Families whose
        encoder loses a pair: {", ".join(beaten(families, "symmetry"))}. {coarse} of the models are held in 8 or 4 bits."""
    }


show(section_3_symmetry_on_weights())

# %% [markdown]
# In vision and audio one family of causal decoders each was scored in all layers: ImageGPT and Whisper's. Either lies below
# every family of encoders, but one family cannot carry an interval. Figure S2 has {glue:text}`n-halves` models with both an
# encoder and a decoder. These halves share data, recipe and objective: what sets them apart is the mask and
# cross-attention, not the objective, of which the paper speaks.


# %% tags=["remove-cell"]
def sizes_of(drawn) -> str:
    """``3 families (9 are sizes of T5)``."""
    counts = drawn["family"].value_counts()
    return f"{len(counts)} families ({counts.iloc[0]} are sizes of {counts.index[0]})"


# %%
@claim(
    "Section 3",
    "(symmetry, vision and audio)",
    "vision and audio encoders are more symmetric than decoders",
    Verdict.UNDECIDED,
    printed="""\"[E]ncoder-only models remarkably show a higher degree of symmetry than decoder-only", which "is consistent
    across multiple families of models and input modalities".""",
    place="Section 3, Figure S1",
)
def section_3_symmetry_elsewhere():
    results = released_results()
    found = {modality: families_of_modality(modality, "s", results) for modality in ("vision", "audio")}
    for modality, one in found.items():
        yield end_against_half(one.separation, "low", "<", "symmetry", f"{modality}, a family once")
        yield exact(f"share of families of encoders above the causal decoders, {modality}", one.separation.auc, 1)
        yield exact(f"families of causal decoders, {modality}", one.separation.n_second, 1)
    yield end_against_half(of_figure("S1 vision", "s", results), "low", "<", "symmetry", "S1 vision as drawn")
    vision, audio = (one.p for one in found.values())
    return {
        "remark": f"""There is one family of causal decoders each, ImageGPT in vision and Whisper's in audio; on the mean of
        its models either lies below every family of encoders. One family cannot carry an interval (p of exchanges
        {vision:.1f} and {audio:.1f}). The decoders of Figure S1 are mostly others: object queries of detectors, a vision
        tower, cross-attention. In vision they leave no separation. {SOURCE}"""
    }


@claim(
    "Figure S2",
    "(symmetry)",
    "the encoders of these encoder-decoder models are more symmetric than their decoders",
    Verdict.HOLDS,
)
def section_3_halves_of_one_model():
    drawn = halves("s", released_results())
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    count = f"{(gaps > 0).sum()} of {len(drawn)}"
    yield compare(f"share of the models whose encoder is the more symmetric half: {count}", (gaps > 0).mean(), ">", 0.5)
    yield compare("s of encoders less that of decoders, least mean of a family", means.min(), ">")
    yield compare("T5-11b, the exception: encoder's s less decoder's", gaps["t5-11b"], "<", paper="")
    yield exact("models whose decoder is the more symmetric half", (gaps < 0).sum(), 1, 0, paper="")
    words = f"encoder the more symmetric in {(means > 0).sum()} of {len(means)} families: p of a sign test"
    yield compare(words, sign_test(means), ">", 0.05, paper="")
    return {
        "remark": f"""Said, and judged, of these {len(drawn)} models alone. They are {sizes_of(drawn)}: too few to speak for
        other models."""
    }


show(section_3_symmetry_elsewhere(), section_3_halves_of_one_model())

# %% [markdown]
# ## Larger encoders are less symmetric
#
# Among the released language encoders, the symmetry score falls with the number of parameters ({numref}`fig-survey-sizes`):
# the rank correlation (Spearman) is {glue:text}`rho-encoders` over {glue:text}`n-sized-encoders` encoders of
# {glue:text}`n-sized-families` families. Models of one family are not independent, so we give no p-value. Among the
# {glue:text}`n-sized-decoders` released decoders, the rank correlation is {glue:text}`rho-decoders`. The gap between encoders and
# decoders is therefore smaller for larger models ({numref}`tab-survey-sizes`), and a comparison of two models is fair only
# if the models have a similar number of parameters. We do not know why larger encoders are less symmetric.

# %% tags=["remove-input"]
sizes.symmetry_by_size(released_sizes, read_sizes)

# %% tags=["remove-input"]
table(
    sizes.size_table(released_sizes),
    name="tab-survey-sizes",
    caption="Median symmetry score of the released language models of each size, with the number of models in parentheses.",
)

# %% [markdown]
# At equal size, encoders are still more symmetric than decoders. We compare every released encoder with every released decoder
# if neither model has more than {glue:text}`equal` times the parameters of the other. In {glue:text}`equal-released` such
# pairs, the encoder has the higher symmetry score. The same is true of {glue:text}`equal-read` such pairs of language models
# whose weights we read. The number of parameters is the number that the authors' file states. Where this file does not have
# a model, we count the parameters from the model's configuration (`data/survey/parameters.csv` has the source of each number).
# We left out {glue:text}`unsized`, because its configuration is incomplete. This model, whose encoder and decoder have a single
# layer each, would be an exception: the symmetry score is {glue:text}`unsized-encoder` for its encoder and
# {glue:text}`unsized-decoder` for its decoder.


# %%
@claim(
    "Section 3",
    "(symmetry, equal size)",
    "language encoders are more symmetric than decoders of a similar size",
    Verdict.HOLDS,
    ours=True,
)
def section_3_symmetry_at_equal_size():
    released, read = sizes.released_by_size(released_results()), sizes.read_by_size(recorded_weights().stacks)
    rho = sizes.rank_correlation(released, "encoder")
    yield compare("released encoders: rank correlation of s with the number of parameters", rho, "<", -0.5)
    for words, models in (("released scores", released), ("weights read here", read)):
        pairs = sizes.of_equal_size(models)
        higher = (pairs["difference"] > 0).sum()
        yield exact(
            f"{words}: pairs of similar size, of {len(pairs)}, with the more symmetric encoder", higher, len(pairs), 0
        )
        least = f"{words}: smallest difference in s, encoder minus decoder, of these pairs"
        yield compare(least, pairs["difference"].min(), ">")
    return {
        "remark": f"""Two models have a similar size if neither has more than {sizes.EQUAL} times the parameters of the other.
        A model occurs in several pairs, so the pairs are not independent. A model whose parameters we could not count is left
        out, as the page says."""
    }


show(section_3_symmetry_at_equal_size())

# %% tags=["remove-cell"]
rho = {part: sizes.rank_correlation(released_sizes, part) for part in ("encoder", "decoder")}
gaps = [sizes.of_equal_size(models)["difference"] for models in (released_sizes, read_sizes)]
assert all((gap > 0).all() for gap in gaps)
classes = sizes.size_table(released_sizes)["median s of encoders"].str.split().str[0].astype(float)
assert classes.is_monotonic_decreasing  # "smaller for larger models"
of_text = recorded.stacks.query("modality == 'text'")
unsized = sorted(set(of_text["model"]) - set(recorded_parameters()))
left_out = of_text[of_text["model"].isin(unsized)].set_index("part")
assert len(unsized) == 1 and (left_out["n_layers"] == 1).all()
assert left_out.loc["encoder", "symmetry"] < left_out.loc["decoder", "symmetry"]  # "would be an exception"
for name, value in {
    "rho-encoders": number(rho["encoder"], 2),
    "rho-decoders": number(rho["decoder"], 2, "+"),
    "n-sized-encoders": (released_sizes["part"] == "encoder").sum(),
    "n-sized-decoders": (released_sizes["part"] == "decoder").sum(),
    "n-sized-families": released_sizes.query("part == 'encoder'")["family"].nunique(),
    "equal": "two" if sizes.EQUAL == 2 else sizes.EQUAL,
    "equal-released": share_of((gaps[0] > 0).sum(), len(gaps[0])),
    "equal-read": share_of((gaps[1] > 0).sum(), len(gaps[1])),
    "unsized": unsized[0],
    "unsized-encoder": number(left_out.loc["encoder", "symmetry"], 2),
    "unsized-decoder": number(left_out.loc["decoder", "symmetry"], 2, "+"),
}.items():
    glue(name, value)

# %% [markdown]
# ## In directionality only released language scores separate
#
# In released language scores decoders have the lower $d$, but not by Def. 3.2 of the paper: where we read the weights, the
# numbers follow [the formula of Table S3](printed_scores.py). On our weights neither formula decides.


# %%
@claim(
    "Section 3",
    "(directionality, language)",
    "language decoders are more column-dominated than encoders, by the formula of Table S3",
    Verdict.ASSUMPTION,
    missing=("logarithms",),
    printed=f"""{DIRECTIONAL}, with the score of Def. 3.2 of the paper: "the sum of the norm of the columns that are higher than
    a given threshold". No other formula is stated.""",
    place="Section 3, Figure 2, Definition 3.2",
    holds="""It holds for another score: where the weights were read, the released numbers follow from the excess of the norms' logarithms over the
    threshold's, the formula behind Table S3. By Def. 3.2 of the paper, on weights of text read here, the interval of the AUC holds 1/2; that is of few families, mostly other
    ones.""",
    remark=SOURCE,
)
def section_3_directionality_in_language():
    language = of_modality("text", "d", released_results())
    yield end_against_half(language, "low", ">", "directionality", "language", ", independent models")
    yield end_against_half(language, "family_low", ">", "directionality", "language", ", independent families")
    yield compare("AUC of d, language: the groups overlap", language.auc, "<", 1, paper="")
    yield from formula_of_language()
    read = compared(of_families(choices(recorded_weights().stacks)[TEXT_ALONE]), "directionality").separation
    yield from both_ends(read, "d by Def. 3.2 of the paper", "families of text read here")


@claim(
    "Section 3",
    "(directionality, on weights)",
    "decoders are more column-dominated than encoders, on weights that were read here",
    Verdict.UNDECIDED,
    printed=f"{DIRECTIONAL}.",
    place="Section 3, Figures 2 and S1",
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
        "remark": f"""By either formula the interval of the AUC holds 1/2: with so few families an AUC between
        {1 - found.least:.2f} and {found.least:.2f} is not told from it. By Table S3's formula, behind the scores of Figure 2,
        the AUC points the paper's way; without weights of 8 or 4 bits its interval leaves out 1/2, though p is
        {chosen.p:.2f}. By Def. 3.2 of the paper it lies below 1/2."""
    }


show(section_3_directionality_in_language(), section_3_directionality_on_weights())

# %% [markdown]
# Nor do vision, audio or the halves of one model. By the
# [checkpoint](pretrained_survey_details.py#the-same-models-in-the-paper-and-what-later-training-does) that we could compare,
# the released $d$ of vision has yet another formula, that of the released code.


# %%
@claim(
    "Section 3",
    "(directionality, vision and audio)",
    "the difference in directionality is consistent across all modalities",
    Verdict.UNDECIDED,
    printed=f"""{DIRECTIONAL}, and "this difference is consistent across all the models and input modalities we
    consider".""",
    place="Section 3, Figure S1",
    remark=f"""Judged by modality. In language decoders have the lower d on the whole, by the AUC, but not every one of them:
    "all the models" is too much. In vision and audio, with one family of causal decoders each, the interval of the AUC holds
    1/2. The clear separation in the audio panel of Figure S1 rests on MusicGen's cross-attention. {SOURCE}""",
)
def section_3_directionality_elsewhere():
    results = released_results()
    for modality in ("vision", "audio"):
        found = families_of_modality(modality, "d", results).separation
        yield end_against_half(found, "low", "<", "directionality", f"{modality}, a family once")
    drawn = of_figure("S1 vision", "d", results)
    yield end_against_half(drawn, "low", "<", "directionality", "vision, S1 as drawn")
    whisper = results[(results["model"] == "whisper-large-v3") & (results["part"] == "encoder")]["d"].item()
    yield compare("median d of whisper-large-v3's encoder: rows dominate", whisper, ">")


@claim(
    "Figure S2",
    "(directionality)",
    "the halves of these models do not differ significantly in directionality",
    Verdict.UNDECIDED,
    printed="""\"The encoder and decoder components of these models do not show significant differences in directionality
    scores", says the caption; Section 3 says that "a similar pattern is observed when including full encoder-decoder
    Transformers (e.g. the language T5 models [Xue et al., 2021]), despite these models having an overall lower degree of
    directionality".""",
    place="Section 3, Figure S2",
)
def directionality_of_the_halves():
    drawn = halves("d", released_results())
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    words = "share of the models whose decoder is the more column-dominated half"
    yield compare(f"{words}: {(gaps > 0).sum()} of {len(drawn)}", (gaps > 0).mean(), ">", 0.5)
    yield compare("d of encoders less that of decoders, least mean of a family", means.min(), ">")
    yield compare("the same models, as if independent; p of a sign test", sign_test(gaps), ">", 0.05)
    words = f"decoder the more column-dominated in {(means > 0).sum()} of {len(means)} families: p of a sign test"
    yield compare(words, sign_test(means), ">", 0.05)
    return {
        "remark": f"""The signs lean to the text: columns dominate more in the decoder. With {sizes_of(drawn)} neither
        sentence is decided: a test that finds no difference is not evidence that there is none."""
    }


show(section_3_directionality_elsewhere(), directionality_of_the_halves())

# %% [markdown]
# [Other choices](pretrained_survey_details.py#other-choices-of-models-and-formula) of models and formula mostly say the
# same; two do not: {glue:text}`other-answers`. By objective, of which the theorems speak, symmetry separates as well, but in
# these models objective and mask coincide.
#
# Directionality spreads widely at random, and yet is not noise. By Def. 3.2 of the paper with $\gamma$ = {glue:text}`gamma`, the
# medians of {glue:text}`n-outside` of these {glue:text}`n-stacks` stacks of layers lie outside the band of random weights. By chance
# {glue:text}`n-by-chance` would. By both formulas columns dominate in {glue:text}`decoders-columns` decoders. They do
# in {glue:text}`encoders-columns` encoders. But narrow models have wide bands, in which much can hide.
#
# ## What the matrices look like
#
# A symmetric matrix is its own mirror image across the diagonal from the upper left to the lower right.

# %% tags=["remove-input"]
figures.matrices(figures.drawn())

# %% tags=["remove-cell"]
banded = outside(stacks.merge(bands, on=["model", "part"]))
for part, kind in by_family.GROUPS.items():
    columns = banded.loc[banded["attention"] == kind, "columns"]
    glue(f"{part}s-columns", f"{columns.sum()} of {len(columns)}")
area = areas.set_index(["models", "score"])["auc"]
told = by_family.compared_by_choice(recorded.stacks)
everything, text, masked = (told[choice] for choice in (by_family.ALL, TEXT_ALONE, by_family.OBJECTIVES))
families = recorded.stacks.groupby(["attention", "family"])["modality"].first().eq("text").groupby("attention")
of_text, n_families = families.mean(), families.size()
assert of_text["bidirectional"] < 0.5 < of_text["causal"]
assert everything["s"].side == masked["s"].side == 1 and everything["d"].side == text["s"].side == 0
encoders = recorded.stacks.query("attention == 'bidirectional'")
others = by_family.other_answers(recorded.stacks)
assert len(others) == 2
(loser,) = beaten(of_families(recorded.stacks), "symmetry")
assert (encoders[encoders["family"] == loser]["n_layers"] == 1).all()
in_figure = results[results["figure"] == figures.FIGURE]
for name, value in {
    "pairs-s": f"{area['language', 's']:.0%}",
    "pairs-d": f"{area['language', 'd']:.0%}",
    "share-s": f"{everything['s'].separation.auc:.0%}",
    "share-d": f"{everything['d'].separation.auc:.0%}",
    "share-d-tables": f"{everything['d as in Table S3'].separation.auc:.0%}",
    "share-s-text": f"{text['s'].separation.auc:.0%}",
    "loser": loser,
    "other-answers": "; ".join(f"{score}, {choice}" for score, choice in others),
    "least": f"{everything['s'].least:.2f}",
    "most": f"{1 - everything['s'].least:.2f}",
    "n-encoders": n_families["bidirectional"],
    "n-decoders": n_families["causal"],
    "not-masked": ", ".join(encoders[~encoders["objective"].str.startswith("masked")]["family"].unique()),
    "n-drawn": len(in_figure),
    "n-left-out": int((~in_figure["counted"]).sum()),
    "n-halves": len(halves("s", results)),
    "n-layers": len(layers),
    "n-models": layers["model"].nunique(),
    "n-stacks": len(banded),
    "n-outside": banded["definition"].sum(),
    "n-by-chance": f"{LEVEL * len(banded):.0f}",
    "gamma": f"{gamma:g}",
}.items():
    glue(name, value)

# %% [markdown]
# ## What it means for you
#
# - `attngeo score MODEL` scores your model and says what random weights of its shape would give.
# - Compare your model with models of a similar number of parameters, because [larger encoders are less
#   symmetric](#larger-encoders-are-less-symmetric).
# - In the models at hand [fine-tuning on
#   labels](pretrained_survey_details.py#the-same-models-in-the-paper-and-what-later-training-does) and [four
#   bits](pretrained_survey_details.py#weights-in-fewer-bits) change symmetry little; directionality is not safe from rounding.
# - `attngeo survey --group llama-3.1` scores models of today where the Hub can be reached.
# - [Every model](pretrained_survey_details.py#every-model) stands in the details, layer by layer and head by head.
