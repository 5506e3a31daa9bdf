# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Scores during training
#
# This page contains the remaining checks, the long tables and the recorded runs behind the page [During
# training](training_scores.py). An *encoder* predicts hidden tokens from the text on both sides, and a *decoder* predicts
# tokens from the text to their left. For each model, we report the median of the symmetry score $s$ and of the
# directionality score $d$ over the layers.

# %% tags=["parameters", "remove-input"]
layers: int = 2  # layers of the models trained on this page; in [1, 48]
d_model: int = 96  # hidden size; in [8, 4096]
heads: int = 4  # heads per layer, a divisor of the hidden size; in [1, 64]
corpus: str = "embedded"  # text: embedded, wikipedia, jigsaw, redpajama, or a file or folder
text: str = "spaced"  # plain, or with a space between all characters; one of plain | spaced
vocab_size: int = 256  # largest size of the vocabulary; in [50, 60000]
block_size: int = 24  # sequence length in tokens; in [8, 2048]
batch_size: int = 64  # sequences per training step; in [2, 4096]
steps: int = 900  # training steps; in [20, 1000000]
lr: float = 0.003  # largest learning rate; in [0.000001, 0.1]
dropout: float = 0.0  # dropout of hidden states and attention; in [0, 0.5]
max_characters: int = 3000000  # characters of the corpus that are used; in [20000, 2000000000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from chapters.training_scores.figures import by_layer, over_steps
from chapters.training_scores.measures import (
    SETTLED,
    arms_of,
    at_equal_steps,
    beside,
    case,
    cases_of_layers,
    change,
    climb_of,
    climbs,
    doubt,
    encoder_minus_decoder,
    least_layer,
    pairs_of,
    recorded,
    spoken_of,
)
from chapters.training_scores.planned import DECODER, ENCODER, TYPES, planned_of
from chapters.training_scores.released import (
    LETTERS,
    SCATTER,
    SPREADS,
    counted,
    decoders_of_12_layers,
    random_gap_sd,
    random_median_sd,
    released_course,
    released_ends,
    released_gaps,
    released_pairs,
    released_training,
    scattered,
    skew_shares,
)
from chapters.training_scores.tables import (
    contrast_table,
    decoder_change_table,
    formula_table,
    growth_table,
    measure_table,
    our_decoders,
    quoted,
    released_growth,
    released_skew_table,
    setting,
)
from livingpaper.display.page import glue, show, table
from attngeo.bilinear.random_matrices import symmetry_mean, symmetry_sd
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.claims.published import printed_table, trained_widths
from livingpaper.claims.results import Comparison
from livingpaper.claims.seed_intervals import joined
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import Arm, Contrast
from attngeo.experiments.runs.estimates import LEAST_SEEDS
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, share_of, spelled
from attngeo.experiments.training.bert import Decoder, Encoder, bert_config
from attngeo.experiments.training.choices import PRESETS, Shape
from attngeo.experiments.training.config import configure
from attngeo.experiments.training.train import train

FIRST = "the first paragraph of Section 4.1"
SECOND = "the second paragraph of Section 4.1"
SETTINGS = {  # row of Table S1: the setting of a transformers BertConfig
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "attention_heads": "num_attention_heads",
    "hidden_layers": "num_hidden_layers",
    "attention_dropout": "attention_probs_dropout_prob",
    "hidden_activation": "hidden_act",
    "hidden_dropout": "hidden_dropout_prob",
    "layer_norm_epsilon": "layer_norm_eps",
    "max_position_embeddings": "max_position_embeddings",
    "position_embedding_type": "position_embedding_type",
    "vocabulary_size": "vocab_size",
}
PRESET_OF = {"bert": "base", "bert_mini": "mini"}  # column of Table S1: our preset

# %% [markdown]
# ## The models
#
# Table S1 of the paper lists two configurations. In {numref}`tab-training-s1`, we compare them with the models that our
# presets build. The column *BERT* corresponds to our preset `base`, and the column *BERT-mini* corresponds to our preset
# `mini`. A third configuration, with 24 layers, appears only on the paper's web page.


# %% tags=["remove-cell"]
def table_s1_beside_presets() -> pd.DataFrame:
    """Each row of Table S1 with what our presets build: columns printed and ours, for both models, as text."""
    printed = printed_table("S1").set_index("setting")
    configs = {column: bert_config(PRESETS[preset], causal=False) for column, preset in PRESET_OF.items()}
    columns = {"setting": [setting.replace("_", " ") for setting in SETTINGS]}
    for column, config in configs.items():
        columns[f"{column}, printed"] = list(printed.loc[list(SETTINGS), column])
        # transformers 5 knows absolute positions only, and dropped the setting
        columns[f"{column}, ours"] = [str(getattr(config, name, "absolute")) for name in SETTINGS.values()]
    return pd.DataFrame(columns)


def same_setting(printed: str, ours: str) -> bool:
    """As numbers, where they are numbers: 0.1 and 0.10 are one setting."""
    try:
        return float(printed) == float(ours)
    except ValueError:
        return printed == ours


# %% tags=["remove-input"]
table(
    table_s1_beside_presets().rename(columns=lambda name: name.replace("bert", "BERT").replace("_", "-")),
    name="tab-training-s1",
    caption="The configurations in Table S1 of the paper, and the configurations that our presets build.",
)


# %%
@claim("Table S1", "", "our presets build the models whose configurations are listed in the table", Verdict.HOLDS)
def table_s1_is_what_the_presets_build():
    rows = table_s1_beside_presets()
    for column, preset in PRESET_OF.items():
        equal = sum(map(same_setting, rows[f"{column}, printed"], rows[f"{column}, ours"]))
        yield exact(f"number of settings of {preset} that are equal to the printed settings", equal, len(rows), 0)


show(table_s1_is_what_the_presets_build())

