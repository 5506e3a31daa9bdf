# ---
# jupyter:
#   attngeo:
#     reads: [data/runs, data/published]
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
# # Scores during training
#
# The paper trains BERT as an encoder (predict hidden tokens from both sides) and as a decoder (predict from the left), and
# follows both scores over training: symmetry grows in encoders and not in decoders, directionality is larger in decoders
# (Section 4.1, Figures 3, S3, S4). This page trains a small encoder and a small decoder while it is built, shows what
# their scores do, and then shows recorded runs of larger models.

# %% tags=["parameters"]
layers: int = 2  # layers of the models trained on this page; in [1, 48]
d_model: int = 96  # width of the embedding; in [8, 4096]
heads: int = 4  # heads per layer, a divisor of the width; in [1, 64]
corpus: str = "embedded"  # text: embedded, wikipedia, jigsaw, redpajama, wikitext, or a file or folder
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

import pandas as pd

from attngeo.checkout import data
from attngeo.claims.training import table_s1_beside_presets, table_s1_is_what_the_presets_build
from attngeo.display import glue, show, table
from attngeo.figures.training import before_and_after, by_layer, over_steps
from attngeo.nulls import directionality_sd
from attngeo.run_record import along_the_way, matched, read_runs, summary
from attngeo.training import train
from attngeo.training_config import configure

# %% [markdown]
# ## The models
#
# Table S1 lists two configurations, here beside what our presets build. Preset `base` is its column BERT, `mini` its
# column BERT-mini; a third, of 24 layers, appears on the paper's web page only.

# %% tags=["remove-input"]
table(
    table_s1_beside_presets(),
    name="tab-training-s1",
    caption="Table S1 as printed, and the configurations that our presets build.",
)

# %%
show(table_s1_is_what_the_presets_build())

# %% [markdown]
# `attngeo train --preset mini` trains such a model with the paper's settings of Appendix S2.3: AdamW, a learning rate of
# $5\times10^{-5}$ reached after 200 steps and falling linearly to 0, weight decay 0.01, 256 blocks a step, 15 % of tokens
# masked. Mixed precision is bf16 here and fp16 there.
#
# Three things differ from the released code on purpose. *Decoders predict every next token* (`clm`); the released decoder
# predicts only the 15 % of tokens that the masking chose, from a left context that is masked as well, and is available as
# `released-decoder`. *Text is left alone* (`plain`); the released code puts a space between all characters of Wikipedia
# and RedPajama, after which every token is one character, and that is available as `spaced`. *Blocks are full*: documents
# follow each other between their marks, and nothing is padded.

# %% [markdown]
# ## Training here and now
#
# The text is the documentation that comes with Python and with the installed packages, split by document into a part for
# training and a part that is held out. The models have {glue:text}`layers` layers of width {glue:text}`d-model` with
# {glue:text}`heads` heads and read blocks of {glue:text}`block-size` tokens, {glue:text}`batch-size` at a time, for
# {glue:text}`steps` steps. This is far below the paper's sizes, and the settings were chosen, after others had been tried,
# so that something happens within a minute: single characters instead of words, short blocks, a large learning rate,
# dropout {glue:text}`dropout`. Words and longer blocks behave otherwise: {numref}`tab-training-text` has recorded examples.

# %%
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

# %% tags=["remove-cell"]
for name in ("layers", "d_model", "heads", "block_size", "batch_size", "steps", "text"):
    glue(name.replace("_", "-"), settings[name])
glue("dropout", dropout, "g")
live = {kind: summary(run) for kind, run in (("encoder", encoder), ("decoder", decoder))}
for kind, numbers in live.items():
    glue(f"{kind}-s-start", numbers["symmetry, start"], ".2f")
    glue(f"{kind}-s-end", numbers["symmetry, end"], ".2f")
    glue(f"{kind}-d-end", numbers["directionality, end"], ".2f")
    glue(f"{kind}-loss-end", numbers["held-out loss"], ".2f")
glue("d-sd", directionality_sd(d_model), ".2f")
apart = live["encoder"]["symmetry, end"] - live["decoder"]["symmetry, end"]
glue("apart", apart, ".2f")
glue("order", "is more symmetric than" if apart > 0.1 else "is not clearly more symmetric than")

# %% tags=["remove-input"]
over_steps([encoder, decoder])

# %% [markdown]
# Both start where a random matrix lies. At the end the encoder {glue:text}`order` the decoder: median $s$ =
# {glue:text}`encoder-s-end` against {glue:text}`decoder-s-end`, a difference of {glue:text}`apart`. In runs like this the
# encoder's loss first stays near the level where only the frequencies of characters are used; $s$ is small there, and
# rises when the loss leaves that level, in the step range where the left panel bends.
#
# Directionality ends at {glue:text}`encoder-d-end` and {glue:text}`decoder-d-end`; for random matrices of this width it is
# 0 ± {glue:text}`d-sd`. Its spread falls only with the square root of the width, so models this narrow can say little
# about it.
#
# One seed of two small models is an illustration, not evidence.

# %% tags=["remove-input"]
by_layer([encoder, decoder])

# %% tags=["remove-input"]
before_and_after([encoder, decoder])

# %% [markdown]
# ## Recorded runs
#
# Longer runs are kept with the book, each with its settings, text, machine and duration; `data/runs/README.md` gives the
# command behind each, and lists the runs that would need a GPU.

# %%
recorded = read_runs(data("runs"))
random_starts = [run for run in recorded if run.config["init"] == "random"]
largest = next(iter(matched(random_starts, differ=("objective", "seed"))), [])

# %% tags=["remove-input"]
if recorded:
    table(
        pd.DataFrame(map(summary, recorded)),
        name="tab-training-runs",
        caption="Recorded runs: settings, and medians over layers at the end.",
        formats={
            "held-out loss": ".3f",
            "symmetry, start": ".2f",
            "symmetry, end": ".2f",
            "directionality, end": ".2f",
        },
    )
else:
    print("No runs are recorded yet.")

# %% tags=["remove-input"]
over_steps(largest, name="fig-training-recorded") if largest else None

# %% tags=["remove-input"]
by_layer(largest, name="fig-training-recorded-layers") if largest else None

# %% [markdown]
# Where symmetry shows, and when, depends on the text. Below, encoders that start at random read the same corpus as
# characters in short blocks (`spaced`), as characters in longer blocks (`long`), and as words (`words`).

# %% tags=["remove-input"]
kinds = ("spaced-mlm-random-0", "long-mlm-random-0", "words-mlm-random-0")
examples = along_the_way([run for run in recorded if run.name in kinds] or [encoder])
table(
    examples,
    name="tab-training-text",
    caption="Held-out loss and median symmetry of encoders with a random start, at some of their steps.",
    formats={"held-out loss": ".2f", "median s": ".2f"},
)
