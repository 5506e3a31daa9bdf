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
# If the paper's theorems describe what happens during training, we should be able to watch their predictions come true step
# by step. The query-key matrices of encoders should become symmetric, and the query-key matrices of decoders should become
# directional {cite}`saponati2025` (Section 4.1). The weights alone would then reveal how a model was trained. An *encoder*
# is a language model that learns to fill in hidden tokens from the text on both sides, and a *decoder* is a language model
# that predicts tokens from the text on their left.
#
# **The prediction about symmetry is confirmed: in {glue:text}`s-holds` pairs of models whose scores the authors released, the
# encoder has the higher symmetry score at the end of training** {glue:md}`solid:myst`. **The prediction about directionality is
# undecided: the decoder is the more directional model in only {glue:text}`d-holds` pairs, and columns with large norms, which
# the paper predicts for decoders, also appear in every encoder** {glue:md}`not-shown:myst`. We also trained small models. In
# our character-level models, both differences between encoders and decoders depend on the type of positional encoding. With
# learned position embeddings, which the paper's models use, both differences have the sign that the paper predicts. With
# rotary position embeddings, both differences have the opposite sign, although the reversal in directionality is larger than
# the variation between seeds in only {glue:text}`d-rotary-reversed` of {glue:text}`d-rotary-characters` experiments.

# %% tags=["remove-cell"]
from chapters.training_scores.planned import EXPERIMENTS, difference_table, planned_of, planned_pairs
from chapters.training_scores import (
    ENCODER,
    SCATTER,
    SPREADS,
    beside,
    case,
    change,
    climb_of,
    counted,
    decoders_of_12_layers,
    doubt,
    encoder_minus_decoder,
    least_layer,
    pairs_of,
    random_gap_sd,
    recorded,
    released_course,
    released_ends,
    released_gaps,
    released_over_steps,
    released_pairs,
    skew_shares,
    spoken_of,
)
from chapters.training_scores.tables import (
    decoder_change_table,
    gap_outcome,
    growth_of_ours,
    growth_table,
    LARGER,
    measure_table,
    our_decoders,
    released_gap_table,
    released_growth,
    released_skew_table,
)
from attngeo.bilinear.random_matrices import symmetry_sd
from livingpaper.claims.claim import Verdict, claim
from livingpaper.claims.seed_intervals import Training
from livingpaper.display.page import glue, show, table
from livingpaper.display.strength import strength
from attngeo.experiments.runs.numbers_in_words import (
    as_percent,
    as_score,
    joined_by_and,
    number,
    share_of,
    with_interval,
)

SECOND = "Section 4.1, second paragraph"

# %% tags=["remove-input"]
released_over_steps()

