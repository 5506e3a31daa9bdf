# ---
# jupyter:
#   attngeo:
#     after: all
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
# # Give a small BERT rotary positions, and its query–key weights stop being symmetric

# %% tags=["remove-cell"]
from IPython.display import Markdown

from attngeo.files.checkout import root
from attngeo.files.provenance import commit
from chapters import positions
from chapters.introduction import citations, findings, told
from chapters.introduction.cards import cards
from chapters.introduction.front_figure import front_figure
from chapters.introduction.models_by_size import language_models, models_by_size
from chapters.introduction.three_words import three_words
from livingpaper.claims import Verdict
from livingpaper.display.check_line import legend
from livingpaper.display.page import glue
from livingpaper.display.verdicts import account, reported_checks

paper = account(reported_checks())
experiments = positions.all_recorded()
first = experiments[positions.TITLES[positions.FIRST]]
models = language_models()

# %% tags=["remove-input"]
Markdown(told.opening(first, experiments[positions.TITLES["positions_pieces_longer"]]))

# %% [markdown]
# ::::{div} front-buttons
# [Start with question 1](bilinear_form.py) [Score my model](#is-your-model-symmetric)
# [The paper](https://arxiv.org/abs/2502.10927)
# ::::

# %% tags=["remove-input"]
front_figure()

# %% tags=["remove-input"]
Markdown(told.to_keep_in_mind(models, experiments))

# %% tags=["remove-input"]
Markdown(told.what_is_shown(first))

# %% [markdown]
# ## What does *symmetric* mean?
#
# ::::::{div} front-two
# :::::{div} front-column
# Attention decides how strongly token $i$ attends to token $j$ by a single number, the score $x_i^\top W_{qk}\, x_j$. Here $x_i$
# and $x_j$ are the vectors of the two tokens, and the matrix $W_{qk} = W_q W_k^\top$ combines the query weights and the key
# weights of a layer. Suppose that *dog* attends to *cat* exactly as strongly as *cat* attends to *dog*, and that the same is
# true of every other pair. Then $W_{qk}$ is its own mirror image, and we call it symmetric. The **symmetry score** $s$ measures how
# close a matrix with the entries $m_{ij}$ is to its mirror image:
#
# $$
# s = \frac{\sum_{ij} m_{ij}\, m_{ji}}{\sum_{ij} m_{ij}^2}
# $$
#
# The upper sum multiplies every number by its mirror image, and the lower sum multiplies every number by itself. So $s$ is 1 if
# the matrix equals its mirror image, −1 if mirroring changes the sign of every number, and about 0 if the numbers are random.
#
# This is a statement about scores. Attention *weights* are scores after a softmax, which divides every row by its own sum, so
# they are not symmetric even where the scores are. [Question 1](bilinear_form.py) explains this in more detail.
# :::::
# ::::::

# %% tags=["remove-input"]
three_words()

# %% [markdown]
# ## What we found

# %% tags=["remove-input"]
Markdown(
    findings.listed(
        findings.encoders_are_more_symmetric(),
        findings.learned_positions(experiments),
        findings.one_bert(),
        findings.theorem_on_updates(paper),
        findings.forbidding(first),
        findings.symmetric_start(),
    )
)

# %% tags=["remove-input"]
Markdown(findings.directionality(told.questions()[6].page))

# %% tags=["remove-input"]
Markdown(findings.labels())

# %% [markdown]
# ## Is your model symmetric?

# %% tags=["remove-input"]
Markdown(
    f":::::{{div}} front-score\n{told.terminal()}\n\n::::{{div}} front-column\n{told.how_to_read(models)}\n::::\n:::::"
)

# %% tags=["remove-input"]
models_by_size(models)

# %% tags=["remove-input"]
Markdown(told.about_sizes(models))

# %% [markdown]
# To score your own model, run `pip install .` in a checkout of this book (Python 3.10 or later), and then
# `attngeo score MODEL -o x.json`, where MODEL is a folder with weights or a name on the Hugging Face Hub. Paste the content of
# `x.json` into the box above. [Score your model](../use/score.md) describes everything else that the command can do.

# %% [markdown]
# ## Read on

# %% tags=["remove-input"]
Markdown(told.cards_of_questions())

# %% [markdown]
# If you want to check every detail, start with the [status of all statements](status.py). Symbols are explained in the
# [notation](../notation.md), and the [animations](../references.md#the-animations-of-the-papers-web-page) of the paper's web page can
# be played.

# %% tags=["remove-cell"]
for name, verdict in (
    ("misprints", Verdict.MISPRINT),
    ("assumptions", Verdict.ASSUMPTION),
    ("changes", Verdict.CHANGES),
):
    glue(f"n-{name}", len(paper.about(verdict)))

# %% [markdown]
# ## For the authors of the paper
#
# ::::{div} front-authors
# On {glue:text}`n-misprints` of your numbered statements, figures and tables we list misprints, on
# {glue:text}`n-assumptions` we name a missing assumption, and on {glue:text}`n-changes` a conclusion changes. Every correction comes
# with the check behind it ([all corrections](errata.py), [all judgements](status.py), [the printed scores row by
# row](printed_scores_details.py)), and most of the corrections leave your conclusions as they were. If we misread something, please tell us.
# We will print your reply here, unedited.
#
# :::{div} front-reply
# Reply by the authors: this space is reserved for it.
# :::
# ::::

# %% [markdown]
# ## Cite
#
# Cite the paper for its theorems and its scores, and this book for a check or a measurement.

# %% tags=["remove-input"]
bibtex = citations.of_the_paper(root() / "book" / "references.bib")
book = citations.of_this_book(root(), commit(root()))
Markdown(
    f"::::{{div}} front-cite\n```bibtex\n{bibtex}\n```\n\n```bibtex\n{book}\n```\n::::\n\n{citations.links(root())}"
)

# %% tags=["remove-input"]
each = "The claims of the paper one by one, with what the checks say and what the badges mean"
Markdown(f":::::{{dropdown}} {each}\n{cards(paper)}\n\n{legend()}\n:::::")