# %% [markdown]
# The command `attngeo train --preset mini` trains such a model with the settings in Appendix S2.3 of the paper. The
# optimiser is AdamW with a weight decay of 0.01. The learning rate reaches $5\times10^{-5}$ after 200 steps and then
# decreases linearly to zero. Each step uses 256 sequences, in which 15 % of the tokens are masked. We use mixed precision
# with bf16, whereas the authors use fp16.
#
# Our training deliberately differs from the authors' code in three ways. We know the authors' code only from [an
# audit](../notation.md#the-audit).
#
# - *Our decoders predict the next token at every position* (`--objective clm`). The authors' decoders predict only the 15 %
#   of tokens that were chosen for masking. They predict these tokens from the text to the left, in which the chosen tokens
#   are masked as well. You can train such a decoder with the option `--objective released-decoder`.
# - *We do not change the text* (option `--text plain`). The authors' code inserts spaces between all characters of Wikipedia
#   and Red Pajama, so that every token is a single character. Our option `--text spaced` has the same effect.
# - *Our sequences contain no padding.* We concatenate the documents, separated by special tokens.
#
# ## The released scores at the end of training

# %% tags=["remove-input"]
table(
    released_pairs(),
    name="tab-training-released",
    caption=f"Scores of the authors' models after {released_training()['step'].max():,} steps (medians over layers,"
    " one seed per model). Section 4.1 of the paper is about the models with 12 layers. According to the audit, $d$"
    " was computed with the formula in the authors' code, which differs from Def. 3.2 of the paper.",
    formats=dict.fromkeys(("s, encoder", "s, decoder", "d, encoder", "d, decoder"), ".2f"),
)

# %% [markdown]
# ## The other checks of Section 4.1
#
# In these checks, the authors' scores are medians over layers, with one seed per model, and we know these scores only
# through [the audit](../notation.md#the-audit). For our own models, we give 95 % confidence intervals over seeds. For our
# planned experiments, we state the type of positional encoding. All our other models have learned position embeddings.
# Because our models are smaller than the paper's models and were trained on fewer tokens, we show their scores but do not
# use them to judge the paper's statements.


# %%
@claim(
    "Section 4.1",
    "(decoders, symmetry)",
    "at the end of training, the query-key matrices of 12-layer decoders are almost non-symmetric",
    Verdict.HOLDS,
)
def decoders_almost_non_symmetric():
    ends = released_ends("s").assign(share=lambda rows: (rows["decoder"] / rows["encoder"]).abs())
    deep, small = (ends[ends["layers"] == layers] for layers in (12, 4))
    for row in deep.itertuples():
        words = f"authors' 12-layer models, {row.text}: $|s|$ of the decoder divided by $|s|$ of the encoder"
        yield compare(words, row.share, "<", 1)
    around = decoders_of_12_layers().eval("s_q1 < 0 < s_q3")
    yield counted("authors' {n} decoders with 12 layers: decoders in which $s$ has both signs among the layers", around)
    nearer = small["share"] < 1
    words = "authors' {n} pairs with 4 layers: pairs in which $|s|$ is smaller in the decoder than in the encoder"
    yield counted(words, nearer, "<", paper="")
    words = "$|s|$ of the encoder minus $|s|$ of the decoder"
    cases = encoder_minus_decoder(lambda run: abs(run.last("symmetry")), words)
    yield from beside(cases)
    return {
        "remark": f"""In each of the authors' 12-layer pairs, the decoder has a much smaller absolute symmetry score
        than the encoder. In all {len(deep)} decoders with 12 layers, the lower quartile of the symmetry score over
        layers is negative and the upper quartile is positive. With 4 layers, the decoder has a smaller absolute
        symmetry score than the encoder in only {nearer.sum()} of the {len(small)} pairs. {doubt(cases)}"""
    }


show(decoders_almost_non_symmetric())


# %% tags=["remove-cell"]
def too_few_seeds(on_wikipedia: bool) -> str:
    """Why a remark has nothing to say about our own models."""
    texts = "Wikipedia" if on_wikipedia else "texts other than Wikipedia"
    return (
        f"None of our own settings with models trained on {texts} has at least {spelled(LEAST_SEEDS)} seeds, so we show no"
        " results of our own here."
    )


def growth(on_wikipedia: bool):
    """Symmetry rises from the first step to the last; a later decrease beyond the seeds counts against the statement."""
    encoders = released_training().query("part == 'encoder'")
    encoders = encoders[(encoders["text"] == "Wikipedia") == on_wikipedia]
    for (layers, title), rows in encoders.groupby(["layers", "text"]):
        s = rows.set_index("step")["s"]
        words = (
            f"authors' {layers}-layer encoder, {title}: $s$ at step {s.index[-1]:,} minus $s$ at step {s.index[0]:,}"
        )
        yield compare(words, s.iloc[-1] - s.iloc[0], ">")
    found = climbs(recorded(on_wikipedia))
    if on_wikipedia:
        found += [climb_of(arm) for positions in TYPES for arm in planned_of(ENCODER, positions).values()]
    grown, fallen = [], []
    for climb in found:
        peak = f"$s$ of the encoders at its peak (step {climb.mean.idxmax():,}) minus $s$ at the end"
        grown.append(case(climb.arm, "$s$ of the encoders at the end minus $s$ at the start", climb.growth))
        fallen.append(case(climb.arm, peak, climb.fall, -1))
    fallen = [fall for fall in fallen if fall.reversed]
    yield from beside([*grown, *fallen])
    if not any(one.known for one in grown):
        return {"remark": too_few_seeds(on_wikipedia)}
    settings = [f"*{fall.label}*" for fall in fallen]  # marks of quotation are for the paper's words alone
    names = "in none of our settings"
    if settings:
        names = f"only in the following setting{'s' * (len(settings) > 1)}: {'; '.join(settings)}"
    return {
        "remark": f"""{doubt([*grown, *fallen])} After its peak, the symmetry score decreases by more than the variation
        between seeds {names}."""
    }