# %% [markdown]
# ## What we compare
#
# The *symmetry score* $s$ of a matrix is 1 if the matrix is symmetric, $-1$ if it is skew-symmetric, and close to 0 if its
# entries are random. The *directionality score* $d$ is negative if a few columns of the matrix have much larger norms than
# the other columns, and positive if a few rows have much larger norms than the other rows. We say that *columns dominate* if
# $d$ is negative and that *rows dominate* if $d$ is positive. A model is more directional, in the paper's sense, if its
# directionality score is more negative. The chapter [Two scores](two_scores_details.py) explains both scores. For each model, we
# report the median of each score over the layers.
#
# **The authors' models.** The authors released the scores of {glue:text}`n-released` pairs of models. The two models of a
# pair have the same depth (4 or 12 layers) and were trained on the same dataset (Wikipedia, Red Pajama or Jigsaw), one as an
# encoder and the other as a decoder. The paper discusses only the pairs with 12 layers. According to [an
# audit](../notation.md#the-audit) of the authors' code, the authors' decoders were not trained to predict the next token at
# every position. Instead, they were trained to predict [only the masked tokens](training_scores_details.py#the-models) from
# the text to the left of each masked token. According to the same audit, each token in the authors' versions of Wikipedia and
# Red Pajama is a single character.
#
# **Our models.** We trained {glue:text}`n-runs` small models with learned position embeddings, and we repeated some of the
# [settings](training_scores_details.py#recorded-runs) with several seeds. Our decoders predict every next token. To see how
# positional encoding affects the two scores, we also use {glue:text}`n-experiments` experiments of the chapter
# [Positions](positions.py), which we planned in advance. In these planned experiments, we trained the same small models with
# learned position embeddings and with rotary position embeddings. In the first of these experiments, we also trained models
# with other types of positional encoding. Some of these models are character-level models, and the others are trained on
# subword tokens.
#
# **When we call a difference real.** For our own models, we give 95 % confidence intervals over seeds in square brackets. We
# compute a confidence interval only if at least three seeds are available. A difference is *larger than the variation
# between seeds* if its confidence interval excludes zero. No such interval exists for the authors' models, because each of
# them was trained only once. To judge a difference in directionality between two of the authors' models, we therefore ask
# how large this difference is between two randomly initialised models. For randomly initialised models, the difference in
# directionality has a standard deviation of {glue:text}`gap-sd-12` with 12 layers and {glue:text}`gap-sd-4` with 4 layers. We
# call a difference in directionality between two of the authors' models *larger than expected by chance* if it exceeds
# {glue:text}`scatter` of these standard deviations, and *undecided* otherwise.
#
# :::{admonition} How sure is this?
# - The authors trained every model once, so we cannot compare a difference between two of their models with the variation
#   between seeds.
# - We know the authors' scores only second-hand. The audit was based on the authors' result files and code, neither of which
#   we have read ourselves. Our copy of the scores does not record which score belongs to which layer.
# - According to the audit, the authors computed the released directionality scores with [a formula that differs from
#   Definition 3.2 of the paper](training_scores_details.py#three-formulas). For our own models, we use the definition itself.
# - Our models are much smaller than the models in the paper. Our models have {glue:text}`our-layers` layers and a hidden size
#   of {glue:text}`our-widths`, and they saw between {glue:text}`least-tokens` and {glue:text}`most-tokens` million tokens
#   during training. The paper's models have 12 layers and a hidden size of {glue:text}`paper-width`, and they saw about
#   {glue:text}`paper-tokens` billion tokens. Our models can therefore neither confirm nor refute a claim about models with 12
#   layers. If our models are the only evidence on such a claim, we call the claim *undecided*.
# - We designed the experiments on positional encoding to measure symmetry. Directionality was only a secondary measure in
#   these experiments, so our results about directionality should be tested again in an experiment of their own.
# :::
#
# ## Encoders become symmetric during training, and more symmetric than decoders
#
# In {glue:text}`s-holds` pairs of the authors' models, the encoder has the higher median symmetry score at
# the end of training. The final scores of the 12-layer encoders lie between {glue:text}`encoder-12-low` and
# {glue:text}`encoder-12-high`, whereas the final scores of the 12-layer decoders lie between {glue:text}`decoder-12-low` and
# {glue:text}`decoder-12-high` ([all numbers](training_scores_details.py#the-released-scores-at-the-end)).


# %%
@claim(
    "Section 4.1",
    "(symmetry)",
    "at the end of training, encoders are more symmetric than decoders on every dataset",
    Verdict.HOLDS,
    printed="""\"[E]ncoder-only models show a higher degree of symmetry than decoder-only models"; "this difference", like the
    difference in directionality, was observed "on all datasets we tested".""",
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
        authors' models alone. {doubt(cases)} With rotary position embeddings or without any positional encoding, our decoders
        are more symmetric than our encoders in most experiments. The paper's models have learned position embeddings."""
    }


show(symmetry_in_training(), unfolded=True)

# %% [markdown]
# **Our small models with learned position embeddings agree with the paper.** In {glue:text}`n-settings` settings of this
# chapter, we trained both encoders and decoders with at least three seeds. The encoders are more symmetric than the decoders
# in all of these settings, and in {glue:text}`n-settings-met` of them the difference is larger than the variation between
# seeds ([every setting](training_scores_details.py#encoders-against-decoders)). We also consider the {glue:text}`n-learned`
# planned experiments in which the encoders with learned position embeddings learned anything beyond the frequencies of the
# tokens. In all of these experiments, the encoders are more symmetric than the decoders, and the difference is larger than the
# variation between seeds.
#
# **With rotary position embeddings, the decoders are often the more symmetric models** ({numref}`tab-training-positions-s`).
# In {glue:text}`n-rotary-decoders` of {glue:text}`n-rotary` planned experiments, the decoders with rotary position embeddings
# have a higher final symmetry score than the encoders, and the difference is larger than the variation between seeds.
# {glue:text}`rotary-others` In one experiment, we also trained character-level models without any positional encoding. In this
# experiment, the decoders are again more symmetric than the encoders, but the difference is small: {glue:text}`none-s`.

