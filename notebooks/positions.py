# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Types of positional encoding
#
# Small encoders become symmetric with learned position embeddings, but hardly at all with rotary positions, as we show on
# the page [Why?](why.py). On this page, we describe the experiments behind this finding: how we planned them, how we
# trained the models, the outcome of every plan, and what we observe in released models.
#
# A model with *learned position embeddings* has a table with one row for each position. The model adds the row for the
# position of a token to the embedding of that token. Its query-key matrix $W_{qk} = W_q W_k^\top$ therefore also compares
# positions. A model with *rotary positions* rotates queries and keys by an angle that depends on the position.

# %% tags=["remove-cell"]
from dataclasses import replace

import msgspec
import numpy as np
import re
from IPython.display import Markdown
from scipy import stats

from chapters import positions
from chapters.heads_or_sum.evidence import MIRRORS, evidence, families, mirrors
from chapters.positions import ENOUGH, Outcome, compared, told
from chapters.positions.crossing import OF_CHARACTERS
from chapters.positions.pictures import pictured
from chapters.pretrained_survey.figures import symmetry_by_positions
from livingpaper.display.page import glue, show, table
from livingpaper.claims.claim import Verdict, claim, compare
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, Contrast, all_arms
from attngeo.experiments.runs.estimates import over_seeds
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, spelled
from livingpaper.released_results import absolute_against_others, families_by_positions, released_results

experiments = positions.all_recorded()
first = positions.recorded()
s = {name: arm.mean(positions.S) for name, arm in first.arms.items()}
assert s["clm-rotary"] > s["mlm-rotary"]
for kind in ("rotary", "bias", "none"):
    glue(f"s-{kind}", number(s[f"mlm-{kind}"], 2))
    glue(f"s-{kind}-decoder", number(s[f"clm-{kind}"], 2))
glue("loss-none", first.arms["mlm-none"].mean("held_out_loss"), ".1f")

# runs of the first setting in every experiment
same = compared.same_setting(first.arms["mlm-learned"])
later, processors = compared.first_against_later(same), compared.by_processor(same)
assert later.p < 0.002 and np.mean(later.one) > np.mean(later.other)
assert processors.p < 0.05 and np.mean(later.one) > np.mean(processors.one) > np.mean(processors.other)
assert max(later.other) > min(later.one)  # single seeds of both groups overlap
for name, values in (
    ("first", later.one),
    ("later", later.other),
    ("alike", processors.one),
    ("unlike", processors.other),
):
    glue(f"{name}-mean", np.mean(values), ".2f")
    glue(f"{name}-seeds", len(values))
glue("later-p", later.p, ".4f")
glue("processor-p", processors.p, ".2f")

# directionality, which no plan judges
of_characters = [e for e in experiments.values() if e.plan.name in OF_CHARACTERS]
with_table = [compared.directionality(e, "learned") for e in of_characters]
with_rotary = [compared.directionality(e, "rotary") for e in of_characters]
assert all(e.low > 0 for e in with_table) and all(e.value < 0 for e in with_rotary)
glue("d-table", joined_by_and([as_score(e.value) for e in with_table]))
glue("d-rotary", joined_by_and([as_score(e.value) for e in with_rotary]))
glue("d-plans", spelled(len(of_characters)))
glue("d-rotary-told", spelled(sum(e.high < 0 for e in with_rotary)))

# equal loss
at_table_loss = {title: compared.at_equal_loss(e, "mlm-rotary", "mlm-learned") for title, e in experiments.items()}
assert all(compared.at_equal_loss(e, "mlm-learned", "mlm-rotary").isna().all() for e in experiments.values())
glue("equal-loss-most", number(max(values.max() for values in at_table_loss.values()), 2))

pieces = experiments["subword tokens, short"]
longer = experiments["subword tokens"]
assert pieces.outcome is Outcome.UNDECIDED
assert longer.outcome is Outcome.IN_PART and longer.outside[0] < longer.outside[1] / 2
for name, arm in (("table", "mlm-learned"), ("rotary", "mlm-rotary")):
    glue(f"pieces-{name}", pieces.arms[arm].mean("held_out_loss"), ".1f")
    glue(f"longer-{name}", longer.arms[arm].mean("held_out_loss"), ".1f")