INCREMENTALLY = """\"[A]s symmetric weight updates are added to $W_{qk}$ in encoder-only models, Theorem 2.4 predicts that
symmetric structures emerge incrementally during training.\""""


# %%
@claim(
    "Figure 3",
    "(a), encoders over training",
    "the symmetry of encoders grows during training (Wikipedia)",
    Verdict.HOLDS,
    printed=INCREMENTALLY,
    place=FIRST,
)
def growth_on_wikipedia():
    return (yield from growth(on_wikipedia=True))


@claim(
    "Figure S3",
    "(a), encoders over training",
    "the symmetry of encoders grows during training (Red Pajama and Jigsaw)",
    Verdict.HOLDS,
    printed=INCREMENTALLY,
    place=FIRST,
)
def growth_on_other_texts():
    return (yield from growth(on_wikipedia=False))


show(growth_on_wikipedia(), growth_on_other_texts())


# %%
@claim(
    "Section 4.1",
    "(directionality)",
    "at the end of training, decoders are more directional than encoders on every dataset",
    Verdict.UNDECIDED,
    printed="""\"[D]ecoder-only models have a higher directionality score", and "[w]e observe this difference on all datasets
    we tested".""",
    place=SECOND,
)
def directionality_in_training():
    deep, small = released_gaps(12), released_gaps(4)
    yield from (c for gap in deep for c in gap.comparisons)
    words = f"authors' {len(deep)} pairs with 12 layers: pairs in which the decoder is more directional than expected by chance"
    yield compare(words, sum(gap.met for gap in deep), "<", len(deep))
    words = f"authors' {len(deep)} pairs with 12 layers: pairs in which the encoder is more directional than expected by chance"
    yield exact(words, sum(gap.reversed for gap in deep), 0, 0)
    words = f"authors' {len(small)} pairs with 4 layers: pairs in which the difference could be due to chance"
    yield exact(words, sum(not (gap.met or gap.reversed) for gap in small), len(small), 0)
    cases = encoder_minus_decoder("directionality", "$d$ of the encoder minus $d$ of the decoder")
    yield from beside(cases)
    against = [gap.label for gap in deep if gap.estimate.value < 0]
    beyond = [gap.label for gap in deep if gap.met]
    apart = "None of the differences is larger than expected by chance."
    if beyond:
        verb = "is the only dataset" if len(beyond) == 1 else "are the only datasets"
        apart = f"{joined_by_and(beyond)} {verb} on which the difference is larger than expected by chance."
    opposite = f"On {joined_by_and(against)}, the encoder is more directional than the decoder." if against else ""
    return {
        "remark": f"""For the authors' models, the brackets extend {spelled(SCATTER)} standard deviations to either
        side of the difference. These are standard deviations of the difference between two randomly initialised
        models. In {len(deep) - len(against)} of the authors' {len(deep)} pairs with 12 layers, the decoder is more
        directional than the encoder, as the paper states. {apart} {opposite} {doubt(cases)} According to the audit,
        the directionality scores of the authors' models were computed with the formula in the authors' code. We
        computed the scores of our models with Definition 3.2 of the paper."""
    }


@claim(
    "Figure S4",
    "(b), (d), encoders against decoders",
    "encoders and decoders differ less in directionality on Jigsaw and Red Pajama than on Wikipedia",
    Verdict.UNDECIDED,
    printed="""The authors observe "similar differences across layers with all the datasets we tested", "despite these models
    having less significant differences in directionality scores".""",
    place="the last paragraph of Section 4.1",
)
def directionality_differs_less_elsewhere():
    gaps = {gap.label: gap.estimate.value for gap in released_gaps(12)}
    sd = math.sqrt(2) * random_gap_sd(12)  # of one such difference minus another
    added = {title: abs(gap) - abs(gaps["Wikipedia"]) for title, gap in gaps.items() if title != "Wikipedia"}
    words = "authors' 12-layer pairs: absolute difference in $d$ on {} minus the absolute difference on Wikipedia"
    cases = [scattered(title, words.format(title), more, sd, -1) for title, more in added.items()]
    yield from (c for found in cases for c in found.comparisons)
    apart = sum(found.met or found.reversed for found in cases)
    yield exact(
        f"number of datasets (of {len(cases)}) that differ from Wikipedia by more than expected by chance", apart, 0, 0
    )
    differences = joined_by_and([f"{as_score(gap)} on {title}" for title, gap in gaps.items()])
    return {
        "remark": f"""The directionality score of the encoder minus the directionality score of the decoder is
        {differences}. If the models were randomly initialised, the difference between the values of two datasets would have a
        standard deviation of about {sd:.2f}. The brackets extend {spelled(SCATTER)} of these standard deviations to either side of each value. The quoted sentence may also
        refer to differences between layers. We cannot check this second reading, because our copy of the scores does not record
        the order of the layers."""
    }


show(directionality_in_training(), directionality_differs_less_elsewhere())