# %% tags=["remove-input"]
table(
    difference_table("symmetry"),
    name="tab-training-positions-s",
    caption="Final symmetry score of the encoder minus that of the decoder in our small models, for two types of positional"
    " encoding, with 95 % confidence intervals over seeds. A positive difference means that the encoder is the more symmetric"
    " model, as the paper predicts.",
)

# %% [markdown]
# **The symmetry of encoders grows during training.** In all six of the authors' encoders, the symmetry score increases
# between step {glue:text}`first-step` and step {glue:text}`last-step` ({numref}`tab-training-growth-authors`). Our own
# encoders with learned position embeddings show the same growth ({numref}`tab-training-growth-ours`), and in
# {glue:text}`n-grown-beyond` of the {glue:text}`n-grown-settings` settings with at least three seeds this growth is larger
# than the variation between seeds. Later decreases of the symmetry score do not exceed the variation between seeds in any of
# these settings. In a few other settings, each with a single seed, the symmetry score first rises a little and then [decreases
# again](training_scores_details.py#where-symmetry-falls-again).

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
    caption="Increase of the median symmetry score in our encoders with learned position embeddings, from the first to the"
    " last step, with 95 % confidence intervals over seeds. The table lists all settings with at least three seeds in which"
    " the encoders learned anything. All models have 4 layers and were trained on Wikipedia.",
)

# %% [markdown]
# Without learned position embeddings, the symmetry of our encoders hardly grows. In the first planned experiment with
# character-level models ({glue:text}`first-seeds` seeds), the mean symmetry score of the encoders with rotary position
# embeddings rises to {glue:text}`rotary-peak` and has fallen to {glue:text}`rotary-end` by the end of training, and this
# decrease is larger than the variation between seeds. In the same experiment, the mean symmetry score of the encoders without
# any positional encoding rises to {glue:text}`none-peak` and ends at {glue:text}`none-end`. In the second experiment, which
# used new seeds, the symmetry score of the encoders with rotary position embeddings grows by {glue:text}`new-growth` in total.
# The confidence interval of this increase, {glue:text}`new-interval`, includes zero.
#
# **The symmetry score of decoders stays close to zero only in deep decoders.** The paper says that decoders learn "almost
# non-symmetric matrices" (Section 4.1, second paragraph). For the authors' 12-layer decoders, this statement is true of the median over layers, which lies
# between {glue:text}`decoder-12-low` and {glue:text}`decoder-12-high` at the end of training. The absolute value of this
# median is only {glue:text}`share-low` to {glue:text}`share-high` of the median symmetry score of the corresponding encoder.
# The scores of individual layers vary more. In each 12-layer decoder, at least a quarter of the layers have a positive
# symmetry score and at least a quarter have a negative one.
#
# The symmetry scores of the authors' 4-layer decoders do not stay close to zero. By the end of training, the median symmetry
# scores of these decoders lie between {glue:text}`skew-least` and {glue:text}`skew-most`, so their query-key matrices are more
# skew-symmetric than symmetric. On only {glue:text}`n-nearer` of the three datasets is the score of the 4-layer decoder
# closer to zero than the score of the 4-layer encoder.
#
# ## Whether decoders become more directional is undecided
#
# **The authors' models do not settle the question.** According to the paper, decoders should be more directional than
# encoders at the end of training. In the authors' models, the decoder is the more directional model in only
# {glue:text}`d-holds` pairs, namely the 12-layer pairs on {glue:text}`d-which`. Among these pairs, the difference is larger
# than expected by chance only on {glue:text}`which-apart` ({numref}`tab-training-gaps`). In the 4-layer pairs, no difference
# in directionality is larger than expected by chance.

# %% tags=["remove-input"]
table(
    released_gap_table(),
    name="tab-training-gaps",
    caption="Final directionality score of the encoder minus that of the decoder in the authors' 12-layer pairs. A positive"
    " difference means that the decoder is the more directional model, as the paper predicts. The range extends two standard"
    " deviations of the difference between randomly initialised models to either side.",
)

