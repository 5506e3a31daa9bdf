# ---
# jupyter:
#   attngeo:
#     reads: [data/runs, data/published]
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Encoders grow symmetric in training; whether decoders grow directional is undecided
#
# A language model can be trained to guess hidden tokens from both sides (an *encoder*), or tokens from those on their left
# (a *decoder*; the released ones, by an audit, guess [masked tokens alone](training_scores_details.py#the-models)). Encoders
# become symmetric step by step, says the paper {cite}`saponati2025` (Section 4.1), and decoders directional.
#
# **Of symmetry the released scores show it: the encoder ends ahead in {glue:text}`s-holds` of {glue:text}`n-released`
# pairs.** Of directionality they decide nothing: the decoder ends ahead in {glue:text}`d-holds`, and columns come to
# dominate in encoders, too.

# %% tags=["remove-cell"]
import math

from attngeo.chapters.training_scores import (
    DECODER,
    SCATTER,
    SPREADS,
    beside,
    case,
    change,
    climbs,
    counted,
    decoders_of_12_layers,
    doubt,
    in_arms,
    in_pairs,
    random_gap_sd,
    random_median_sd,
    recorded,
    released_course,
    released_ends,
    released_gaps,
    released_over_steps,
    released_pairs,
    released_training,
    scattered,
    skew_shares,
)
from attngeo.display.page import glue, show
from attngeo.bilinear.random_matrices import symmetry_sd
from attngeo.claims.claim import Verdict, claim, compare, exact
from attngeo.claims.published import trained_widths
from attngeo.claims.seed_intervals import in_words
from attngeo.runs.numbers_in_words import as_percent, as_score, extent, number

FIRST = "Section 4.1, first paragraph"
SECOND = "Section 4.1, second paragraph"
SEEDS = "Recorded runs: intervals of 95 % over seeds."
SECOND_HAND = f"Released medians: one seed each, read by an audit. {SEEDS}"

# %% tags=["remove-input"]
released_over_steps()

# %% [markdown]
# ## What is compared
#
# The *symmetry score* $s$ of a matrix is 1 where it is symmetric, $-1$ where it is skew-symmetric and near 0 at random.
# The *directionality score* $d$ is negative where a few columns are larger than the rest, positive where a few rows
# are ([Two scores](two_scores.py)). A model here has the median over its layers.
#
# A pair is an encoder and a decoder of the same depth, trained on the same text. By [an audit](../notation.md#the-audit)
# the authors' decoders do not predict every next token, but masked tokens alone, from the left; on Wikipedia and Red Pajama
# a token is a single character. In {glue:text}`n-runs` small [runs of ours](training_scores_details.py#recorded-runs), some
# of several *seeds*, decoders predict every next token.
#
# :::{admonition} How sure is this
# - The authors trained every model once, so no difference between two of them can be compared with the scatter of seeds.
# - The audit read their scores and their code. This project has read neither, and its copy does not tell which layer is which.
# - By the audit the released $d$ follows [another formula](training_scores_details.py#three-formulas) than ours, which is that
#   of Def. 3.2 of the paper.
# - Our runs have 4 layers and a small share of the paper's steps. They decide nothing about 12 layers: a sentence for which
#   nothing else speaks is *undecided*.
# :::
#
# ## Encoders grow symmetric, and end ahead
#
# In every released pair the encoder's median $s$ is the larger one
# ([numbers](training_scores_details.py#the-released-scores-at-the-end)).


# %%
@claim(
    "Section 4.1",
    "(symmetry)",
    "encoders end more symmetric than decoders, on every text",
    Verdict.HOLDS,
    printed="""\"[E]ncoder-only models show a higher degree of symmetry than decoder-only models"; "this difference", as that
    in directionality, "on all datasets we tested".""",
    place=SECOND,
)
def symmetry_in_training():
    ends = released_ends("s").set_index("layers")
    larger = ends["encoder"] > ends["decoder"]
    yield counted("released pairs of {n} with 12 layers: encoder's $s$ larger", larger[12])
    words = "of {n} with 4 layers, which the paper does not show: the same"
    yield counted(words, larger[4], paper="")
    cases = in_pairs(recorded(), "symmetry")
    yield from beside(cases)
    return {"remark": f"{doubt(cases, 'Median $s$ at the end is compared.')} {SECOND_HAND}"}