# %%
@claim(
    "Section 4.1",
    "(columns over training)",
    "columns with large norms emerge incrementally during the training of decoders",
    Verdict.UNDECIDED,
    printed="""\"The incremental update of $W_{qk}$ we described in the previous sections predicts that decoder-only models
    develop high-norm columns incrementally during training".""",
    place=FIRST,
)
def columns_over_training():
    course = released_course()
    decoders = course[course["part"] == "decoder"]
    gaps = course[course["layers"] == 12].pivot(index="text", columns="part")
    deep, small = (decoders[decoders["layers"] == layers] for layers in (12, 4))
    dominant = decoders["end"] < 0
    grown, grown_small = (rows["end"] < rows["first"] for rows in (deep, small))
    step = deep["first step"].iloc[0]
    words = "authors' {n} decoders: $d$ is negative at the end of training"
    yield counted(words, dominant, paper=f"= {len(decoders)}")
    early = f"authors' 12-layer decoders: $d$ at step {step:,}, the value closest to 0"
    yield compare(early, deep["first"].max(), "<", 0, SPREADS * random_median_sd(12))
    yield counted(f"authors' {{n}} decoders with 12 layers: $d$ decreases after step {step:,}", grown, "<")
    yield counted(f"authors' {{n}} decoders with 4 layers: $d$ decreases after step {step:,}", grown_small)
    first, last = (gaps[when]["encoder"] - gaps[when]["decoder"] for when in ("first", "end"))
    words = "authors' {n} pairs with 12 layers: $d$ of the encoder minus $d$ of the decoder is smaller at the end than at step"
    yield counted(f"{words} {step:,}", last < first)
    arms = [*arms_of(recorded(), DECODER), *(arm for kind in TYPES for arm in planned_of(DECODER, kind).values())]
    change_words = "$d$ of the decoders at the end minus $d$ at the start"
    cases = [case(arm, change_words, arm.estimate(change), -1) for arm in arms]
    yield from beside(cases)
    found = [one for one in cases if one.met]
    return {
        "remark": f"""At the end of training, {share_of(int(dominant.sum()), len(decoders))} decoders that the
        authors trained have a negative directionality score. At step {step:,}, the directionality scores of all {len(deep)}
        decoders with 12 layers are already {number(deep["first"].max(), 2)} or lower, and the authors released no
        scores of earlier steps. After this step, the score decreases in {share_of(int(grown_small.sum()), len(small))}
        decoders with 4 layers, but in only {share_of(int(grown.sum()), len(deep))} decoders with 12 layers.
        {doubt(cases)} In {len(found)} of our {sum(one.known for one in cases)} settings with at least three seeds, the
        directionality score of the decoders decreases during training, as the paper predicts, and the confidence
        interval of this decrease excludes zero."""
    }


show(columns_over_training())


# %% tags=["remove-cell"]
def skew_layers(on_wikipedia: bool):
    """The lowest symmetry score of a layer in each of the authors' decoders, and in ours."""
    tolerance = SPREADS * symmetry_sd(trained_widths()[12])
    decoders = decoders_of_12_layers()[lambda rows: (rows["text"] == "Wikipedia") == on_wikipedia]
    for row in decoders.itertuples():
        words = f"authors' 12-layer decoder, {row.text}: lowest $s$ of any layer"
        yield compare(words, row.s_min, "<", 0, tolerance)
    arms = arms_of(recorded(on_wikipedia), DECODER)
    if on_wikipedia:
        arms += [arm for kind in TYPES for arm in planned_of(DECODER, kind).values()]
    cases = [case(arm, "lowest $s$ of any layer of the decoders", arm.estimate(least_layer), -1) for arm in arms]
    yield from beside(cases)
    whose = "the authors' decoder" if len(decoders) == 1 else "each of the authors' decoders"
    return {
        "remark": f"""We count a layer as skew-symmetric if its symmetry score is negative and its absolute value
        exceeds {spelled(SPREADS)} standard deviations of the score of random matrices of the same size. The paper does
        not state how low a score must be to count as strong skew-symmetry. In the most skew-symmetric layer of
        {whose}, the skew-symmetric part accounts for {skew_shares(decoders)} of the squared norm. In a random matrix,
        the skew-symmetric part accounts for half of the squared norm. {doubt(cases)}"""
    }


STRONGLY = """\"[D]ecoder-only models learn almost non-symmetric matrices with strong skew-symmetric matrices in the middle
layers"."""


# %%
@claim(
    "Figure 3",
    "(c), decoders, skew layers",
    "at the end of training, some layers of decoders are skew-symmetric (Wikipedia)",
    Verdict.HOLDS,
    printed=STRONGLY,
    place=SECOND,
)
def skew_layers_on_wikipedia():
    return (yield from skew_layers(on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), decoders, skew layers",
    "at the end of training, some layers of decoders are skew-symmetric (Red Pajama and Jigsaw)",
    Verdict.HOLDS,
    printed=STRONGLY,
    place=SECOND,
)
def skew_layers_elsewhere():
    return (yield from skew_layers(on_wikipedia=False))


show(skew_layers_on_wikipedia(), skew_layers_elsewhere())

# %% [markdown]
# ## How much the symmetry of encoders grows
#
# In all six of the authors' encoders, the symmetry score increases between the first and the last recorded step
# ({numref}`tab-training-growth-authors`). The symmetry score of our encoders with learned position embeddings increases in every
# setting with at least three seeds ({numref}`tab-training-growth-ours`).

# %% tags=["remove-input"]
table(
    released_growth(),
    name="tab-training-growth-authors",
    caption="Increase of the median symmetry score in the authors' encoders between the first and the last recorded step."
    " Each encoder was trained once.",
)
table(
    growth_table(),
    name="tab-training-growth-ours",
    caption="Increase of the median symmetry score in our encoders with learned position embeddings, from the first"
    " to the last step, with 95 % confidence intervals over seeds. The table lists all settings with at least three"
    " seeds in which the encoders learned anything. All models have 4 layers and were trained on Wikipedia. The last"
    " five rows show planned experiments.",
)

# %% [markdown]
# Without learned position embeddings, the symmetry of our encoders hardly grows. In the first planned experiment with
# character-level models ({glue:text}`first-seeds` seeds), the mean symmetry score of the encoders with rotary position
# embeddings first rises to {glue:text}`rotary-peak` and then falls to {glue:text}`rotary-end` by the end of training. The
# confidence interval of this decrease excludes zero. In the same experiment, the mean symmetry score of the encoders without
# any positional encoding first rises to {glue:text}`none-peak` and then falls to {glue:text}`none-end`. In the second
# experiment, which used new seeds, the symmetry score of the encoders with rotary position embeddings increases by
# {glue:text}`new-growth` in total, and the confidence interval of this increase, {glue:text}`new-interval`, includes zero.