# %% [markdown]
# **In our small models, the answer depends on the type of positional encoding.** Our experiments with character-level models
# provide the best evidence for the paper's claim, but also a striking exception to this claim
# ({numref}`tab-training-positions-d`). With learned position embeddings, the decoders are more directional than the encoders
# in all {glue:text}`d-learned-met` planned experiments with character-level models, and the difference is larger than the
# variation between seeds. With rotary position embeddings, the encoders are the more directional models in
# {glue:text}`d-rotary-negative` of these experiments, but the confidence interval excludes zero in only
# {glue:text}`d-rotary-reversed` of them. The paper reports that encoders and decoders differ in symmetry and in
# directionality. In our character-level models, the type of positional encoding determines the sign of both differences. Our
# planned experiments with models trained on subword tokens do not answer the question about directionality, because all
# confidence intervals include zero.

# %% tags=["remove-input"]
table(
    difference_table("directionality"),
    name="tab-training-positions-d",
    caption="Final directionality score (Definition 3.2) of the encoder minus that of the decoder in our small models, for two"
    " types of positional encoding, with 95 % confidence intervals over seeds. A positive difference means that the decoder is"
    " the more directional model, as the paper predicts.",
)

# %% [markdown]
# For this chapter, we trained {glue:text}`n-runs` further models, all of them with learned position embeddings. The results
# agree with those of the planned experiments. Among the character-level models, the decoders are more directional than the
# encoders, and the difference is larger than the variation between seeds ({glue:text}`d-chapter-characters`). For the models
# trained on subword tokens, the confidence interval is too wide for any conclusion ({glue:text}`d-chapter-subwords`).
#
# **In some of our decoders, columns gain in norm during training.** The paper predicts that decoders "develop high-norm
# columns incrementally during training" (Section 4.1, first paragraph). In our decoders with learned position embeddings, the directionality score falls in
# {glue:text}`n-change-fall` of {glue:text}`n-change` settings, and the decrease is larger than the variation between seeds in
# {glue:text}`n-change-met` of them ({numref}`tab-training-decoder-change`). These are {glue:text}`change-met`. No increase of
# the directionality score is larger than the variation between seeds.

# %% tags=["remove-input"]
table(
    decoder_change_table(),
    name="tab-training-decoder-change",
    caption="Change of the median directionality score in our decoders with learned position embeddings, from the first to the"
    " last step, with 95 % confidence intervals over seeds. A negative change means that the dominance of columns increases,"
    " as the paper predicts.",
)

# %% [markdown]
# **In the authors' decoders, we cannot tell whether large column norms emerge gradually.** In all six of the authors'
# decoders, columns dominate at the end of training. In the 12-layer decoders, however, columns already dominate at step
# {glue:text}`first-step` of {glue:text}`last-step`, which is the first step that was recorded. At this step, the
# directionality scores of the three 12-layer decoders lie between {glue:text}`d-first-low` and {glue:text}`d-first-high`, and
# at the end of training they lie between {glue:text}`d-end-low` and {glue:text}`d-end-high`. No scores from earlier steps were
# released, so we do not know how the columns with large norms arose.
#
# After the first recorded step, the dominance of columns increases in all three 4-layer decoders, but in only
# {glue:text}`n-grown` of the three 12-layer decoders. The directionality scores of the 12-layer decoders change by between
# {glue:text}`d-move-low` and {glue:text}`d-move-high` after this step. The standard deviation of the difference between two
# randomly initialised 12-layer models, {glue:text}`gap-sd-12`, is of a similar size.
#
# The directionality scores of the authors' 12-layer encoders, in contrast, decrease on all three datasets, and they decrease
# by more than the scores of the corresponding decoders. As a result, the difference between encoder and decoder becomes
# smaller in all three 12-layer pairs. In most of the authors' encoders, [rows dominate early in
# training](training_scores_details.py#rows-first-then-columns) and columns dominate only later.
#
# ## Some layers of decoders become skew-symmetric
#
# According to the paper, decoders "learn almost non-symmetric matrices with strong skew-symmetric matrices in the middle
# layers" (Section 4.1, second paragraph). Each of the authors' 12-layer decoders
# does indeed have at least one layer that is clearly skew-symmetric ({numref}`tab-training-skew`). In the most skew-symmetric
# layer of each decoder, the skew-symmetric part of the query-key matrix accounts for {glue:text}`skew-shares` of the squared
# norm. In a random matrix, the skew-symmetric part accounts for half of the squared norm. The paper does not state how large
# the skew-symmetric part must be to count as strong. We also cannot check whether the skew-symmetric layers are the middle
# layers, because our copy of the scores does not record the order of the layers.

