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
# Every numbered statement, figure and table of the paper {cite}`saponati2025`, and what the checks of this book say
# of it. The page is made from what the chapters reported when they were last executed with the present settings. A
# verdict stands here only if all comparisons behind it held in that run.
#
# Of {glue:text}`n-statements` entries {glue:text}`n-checked` have a check and {glue:text}`n-open` wait for one. The
# checks judge {glue:text}`n-findings` statements or parts of one, by {glue:text}`n-numbers` numbers;
# {glue:text}`n-supported` verdicts are supported by this run, and {glue:text}`n-unsupported` are not.

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
glue("n-supported", len(paper.supported))
glue("n-unsupported", len(paper.findings) - len(paper.supported))

# %% [markdown]
# ## The verdicts
#
# A verdict says what follows for a reader of the paper.

# %% tags=["remove-input"]
counts = paper.counts()
tally = [
    {"verdict": badge(v.value), "it means": words, "parts": counts[v], "on statements": len(paper.about(v))}
    for v, words in MEANINGS.items()
]
table(
    pd.DataFrame(tally),
    name="tab-status-verdicts",
    caption="Supported verdicts on statements and parts of statements, and on how many statements each stands. The errata "
    "count slips: one can spoil several parts.",
)

# %% tags=["remove-input"]
table(
    tables.counts(state), name="tab-status-counts", caption="Entries of the paper by kind, and how many have a check."
)

# %% [markdown]
# ## Every statement, figure and table
#
# A statement with several parts has several verdicts. *Not yet* means that no chapter of the book has judged it.

# %% tags=["remove-input"]
table(
    state.rename(columns={"name": "in the paper", "title": "what it is about", "chapters": "chapter"})
    .drop(columns="kind")
    .reset_index(drop=True),
    name="tab-status",
    caption="The entries of the paper in its order. Sections, recipes, findings and single equations are listed where the "
    "text makes a claim that has no number of its own; what this book adds is in the last table.",
)

# %% [markdown]
# ## Every check

# %% tags=["remove-input"]
table(
    pd.DataFrame(
        [
            {"in the paper": f.number, "what was judged": f.report["title"], "verdict": f.badge, "chapter": f.links}
            for f in paper.findings
        ],
        columns=["in the paper", "what was judged", "verdict", "chapter"],
    ),
    name="tab-status-checks",
    caption="All judged statements and parts. The numbers behind a verdict stand in its chapter.",
)

# %% [markdown]
# ## Open questions
#
# Neither a proof nor a measurement in this book answers these questions.
#
# - Why do columns of large norm come to dominate in trained decoders? {prf:ref}`prop-s1-12-condition` and
#   {prf:ref}`thm-s1-12-counts` give conditions that suffice, but we do not know which of them trained decoders meet.
# - Do the two coefficients of a pair of tokens, on which {prf:ref}`thm-s1-14` and {prf:ref}`prop-s1-14-update` rest, agree while an
#   encoder is trained? The coefficients of two positions agree in one layer at the start of training
#   ({prf:ref}`thm-position-masked`). For pairs of tokens we have not measured this.
# - Are the mean scores of two positions symmetric in [encoders without learned position embeddings](positions.py), for example with
#   rotary positions ({prf:ref}`prop-rotary`)?
# - {prf:ref}`prop-s1-14-shift` computes exactly, where the matrix is 0, how the shift between query and target makes an update
#   asymmetric. How much of the asymmetry later in training does the shift explain?
# - Does a [symmetric initialisation](symmetric_initialisation.py) speed up models that read as much text as those of the paper, once the
#   scale of the initial weights and the biases are equal?
# - Why do the heads of a trained encoder agree in their symmetric parts and hardly in their skew-symmetric parts
#   ({prf:ref}`prop-sum-over-heads`, {prf:ref}`prop-head-directions`)?
