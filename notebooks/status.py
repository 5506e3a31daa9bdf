# ---
# jupyter:
#   attngeo:
#     after: all
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Status
#
# This page lists every numbered statement, figure and table of the paper {cite}`saponati2025`, together with the verdicts of
# our checks. We compile this page from the results of the most recent run of all chapters with the present settings. A
# verdict appears here only if all comparisons behind it were confirmed in that run.
#
# {glue:text}`coverage` Our checks cover {glue:text}`n-findings` statements or parts of statements, and they compare
# {glue:text}`n-numbers` numbers. Of these statements, {glue:text}`n-ours` are our own. {glue:text}`support`

# %% tags=["remove-cell"]
import pandas as pd

from chapters.status import tables
from livingpaper.display.check_line import MEANINGS
from livingpaper.display.page import badge, glue, table
from livingpaper.display.verdicts import account, reported_checks
from livingpaper.claims.published import statements

paper = account(reported_checks())
state = tables.states(statements(), paper.findings)
glue("coverage", tables.told_coverage(paper.statements, paper.checked))
glue("n-findings", len(paper.findings))
glue("n-numbers", paper.numbers)
ours = [finding for finding in paper.findings if finding.report["ours"]]
glue("n-ours", len(ours))
glue("support", tables.told_support(len(paper.findings), len(paper.supported)))

# %% [markdown]
# ## The verdicts
#
# Each verdict describes what our check means for a reader of the paper.

# %% tags=["remove-input"]
counts = paper.counts()
tally = [
    {"verdict": badge(v.value), "it means": words, "parts": counts[v], "on statements": len(paper.about(v))}
    for v, words in MEANINGS.items()
]
table(
    pd.DataFrame(tally),
    name="tab-status-verdicts",
    caption="Number of supported verdicts of each type, counted by parts of statements and by statements. On the"
    " errata page, we count slips instead, and a single slip can affect several parts.",
)

# %% tags=["remove-input"]
table(
    tables.counts(state),
    name="tab-status-counts",
    caption="Number of entries of each kind in the paper, and how many of these entries have a check.",
)

# %% [markdown]
# ## Every statement, figure and table
#
# A statement with several parts has several verdicts. *Not yet* means that we have not checked the statement in any chapter
# of this book.

# %% tags=["remove-input"]
table(
    state.rename(columns={"name": "in the paper", "title": "what it is about", "chapters": "chapter"})
    .drop(columns="kind")
    .reset_index(drop=True),
    name="tab-status",
    caption="All entries in the order in which they appear in the paper. If a claim in the text has no number of its"
    " own, we list the section, recipe, finding or equation. Our own statements are listed in"
    " {numref}`tab-status-ours`.",
)

# %% [markdown]
# ## Our own statements
#
# In this book, we also make statements that are not in the paper. Each of these statements also has a check and is related
# to a statement of the paper. For example, our statements about positional encoding are related to Section 4.1 of the
# paper.

# %% tags=["remove-input"]
table(
    tables.ours(ours),
    name="tab-status-ours",
    caption="Our own statements, each next to the related statement of the paper. *Holds* means that we proved the"
    " statement, or that we confirmed it in the models that we name in the chapter.",
)

# %% [markdown]
# ## Every check of a statement of the paper

# %% tags=["remove-input"]
table(
    pd.DataFrame(
        [
            {"in the paper": f.number, "what was judged": f.report["title"], "verdict": f.badge, "chapter": f.links}
            for f in paper.findings
            if f not in ours
        ],
        columns=["in the paper", "what was judged", "verdict", "chapter"],
    ),
    name="tab-status-checks",
    caption="All statements of the paper, or parts of statements, that we checked. The numbers behind each verdict"
    " are shown in the chapters.",
)

# %% [markdown]
# ## Open questions
#
# In this book, we do not answer the following questions, whether by proof or by measurement.
#
# - Why do columns with large norms come to dominate in trained decoders? {prf:ref}`prop-s1-12-condition` and
#   {prf:ref}`thm-s1-12-counts` give sufficient conditions, but we do not know which of these conditions trained decoders
#   meet.
# - Theorem 2.4 of the paper is about the two coefficients of each pair of tokens ({prf:ref}`thm-s1-14`,
#   {prf:ref}`prop-s1-14-update`). Do these two coefficients agree while a large encoder is being trained? For pairs of
#   positions in a single layer, the two coefficients agree at initialisation ({prf:ref}`thm-position-masked`). In small
#   encoders, the coefficients are hardly correlated early in training (see [page 3](why.py)).
# - In a few small encoders with rotary positions ({prf:ref}`prop-rotary`), the mean scores between two positions are
#   symmetric although $W_{qk}$ itself is not symmetric (see [page 3](why.py)). Is this also the case in larger encoders?
# - If $W_{qk}$ is zero, {prf:ref}`prop-s1-14-shift` gives the exact asymmetry that the shift between query and target causes
#   in an update. How much of the asymmetry later in training is caused by this shift?
# - Suppose that a [symmetric initialisation](symmetric_initialisation.py) changes neither the scale of the initial weights
#   nor the biases, and that the models are trained on as much text as the models in the paper. Does the initialisation then
#   speed up training?
# - Why do the heads of a trained encoder agree in their symmetric parts, but hardly in their skew-symmetric parts
#   ({prf:ref}`prop-sum-over-heads`, {prf:ref}`prop-head-directions`)?
