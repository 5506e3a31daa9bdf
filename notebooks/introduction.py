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
# How strongly token $i$ attends to token $j$ depends on a single number, the attention score $x_i^\top W_{qk}\, x_j$. Here
# $x_i$ and $x_j$ are the vectors of the two tokens, and the matrix $W_{qk} = W_q W_k^\top$ is the product of the query
# weights and the key weights of a layer. Suppose that the score from *dog* to *cat* is always equal to the score from *cat*
# to *dog*, and that the same is true for every other pair of tokens. Then $W_{qk}$ is equal to its transpose (its mirror
# image across the diagonal), and we call it symmetric. The **symmetry score** $s$ measures how close a matrix with entries
# $m_{ij}$ is to its transpose:
#
# $$
# s = \frac{\sum_{ij} m_{ij}\, m_{ji}}{\sum_{ij} m_{ij}^2}
# $$
#
# In the numerator, every entry is multiplied by its mirror image, and in the denominator, every entry is multiplied by itself.
# Therefore $s$ is 1 if the matrix is equal to its transpose, −1 if transposing the matrix changes the sign of every entry, and
# about 0 if the entries are random.
#
# In this book, symmetry is a property of attention scores and not of attention weights. Attention *weights* are the result
# of a softmax, which normalises every row separately, so the weights are not symmetric even if the scores are. The page on
# [question 1](bilinear_form.py) explains this in more detail.
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
# To score your own model, first run `pip install .` in a checkout of this book (Python 3.10 or later). Then run
# `attngeo score MODEL -o x.json`, where MODEL is a folder with weights or the name of a model on the Hugging Face Hub, and paste
# the content of `x.json` into the box above. For all options of this command, see [*Score your model*](../use/score.md).

# %% [markdown]
# ## Read on

# %% tags=["remove-input"]
Markdown(told.cards_of_questions())

# %% [markdown]
# If you want to check every detail, start with the page that lists the [status of every statement](status.py). All symbols
# are explained on the [notation page](../notation.md). You can also play the
# [animations](../references.md#the-animations-of-the-papers-web-page) from the paper's web page.

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
# We have examined the numbered statements, figures and tables of your paper. Of these, {glue:text}`n-misprints` contain a
# misprint, {glue:text}`n-assumptions` lack an assumption, and {glue:text}`n-changes` lead to a different conclusion once
# they are corrected. For every correction, we provide the check on which it is based; see the lists of [all
# corrections](errata.py) and [all judgements](status.py), and the [row-by-row comparison of the printed
# scores](printed_scores_details.py). Most of the corrections do not affect your conclusions. If we have misunderstood
# something, please tell us. We will publish your reply here without changes.
#
# :::{div} front-reply
# This space is reserved for a reply by the authors.
# :::
# ::::

# %% [markdown]
# ## Cite
#
# If you use the theorems or the published scores, please cite the paper. If you use one of our checks or measurements, please
# cite this book.

# %% tags=["remove-input"]
bibtex = citations.of_the_paper(root() / "book" / "references.bib")
book = citations.of_this_book(root(), commit(root()))
Markdown(
    f"::::{{div}} front-cite\n```bibtex\n{bibtex}\n```\n\n```bibtex\n{book}\n```\n::::\n\n{citations.links(root())}"
)

# %% tags=["remove-input"]
each = "All claims of the paper, the results of our checks, and the meaning of the badges"
Markdown(f":::::{{dropdown}} {each}\n{cards(paper)}\n\n{legend()}\n:::::")
