# ---
# jupyter:
#   attngeo:
#     reads: [data/drills]
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
# # Trust
#
# Of the {glue:text}`n-next` commands given after {glue:text}`n-kills` kills at random moments {glue:text}`n-wrong` ended
# otherwise than an undisturbed one, or found half a run, survey or notebook under its name: at most {glue:text}`bound`
# would, with 95 % confidence. A killed build of the book can leave half-written pages, until the next build. Of
# {glue:text}`n-answers` answers to damaged files and names {glue:text}`n-unanswered` was another than a value or one
# sentence; a value need not be the one that was written.

# %% tags=["remove-cell"]
from scipy.stats import binomtest

from attngeo.chapters.trust.drilled import SIGNALS, by_command, by_reader, recorded
from attngeo.display.page import glue, table

kills, fuzz = recorded()
commands, readers = by_command(kills.drills), by_reader(fuzz.answers)
every = commands.loc["all"]
glue("n-kills", int(every[list(SIGNALS)].sum()))
wrong = int(every["next"] - every["same"])
glue("n-next", int(every["next"]))
glue("n-wrong", wrong or "none")
glue("bound", binomtest(wrong, int(every["next"]), alternative="less").proportion_ci(0.95).high, ".1%")
glue("n-own", sum(one.own_process for one in kills.drills if one.kills))
glue("n-answers", int(readers.loc["all"].sum()), ",")
glue("n-unanswered", fuzz.failed or "none")
glue("n-several", max(len(one.kills) for one in kills.drills))
glue("n-anew", sum(one.then == "begun anew" for one in kills.drills) or "none")
glue("n-torch", sum(fuzz.answers["torch"].values()), ",")
glue("n-torch-read", fuzz.answers["torch"]["accepted"], ",")
glue("kills-made", f"{kills.date}, commit {kills.commit}, {kills.device}")
glue("fuzz-made", f"{fuzz.date}, commit {fuzz.commit}")
glue("kills-seed", f"SEED={kills.seed}")
glue("fuzz-seed", f"TRIED={fuzz.inputs} SEED={fuzz.seed}")

# %% tags=["remove-input"]
table(
    commands,
    name="tab-trust-kills",
    caption="Kills of `attngeo train`, `survey` and `run` and of `jupyter-book build` on a small book, by signal; commands "
    "given next, and those of them that came to the same end as an undisturbed one.",
)

# %% [markdown]
# A moment is drawn uniformly over the processor time that the command takes undisturbed; a training run is killed up to
# {glue:text}`n-several` times. {glue:text}`n-own` of the {glue:text}`n-next` killed commands were processes of their own;
# the rest were forked from one that had loaded the libraries, so that few moments fell into imports. The *same* end means the same bits: loss, scores, pictures and weights of a run, tables of
# a survey, the notebook, the pages, without their dates. What was there before stays until the new file is whole, but for
# pages of the book, which are written in place (a build that was killed meanwhile is noted, and the next one writes them
# all), and for what is folded here. A training run that dies before its first checkpoint ({glue:text}`n-anew` did here) has
# nothing to go on from: `--resume` says so, and the run begins anew.
#
# ````{dropdown} What else a kill leaves
# SIGKILL, and outside training SIGTERM, can leave temporary files, whose names begin with a dot. A model of a survey that
# was being written anew loses its former record: it has no `record.json`, counts as unfinished, and `--resume` scores it
# again.
#
# Made {glue:text}`kills-made`.
# ````
#
# ## Damaged files

# %% tags=["remove-input"]
table(
    readers,
    name="tab-trust-files",
    caption="Answers to files with random bytes changed, ends cut off or values replaced, now and then nothing: refusals "
    "in one sentence, and values where what is left has the right form, be it what was written or not. Names of files "
    "are random text, most of which a file could be called.",
)

# %% [markdown]
# Values can be wrong: of {glue:text}`n-torch` answers on torch files {glue:text}`n-torch-read` were values, and a changed
# byte within weights is scored as it stands. A damaged cache of token ids is never refused: it is made again, and its ids
# are the same.
#
# ````{dropdown} What is never executed
# Nothing of a file is run. Weights are read from safetensors, GGUF, or by `torch.load(weights_only=True)`; arrays by
# `numpy.load(allow_pickle=False)`; YAML by its safe loader. Code that a repository of the Hub brings along is not
# fetched: an architecture is known by the names of its tensors.
# ````
#
# ````{dropdown} How a damaged checkpoint is noticed
# Each checkpoint of a run is closed by a `manifest.json` with the SHA-256 of every file in it. `--resume` computes them
# again, passes over a checkpoint that differs, names the file, and goes on from the one before. Without a whole
# checkpoint, or where settings, text or tokenizer have changed, it refuses.
# ````
#
# ````{dropdown} What was not tried
# Power cuts: a file is renamed when it is whole, and not forced onto the disk. Disks that return other bytes than were
# written, apart from the checksums above. Commands at their full length: the drills' models and book are small, since a
# kill in a long computation meets the same few files.
#
# Safetensors with damage beyond the header: the bytes of weights carry no checksum there, nor in GGUF, so that a changed
# one would go unnoticed. GGUF files were not damaged at random.
#
# Damaged files: made {glue:text}`fuzz-made`.
# ````
#
# ## Repeat it
#
# `make drills` with {glue:text}`kills-seed`, and `make fuzz` with {glue:text}`fuzz-seed`, draw the same signals, moments
# and files again and write `data/drills`; another `SEED` draws others.