# %% tags=["remove-cell"]
first_rotary, first_none = (
    climb_of(planned_of(ENCODER, positions)["positions_characters"]) for positions in ("rotary", "none")
)
new_rotary = climb_of(planned_of(ENCODER, "rotary")["positions_characters_new_seeds"])
assert first_rotary.fall.low > 0 and new_rotary.growth.low < 0 < new_rotary.growth.high
assert len(planned_of(ENCODER, "learned")) == 5  # "the last five rows"
for name, value in {
    "first-seeds": len(first_rotary.arm),
    "rotary-peak": number(first_rotary.mean.max(), 2),
    "rotary-end": number(first_rotary.mean.iloc[-1], 2),
    "none-peak": number(first_none.mean.max(), 2),
    "none-end": number(first_none.mean.iloc[-1], 2),
    "new-growth": number(new_rotary.growth.value, 3),
    "new-interval": f"[{number(new_rotary.growth.low, 3)}, {number(new_rotary.growth.high, 3, '+')}]",
}.items():
    glue(name, value)

# %% [markdown]
# ## How the directionality of decoders changes
#
# The paper predicts that decoders "develop high-norm columns incrementally during training" (Section 4.1, first paragraph).
# In our decoders with learned position embeddings, the directionality score decreases in {glue:text}`n-change-fall` of
# {glue:text}`n-change` settings ({numref}`tab-training-decoder-change`). In {glue:text}`n-change-met` of these settings,
# namely {glue:text}`change-met`, the confidence interval of the decrease excludes zero. In no setting does the
# directionality score increase by more than the variation between seeds.

# %% tags=["remove-input"]
table(
    decoder_change_table(),
    name="tab-training-decoder-change",
    caption="Change of the median directionality score in our decoders with learned position embeddings, from the first to the"
    " last step, with 95 % confidence intervals over seeds. A negative change means that the dominance of columns increases,"
    " as the paper predicts.",
)

# %% [markdown]
# In the authors' decoders, the dominance of columns increases after the first recorded step in all three decoders with 4
# layers, but in only {glue:text}`n-fall-deep` of the three decoders with 12 layers. The directionality scores of the
# decoders with 12 layers change by between {glue:text}`d-move-low` and {glue:text}`d-move-high` after this step. These
# changes are similar in size to the standard deviation of the difference between two randomly initialised models with 12
# layers, which is {glue:text}`gap-sd-12`.
#
# ## Some layers of decoders become skew-symmetric
#
# According to the paper, decoders "learn almost non-symmetric matrices with strong skew-symmetric matrices in the middle
# layers" (Section 4.1, second paragraph). Each of the authors' 12-layer decoders does have at least one layer that is clearly
# skew-symmetric ({numref}`tab-training-skew`). In the most skew-symmetric layer of each decoder, the skew-symmetric part of the
# query-key matrix accounts for {glue:text}`skew-shares` of the squared norm. In a random matrix, the skew-symmetric part accounts
# for half of the squared norm. The paper does not state how large the skew-symmetric part must be to count as strong. We also
# cannot check whether the skew-symmetric layers are the middle layers, because our copy of the scores does not record the order
# of the layers.

# %% tags=["remove-input"]
table(
    released_skew_table(),
    name="tab-training-skew",
    caption="The most skew-symmetric layer of each of the authors' 12-layer decoders at the end of training.",
)

# %% [markdown]
# Our own decoders with learned position embeddings are much smaller than the authors' decoders. Only
# {glue:text}`n-skew-settings` of {glue:text}`n-least-settings` settings, namely {glue:text}`skew-settings`, has at least
# one layer with a clearly negative symmetry score ({numref}`tab-training-least-layer`). In the other settings, even the
# lowest symmetry score of any layer, averaged over seeds, is close to zero or positive.

# %% tags=["remove-input"]
table(
    measure_table(our_decoders(), least_layer, "lowest s of any layer", digits=3),
    name="tab-training-least-layer",
    caption="Lowest symmetry score of any layer in our decoders with learned position embeddings at the end of training,"
    " averaged over seeds, with 95 % confidence intervals.",
)

# %% tags=["remove-cell"]
changes = {setting(arm): case(arm, "", arm.estimate(change), -1) for arm in our_decoders()}
assert not any(found.reversed for found in changes.values())  # "In no setting does the score increase"
course = released_course()
decoders = course[course["part"] == "decoder"].assign(move=lambda rows: rows["end"] - rows["first"])
small, deep = (decoders.loc[decoders["layers"] == depth, "move"] for depth in (4, 12))
assert (small < 0).all()
least = {setting(arm): (arm, arm.estimate(least_layer)) for arm in our_decoders()}
skew = [name for name, (arm, found) in least.items() if found.high < -SPREADS * symmetry_sd(arm.config["d_model"])]
assert len(skew) == 1 and all(found.value > -0.01 for name, (_, found) in least.items() if name not in skew)
for name, value in {
    "n-change": spelled(len(changes)),
    "n-change-fall": spelled(sum(found.estimate.value < 0 for found in changes.values())),
    "n-change-met": spelled(sum(found.met for found in changes.values())),
    "change-met": quoted([name for name, found in changes.items() if found.met]),
    "n-fall-deep": spelled((deep < 0).sum()),
    "d-move-low": number(deep.min(), 2),
    "d-move-high": number(deep.max(), 2, "+"),
    "gap-sd-12": number(random_gap_sd(12), 2),
    "skew-shares": skew_shares(decoders_of_12_layers()),
    "n-least-settings": spelled(len(least)),
    "n-skew-settings": spelled(len(skew)),
    "skew-settings": quoted(skew),
}.items():
    glue(name, value)