show(symmetry_in_training(), unfolded=True)

# %% [markdown]
# In this book's runs the encoder is ahead beyond the noise between seeds in {glue:text}`s-as-stated` of
# {glue:text}`n-known` settings with three seeds or more, the decoder in none
# ([every setting](training_scores_details.py#encoders-against-decoders)). Released decoders stay near zero only if they are
# deep: the released ones of four layers end skew-symmetric, at $s$ between {glue:text}`skew-least` and
# {glue:text}`skew-most`.


# %%
@claim("Section 4.1", "(decoders, symmetry)", "decoders of 12 layers end almost non-symmetric", Verdict.HOLDS)
def decoders_almost_non_symmetric():
    ends = released_ends("s").assign(share=lambda rows: (rows["decoder"] / rows["encoder"]).abs())
    deep, small = (ends[ends["layers"] == layers] for layers in (12, 4))
    for row in deep.itertuples():
        yield compare(
            f"released, 12 layers, {row.text}: $|s|$ of the decoder, share of the encoder's", row.share, "<", 1
        )
    around = decoders_of_12_layers().eval("s_q1 < 0 < s_q3")
    yield counted("released decoders of 12 layers, of {n}: quartiles of $s$ on both sides of 0", around)
    nearer = small["share"] < 1
    yield counted("released decoders of 4 layers, of {n}: $|s|$ less than the encoder's", nearer, "<", paper="")
    sizes = "$|s|$ at the end, encoder less decoder"
    cases = in_pairs(recorded(), lambda run: abs(run.last("symmetry")), sizes)
    yield from beside(cases)
    where = f"""It is said of models of 12 layers, and holds for the median over their layers: $s$ from
    {extent(deep["decoder"], as_score)}, in size {extent(deep["share"], as_percent)} of the encoder's, with a quarter of the
    layers or more on either side of 0. Of 4 layers it does not hold: released decoders of that depth end at $s$ from
    {extent(small["decoder"], as_score)}, nearer to 0 than the encoder on {nearer.sum()} of {len(small)} texts."""
    ours = f"In runs recorded here, smaller yet, $|s|$ of encoder less decoder: {in_words(cases)}."
    return {"remark": f"{where} {ours} {SECOND_HAND}"}


show(decoders_almost_non_symmetric())

# %% [markdown]
# While they train, symmetry grows in all released encoders. In our runs it rises, too, wherever three seeds or more decide. A few
# runs rise a little and fall back ([what falls](training_scores_details.py#where-symmetry-falls-again)).


# %% tags=["remove-cell"]
def growth(on_wikipedia: bool):
    """Rises from the first step to the last; falls from a peak beyond the noise count as cases against them."""
    encoders = released_training().query("part == 'encoder'")
    for (layers, title), rows in encoders[(encoders["text"] == "wikipedia") == on_wikipedia].groupby(
        ["layers", "text"]
    ):
        s = rows.set_index("step")["s"]
        words = f"released, {layers} layers, {title}: $s$ at step {s.index[-1]} less at {s.index[0]}"
        yield compare(words, s.iloc[-1] - s.iloc[0], ">")
    grown, fallen = [], []
    for climb in climbs(recorded(on_wikipedia)):
        peak = f"$s$ at its peak, step {climb.mean.idxmax()}, less at the end"
        grown.append(case(climb.arm, "encoders, $s$ at the end less at the start", climb.growth))
        fallen.append(case(climb.arm, peak, climb.fall, -1))
    fallen = [fall for fall in fallen if fall.reversed]
    yield from beside([*grown, *fallen])
    falls = (
        f"Settings with an interval in which it falls again after its peak: {in_words(fallen) if fallen else 'none'}."
    )
    ours = doubt([*grown, *fallen], f"Median $s$ at the end less at the start: {in_words(grown)}. {falls}")
    return {"remark": f"{ours} {SECOND_HAND}"}


