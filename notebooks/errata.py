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
# This page lists slips in the paper {cite}`saponati2025` and assumptions that the paper needs but does not state, together
# with our corrections. We compile the tables from the checks in the chapters of this book, and each chapter shows the
# numbers behind its entries. An entry appears only if we executed its check and the numbers support our verdict.
# {glue:text}`withheld` A slip that repeats another slip or follows from it is listed in the same entry. The [slips that we
# found by reading](#slips-found-by-reading) have no check. The last table lists {glue:text}`n-changes` errors whose
# correction changes a conclusion of the paper. These errors affect {glue:text}`about-changes` statements. Of these errors,
# {glue:text}`n-columns` concern Theorem 2.3 of the paper (in full, Theorem S1.12) and the statements on which the proof of
# this theorem is based.
#
# Please keep three things in mind. First, many entries are slips of a type that occurs in any long derivation, and the
# conclusion remains the same once they are corrected. Second, a missing assumption is not an error in the result if the
# assumption is met wherever the result is used. Third, we worked from text that was extracted from the paper's PDF. The
# {glue:text}`n-copying` entries that are marked with {glue:text}`mark` may be errors in this extracted text and not in the
# paper.
#
# | group | content | number of entries | number of statements |
# |---|---|---|---|
# | [misprints](#misprints) | wrong signs, indices, factors and shapes, and slips in proofs, after whose correction the argument is valid | {glue:text}`n-misprints` | {glue:text}`about-misprints` |
# | [slips found by reading](#slips-found-by-reading) | slips in notation and slips that can be corrected in one line, which have no checks and are not counted among the checks | {glue:text}`n-slips` | |
# | [missing assumptions](#missing-assumptions) | statements that are true under an assumption that the paper does not state | {glue:text}`n-assumptions` | {glue:text}`about-assumptions` |
# | [conclusions that change](#conclusions-that-change) | statements and steps whose conclusion is false | {glue:text}`n-changes` | {glue:text}`about-changes` |

# %% tags=["remove-cell"]
from chapters.errata.tables import MAYBE_COPYING, errata, slips_found_by_reading, told_withheld
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
glue("withheld", told_withheld(sum(f.verdict in mended and not f.supported for f in paper.findings)))
glue("n-copying", sum(f.report["maybe_copying"] for f in paper.supported))
glue("mark", MAYBE_COPYING)
glue("n-slips", len(slips_found_by_reading()))

# %% [markdown]
# ## Misprints
#
# These slips can be corrected without changing a conclusion of the paper.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.MISPRINT),
    name="tab-errata-misprints",
    caption="Misprints and other slips after whose correction the argument is valid.",
)

# %% [markdown]
# ## Slips found by reading
#
# These are slips in notation and slips that can be corrected in one line. The corrected forms can be derived by hand, and we
# mention most of these slips in the chapters. The slips in Eq. S17 and in Eqs. S147 and S148 may be errors in our extracted
# text and not in the paper.

# %% tags=["remove-input"]
table(
    slips_found_by_reading(),
    name="tab-errata-slips",
    caption="Slips that we found by reading, for which there is no check.",
    folded="Show these slips",
)

# %% [markdown]
# ## Missing assumptions
#
# These statements are true only under an assumption that the paper does not state. Whether trained models meet such an
# assumption is an empirical question. Where we can, we address this question by measurement in the chapters.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.ASSUMPTION),
    name="tab-errata-assumptions",
    caption="Statements that are true under an assumption that the paper does not state.",
)

# %% [markdown]
# ## Conclusions that change
#
# These statements, or steps in their proofs, are false as printed, and correcting them changes the conclusion. Even if a
# proof is wrong, its conclusion may still be true of trained models, and in the chapters, we test this by measurement. In
# that case, the conclusion must be true for a different reason.

# %% tags=["remove-input"]
table(
    errata(paper.findings, Verdict.CHANGES),
    name="tab-errata-changes",
    caption="Statements and steps whose conclusion is false, together with our corrections.",
)