# %% [markdown]
# ## Rows first, then columns
#
# In the authors' encoders, the dominance of columns does not simply grow during training. In {glue:text}`n-rows-first` of
# the authors' {glue:text}`n-encoders` encoders, the directionality score is positive at some early step, which means that
# rows dominate. The exception is the {glue:text}`no-rows-first`. In {glue:text}`n-rows-random` of the encoders with a
# positive score, however, the score never exceeds twice the standard deviation of the scores of randomly initialised
# models. From step {glue:text}`columns-from` on, the directionality scores of all encoders are negative.
#
# In all {glue:text}`n-deep` pairs with 12 layers, the directionality score of the encoder decreases from the first recorded step
# to the end of training. The directionality score of the decoder decreases in only {glue:text}`n-grown` of these pairs. As a result,
# the scores of encoder and decoder become more similar in {glue:text}`n-narrowed` pairs.

# %% tags=["remove-cell"]
course = released_course()
encoders, deep = course[course["part"] == "encoder"], course[course["layers"] == 12]
risen = encoders[encoders["last step above 0"] > 0]
never = encoders.drop(risen.index)
moves = deep.assign(move=deep["end"] - deep["first"]).pivot(index="text", columns="part", values="move")
assert (moves["encoder"] < 0).all()
for name, value in {
    "n-rows-first": spelled(len(risen)),
    "n-encoders": spelled(len(encoders)),
    "no-rows-first": ", ".join(f"{m.layers}-layer encoder on {m.text}" for m in never.itertuples()),
    "n-rows-random": spelled((risen["most"] < 2 * risen["layers"].map(random_median_sd)).sum()),
    "columns-from": f"{encoders['below 0 from'].max():,}",
    "n-grown": spelled((moves["decoder"] < 0).sum()),
    "n-deep": spelled(len(moves)),
    "n-narrowed": share_of((moves["encoder"] < moves["decoder"]).sum(), len(moves)),
}.items():
    glue(name, value)


# %% [markdown]
# ## Recorded runs
#
# Our training runs are much smaller than the authors' runs, but we repeated some of them with several seeds. All
# experiments, and the runs that would need a GPU, are listed on the page [Recorded runs](../recorded_runs.md). For
# character-level models, we insert spaces between all characters, as in the authors' code. We trained models with subword
# tokens on the unchanged text. Instead of Red Pajama, which is filtered Common Crawl, we used Common Crawl.
#
# We recorded {glue:text}`n-recorded` runs, which took {glue:text}`n-hours` hours in total. We trained both an encoder and a
# decoder in {glue:text}`n-pairs` settings, and {glue:text}`n-with-interval` of these settings have at least three seeds. The
# hidden size, depth and vocabulary of all our models are much smaller than those of the models in the paper, and our models
# were trained for far fewer steps. Both scores depend on these settings. For example, the standard deviation of the
# directionality score of a randomly initialised model is several times $1/\sqrt{d_\mathrm{model}}$, where $d_\mathrm{model}$
# is the hidden size. In small models, we can therefore detect only large differences in directionality.

# %% tags=["remove-cell"]
every, runs = recorded_runs(data("runs")), recorded()
pairs = pairs_of(runs)
for name, value in {
    "n-recorded": len(every),
    "n-hours": f"{sum(run.about['seconds'] for run in every) / 3600:.1f}",
    "n-pairs": spelled(len(pairs)),
    "n-with-interval": spelled(sum(len(pair) > 2 for pair in pairs)),
}.items():
    glue(name, value)

# %% [markdown]
# The paper states that both scores are zero at initialisation. For the symmetry score, this is true up to the variation between
# [random matrices](two_scores_details.py#random-matrices).


# %%
@claim(
    "Section 4.1",
    "(initialisation of recorded runs)",
    "the symmetry score is close to zero at initialisation",
    Verdict.HOLDS,
    printed="""\"At initialization, the symmetry and directionality score of the matrix $W_{qk}$ at any layer is zero".""",
    place="the first paragraph of Section 4.1",
    remark=r"""For the symmetry score, this is true up to the variation between random matrices. If $n$ is the hidden
    size, the symmetry score of a random matrix is $1/n$ on average, with a standard deviation of about $\sqrt{2}/n$.
    We discuss the directionality score of random matrices in [The two scores](two_scores_details.py#random-matrices).""",
)
def recorded_starts():
    # runs of one seed and size start alike, and count once
    widths = {s: run.config["d_model"] for run in recorded() for s in run.by_layer("symmetry").iloc[0]}
    s, n = np.array(list(widths)), len(widths)
    mean, sd = (np.array([f(d) for d in widths.values()]) for f in (symmetry_mean, symmetry_sd))
    z = (s - mean) / sd
    words = f"$s$ minus its mean for random matrices, in standard deviations for random matrices: mean over {n} layers"
    yield Comparison(words, z.mean(), "=", 0.0, 4 / n**0.5, n**-0.5, "")
    spread = "the same: standard deviation over layers"
    yield Comparison(spread, z.std(ddof=1), "=", 1.0, 4 / (2 * n) ** 0.5, (2 * n) ** -0.5, "")
    words = "largest $|s|$ of any layer, which should be below five standard deviations for random matrices"
    yield compare(words, abs(s).max(), "<", 5 * max(sd), paper="")


show(recorded_starts())

