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
# This page lists every numbered statement, figure and table of the paper {cite}`saponati2025`, and what the checks of this book found
# about them. We make the page from the results that the chapters reported when they were last executed with the present settings. A
# verdict appears here only if all comparisons behind it held in that run.
#
# Of {glue:text}`n-statements` entries, {glue:text}`n-checked` have at least one check and {glue:text}`n-open` have none yet. The checks
# judge {glue:text}`n-findings` statements or parts of statements, with {glue:text}`n-numbers` numbers. {glue:text}`n-ours` of these
# statements are our own. This run supports {glue:text}`n-supported` of the verdicts and does not support {glue:text}`n-unsupported` of
# them.

# %% tags=["remove-cell"]
import pandas as pd

from chapters.status import tables
from livingpaper.display.check_line import MEANINGS
from livingpaper.display.page import badge, glue, table
from livingpaper.display.verdicts import account, reported_checks
from livingpaper.claims.published import statements

paper = account(reported_checks())
state = tables.states(statements(), paper.findings)
glue("n-statements", paper.statements)
glue("n-checked", paper.checked)
glue("n-open", paper.statements - paper.checked)
glue("n-findings", len(paper.findings))
glue("n-numbers", paper.numbers)
ours = [finding for finding in paper.findings if finding.report["ours"]]
glue("n-ours", len(ours))
glue("n-supported", len(paper.supported))
glue("n-unsupported", len(paper.findings) - len(paper.supported))

# %% [markdown]
# ## The verdicts
#
# Each verdict describes the consequence for a reader of the paper.

# %% tags=["remove-input"]
counts = paper.counts()
tally = [
    {"verdict": badge(v.value), "it means": words, "parts": counts[v], "on statements": len(paper.about(v))}
    for v, words in MEANINGS.items()
]
table(
    pd.DataFrame(tally),
    name="tab-status-verdicts",
    caption="Number of supported verdicts of each kind, on parts of statements and on statements. The errata count slips instead, and"
    " one slip can affect several parts.",
)

# %% tags=["remove-input"]
table(
    tables.counts(state),
    name="tab-status-counts",
    caption="Number of entries of the paper by kind, and how many of them have a check.",
)

# %% [markdown]
# ## Every statement, figure and table
#
# A statement with several parts has several verdicts. *Not yet* means that no chapter of the book has judged the statement.

# %% tags=["remove-input"]
table(
    state.rename(columns={"name": "in the paper", "title": "what it is about", "chapters": "chapter"})
    .drop(columns="kind")
    .reset_index(drop=True),
    name="tab-status",
    caption="The entries of the paper in the order of the paper. If the text makes a claim that has no number of its own, we list the"
    " section, recipe, finding or equation. {numref}`tab-status-ours` lists our own statements.",
)

# %% [markdown]
# ## Our own statements
#
# This book also makes statements that are not in the paper. Each of them has a check, too. Our statements about positional encoding, for
# example, are about Section 4.1 of the paper.

# %% tags=["remove-input"]
table(
    tables.ours(ours),
    name="tab-status-ours",
    caption="Our own statements, next to the statement of the paper to which they are related. *Holds* means that we proved the statement"
    " or found it in the models that the chapter names.",
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
    caption="All judged statements of the paper and parts of them. The chapters show the numbers behind each verdict.",
)

# %% [markdown]
# ## Open questions
#
# Neither a proof nor a measurement in this book answers the following questions.
#
# - Why do columns of large norm come to dominate in trained decoders? {prf:ref}`prop-s1-12-condition` and
#   {prf:ref}`thm-s1-12-counts` give sufficient conditions, but we do not know which of these conditions trained decoders meet.
# - Theorem 2.4 of the paper is about two coefficients for each pair of tokens ({prf:ref}`thm-s1-14`,
#   {prf:ref}`prop-s1-14-update`). Do these two coefficients agree while a large encoder is being trained? For two positions,
#   they agree in one layer at the start of training ({prf:ref}`thm-position-masked`). In small encoders, they are hardly
#   correlated early in training ([Why?](why.py)).
# - In a few small encoders with rotary positions ({prf:ref}`prop-rotary`), the mean scores between two positions are symmetric although
#   $W_{qk}$ is not ([Why?](why.py)). Is this the case in larger encoders, too?
# - {prf:ref}`prop-s1-14-shift` gives the exact asymmetry of an update that is caused by the shift between query and target, for a
#   matrix that is zero. How much of the asymmetry later in training does this shift explain?
# - Does a [symmetric initialisation](symmetric_initialisation.py) speed up the training of models that read as much text as
#   the models in the paper, if it changes neither the scale of the initial weights nor the biases?
# - Why do the heads of a trained encoder agree in their symmetric parts, but hardly in their skew-symmetric parts
#   ({prf:ref}`prop-sum-over-heads`, {prf:ref}`prop-head-directions`)?