# %% tags=["remove-input"]
table(
    released_skew_table(),
    name="tab-training-skew",
    caption="The most skew-symmetric layer of each of the authors' 12-layer decoders at the end of training.",
)

# %% [markdown]
# Our own decoders with learned position embeddings, which are much smaller, have a layer with a clearly negative symmetry
# score in {glue:text}`n-skew-settings` of {glue:text}`n-least-settings` settings ({numref}`tab-training-least-layer`):
# {glue:text}`skew-settings`. In the other settings, even the lowest symmetry score of any layer, averaged over seeds, is close
# to zero or positive. The paper also makes [other statements about individual
# layers](training_scores_details.py#layer-by-layer). Our numbers can neither confirm nor refute these statements, and one of
# the statements contains a small error.

# %% tags=["remove-input"]
table(
    measure_table(our_decoders(), least_layer, "lowest s of any layer", digits=3),
    name="tab-training-least-layer",
    caption="Lowest symmetry score of any layer in our decoders with learned position embeddings at the end of training,"
    " averaged over seeds, with 95 % confidence intervals.",
)

# %% tags=["remove-cell"]
pairs, course = released_pairs(), released_course()
decoders = course[course["part"] == "decoder"]
small, deep = decoders[decoders["layers"] == 4], decoders[decoders["layers"] == 12]
more_symmetric = pairs["s, encoder"] > pairs["s, decoder"]
more_directional = pairs["d, decoder"] < pairs["d, encoder"]
assert more_symmetric.all() and more_directional.sum() <= len(pairs) / 2  # title and lead
assert set(pairs.loc[more_directional, "layers"]) == {12}  # "namely the 12-layer pairs on"
# columns dominate at the end of training, in the 12-layer decoders from the first recorded step on
assert (course["end"] < 0).all() and (deep["first"] < 0).all()
assert deep["first step"].nunique() == 1 and (small["end"] < small["first"]).all()
moves = course[course["layers"] == 12].assign(move=lambda rows: rows["end"] - rows["first"])
moves = moves.pivot(index="text", columns="part", values="move")
assert (moves["encoder"] < 0).all() and (moves["encoder"] < moves["decoder"]).all()
encoders = course[course["part"] == "encoder"]
assert (encoders["last step above 0"] > 0).mean() > 0.5  # "in most of the authors' encoders"
apart = [gap.label for gap in (*released_gaps(12), *released_gaps(4)) if gap_outcome(gap) == LARGER]
assert len(apart) == 1 and apart[0] in [gap.label for gap in released_gaps(12) if gap_outcome(gap) == LARGER]

ends = released_ends("s")
ends_12, ends_4 = ends[ends["layers"] == 12], ends[ends["layers"] == 4]
shares = (ends_12["decoder"] / ends_12["encoder"]).abs()
nearer = ends_4["decoder"].abs() < ends_4["encoder"].abs()
assert ends_4["decoder"].max() < 0 and decoders_of_12_layers().eval("s_q1 < 0 < s_q3").all()

# our models of this chapter
of_chapter = [pair for pair in pairs_of(recorded()) if len(pair) >= 3]
in_s = [case(pair, "s", pair.difference("symmetry")) for pair in of_chapter]
in_d = {pair.label: case(pair, "d", pair.difference("directionality")) for pair in of_chapter}
assert all(one.estimate.value > 0 for one in in_s)
((on_characters,), (on_subwords,)) = (
    [one for label, one in in_d.items() if spelling in label] for spelling in ("characters", "subword tokens")
)
assert on_characters.met and not (on_subwords.met or on_subwords.reversed)

