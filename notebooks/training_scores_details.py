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
# # Details: Scores during training
#
# Further checks, long tables and every recorded run behind the [chapter on scores during training](training_scores.py).
# An *encoder* predicts hidden tokens from both sides, a *decoder* each token from those on its left; $s$ is the symmetry
# score of $\Wqk$, $d$ its directionality score, both as the median over the layers.

# %% tags=["parameters", "remove-input"]
layers: int = 2  # layers of the models trained on this page; in [1, 48]
d_model: int = 96  # width of the embedding; in [8, 4096]
heads: int = 4  # heads per layer, a divisor of the width; in [1, 64]
corpus: str = "embedded"  # text: embedded, wikipedia, jigsaw, redpajama, or a file or folder
text: str = "spaced"  # plain, or with a space between all characters; one of plain | spaced
vocab_size: int = 256  # most tokens of the vocabulary; in [50, 60000]
block_size: int = 24  # tokens of a block; in [8, 2048]
batch_size: int = 64  # blocks of an update; in [2, 4096]
steps: int = 900  # updates; in [20, 1000000]
lr: float = 0.003  # largest learning rate; in [0.000001, 0.1]
dropout: float = 0.0  # of hidden states and attention; in [0, 0.5]
max_characters: int = 3000000  # of the corpus; in [20000, 2000000000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attngeo.chapters.training_scores import (
    LETTERS,
    SETTLED,
    at_equal_steps,
    by_layer,
    case,
    cases_of_layers,
    climbs,
    contrast_table,
    doubt,
    formula_table,
    over_steps,
    pairs_of,
    random_median_sd,
    recorded,
    released_course,
    released_pairs,
    released_training,
    spoken_of,
)
from attngeo.display.page import glue, show, table
from attngeo.bilinear.random_matrices import symmetry_mean, symmetry_sd
from attngeo.claims.claim import Verdict, claim, compare, exact
from attngeo.claims.published import printed_table
from attngeo.claims.results import Comparison
from attngeo.claims.seed_intervals import in_words, joined
from attngeo.files.checkout import data
from attngeo.runs.arms import Arm, Contrast
from attngeo.runs.estimates import LEAST_SEEDS
from attngeo.runs.experiments import recorded_runs
from attngeo.training.bert import Decoder, Encoder, bert_config
from attngeo.training.choices import PRESETS, Shape
from attngeo.training.config import configure
from attngeo.training.train import train

SECOND = "Section 4.1, second paragraph"
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
# Table S1 of the paper lists two configurations, here beside what our presets build. Preset `base` is its column BERT,
# `mini` its column BERT-mini; a third, of 24 layers, appears on the paper's web page only.


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
    caption="Table S1 as printed, and the configurations that our presets build.",
)


# %%
@claim("Table S1", "", "configurations of the trained models", Verdict.HOLDS)
def table_s1_is_what_the_presets_build():
    rows = table_s1_beside_presets()
    for column, preset in PRESET_OF.items():
        equal = sum(map(same_setting, rows[f"{column}, printed"], rows[f"{column}, ours"]))
        yield exact(f"settings of {preset} equal to those printed", equal, len(rows), 0)


show(table_s1_is_what_the_presets_build())

# %% [markdown]
# `attngeo train --preset mini` trains such a model with the paper's settings of Appendix S2.3: AdamW, a learning rate
# of $5\times10^{-5}$ reached after 200 steps and falling linearly to zero. Weight decay is 0.01. A step has 256 blocks,
# with 15 % of tokens masked. Mixed precision is bf16 here and fp16 there.
#
# Three things differ on purpose from the released code, as an audit found it; this project has not read that code itself.
#
# - *Decoders predict every next token* (`clm`). The released decoder predicts only the 15 % of tokens that the masking
#   chose, from a left context that is masked as well; it is available as `released-decoder`.
# - *Text is left alone* (`plain`). The released code puts a space between all characters of Wikipedia and Red Pajama, after
#   which every token is one character; that is available as `spaced`.
# - *Blocks are full*: documents follow each other between their marks, and nothing is padded.
#
# ## The released scores at the end

