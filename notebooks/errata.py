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
# # Errata
#
# What in the paper {cite}`saponati2025` does not hold as printed, with what holds instead. The tables are made from
# the checks of the chapters, each of which shows the numbers behind its entry. An entry stands here only if its check
# ran and is supported; {glue:text}`n-withheld` entries are withheld in this build because theirs is not.
#
# Three things should be kept in mind. Many entries are slips that any long derivation collects, and once mended they
# leave its conclusion as it was. A missing assumption is no error of the result, if it is met where the result is
# used. And we read the paper as a text made from its PDF: entries marked {glue:text}`mark` ({glue:text}`n-copying` of
# them) could be errors of that text, and not of the paper.
#
# | group | what it holds | entries |
# |---|---|---|
# | [misprints](#misprints) | wrong signs, indices, factors and shapes, and slips in a proof; the argument stands once they are mended | {glue:text}`n-misprints` |
# | [missing assumptions](#missing-assumptions) | true once something is added that the paper does not say | {glue:text}`n-assumptions` |
# | [failures](#failures) | the statement, or a step that it rests on, is false as printed | {glue:text}`n-failures` |

# %% tags=["remove-cell"]
from attngeo.book import reported_checks
from attngeo.chapters.errata.tables import MAYBE_COPYING, errata
from attngeo.paper import Flaw
from attngeo.display.page import glue, table
from attngeo.display.verdicts import findings
from attngeo.paper.published import statements

found = findings(reported_checks(), statements().index)
groups = {flaw: errata(found, flaw) for flaw in Flaw}
glue("n-misprints", len(groups[Flaw.MISPRINT]))
glue("n-assumptions", len(groups[Flaw.ASSUMPTION]))
glue("n-failures", len(groups[Flaw.FAILURE]))
glue("n-withheld", sum(f.flaw is not None and not f.supported for f in found))
glue("n-copying", sum(f.supported and f.report["maybe_copying"] for f in found))
glue("mark", MAYBE_COPYING)

# %% [markdown]
# ## Misprints
#
# Corrected without change to what is claimed.

# %% tags=["remove-input"]
table(
    groups[Flaw.MISPRINT],
    name="tab-errata-misprints",
    caption="Misprints, and slips that leave the argument standing.",
)

# %% [markdown]
# ## Missing assumptions
#
# What the statement needs and does not say. Whether trained models meet it is a question for measurement, which the
# chapters take up where they can.

# %% tags=["remove-input"]
table(
    groups[Flaw.ASSUMPTION],
    name="tab-errata-assumptions",
    caption="Statements that hold under an assumption that the paper does not state.",
)

# %% [markdown]
# ## Failures
#
# Statements, or steps on which one rests, that are false as printed. That a proof fails does not make its conclusion
# false of trained models, which the measuring chapters look at. It means that the reason has to be looked for
# elsewhere.

# %% tags=["remove-input"]
table(
    groups[Flaw.FAILURE],
    name="tab-errata-failures",
    caption="Statements and steps that fail as printed, and what holds in their place.",
)