# the planned experiments
planned = {
    (score, positions, experiment): case(pair, "", pair.difference(score))
    for score in ("symmetry", "directionality")
    for experiment, positions, pair in planned_pairs()
}


def planned_cases(score: str, positions: str, text: str = "") -> dict:
    """By experiment; of those whose name begins with ``text``."""
    return {
        experiment: found
        for (of, kind, experiment), found in planned.items()
        if (of, kind) == (score, positions) and EXPERIMENTS[experiment].startswith(text)
    }


learned, rotary = (planned_cases("symmetry", positions) for positions in ("learned", "rotary"))
assert all(found.met for found in learned.values()) and not any(found.met for found in rotary.values())
open_rotary = [EXPERIMENTS[experiment] for experiment, found in rotary.items() if not found.reversed]
others = f"In the other experiments ({joined_by_and(open_rotary)}), the confidence interval includes zero."
if len(open_rotary) == 1:
    others = f"In the remaining experiment ({open_rotary[0]}), the confidence interval includes zero."
without = planned_cases("symmetry", "none")
assert list(without) == ["positions_characters"] and without["positions_characters"].reversed
d_learned = planned_cases("directionality", "learned", "characters")
d_rotary = planned_cases("directionality", "rotary", "characters")
assert all(found.met for found in d_learned.values())
assert not any(found.met for found in d_rotary.values())  # "a striking exception"
on_tokens = [planned_cases("directionality", positions, "subword tokens") for positions in ("learned", "rotary")]
assert not any(found.met or found.reversed for cases in on_tokens for found in cases.values())

# growth of the symmetry score
grown = growth_of_ours()
assert all(climb.growth.value > 0 for climb in grown) and not any(climb.fall.low > 0 for climb in grown)
first_rotary, first_none = (
    climb_of(planned_of(ENCODER, positions)["positions_characters"]) for positions in ("rotary", "none")
)
new_rotary = climb_of(planned_of(ENCODER, "rotary")["positions_characters_new_seeds"])
assert first_rotary.fall.low > 0 and new_rotary.growth.low < 0 < new_rotary.growth.high

# decoders: change of d, and the most skew-symmetric layer
changes = [case(arm, "", arm.estimate(change), -1) for arm in our_decoders()]
assert not any(found.reversed for found in changes)
least = {arm.label: (arm, arm.estimate(least_layer)) for arm in our_decoders()}
skew = [label for label, (arm, found) in least.items() if found.high < -SPREADS * symmetry_sd(arm.config["d_model"])]
assert len(skew) >= 1 and all(found.value > -0.01 for label, (_, found) in least.items() if label not in skew)

trained = [Training.of(run.config) for run in recorded()]
trained += [Training.of(pair.first.config) for _, _, pair in planned_pairs()]
layers, widths, tokens = (sorted({getattr(one, of) for one in trained}) for of in ("layers", "width", "tokens"))
paper = spoken_of()


def short(label: str) -> str:
    """A label without what all of them have."""
    return label.removeprefix("Wikipedia, ").removesuffix(", learned position embeddings")