glue("longer-times", longer.arms["mlm-learned"].config["steps"] // pieces.arms["mlm-learned"].config["steps"])
glue("longer-outside", number(longer.outside[0], 2))
split = longer.split[longer.split["run"].str.startswith("mlm-learned-")]
shares, dimensions = split.groupby("layer")["share"], split["dimension"]
assert shares.max()[0] < 0.05 < 0.2 < shares.min()[1:].min()  # hardly in the first layer, much in the others
for name, share in (("least", shares.min()[0]), ("most", shares.max()[0]), ("others", shares.min()[1:].min())):
    glue(f"longer-share-{name}", share, ".0%")
glue("longer-dimensions", " or ".join(str(k) for k in sorted(set(dimensions))))

plan_of_values = read_experiment(data("runs", "positions_values"))
frozen = all_arms(plan_of_values)
losses = [loss for arm in frozen.values() for loss in arm.values("held_out_loss")]
gap = Contrast(frozen["frozen-symmetric"], frozen["frozen-skew"]).difference(positions.S)
assert -0.2 <= gap.low and gap.high <= 0.2  # by its plan: nothing to do with it
assert min(losses) > positions.PLATEAU_OF_CHARACTERS
pilots = msgspec.yaml.decode((plan_of_values.folder / "experiment.yml").read_text("utf-8"))["what was looked at before"]
in_pilots = [float(score) for score in re.findall(r"0\.\d+", pilots)]
assert len(in_pilots) == len(frozen) and min(in_pilots) > 0.4
glue("frozen-runs", len(losses))
glue("frozen-loss", min(losses), ".1f")
glue("frozen-most", max(arm.values(positions.S).abs().max() for arm in frozen.values()), ".2f")
glue("frozen-pilots", f"{min(in_pilots):.2f} to {max(in_pilots):.2f}")
glue("runs-layers", first.arms["mlm-learned"].config["layers"])
glue("runs-d_model", first.arms["mlm-learned"].config["d_model"])
glue("runs-enough", ENOUGH)
glue("undated", spelled(len(positions.UNDATED)).capitalize())

# %% tags=["remove-input"]
Markdown(
    f"**{told.headline(experiments)}** {told.outcomes(experiments)} In released models, position embeddings are not the only"
    " reason for symmetry. For example, BERT is also symmetric outside the directions of its position embeddings."
)

# %% [markdown]
# ## What we changed
#
# In our first setting, we train character-level models with {glue:text}`runs-layers` layers of width
# {glue:text}`runs-d_model`. Encoders predict hidden characters, and decoders predict the next character. We vary the type of
# positional encoding and the objective, and keep all other settings fixed. In other experiments, we train models on subword
# tokens or train wider models.
#
# Why would learned position embeddings make a difference? An encoder that predicts a hidden token attends to the positions
# on both sides of this token. On average over texts, position $j$ then helps to predict position $i$ as much as $i$ helps to
# predict $j$. The part of the update of $W_{qk}$ that compares positions is therefore symmetric. We [prove
# this](positions_theory.py) under certain conditions for a single layer at the start of training. Whether the same happens
# in trained models is [open](#open-questions).

# %% tags=["remove-input"]
positions.symmetry_by_arm(experiments, compared.unlike(experiments))

# %% tags=["remove-input"]
table(
    compared.made_table(experiments),
    name="tab-positions-made",
    caption="Precision, processor and version of the code (commit) for the runs in the figure. Runs in the same row may differ in "
    "seed, positional encoding and objective.",
    folded="How the models were trained",
)

# %% [markdown]
# With rotary positions, the order of encoders and decoders is reversed. In our first setting, decoders with rotary positions
# score {glue:text}`s-rotary-decoder`, whereas encoders with rotary positions score {glue:text}`s-rotary`. In these models,
# the type of positional encoding therefore determines whether encoders or decoders are more symmetric. The results for the
# [directionality score $d$](two_scores_details.py) point in the same direction. We had not planned this second comparison.
# In the {glue:text}`d-plans` character-level experiments, the differences in $d$ (encoder minus decoder) are
# {glue:text}`d-table` with learned position embeddings. All of them have the sign that the paper reports. With rotary
# positions, the differences are {glue:text}`d-rotary`, but only {glue:text}`d-rotary-told` of the {glue:text}`d-plans`
# confidence intervals exclude 0.
#
# Press *Play* to watch the training of four such models from the same initial weights, and switch between learned position
# embeddings and rotary positions. With learned position embeddings, the encoder's $W_{qk}$ becomes symmetric about its
# diagonal, and so does the part of $W_{qk}$ that compares positions. The pictures show the first layer of a single run of
# each model, whereas {numref}`fig-positions-arms` shows medians over layers.

# %% tags=["remove-input"]
pictured()

# %% [markdown]
# ## What we planned, and what we found
#
# We wrote each plan after a few pilot runs and before the runs that we evaluate. Each plan has two conditions. First,
# the symmetry score $s$ of encoders with learned position embeddings must exceed that of encoders with rotary positions
# by more than {glue:text}`runs-enough`. Second, the difference between encoders and decoders must be larger with
# learned position embeddings than with rotary positions. Both conditions apply to the lower ends of 95 % confidence
# intervals over seeds, which we compute below from Student's $t$ distribution. The label *less than its plan asked*
# means that the first interval lies above 0 but at least one of the two conditions is not met. The label *undecided*
# means that the encoders with learned position embeddings did not learn.


# %%
SYMMETRY = "symmetry"  # of W_qk, summed over heads, after the last step: median over layers


def as_planned(name: str):
    """What the plan of an experiment compares; the verdict is the outcome by the plan."""
    experiment = positions.recorded(name)
    if experiment.outcome is Outcome.UNDECIDED:
        plateau = positions.PLATEAU.get(name, positions.PLATEAU_OF_CHARACTERS)
        least = experiment.arms["mlm-learned"].values(LOSS).min()
        words = "encoders with learned position embeddings: lowest held-out loss, compared with the plateau (nats)"
        yield compare(words, least, ">", plateau)
        return {"verdict": Verdict.UNDECIDED, "remark": told.remark(experiment)}
    s = {name: arm.values(SYMMETRY) for name, arm in experiment.arms.items()}  # by seed
    encoders = s["mlm-learned"] - s["mlm-rotary"]
    decoders = s["clm-learned"] - s["clm-rotary"]
    first = over_seeds(encoders).low
    interaction = over_seeds(encoders - decoders).low
    words = "encoders, learned minus rotary positions: lower end of the interval"
    words_of_interaction = "this difference minus the corresponding difference for decoders: lower end of the interval"
    if experiment.outcome is Outcome.IN_PART:
        yield replace(compare(words, first, ">", 0), asked=ENOUGH)
        yield replace(compare(words_of_interaction, interaction, ">", 0), asked=0.0)
    else:
        yield compare(words, first, ">", ENOUGH)
        yield compare(words_of_interaction, interaction, ">", 0)
    share = experiment.outside[0] / experiment.outside[1]
    words = "encoders with learned position embeddings: $s$ outside position space, divided by $s$ of the layer"
    yield compare(words, share, "<", 0.5)
    return {"verdict": experiment.outcome.verdict, "remark": told.remark(experiment)}


@claim(
    "Section 4.1",
    "(positions, characters)",
    "learned position embeddings make encoders symmetric (character-level, first plan)",
    ours=True,
)
def first_plan():
    return (yield from as_planned("positions_characters"))


show(first_plan(), unfolded=True)


# %%
@claim(
    "Section 4.1",
    "(positions, new seeds)",
    "learned position embeddings make encoders symmetric (character-level, new seeds)",
    ours=True,
)
def plan_with_new_seeds():
    return (yield from as_planned("positions_characters_new_seeds"))


show(plan_with_new_seeds())


# %%
@claim(
    "Section 4.1",
    "(positions, third time)",
    "learned position embeddings make encoders symmetric (character-level, third plan)",
    ours=True,
)
def third_plan():
    return (yield from as_planned("positions_characters_third"))


show(third_plan())


# %%
@claim(
    "Section 4.1",
    "(positions, word pieces)",
    "learned position embeddings make encoders symmetric (subword tokens)",
    ours=True,
)
def plan_of_word_pieces():
    return (yield from as_planned("positions_pieces"))


show(plan_of_word_pieces())


# %%
@claim(
    "Section 4.1",
    "(positions, longer)",
    "learned position embeddings make encoders symmetric (subword tokens, longer runs)",
    ours=True,
)
def plan_of_longer_runs():
    return (yield from as_planned("positions_pieces_longer"))


show(plan_of_longer_runs())


# %%
@claim(
    "Section 4.1",
    "(positions, width 256)",
    "learned position embeddings make encoders symmetric (dimensions of the paper's four-layer model)",
    ours=True,
)
def plan_of_the_papers_shape():
    return (yield from as_planned("positions_mini"))


show(plan_of_the_papers_shape())

# %% tags=["remove-input"]
table(
    positions.plan_table(experiments),
    name="tab-positions-plan",
    caption="The two differences to which the conditions of a plan apply, with 95 % confidence intervals over seeds (from "
    "Student's $t$ distribution), and the outcome in the words of the plan.",
    folded="The outcomes of all plans in one table",
)

# %% tags=["remove-input"]
Markdown(told.of_the_papers_shape())

# %% [markdown]
# **Subword tokens.** Our first runs on subword tokens were too short to be conclusive. The encoders with learned position
# embeddings learned almost nothing. Their held-out loss remained at {glue:text}`pieces-table` nats, which is the loss of a
# model that has learned little more than the frequency of each token. With {glue:text}`longer-times` times as many training
# steps, the encoders with learned position embeddings learn and become symmetric, but the effect is smaller than our plan
# required. The *position space* of these encoders, which is spanned by the [leading directions of the position
# embeddings](#in-trained-models), has only {glue:text}`longer-dimensions` dimensions. Outside position space, their symmetry
# score is {glue:text}`longer-outside`. Position space contains between {glue:text}`longer-share-least` and
# {glue:text}`longer-share-most` of the squared norm of $W_{qk}$ in the first layer, and at least
# {glue:text}`longer-share-others` in each of the other layers. In all layers except the first, the symmetry therefore comes
# from positions.
#
# **Encoders do not need symmetry to reach a low loss.** On subword tokens, encoders with rotary positions reach a loss of
# {glue:text}`longer-rotary` nats, whereas encoders with learned position embeddings reach only {glue:text}`longer-table`
# nats. Our planned comparisons are therefore between models that have learned different amounts. We had also planned a
# comparison at equal loss, in which an encoder with learned position embeddings would be scored when it reaches the final
# loss of the encoder with rotary positions. However, no encoder with learned position embeddings ever reaches that loss. The
# reverse comparison is possible but was not planned ({numref}`tab-positions-equal-loss`). When encoders with rotary
# positions reach the final loss of encoders with learned position embeddings, their $s$ is at most
# {glue:text}`equal-loss-most`. Hence, encoders with rotary positions would also be less symmetric if their training had
# stopped at the same loss.

# %% tags=["remove-input"]
table(
    compared.equal_loss_table(experiments),
    name="tab-positions-equal-loss",
    caption="Final held-out loss of encoders in nats, and the mean $s$ of encoders with each type of positional encoding when they "
    "first reach the final loss of the encoder with the other type and the same seed.",
    formats={"loss, learned": ".2f", "loss, rotary": ".2f"},
    folded="Symmetry at equal loss",
)

# %% tags=["remove-input"]
table(
    compared.directionality_table(experiments),
    name="tab-positions-directions",
    caption="Directionality score after training, encoder minus decoder, with 95 % confidence intervals over seeds (from "
    "Student's $t$ distribution). This comparison was not planned.",
    folded="Directionality of encoders and decoders",
)

# %% tags=["remove-input"]
measures = positions.second_measures(first)
table(
    measures,
    name="tab-positions-second",
    caption="Additional measures for the first plan, to which its conditions do not refer (medians over layers or heads, means over "
    "seeds). For models with learned position embeddings, the table also lists the share of the squared norm of $W_{qk}$ in "
    "position space and the scores $s$ inside and outside position space.",
    formats={c: ".2f" for c in measures.columns[2:]},
    folded="Directionality, individual heads, loss and position space",
)

# %% [markdown]
# ## Without learned position embeddings, $W_{qk}$ alone does not score positions
#
# In the first experiment, we also trained encoders with a learned bias for each offset, and encoders without any
# positional encoding. Neither type of encoder becomes symmetric. Encoders with a bias have a score of $s$ =
# {glue:text}`s-bias`, and encoders without positional encoding have a score of $s$ = {glue:text}`s-none`. Moreover,
# encoders without positional encoding learn little, with a final loss of {glue:text}`loss-none` nats. Decoders score
# {glue:text}`s-bias-decoder` with a bias and {glue:text}`s-none-decoder` without positional encoding.
#
# This does not mean that the *attention* of these encoders is less symmetric. In a layer with rotary positions, the
# attention scores are not computed with $W_{qk}$ alone. By {eq}`eq-rotary`, they are computed with $W_q R_{j-i}
# W_k^\top$, which is a different matrix for each offset $j - i$. A layer with a bias adds to each attention score a
# number that depends on the offset. Such layers can treat left and right alike even if $W_{qk}$ is not symmetric,
# because the rotation or the bias also affects the attention scores, and $s$ accounts for neither of them.
# {prf:ref}`prop-rotary` states the condition under which the scores of all tokens are symmetric. Encoders with rotary
# positions or a bias may therefore also have the symmetry that learned position embeddings produce in $W_{qk}$, only
# outside $W_{qk}$. We report measurements that test this possibility on the page [Why are encoders
# symmetric?](why.py#the-strongest-objection-attention-between-positions-stays-symmetric).


# %%
@claim(
    "Section 4.1",
    "(no table)",
    "the $W_{qk}$ of these small encoders does not become symmetric without learned position embeddings",
    Verdict.HOLDS,
    remark="""Our finding is a statement about $W_{qk}$. In a layer with rotary positions or a bias, attention scores
    are not computed with $W_{qk}$ alone. We trained the models with a bias and those without positional encoding later
    than the models with learned position embeddings. Although our plan required a single version of the code, most of
    them used other versions and a different precision.""",
    ours=True,
)
def without_a_table():
    first = positions.recorded()
    with_table = first.arms["mlm-learned"].values(SYMMETRY)
    others = {"rotary": "rotary positions", "bias": "a bias", "none": "no positional encoding"}
    for kind, words in others.items():
        s = first.arms[f"mlm-{kind}"].values(SYMMETRY)
        difference = f"encoders, learned position embeddings minus {words}: lower end of the interval"
        yield compare(difference, over_seeds(with_table - s).low, ">", 0)
        yield compare(f"encoders with {words}: largest $s$ of {len(s)} seeds", s.max(), "<", with_table.min() / 4)


show(without_a_table())

# %% [markdown]
# :::{admonition} How sure is this?
# - The finding is about $W_{qk}$. With rotary positions, the attention scores may be just as symmetric because of the
#   rotation, which $s$ does not take into account.
# - The models are small. Rotary positions may change not only symmetry but also, for example, how fast a model learns.
#   However, the difference in $s$ remains at equal loss.
# - The {glue:text}`first-seeds` encoders with learned position embeddings in the first planned experiment have a higher $s$
#   (mean {glue:text}`first-mean`) than the {glue:text}`later-seeds` encoders with the same settings in later planned
#   experiments (mean {glue:text}`later-mean`, p = {glue:text}`later-p`). The two groups are therefore not samples from the
#   same population. The type of processor explains part of this difference. In addition to the runs of the first plan, we
#   trained encoders with the same settings, using {glue:text}`alike-seeds` seeds on the type of processor that we used in
#   that plan and {glue:text}`unlike-seeds` seeds on another type. The mean $s$ is {glue:text}`alike-mean` on the first type
#   and {glue:text}`unlike-mean` on the second type. We had not planned to compare these means (p =
#   {glue:text}`processor-p`). The rest of the difference is unexplained, and the code of the first plan is lost. We
#   therefore report our result as the range of the values that we found in the different experiments.
# - {glue:text}`undated` of the plans appear in the same commit as their runs, because the earlier history of the repository
#   was lost. These are the plans for the first character-level experiment, its repetition with new seeds, the first
#   experiment with subword tokens and the experiment with frozen value matrices. Readers cannot verify that we wrote these
#   plans before the runs. The third character-level plan and the plan for the longer runs on subword tokens were committed
#   before the first of their runs, and each of them specifies three seeds.
# :::

# %% tags=["remove-input"]
table(
    compared.same_setting_table(same),
    name="tab-positions-same-setting",
    caption="All recorded encoders with learned position embeddings and the settings of the first experiment: mean $s$ after training, "
    "precision, processor and version of the code. We use experiments with one seed only as illustrations.",
    formats={"mean s": ".2f"},
    folded="Encoders with learned position embeddings and the settings of the first experiment",
)

# %% [markdown]
# ## In trained models
#
# We subtract the mean from the position embeddings of a released model and compute their principal directions. The *position
# space* of the model is the space spanned by the smallest number of leading directions that contain 90 % of the variance.
# Let $P$ be the projector onto this space. Then $PMP$ is the part of $M = W_{qk}$ inside position space, and $(1 - P) M (1 -
# P)$ is the part outside position space.

# %% tags=["remove-cell"]
rows = positions.splits()
layers = {model: own.set_index("layer") for model, own in rows.groupby("model")}
bert, gpt2, whisper = (layers[name] for name in ("BERT base radiology", "GPT-2", "Whisper base"))
glue("bert-least", bert["outside"].min(), ".2f")
glue("bert-most", bert["outside"].max(), ".2f")
glue("bert-layer-least", number(bert["symmetry"].min(), 2))
glue("bert-layer-most", bert["symmetry"].max(), ".2f")
skew = bert.loc[bert["inside"] < 0].iloc[0]
glue("skew-layer", int(skew.name) + 1)
glue("skew-share", skew["share"], ".0%")
glue("skew-inside", number(skew["inside"], 2))
glue("skew-outside", skew["outside"], ".2f")
glue("gpt2-inside", number(gpt2.loc[0, "inside"], 2))
glue("gpt2-outside", gpt2.loc[0, "outside"], ".2f")
glue("gpt2-later", gpt2.loc[1:, "share"].max(), ".1%")
over = whisper["share"] / whisper["share_at_random"]
glue("whisper-near", int((over < 1.2).sum()))
glue("whisper-layers", len(whisper))
for name, model in (("deit", "deit-tiny-patch16-224"), ("vit", "ViT base retinopathy")):
    glue(f"{name}-outside", layers[model]["outside"].median(), ".2f")
    glue(f"{name}-layer", layers[model]["symmetry"].median(), ".2f")

# %% tags=["remove-input"]
table(
    positions.splits_table(rows),
    name="tab-positions-splits",
    caption="Released models (medians over layers): the share of the squared norm of $W_{qk}$ inside position space, the share inside a "
    "random space of the same dimension, and $s$ inside position space, outside position space and for the whole layer. The "
    "position embeddings of Whisper follow a formula, and those of the other models are learned. If the share is small, as in "
    "GPT-2, $s$ inside position space is not informative about the layer.",
    formats={"s inside": ".2f", "s outside": ".2f", "s": ".2f"},
)

# %% [markdown]
# **BERT.** We scored `bert-base-uncased` after fine-tuning on radiology reports. The position embeddings of this model
# were learned on Wikipedia and books. The scores of its layers range from {glue:text}`bert-layer-least` to
# {glue:text}`bert-layer-most`. Outside position space, however, all layers score between {glue:text}`bert-least` and
# {glue:text}`bert-most`. The lowest score belongs to layer {glue:text}`skew-layer`, whose part inside position space is
# skew-symmetric ($s$ = {glue:text}`skew-inside`) and contains {glue:text}`skew-share` of the squared norm of the layer.
# Outside position space, the score of this layer ({glue:text}`skew-outside`) is similar to the scores of the other
# layers.
#
# **GPT-2.** The first layer of GPT-2 is also skew-symmetric inside position space ($s$ = {glue:text}`gpt2-inside`), but not
# outside ($s$ = {glue:text}`gpt2-outside`). In each later layer, position space contains at most {glue:text}`gpt2-later` of
# the squared norm.
#
# **Audio and images.** In {glue:text}`whisper-near` of the {glue:text}`whisper-layers` layers of Whisper's encoder, position
# space contains less than 1.2 times the share of the squared norm that is expected in a random space of the same dimension.
# In the vision models DeiT and ViT, the matrices remain symmetric outside position space. For DeiT, the median score over
# layers is {glue:text}`deit-outside` outside position space and {glue:text}`deit-layer` for the whole layer. For ViT, these
# scores are {glue:text}`vit-outside` and {glue:text}`vit-layer`.

# %% tags=["remove-cell"]
at = bert["inside"] < 0
assert list(bert.index[at]) == [2]  # layer 3, counted from 1: the one whose position part is skew
assert bert["symmetry"].idxmin() == 2 and bert.loc[2, "symmetry"] < 0 < bert["outside"].min()
assert bert["outside"].agg(np.ptp) < bert["symmetry"].agg(np.ptp) / 5  # the layers differ by their position parts
assert bert["inside"].median() > bert["outside"].median()
assert gpt2.loc[0, "inside"] < 0 < gpt2.loc[0, "outside"] and gpt2.loc[1:, "share"].max() < 0.01
assert (over < 1.2).sum() > len(whisper) / 2
for model in ("deit-tiny-patch16-224", "ViT base retinopathy"):
    assert layers[model]["outside"].median() > 0.75 * layers[model]["symmetry"].median()

# %% [markdown]
# Such a split shows where the symmetry is located, but not what caused it. The directions of position space may also encode
# information about tokens. We compute position space from the position embeddings at the input, whereas higher layers may
# encode positions in other directions. Moreover, all these models have position embeddings, and
# for none of them do we have a counterpart that differs only in its positional encoding.
#
# ## Released scores by type of positional encoding

# %% tags=["remove-cell"]
results = released_results()
told = families_by_positions(results).set_index(["family", "attention"])
for part, attention in (("encoders", "bidirectional"), ("decoders", "causal")):
    difference, p, dealings = absolute_against_others(told.reset_index(), attention)
    glue(f"released-{part}", as_score(difference))
    glue(f"released-{part}-p", p, ".2f")
    if part == "encoders":
        assert difference > 0 and np.isclose(p, 1 / dealings)  # no dealing gives more: "as small as it can be"
    else:
        assert p > 0.05
t5, modern = (told.loc[(family, "bidirectional")] for family in ("T5", "ModernBERT"))
assert not modern["counted"] and not modern["absolute"] and not t5["absolute"]
assert modern["s"] > 0.1 and t5["s"] > 0.1
glue("t5", t5["s"], ".2f")
glue("modernbert", modern["s"], ".2f")

# %% tags=["remove-input"]
symmetry_by_positions(results)

# %% [markdown]
# In the scores that the paper's authors released, families of encoders with absolute position embeddings have higher values
# of $s$ than the other families of encoders (difference {glue:text}`released-encoders`, p =
# {glue:text}`released-encoders-p`). With so few families, this is the smallest possible p value. For decoders, we found no
# significant difference (p = {glue:text}`released-decoders-p`). The test is exact, but it is exploratory, because we had
# looked at the medians before we specified the test.
#
# Two families show that positional encoding is not the only reason for symmetry. T5 encodes positions by a bias outside
# $W_{qk}$, and the median score of its encoders is {glue:text}`t5`. ModernBERT has rotary positions and scores {glue:text}`modernbert`.
# We excluded ModernBERT from the test, because its matrices were extracted with a known error.

# %% tags=["remove-cell"]
pairs = families(mirrors(evidence().pairs), MIRRORS).query("attention == 'bidirectional'")
share = (pairs["from_mirrors"] / pairs["gain"]).median()
signs_flipped = {"permutation_type": "samples", "n_resamples": np.inf}  # all signs are as likely as those observed
p_nearer = stats.permutation_test((pairs["nearer"],), np.mean, **signs_flipped).pvalue
assert 0.4 < share < 0.65 and p_nearer > 0.05  # "about half", and no excess
glue("mirror-share", share, ".0%")
glue("mirror-p", p_nearer, ".2f")

# %% [markdown]
# ## Open questions
#
# - **Are there pairs of heads that mirror each other, where one head attends to the left and the other to the right?** For
#   the median encoder family, {glue:text}`mirror-share` of the increase in $s$ that results from [summing over
#   heads](heads_or_sum.py) comes from pairs of heads in which one head is close to the transpose of the other. However,
#   these pairs were selected because they increase $s$. Over all pairs of heads, we found no significant tendency of heads
#   to mirror each other (p = {glue:text}`mirror-p`).
# - **Why are BERT, DeiT and ViT also symmetric outside position space,** and why are the encoders of T5 symmetric without
#   position embeddings?
# - **Why is the position part of $W_{qk}$ symmetric in most layers of encoders but skew-symmetric in a few?** [Our
#   theorems on training](positions_theory.py) apply only if training starts from $W_{qk} = 0$. In one layer of BERT, [two heads
#   that attend to the next token](why_plans.py#heads-are-nearly-symmetric-on-slow-waves) cause the deviation. Our [intervention on the read-out of
#   a model](positions_theory.py#a-read-out-from-one-side) was inconclusive, because the theorem predicts almost the same symmetry with
#   and without the intervention.
# - **Does symmetry of the value matrices matter?** In a planned experiment, we froze the value and output matrices. The loss
#   of all {glue:text}`frozen-runs` encoders remained on the plateau ({glue:text}`frozen-loss` nats or more), and their
#   symmetry scores $s$ are at most {glue:text}`frozen-most`. By the criteria of the plan, the symmetry of the value matrices
#   does not matter, but we draw no conclusions from models that have learned so little. In the pilot runs listed in the
#   plan, which had frozen value matrices and the same dimensions, the encoders had scores of {glue:text}`frozen-pilots`. We
#   do not know why the planned runs gave such different scores, because neither the code nor the length of the pilot runs
#   was recorded.
# - **Do larger models and longer training lead to the same results?**
#
# Several of these questions have been studied without reference to $W_{qk}$. The contribution of position embeddings to
# attention is close to a function of the offset {cite}`wennberg2021`, and models perform better if positions and words are
# treated separately {cite}`ke2021`. Locality and symmetry are common properties of the positional encodings of BERT-style
# models {cite}`chen2023`. {cite:t}`wang2021` measured the symmetry of positional encodings in BERT and found that symmetry
# slightly decreased performance, whereas {cite:t}`chen2023` report that symmetry is closely correlated with performance.
# Making attention itself symmetric was reported to halve the number of training steps that BERT-like models need
# {cite}`courtois2024`. We have not tested this. As far as we know, no earlier work measures how the symmetry of $W_{qk}$
# depends on the type of positional encoding.
#
# ## What it means for you
#
# - Compare the symmetry scores of two models only if both encode positions in the same way, because in our experiments a
#   different positional encoding alone changed $s$.
# - Before you interpret a score, compute it separately inside and outside position space. The command
#   `attngeo score MODEL --positions` prints both scores.
# - Before you call a layer asymmetric, check its score outside position space. For example, layer {glue:text}`skew-layer` of
#   BERT is skew-symmetric only inside position space.