# %% [markdown]
# ## Encoders against decoders
#
# If an encoder and a decoder have the same seed, they are initialised with the same weights. Because decoders learn from
# every position of a sequence, we trained some of them for fewer steps than the encoders. The corresponding rows of
# {numref}`tab-training-contrasts` give the numbers of steps for the encoders and for the decoders. For settings with at
# least three seeds, we give a 95 % confidence interval, which we compute with Student's $t$ from the differences between
# models with the same seed. The last column contains the symmetry score of the authors' encoder minus that of the authors'
# decoder. These models have 12 layers, and each of them was trained only once. We compare the authors' directionality
# scores with ours separately [below](#three-formulas), because the authors used a different formula.

# %% tags=["remove-input"]
table(
    contrast_table(runs),
    name="tab-training-contrasts",
    caption="Final scores of our encoders and decoders (medians over layers, averaged over seeds), and the difference"
    " between the two (encoder minus decoder). We computed $d$ with Def. 3.2 of the paper.",
)

# %% tags=["remove-input"]
over_steps([pair for pair in pairs if len(pair) > 2], "fig-training-recorded")

# %% tags=["remove-cell"]
outcomes = {letter: [] for letter in LETTERS}
for letter, score in LETTERS.items():
    for pair in pairs:
        end = case(pair, letter, pair.difference(score))
        if end.known:
            outcomes[letter].append(end)
            earlier = at_equal_steps(pair, score)
            assert (earlier.known, earlier.met, earlier.reversed) == (end.known, end.met, end.reversed)
assert not any(one.reversed for ends in outcomes.values() for one in ends)
glue("n-known", spelled(len(outcomes["s"])))
for letter, cases in outcomes.items():
    glue(f"{letter}-as-stated", spelled(sum(one.met for one in cases)))

# %% [markdown]
# All these models have learned position embeddings. For {glue:text}`n-known` settings, we can compute a confidence interval.
# In {glue:text}`s-as-stated` of the {glue:text}`n-known` settings, the encoder is more symmetric than the decoder, and the
# confidence interval of the difference excludes zero. In {glue:text}`d-as-stated` of the {glue:text}`n-known` settings, the
# decoder is more directional than the encoder, and the confidence interval of the difference excludes zero. No confidence
# interval lies entirely on the opposite side of zero. In character-level models with rotary position embeddings, however,
# both differences [have the opposite sign](training_scores.py). If we compare encoders and decoders at the last step of the
# shorter run, the conclusions are the same, although the learning rate of the longer run has not yet reached zero at this
# step.
#
# ## Three formulas
#
# The difference in directionality between two models depends on the formula that is used for the score. The formula in Def.
# 3.2 of the paper adds up the norms above a threshold, the formula in the authors' code adds up the excess of these norms
# over the threshold, and the formula behind Table S3 adds up the excess of their logarithms (see
# [](printed_scores_details.py)).

# %% tags=["remove-input"]
table(
    formula_table(runs),
    name="tab-training-formulas",
    caption="Final directionality score of the encoder minus the final directionality score of the decoder, computed"
    " with three formulas. The paper predicts a positive difference. Each of the authors' models was trained only once."
    " According to the audit, their scores were computed with the formula in the authors' code, which we cannot"
    " check without the weights of these models.",
)

# %% [markdown]
# ## Settings in which symmetry decreases again
#
# For every setting, we measure by how much the symmetry score decreases from its peak to the end of training. We
# measure the decrease for each seed from the step at which the mean symmetry score of the other seeds is highest. If a
# setting has only one seed, we measure the decrease from the peak of the score for that seed. In {glue:text}`n-fall` of
# {glue:text}`n-alone` settings with one seed, the symmetry score of the encoders reaches a low peak and then decreases by
# more than {glue:text}`least-fall`. In none of the {glue:text}`n-several` settings with learned position embeddings and at
# least three seeds does the symmetry score decrease by more than the variation between seeds. In
# {glue:text}`n-planned-fall` planned experiments with other types of positional encoding, the decrease is larger than the
# variation between seeds. These experiments are labelled {glue:text}`planned-fall`. Other properties of the weights also
# change in phases: {cite:t}`liu2026` reports that the stable rank of weight matrices decreases during pretraining in a wave
# that moves from early to late layers, and that query and key weights show this dependence on depth, whereas value and
# output weights are compressed uniformly.

# %% tags=["remove-cell"]
rises = climbs(runs)
alone = [climb for climb in rises if not climb.fall.has_interval]
fallen = [climb for climb in alone if climb.fall.value > SETTLED]
planned = [climb_of(arm) for kind in TYPES for arm in planned_of(ENCODER, kind).values()]
fallen_planned = [climb.arm for climb in planned if climb.fall.low > 0]
assert fallen_planned and all(arm.config["positions"] != "learned" for arm in fallen_planned)
assert not any(climb.fall.low > 0 for climb in rises) and max(climb.mean.max() for climb in fallen) < 0.3
for name, value in {
    "n-alone": spelled(len(alone)),
    "n-fall": spelled(len(fallen)),
    "least-fall": f"{SETTLED:g}",
    "n-several": spelled(len(rises) - len(alone)),
    "n-planned-fall": spelled(len(fallen_planned)),
    "planned-fall": quoted(arm.label for arm in fallen_planned),
}.items():
    glue(name, value)

# %% [markdown]
# ## Layer by layer
#
# In this section, the early layers are the first half of the layers, the late layers are the second half, and the middle
# layers are the middle half. The paper considers models with 12 layers. Because our models have fewer layers, we cannot use
# them to decide whether the paper's statements are true.

# %% tags=["remove-input"]
by_layer(pairs[0])


# %% tags=["remove-cell"]
def of_layers(statement: str, on_wikipedia: bool):
    """What our runs show about a statement on layers. None of our models is large enough to decide it."""
    cases = cases_of_layers(recorded(on_wikipedia))[statement]
    every = [one for measured in cases.values() for one in measured]
    large = sum(one.training.reaches(spoken_of()) for one in every)
    yield exact(
        "number of our settings with models that are as large as the paper's models and were trained for as long",
        large,
        0,
        0,
    )
    yield from joined(every, spoken_of())
    ours = doubt(every) or too_few_seeds(on_wikipedia)
    return {"remark": f"{ours} Our copy of the authors' scores does not record the order of the layers."}