# %% tags=["remove-cell"]
for name, value in {
    "s-holds": share_of(more_symmetric.sum(), len(pairs)),
    "n-released": len(pairs),
    "d-holds": share_of(more_directional.sum(), len(pairs)),
    "d-which": joined_by_and(list(pairs.loc[more_directional, "text"])),
    "which-apart": apart[0],
    "n-runs": len(recorded()),
    "n-experiments": len(EXPERIMENTS),
    "scatter": SCATTER,
    "gap-sd-12": number(random_gap_sd(12), 2),
    "gap-sd-4": number(random_gap_sd(4), 2),
    "our-layers": joined_by_and(list(map(str, layers))),
    "our-widths": " or ".join(map(str, widths)),
    "least-tokens": f"{tokens[0] / 1e6:.1f}",
    "most-tokens": f"{tokens[-1] / 1e6:.1f}",
    "paper-width": paper.width,
    "paper-tokens": f"{paper.tokens / 1e9:.1f}",
    "encoder-12-low": number(ends_12["encoder"].min(), 2),
    "encoder-12-high": number(ends_12["encoder"].max(), 2),
    "decoder-12-low": number(ends_12["decoder"].min(), 2),
    "decoder-12-high": number(ends_12["decoder"].max(), 2, "+"),
    "share-low": as_percent(shares.min()),
    "share-high": as_percent(shares.max()),
    "skew-least": number(ends_4["decoder"].min(), 2),
    "skew-most": number(ends_4["decoder"].max(), 2),
    "n-nearer": nearer.sum(),
    "n-settings": len(in_s),
    "n-settings-met": sum(found.met for found in in_s),
    "n-learned": len(learned),
    "n-rotary": len(rotary),
    "n-rotary-decoders": sum(found.reversed for found in rotary.values()),
    "rotary-others": others if open_rotary else "",
    "none-s": with_interval(without["positions_characters"].estimate, as_score),
    "first-step": f"{deep['first step'].iloc[0]:,}",
    "last-step": f"{deep['steps'].iloc[0]:,}",
    "n-grown-settings": len(grown),
    "n-grown-beyond": sum(climb.growth.low > 0 for climb in grown),
    "first-seeds": len(first_rotary.arm),
    "rotary-peak": number(first_rotary.mean.max(), 2),
    "rotary-end": number(first_rotary.mean.iloc[-1], 2),
    "none-peak": number(first_none.mean.max(), 2),
    "none-end": number(first_none.mean.iloc[-1], 2),
    "new-growth": number(new_rotary.growth.value, 3),
    "new-interval": f"[{number(new_rotary.growth.low, 3)}, {number(new_rotary.growth.high, 3, '+')}]",
    "d-learned-met": sum(found.met for found in d_learned.values()),
    "d-rotary-characters": len(d_rotary),
    "d-rotary-negative": share_of(sum(found.estimate.value < 0 for found in d_rotary.values()), len(d_rotary)),
    "d-rotary-reversed": sum(found.reversed for found in d_rotary.values()),
    "d-chapter-characters": with_interval(on_characters.estimate, as_score),
    "d-chapter-subwords": with_interval(on_subwords.estimate, as_score),
    "n-change": len(changes),
    "n-change-fall": sum(found.estimate.value < 0 for found in changes),
    "n-change-met": sum(found.met for found in changes),
    "change-met": joined_by_and([f"*{short(found.label)}*" for found in changes if found.met]),
    "d-first-low": number(deep["first"].min(), 2),
    "d-first-high": number(deep["first"].max(), 2),
    "d-end-low": number(deep["end"].min(), 2),
    "d-end-high": number(deep["end"].max(), 2),
    "n-grown": (deep["end"] < deep["first"]).sum(),
    "d-move-low": number(moves["decoder"].min(), 2),
    "d-move-high": number(moves["decoder"].max(), 2, "+"),
    "skew-shares": skew_shares(decoders_of_12_layers()),
    "n-least-settings": len(least),
    "n-skew-settings": len(skew),
    "skew-settings": joined_by_and([f"*{short(label)}*" for label in skew]),
    "solid": strength("solid"),
    "not-shown": strength("not shown"),
}.items():
    glue(name, value)

# %% [markdown]
# ## What this means for you
#
# - Suppose that you have an encoder and a decoder that were trained as a pair, like the models in the paper, with learned
#   position embeddings. You can then identify the encoder by its higher symmetry score. However, first check which type of
#   positional encoding the models use, because in our small character-level models with rotary position embeddings, the
#   decoder has the higher symmetry score. Compare only models of a similar size, because [larger encoders are less
#   symmetric](pretrained_survey.py#larger-encoders-are-less-symmetric).
# - Do not use the directionality score to infer whether a model is an encoder or a decoder. In most pairs of the authors'
#   models, the difference in directionality is not larger than expected by chance, and in our small character-level models the
#   sign of this difference depends on the type of positional encoding.
# - To train a model and record both scores during training, run `attngeo train --preset mini --objective mlm -o RUN`.
# - Small models cannot confirm or refute the results that Figure 3 of the paper shows. To confirm or refute these results,
#   one would have to train both encoders and decoders with 12 layers and a hidden size of 768 on ordinary text that is not
#   split into characters, with three seeds each. We have written down [the commands for this
#   experiment](../recorded_runs.md#runs-still-worth-a-gpu).
#
# The other checks of Section 4.1 are on the [details page](training_scores_details.py#the-other-checks-of-section-41), with
# their code and all numbers.
