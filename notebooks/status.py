# ---
# jupyter:
#   attngeo:
#     after: all
#     reads: [data/published]
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
# # Status
#
# Every numbered statement, figure and table of the paper {cite}`saponati2025`, and what the checks of this book say
# of it. The page is made from what the chapters reported when they were last executed with the present settings. A
# verdict stands here only if all comparisons behind it held in that run.
#
# Of {glue:text}`n-statements` entries {glue:text}`n-checked` have a check and {glue:text}`n-open` wait for one. The
# checks judge {glue:text}`n-findings` statements or parts of one; {glue:text}`n-supported` verdicts are supported by
# this run, and {glue:text}`n-unsupported` are not.

# %% tags=["remove-cell"]
import pandas as pd

from attngeo.book import reported_checks
from attngeo.chapters.status import tables
from attngeo.paper import Verdict
from attngeo.display.page import badge, glue, table
from attngeo.display.verdicts import findings
from attngeo.paper.published import statements

listed = statements()
found = findings(reported_checks(), listed.index)
state = tables.states(listed, found)
supported = [f for f in found if f.supported]
count = tables.counts(state)
glue("n-statements", count.loc["all", "in the paper"])
glue("n-checked", count.loc["all", "checked"])
glue("n-open", count.loc["all", tables.NOT_YET])
glue("n-findings", len(found))
glue("n-supported", len(supported))
glue("n-unsupported", len(found) - len(supported))

# %% tags=["remove-input"]
tally = {v: sum(f.verdict is v for f in supported) for v in Verdict}
table(
    pd.DataFrame({"verdict": [badge(v.value) for v in tally], "statements or parts": list(tally.values())}),
    name="tab-status-verdicts",
    caption="Supported verdicts on statements and parts of statements.",
)

# %% tags=["remove-input"]
table(count, name="tab-status-counts", caption="Entries of the paper by kind, and how many have a check.")

# %% [markdown]
# ## Every statement, figure and table
#
# A statement with several parts has several verdicts. *Not yet* means that no chapter of the book has judged it.

# %% tags=["remove-input"]
table(
    state.rename(columns={"title": "what it is about", "chapters": "chapter"}),
    name="tab-status",
    caption="The entries of the paper in its order. Sections, recipes, findings and single equations are listed where the "
    "text makes a claim that has no number of its own.",
)

# %% [markdown]
# ## Every check

# %% tags=["remove-input"]
table(
    pd.DataFrame(
        [
            {"number": f.number, "what was judged": f.report["title"], "verdict": f.badge, "chapter": f.links}
            for f in found
        ],
        columns=["number", "what was judged", "verdict", "chapter"],
    ),
    name="tab-status-checks",
    caption="All judged statements and parts. The numbers behind a verdict stand in its chapter.",
)
