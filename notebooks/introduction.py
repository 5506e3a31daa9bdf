# ---
# jupyter:
#   attngeo:
#     after: all
#     reads: [data/runs/one_start, CITATION.cff, book/references.bib]
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
# # Query-key matrices of encoders and decoders differ; why is still open

# %% tags=["remove-cell"]
import os
import subprocess
import sys

from IPython.display import Markdown

from attngeo.book import reported_checks
from attngeo.chapters.introduction import citations
from attngeo.chapters.introduction.cards import cards
from attngeo.chapters.introduction.one_start import one_start
from attngeo.display.verdicts import account
from attngeo.records.checkout import data, root
from attngeo.records.provenance import commit
from attngeo.runs.record import read_run

# %% [markdown]
# In the scores that the authors released, a language encoder's $W_{qk} = W_q W_k^\top$ is almost always more symmetric than
# a decoder's, as {cite:t}`saponati2025` report; the theorem offered as the reason (2.4) needs more than it states, and the
# one on columns (2.3) does not follow. In {glue:any}`symmetric_initialisation.py::n-encoder-plans` comparisons planned
# before they were made, a small encoder that starts symmetric, with nothing else changed,
# {glue:any}`symmetric_initialisation.py::planned-outcomes`; corrected for how many they are,
# {glue:any}`symmetric_initialisation.py::n-after-bound` is told from chance. In the shape of the paper's four-layer
# model, after {glue:any}`symmetric_initialisation.py::shape-tokens`, such a start moved the final loss by
# {glue:any}`symmetric_initialisation.py::shape-difference` nats with
# {glue:any}`symmetric_initialisation.py::shape-seeds` seeds{glue:any}`symmetric_initialisation.py::again-shortly`.

# %% tags=["remove-input"]
Markdown(f"{citations.links(root() / 'CITATION.cff')} · [Score your model](#score-your-model) · [Cite](#cite)")

# %% tags=["remove-input"]
one_start(*(read_run(data("runs", "one_start", model)) for model in ("encoder", "decoder")))

# %% [markdown]
# ## What is claimed, and what survives

# %% tags=["remove-input"]
Markdown(cards(account(reported_checks())))

# %% [markdown]
# All judgements: [status](status.py). What does not hold as printed: [errata](errata.py). What rests on what:
# [map](statement_map.py).
#
# ## Score your model
#
# In a checkout of this book, with Python 3.10 or later; a Hub id such as `bert-base-uncased` or a folder of yours goes in the
# place of the encoder from the figure above:
#
# ```sh
# pip install .
# attngeo score data/runs/one_start/encoder-weights
# ```

# %% tags=["remove-input", "wide-output"]
command = [sys.executable, "-m", "attngeo", "score", "data/runs/one_start/encoder-weights"]
plain = os.environ | {"FORCE_COLOR": ""}  # a kernel asks for colours, and a terminal of 80 columns with them
print(subprocess.run(command, cwd=root(), env=plain, capture_output=True, text=True, check=True).stdout.rstrip())

# %% [markdown]
# Symmetry $s$ is 1 for a symmetric matrix, $-1$ for a skew-symmetric one, near 0 for random weights. Directionality $d$ is
# below 0 where columns dominate, above 0 where rows do. A star marks what 95 % of random weights of the same shape do not
# reach; without one, a score says nothing about training. Beside each score, $z$ counts the standard deviations from the mean
# of random weights, and $p$ says how often these are as far off; *rows over* and *columns over* are those that $d$ counts,
# longer than the mean by $\gamma$ standard deviations.
#
# ## Cite

# %% tags=["remove-input"]
paper = citations.of_the_paper(root() / "book" / "references.bib")
book = citations.of_this_book(root() / "CITATION.cff", commit(root()))
Markdown(f"```bibtex\n{paper}\n\n{book}\n```")

# %% [markdown]
# ## Three routes
#
# ::::{div} front-routes
# :::{div} front-route
# **Ten minutes.** This page, then the figures of [](pretrained_survey.py) and the answer of [](symmetric_initialisation.py).
# :::
# :::{div} front-route
# **A student.** The chapters in their order, from [](bilinear_form.py) on; symbols are in [](../notation.md). Every page can
# be run again with other parameters, and [the animations](../references.md#the-animations-of-the-papers-web-page) of the
# paper's web page can be played.
# :::
# :::{div} front-route
# **An author of the paper.** The [errata](errata.py) by consequence, the [printed scores](printed_scores.py) row by row, and
# the [status](status.py) of each statement.
# :::
# ::::