INCREMENTALLY = """\"[A]s symmetric weight updates are added to $W_{qk}$ in encoder-only models, Theorem 2.4 predicts that
symmetric structures emerge incrementally during training.\""""


# %%
@claim(
    "Figure 3",
    "(a), encoders over training",
    "the symmetry of encoders grows in training",
    Verdict.HOLDS,
    printed=INCREMENTALLY,
    place=FIRST,
)
def growth_on_wikipedia():
    return (yield from growth(on_wikipedia=True))


@claim(
    "Figure S3",
    "(a), encoders over training",
    "the symmetry of encoders grows in training",
    Verdict.HOLDS,
    printed=INCREMENTALLY,
    place=FIRST,
)
def growth_on_other_texts():
    return (yield from growth(on_wikipedia=False))


show(growth_on_wikipedia(), growth_on_other_texts())

# %% [markdown]
# ## Whether decoders grow directional is undecided
#
# The decoder is to end with the more negative $d$. It does in {glue:text}`d-holds` of {glue:text}`n-released` released
# pairs. Only one pair differs by more than {glue:text}`scatter` spreads of random weights: {glue:text}`which-apart`.


# %%
@claim(
    "Section 4.1",
    "(directionality)",
    "decoders end more directional than encoders, on every text",
    Verdict.UNDECIDED,
    printed="""\"[D]ecoder-only models have a higher directionality score"; "[w]e observe this difference on all datasets we
    tested".""",
    place=SECOND,
)
def directionality_in_training():
    deep, small = released_gaps(12), released_gaps(4)
    yield from (c for gap in deep for c in gap.comparisons)
    yield compare(
        f"of {len(deep)} with 12 layers: as stated by more than that", sum(g.met for g in deep), "<", len(deep)
    )
    yield exact(f"of {len(deep)} with 12 layers: the reverse by more than that", sum(g.reversed for g in deep), 0, 0)
    within = sum(not (gap.met or gap.reversed) for gap in small)
    yield exact(f"of {len(small)} with 4 layers: less apart than that at their depth", within, len(small), 0)
    cases = in_pairs(recorded(), "directionality")
    yield from beside(cases)
    against = [gap for gap in deep if gap.estimate.value < 0]
    where = ", ".join(f"{gap.label}, by {abs(gap.estimate.value):.2f}" for gap in against)
    released = f"""Section 4.1 speaks of models of 12 layers. In the released final medians {len(deep) - len(against)} of
    their {len(deep)} pairs end as stated; the sign is reversed on {where}, where two models of random weights differ by a
    spread of {random_gap_sd(12):.2f}. The {len(small)} pairs of 4 layers, which the paper does not show, differ by less
    than {SCATTER} times theirs, {random_gap_sd(4):.2f}."""
    ours = doubt(cases, f"Median $d$ at the end, encoder less decoder: {in_words(cases)}.")
    formula = """By the audit the released $d$ follows the formula of the released code; the runs have that of Def. 3.2 of
    the paper."""
    return {"remark": f"{released} {ours} {SECOND_HAND} {formula}"}


@claim(
    "Figure S4",
    "(b), (d), encoders against decoders",
    "on Jigsaw and Red Pajama encoders and decoders differ less in directionality",
    Verdict.UNDECIDED,
    printed="""\"[S]imilar differences across layers with all the datasets we tested", "despite these models having less
    significant differences in directionality scores".""",
    place="Section 4.1, last paragraph",
)
def directionality_differs_less_elsewhere():
    gaps = {gap.label: gap.estimate.value for gap in released_gaps(12)}
    spread = math.sqrt(2) * random_gap_sd(12)  # of one such difference less another
    added = {text: abs(gap) - abs(gaps["wikipedia"]) for text, gap in gaps.items() if text != "wikipedia"}
    words = "released, 12 layers: difference in $d$ on {}, less that on wikipedia, ± {} such spreads"
    cases = [scattered(text, words.format(text, SCATTER), more, spread, -1) for text, more in added.items()]
    yield from (c for case in cases for c in case.comparisons)
    apart = sum(case.met or case.reversed for case in cases)
    yield exact(f"of {len(cases)} texts: told apart from wikipedia by more than that", apart, 0, 0)
    ends, more = (", ".join(f"{text} {as_score(x)}" for text, x in values.items()) for values in (gaps, added))
    return {
        "remark": f"""Released medians of 12 layers, encoder less decoder: {ends}. What the size of these differences adds to
        that on Wikipedia: {more}; in models of random weights it has a spread of about {spread:.2f}. One seed each, read by
        an audit. The sentence may mean differences between layers, which this project's copy does not tell."""
    }