LATE = """\"[L]ate layers of encoder-only models are more symmetric and converge faster than early layers when training
bidirectionally.\""""
DIRECTIONAL = """\"When training unidirectionally, both encoder and decoder models show a higher degree of directionality for
late layers, which is remarkably stronger for decoder-only models"."""


# %%
@claim(
    "Figure 3",
    "(c), encoders",
    "late layers of encoders become more symmetric than early layers, and converge faster (Wikipedia)",
    Verdict.UNDECIDED,
    printed=LATE,
    place=SECOND,
)
def encoder_layers_on_wikipedia():
    return (yield from of_layers("encoders", on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), encoders",
    "late layers of encoders become more symmetric than early layers, and converge faster (Red Pajama and Jigsaw)",
    Verdict.UNDECIDED,
    printed=LATE,
    place=SECOND,
)
def encoder_layers_elsewhere():
    return (yield from of_layers("encoders", on_wikipedia=False))


show(encoder_layers_on_wikipedia(), encoder_layers_elsewhere())


# %%
@claim(
    "Figure 3",
    "(c), decoders, middle layers",
    "at the end of training, the middle layers of decoders are skew-symmetric (Wikipedia)",
    Verdict.UNDECIDED,
    printed=STRONGLY,
    place=SECOND,
)
def middle_layers_on_wikipedia():
    return (yield from of_layers("middle", on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), decoders, middle layers",
    "at the end of training, the middle layers of decoders are skew-symmetric (Red Pajama and Jigsaw)",
    Verdict.UNDECIDED,
    printed=STRONGLY,
    place=SECOND,
)
def middle_layers_elsewhere():
    return (yield from of_layers("middle", on_wikipedia=False))


show(middle_layers_on_wikipedia(), middle_layers_elsewhere())


# %%
@claim(
    "Figure 3",
    "(d)",
    "late layers become more directional than early layers, most strongly in decoders (Wikipedia)",
    Verdict.UNDECIDED,
    printed=DIRECTIONAL,
    place=SECOND,
)
def directionality_of_layers_on_wikipedia():
    return (yield from of_layers("directionality", on_wikipedia=True))


@claim(
    "Figure S4",
    "(b), (d)",
    "late layers become more directional than early layers, most strongly in decoders (Red Pajama and Jigsaw)",
    Verdict.UNDECIDED,
    printed=DIRECTIONAL,
    place=SECOND,
)
def directionality_of_layers_elsewhere():
    return (yield from of_layers("directionality", on_wikipedia=False))


show(directionality_of_layers_on_wikipedia(), directionality_of_layers_elsewhere())

# %% [markdown]
# According to the paper, the late layers of both encoders and decoders are more directional than the early layers if the
# models are trained *unidirectionally*. However, encoders are not trained unidirectionally.


# %% tags=["remove-cell"]
def attention_of(model_type, causal: bool, seed: int = 0) -> Tensor:
    """Attention weights of a small model of random weights on random tokens, (layers, batch, heads, N, N)."""
    shape = Shape(layers=2, d_model=32, heads=2, d_ff=64, longest=16, vocab_size=50)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = model_type(bert_config(shape, causal, attention="eager")).eval()
        tokens = torch.randint(5, shape.vocab_size, (4, shape.longest))
        return torch.stack(model.bert(tokens, output_attentions=True).attentions)


# %%
@claim(
    "Section 4.1",
    "(training unidirectionally)",
    "encoders belong to the models that are trained unidirectionally",
    Verdict.MISPRINT,
    printed="""\"When training unidirectionally, both encoder and decoder models show a higher degree of directionality for
    late layers".""",
    place=SECOND,
    holds="""Encoders are trained bidirectionally, because they predict masked tokens (Definition S1.3 and Section S2.3). The models
    shown in Figure 3 (d) are encoders and decoders that were each trained with their own objective.""",
)
def no_encoder_is_trained_unidirectionally():
    attention = attention_of(Encoder, causal=False), attention_of(Decoder, causal=True)
    later = [float(weights.triu(diagonal=1).sum(dim=-1).mean()) for weights in attention]  # rows sum to 1
    words = "share of the attention that goes to later tokens, averaged over the heads of"
    yield compare(f"{words} an encoder", later[0], ">", 0, 0.1, paper="= 0")
    yield exact(f"{words} a decoder", later[1], 0, 0)


show(no_encoder_is_trained_unidirectionally())

# %% [markdown]
# ## Two models trained while this page is built
#
# Whenever this page is built, an encoder and a decoder are trained from the same initial weights. Both models have
# {glue:text}`layers` layers and a hidden size of {glue:text}`d-model`. By default, they are character-level models that are
# trained on the documentation of Python and its packages. We tried several settings and chose one in which the scores change
# within a minute.

# %% tags=["hide-input"]
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

# %% tags=["remove-input"]
over_steps([Contrast(Arm((encoder,)), Arm((decoder,)), "here and now")], "fig-training-curves")

# %% tags=["remove-cell"]
glue("layers", layers)
glue("d-model", d_model)
for part, run in (("encoder", encoder), ("decoder", decoder)):
    glue(f"{part}-s-end", run.last("symmetry"), ".2f")

# %% [markdown]
# At the end of training, the symmetry score is {glue:text}`encoder-s-end` for the encoder and {glue:text}`decoder-s-end` for
# the decoder. In runs of this kind, the symmetry score of the encoder rises when its loss leaves a plateau. With this hidden
# size, the grey band of the directionality score is so wide that we cannot draw a conclusion. In any case, two small models
# that were trained only once are an illustration and not evidence.