# %% tags=["remove-input"]
table(
    released_pairs(),
    name="tab-training-released",
    caption=f"Released medians over layers after {released_training()['step'].max()} steps, one seed each. Section 4.1 speaks of 12 layers. $d$ is, by the audit, that of the"
    " released code's formula, and not of Def. 3.2 of the paper.",
    formats=dict.fromkeys(("s, encoder", "s, decoder", "d, encoder", "d, decoder"), ".2f"),
)

# %% [markdown]
# ## Rows first, then columns
#
# In the released scores directionality does not only grow. Early, $d$ is positive, the side of rows, in
# {glue:text}`n-rows-first` of {glue:text}`n-encoders` encoders. The exception: {glue:text}`no-rows-first`. In
# {glue:text}`n-rows-random` of these it stays within two spreads of random weights. From step {glue:text}`columns-from` on
# it is below 0 in all.
#
# In the deeper models $d$ of the encoders falls from the first recorded step to the end in all, that of the decoders in
# {glue:text}`n-grown` of {glue:text}`n-deep`. So the two come closer, in {glue:text}`n-narrowed` of these pairs.

# %% tags=["remove-cell"]
course = released_course()
encoders, deep = course[course["part"] == "encoder"], course[course["layers"] == 12]
risen = encoders[encoders["last step above 0"] > 0]
never = encoders.drop(risen.index)
moves = deep.assign(move=deep["end"] - deep["first"]).pivot(index="text", columns="part", values="move")
assert (moves["encoder"] < 0).all()
for name, value in {
    "n-rows-first": len(risen),
    "n-encoders": len(encoders),
    "no-rows-first": ", ".join(f"{m.text} with {m.layers} layers" for m in never.itertuples()),
    "n-rows-random": (risen["most"] < 2 * risen["layers"].map(random_median_sd)).sum(),
    "columns-from": f"{encoders['below 0 from'].max():,}",
    "n-grown": (moves["decoder"] < 0).sum(),
    "n-deep": len(moves),
    "n-narrowed": (moves["encoder"] < moves["decoder"]).sum(),
}.items():
    glue(name, value)


# %% [markdown]
# ## Recorded runs
#
# The runs of this project are far smaller than the paper's, and some have several seeds, which the paper's have not. The
# page [Recorded runs](../recorded_runs.md) lists their experiments, and the runs that would need a GPU. *Characters* means
# a space between all characters, as in the released code; *pieces* are the tokens of text as it is. Common Crawl stands
# where the paper used Red Pajama, which is filtered Common Crawl.
#
# Recorded are {glue:text}`n-recorded` runs of {glue:text}`n-hours` hours in all. An encoder and a decoder stand in
# {glue:text}`n-pairs` settings, and {glue:text}`n-with-interval` of these have three seeds or more. All are far below the
# paper's models in width, depth, vocabulary and steps, and both scores depend on these: at random directionality has a
# spread of several times width$^{-1/2}$, so that models of this width can show only large differences in it.

# %% tags=["remove-cell"]
every, runs = recorded_runs(data("runs")), recorded()
pairs = pairs_of(runs)
for name, value in {
    "n-recorded": len(every),
    "n-hours": f"{sum(run.about['seconds'] for run in every) / 3600:.1f}",
    "n-pairs": len(pairs),
    "n-with-interval": sum(len(pair) > 2 for pair in pairs),
}.items():
    glue(name, value)

# %% [markdown]
# The paper says that both scores are zero at initialisation. Symmetry is, to within that of
# [random matrices](two_scores.py#random-matrices).


# %%
@claim(
    "Section 4.1",
    "(initialisation of recorded runs)",
    "symmetry is near zero at the start of training",
    Verdict.HOLDS,
    printed="""\"At initialization, the symmetry and directionality score of the matrix $W_{qk}$ at any layer is zero".""",
    place="Section 4.1, first paragraph",
    remark=r"""So it is of symmetry, to within that of a random matrix: 1/width on average, with a spread of about
    $\sqrt{2}$/width. Of directionality see [two scores](two_scores.py#random-matrices).""",
)
def recorded_starts():
    # runs of one seed and size start alike, and count once
    widths = {s: run.config["d_model"] for run in recorded() for s in run.by_layer("symmetry").iloc[0]}
    s, n = np.array(list(widths)), len(widths)
    mean, sd = (np.array([f(d) for d in widths.values()]) for f in (symmetry_mean, symmetry_sd))
    z, words = (s - mean) / sd, f"$s$ less 1/width, in units of its spread, mean over {n} layers"
    yield Comparison(words, z.mean(), "=", 0.0, 4 / n**0.5, n**-0.5, "")
    spread = "the same, standard deviation"
    yield Comparison(spread, z.std(ddof=1), "=", 1.0, 4 / (2 * n) ** 0.5, (2 * n) ** -0.5, "")
    yield compare("largest $|s|$ of a layer, against five spreads", abs(s).max(), "<", 5 * max(sd), paper="")