show(directionality_in_training(), directionality_differs_less_elsewhere())

# %% [markdown]
# The deeper decoders have strong columns at the first recorded step, {glue:text}`first-step` of
# {glue:text}`last-step`. From there to the end their dominance grows in {glue:text}`n-grown` of {glue:text}`n-deep` of
# them, and in all of four layers. What came before was not released, so whether columns come incrementally is undecided. In
# most encoders [rows dominate first](training_scores_details.py#rows-first-then-columns).


# %%
@claim(
    "Section 4.1",
    "(columns over training)",
    "columns of high norm emerge incrementally while decoders train",
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
    dominant, (grown, grown_small) = decoders["end"] < 0, (rows["end"] < rows["first"] for rows in (deep, small))
    step, end = deep["first step"].iloc[0], deep["steps"].iloc[0]
    yield counted("released decoders of {n}: $d < 0$ at the end", dominant, paper=f"= {len(decoders)}")
    early = f"of {len(deep)} with 12 layers: $d$ at step {step}, nearest to 0"
    yield compare(early, deep["first"].max(), "<", 0, SPREADS * random_median_sd(12))
    yield counted("of {n} with 12 layers: $d$ less at the end than then", grown, "<")
    yield counted("of {n} with 4 layers: the same", grown_small)
    first, last = (gaps[when]["encoder"] - gaps[when]["decoder"] for when in ("first", "end"))
    narrowed = "pairs of {n} with 12 layers: encoder less decoder in $d$ less at the end than at step "
    yield counted(f"{narrowed}{step}", last < first)
    cases = in_arms(recorded(), DECODER, change, "decoders, median $d$ at the end less at the start", -1)
    yield from beside(cases)
    released = f"""Columns do emerge: they end dominant in {dominant.sum()} of {len(decoders)} released decoders. Whether
    they do so incrementally the released scores do not tell. In decoders of 12 layers columns are dominant at the first
    recorded step, {step} of {end}: $d$ from {extent(deep["first"], as_score)}, at the end {extent(deep["end"], as_score)}.
    No scores were released of earlier steps. From that step to the end $d$ moves there by
    {extent(deep["end"] - deep["first"], as_score)}, where two models of random weights differ by a spread of
    {random_gap_sd(12):.2f}; it falls in {grown.sum()} of {len(deep)} decoders of 12 layers and in {grown_small.sum()} of
    {len(small)} of 4."""
    ours = f"Recorded decoders, small ones, $d$ at the end less at the start: {in_words(cases)}."
    return {"remark": f"{released} {SECOND_HAND} {ours}"}


show(columns_over_training())

# %% [markdown]
# ## Some layers of decoders are skew
#
# Of the squared norm of the most skew layer {glue:text}`skew-shares` is skew-symmetric, where a random matrix has half. How
# much is *strongly*, the paper does not say; that these are the middle layers, our copy cannot show. The paper's [other
# sentences on single layers](training_scores_details.py#layer-by-layer) cannot be decided by our numbers; one of them is a slip.


# %% tags=["remove-cell"]
def skew_layers(on_wikipedia: bool):
    """The least symmetry of a layer in each released decoder, and in recorded ones."""
    tolerance = SPREADS * symmetry_sd(trained_widths()[12])
    decoders = decoders_of_12_layers()[lambda rows: (rows["text"] == "wikipedia") == on_wikipedia]
    for row in decoders.itertuples():
        yield compare(f"released, 12 layers, {row.text}: least $s$ over the layers", row.s_min, "<", 0, tolerance)
    runs, least = recorded(on_wikipedia), lambda run: run.by_layer("symmetry").iloc[-1].min()
    cases = in_arms(runs, DECODER, least, "decoders, least $s$ of a layer", -1)
    yield from beside(cases)
    some = "Some released layers of each decoder are skew. Least $s$ of a layer here"
    ours = doubt(cases, f"{some}: {in_words(cases)}.")
    strongly = f"""Tolerance: {SPREADS} spreads of a random matrix of that width. What is strongly skew, the paper does not
    say; of the squared norm of the most skew layer {skew_shares(decoders)} is skew-symmetric, half of it at random."""
    return {"remark": f"{ours} {SECOND_HAND} {strongly}"}


STRONGLY = """\"[D]ecoder-only models learn almost non-symmetric matrices with strong skew-symmetric matrices in the middle
layers"."""


# %%
@claim(
    "Figure 3",
    "(c), decoders, skew layers",
    "some layers of decoders end skew",
    Verdict.HOLDS,
    printed=STRONGLY,
    place=SECOND,
)
def skew_layers_on_wikipedia():
    return (yield from skew_layers(on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), decoders, skew layers",
    "some layers of decoders end skew",
    Verdict.HOLDS,
    printed=STRONGLY,
    place=SECOND,
)
def skew_layers_elsewhere():
    return (yield from skew_layers(on_wikipedia=False))


show(skew_layers_on_wikipedia(), skew_layers_elsewhere())

# %% tags=["remove-cell"]
pairs, course = released_pairs(), released_course()
decoders = course[course["part"] == "decoder"]
small, deep = (rows for _, rows in decoders.groupby("layers"))
more_symmetric = pairs["s, encoder"] > pairs["s, decoder"]
more_directional = pairs["d, decoder"] < pairs["d, encoder"]
assert more_symmetric.all() and more_directional.sum() <= len(pairs) / 2  # title and head
# columns dominate at the end, in the larger decoders from the first recorded step on
assert (course["end"] < 0).all() and (deep["first"] < 0).all()
assert deep["first step"].unique().size == 1 and (small["end"] < small["first"]).all()
beyond = [f"{gap.label} with {n} layers" for n in (4, 12) for gap in released_gaps(n) if gap.met or gap.reversed]
assert len(beyond) == 1
skew = pairs.query("layers == 4")["s, decoder"]
cases = [one for one in in_pairs(recorded(), "symmetry") if one.known]
assert not any(one.reversed for one in cases) and skew.max() < 0
risen = [climb for climb in climbs(recorded()) if climb.fall.has_interval]
assert not any(climb.fall.low > 0 for climb in risen) and not any(climb.growth.high < 0 for climb in risen)
for name, value in {
    "scatter": SCATTER,
    "n-released": len(pairs),
    "s-holds": more_symmetric.sum(),
    "d-holds": more_directional.sum(),
    "which-apart": beyond[0],
    "skew-least": number(skew.max(), 2),
    "skew-most": number(skew.min(), 2),
    "skew-shares": skew_shares(decoders_of_12_layers()),
    "first-step": f"{deep['first step'].iloc[0]:,}",
    "last-step": f"{deep['steps'].iloc[0]:,}",
    "n-grown": (deep["end"] < deep["first"]).sum(),
    "n-deep": len(deep),
    "n-runs": len(recorded()),
    "n-known": len(cases),
    "s-as-stated": sum(one.met for one in cases),
}.items():
    glue(name, value)

# %% [markdown]
# ## What it means for you
#
# - In these pairs symmetry tells an encoder from a decoder. From directionality conclude nothing.
# - `attngeo train --preset mini --objective mlm -o RUN` records both scores while a model trains.
# - Small models do not settle Figure 3 of the paper. What would are 12 layers of width 768, both objectives, three seeds
#   each, on plain text: [the commands](../recorded_runs.md#runs-still-worth-a-gpu) are written down.
