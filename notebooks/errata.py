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
# # Errata
#
# Slips of the paper {cite}`saponati2025`, and assumptions that it needs and does not state, with what holds instead.
# The tables are made from the checks of the chapters, each of which shows the numbers behind its entry. An entry stands
# here only if its check ran and is supported, and what repeats a slip or follows from it shares its entry;
# {glue:text}`n-withheld` entries are withheld in this build because theirs is
# not. The [slips found by reading](#slips-found-by-reading) alone have no check. Where a conclusion falls, it is no slip: these {glue:text}`n-changes` entries, on {glue:text}`about-changes`
# statements, stand at the end; {glue:text}`n-columns` of them are on Theorem 2.3 of the paper (in full, S1.12) and what its
# proof rests on.
#
# Three things should be kept in mind. Many entries are slips that any long derivation collects, and once mended they
# leave its conclusion as it was. A missing assumption is no error of the result, if it is met where the result is
# used. And we read the paper as a text made from its PDF: entries marked {glue:text}`mark` ({glue:text}`n-copying` of
# them) could be errors of that text, and not of the paper.
#
# | group | what it holds | entries | on statements |
# |---|---|---|---|
# | [misprints](#misprints) | wrong signs, indices, factors and shapes, and slips in a proof; the argument stands once they are mended | {glue:text}`n-misprints` | {glue:text}`about-misprints` |
# | [slips found by reading](#slips-found-by-reading) | of notation, or mended in a line; no check of their own, and in no count of checks | {glue:text}`n-slips` | |
# | [missing assumptions](#missing-assumptions) | true once something is added that the paper does not say | {glue:text}`n-assumptions` | {glue:text}`about-assumptions` |
# | [conclusions that change](#conclusions-that-change) | what the paper concludes there falls | {glue:text}`n-changes` | {glue:text}`about-changes` |

# %% tags=["remove-cell"]
from chapters.errata.tables import MAYBE_COPYING, errata, slips_found_by_reading
from livingpaper.display.page import glue, table
from livingpaper.display.verdicts import account, reported_checks
from livingpaper.claims import Verdict

paper = account(reported_checks())
mended = (Verdict.MISPRINT, Verdict.ASSUMPTION, Verdict.CHANGES)
for name, verdict in zip(("misprints", "assumptions", "changes"), mended, strict=True):
    glue(f"n-{name}", len(errata(paper.findings, verdict)))
    glue(f"about-{name}", len(paper.about(verdict)))
# Theorem 2.3 of the paper is the informal form of Theorem S1.12, and these are the statements that the proof of S1.12 rests on.
columns_dominate = ("2.3", "S1.12", "S1.11", "S1.10", "S1.8", "S1.7", "S1.3", "2.2", "Eq. 1", "S1.2", "S1.1")
glue("n-columns", paper.counts(*columns_dominate)[Verdict.CHANGES])
glue("n-withheld", sum(f.verdict in mended and not f.supported for f in paper.findings))
glue("n-copying", sum(f.report["maybe_copying"] for f in paper.supported))
glue("mark", MAYBE_COPYING)
glue("n-slips", len(slips_found_by_reading()))

# %% [markdown]
# ## Misprints
#
# Mended without change to what is concluded.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.MISPRINT),
    name="tab-errata-misprints",
    caption="Misprints, and slips that leave the argument standing.",
)

# %% [markdown]
# ## Slips found by reading
#
# Slips of notation, and some that are mended in a line. What holds follows by hand, and the chapters name most of them in
# passing. Those of Eq. S17 and of Eqs. S147 and S148 could be errors of our text.

# %% tags=["remove-input"]
table(
    slips_found_by_reading(),
    name="tab-errata-slips",
    caption="Slips that were found by reading, without a check.",
    folded="Show these slips",
)

# %% [markdown]
# ## Missing assumptions
#
# What the statement needs and does not say. Whether trained models meet it is a question for measurement, which the
# chapters take up where they can.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.ASSUMPTION),
    name="tab-errata-assumptions",
    caption="Statements that hold under an assumption that the paper does not state.",
)

# %% [markdown]
# ## Conclusions that change
#
# Statements, or steps on which one rests, that are false as printed and cannot be mended without another conclusion.
# That a proof fails does not make its conclusion false of trained models, which the measuring chapters look at. It means
# that the reason has to be looked for elsewhere.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.CHANGES),
    name="tab-errata-changes",
    caption="Statements and steps whose conclusion falls, and what holds in their place.",
)