show(recorded_starts())

# %% [markdown]
# ## Encoders against decoders
#
# Encoder and decoder of one seed start from the same weights. Decoders learn from every position of a block; where they
# were given fewer steps, the table says so. An interval of 95 % (Student's $t$ on the differences, seed by seed) takes
# three seeds; without one nothing is decided. The last column has the difference in the released models of 12 layers,
# one seed, for $s$. The released $d$ is not that of Def. 3.2 of the paper, by which this table goes: it
# stands [below](#three-formulas) beside $d$ by the formula of the released code.

# %% tags=["remove-input"]
table(
    contrast_table(runs),
    name="tab-training-contrasts",
    caption="Encoder and decoder at the end: medians over layers, mean over seeds, and encoder less decoder; $d$ by"
    " Def. 3.2 of the paper.",
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
            assert at_equal_steps(pair, score).outcome == end.outcome
assert not any(one.reversed for ends in outcomes.values() for one in ends)
glue("n-known", len(outcomes["s"]))
for letter, cases in outcomes.items():
    glue(f"{letter}-as-stated", sum(one.met for one in cases))

# %% [markdown]
# {glue:text}`n-known` settings have an interval. Beyond the noise between seeds the encoder is the more symmetric in
# {glue:text}`s-as-stated` of them, and the decoder the more directional in {glue:text}`d-as-stated`; the reverse is seen in
# none. Where the shorter run ends, the intervals say the same; there the other's learning rate has not yet fallen to 0.
#
# ## Three formulas
#
# What a difference in directionality is depends on the formula: Def. 3.2 of the paper sums norms above a threshold, the
# released code their excess over it, and Table S3 the excess of their logarithms ([The printed
# scores](printed_scores.py)).

# %% tags=["remove-input"]
table(
    formula_table(runs),
    name="tab-training-formulas",
    caption="Directionality at the end, encoder less decoder, by three formulas; the paper's sign is plus. Released models:"
    " one seed each, $d$ by the formula of the released code, as the audit says; without their weights this cannot be checked.",
)

# %% [markdown]
# ## Where symmetry falls again
#
# We follow the median over layers, averaged over seeds, to its peak and from there to the last step; what a seed loses is taken
# from where the other seeds peak. Some settings of encoders with one seed lose more than {glue:text}`least-fall`:
# {glue:text}`n-fall` of {glue:text}`n-alone`, from low peaks. In the {glue:text}`n-several` settings with three seeds or more it
# falls in none beyond their noise.

# %% tags=["remove-cell"]
rises = climbs(runs)
alone = [climb for climb in rises if not climb.fall.has_interval]
fallen = [climb for climb in alone if climb.fall.value > SETTLED]
assert not any(climb.fall.low > 0 for climb in rises) and max(climb.mean.max() for climb in fallen) < 0.3
for name, value in {
    "n-alone": len(alone),
    "n-fall": len(fallen),
    "least-fall": f"{SETTLED:g}",
    "n-several": len(rises) - len(alone),
}.items():
    glue(name, value)

# %% [markdown]
# ## Layer by layer
#
# Late and early are here the two halves of the layers, and the middle is the middle half. The paper speaks of 12 layers;
# ours have fewer, so intervals over their seeds do not decide what it says.

# %% tags=["remove-input"]
by_layer(pairs[0])


# %% tags=["remove-cell"]
def of_layers(statement: str, on_wikipedia: bool):
    """What recorded runs have of a statement on layers; none of them is large enough to decide it."""
    cases = cases_of_layers(recorded(on_wikipedia))[statement]
    every = [one for measured in cases.values() for one in measured]
    large = sum(one.training.reaches(spoken_of()) for one in every)
    yield exact("settings recorded here with models as large, and trained as long, as those spoken of", large, 0, 0)
    yield from joined(every, spoken_of())
    ours = " ".join(f"{words[0].upper()}{words[1:]}: {in_words(measured)}." for words, measured in cases.items())
    ours = doubt(every, ours) or f"The runs recorded here do not decide: none has {LEAST_SEEDS} seeds."
    order = "Of the released layers this project's copy keeps no order."
    return {"remark": f"{ours} {order} Recorded runs: intervals of 95 % over seeds."}


LATE = """\"[L]ate layers of encoder-only models are more symmetric and converge faster than early layers when training
bidirectionally.\""""
STRONGLY = """\"[D]ecoder-only models learn almost non-symmetric matrices with strong skew-symmetric matrices in the middle
layers"."""
DIRECTIONAL = """\"When training unidirectionally, both encoder and decoder models show a higher degree of directionality for
late layers, which is remarkably stronger for decoder-only models"."""


# %%
@claim(
    "Figure 3",
    "(c), encoders",
    "late layers of encoders end more symmetric than early ones, and sooner",
    Verdict.UNDECIDED,
    printed=LATE,
    place=SECOND,
)
def encoder_layers_on_wikipedia():
    return (yield from of_layers("encoders", on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), encoders",
    "late layers of encoders end more symmetric than early ones, and sooner",
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
    "the middle layers of decoders end skew",
    Verdict.UNDECIDED,
    printed=STRONGLY,
    place=SECOND,
)
def middle_layers_on_wikipedia():
    return (yield from of_layers("middle", on_wikipedia=True))


@claim(
    "Figure S4",
    "(a), (c), decoders, middle layers",
    "the middle layers of decoders end skew",
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
    "late layers end more directional than early ones, those of decoders most",
    Verdict.UNDECIDED,
    printed=DIRECTIONAL,
    place=SECOND,
)
def directionality_of_layers_on_wikipedia():
    return (yield from of_layers("directionality", on_wikipedia=True))


@claim(
    "Figure S4",
    "(b), (d)",
    "late layers end more directional than early ones, those of decoders most",
    Verdict.UNDECIDED,
    printed=DIRECTIONAL,
    place=SECOND,
)
def directionality_of_layers_elsewhere():
    return (yield from of_layers("directionality", on_wikipedia=False))


show(directionality_of_layers_on_wikipedia(), directionality_of_layers_elsewhere())

# %% [markdown]
# The paper says that late layers of both are the more directional ones *when training unidirectionally*. Encoders are not
# trained so.


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
    "encoders are among the models trained unidirectionally",
    Verdict.MISPRINT,
    printed="""\"When training unidirectionally, both encoder and decoder models show a higher degree of directionality for
    late layers".""",
    place=SECOND,
    holds="""Encoders are trained bidirectionally (Definition S1.3; Section S2.3: they predict masked tokens): the models of
    Figure 3 (d) are encoders and decoders, each trained with its own objective.""",
)
def no_encoder_is_trained_unidirectionally():
    attention = attention_of(Encoder, causal=False), attention_of(Decoder, causal=True)
    later = [float(weights.triu(diagonal=1).sum(dim=-1).mean()) for weights in attention]  # rows sum to 1
    words = "attention to later tokens, share of all, mean over the heads of"
    yield compare(f"{words} an encoder", later[0], ">", 0, 0.1, paper="= 0")
    yield exact(f"{words} a decoder", later[1], 0, 0)


show(no_encoder_is_trained_unidirectionally())

# %% [markdown]
# ## Training here and now
#
# While this page was built, an encoder and a decoder were trained from the same weights: {glue:text}`layers` layers of
# width {glue:text}`d-model`. The text is by default documentation of Python and its packages, character by character. The
# settings were chosen, after others had been tried, so that something happens within a minute.

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
# At the end $s$ is {glue:text}`encoder-s-end` in the encoder and {glue:text}`decoder-s-end` in the decoder. In runs like this
# $s$ rises when the encoder's loss leaves a plateau. At this width $d$ can say little: its grey band is wide. One seed of two
# small models is an illustration, not evidence.
