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
# # A paper, checked
#
# {cite}`saponati2025` study the matrix that self-attention compares tokens with, $W_{qk} = W_q W_k^\top$, and make one claim
# with three parts: *the objective a Transformer is trained with shapes this matrix.*
#
# 1. **Theory.** Training on next tokens (autoregressive) adds updates that let a few *columns* of $W_{qk}$ grow large;
#    training on masked tokens (bidirectional) adds updates that are nearly *symmetric*.
# 2. **Measurement.** Trained encoders are more symmetric than trained decoders, and decoders more column-dominated
#    (*directional*) than encoders, in text, vision and audio.
# 3. **Use.** Starting an encoder from a symmetric $W_{qk}$ speeds up its training, by up to
#    {glue:text}`speed-up` % in four layers.
#
# This book rebuilds the paper as software. Each numbered statement is checked by code that runs while the book is built;
# each table and figure is regenerated; each number the paper prints stands beside the number we measured, with a verdict.
# Nobody has to take our word either: every page can be run again with other parameters.

# %% tags=["remove-cell"]
from collections import Counter

import pandas as pd

from attngeo.book import reported_checks
from attngeo.display.page import badge, glue, table
from attngeo.paper.published import statements
from attngeo.paper.published import printed_table

# %% tags=["remove-cell"]
reports = reported_checks()
supported = [r for r in reports if r["supported"]]
counts = Counter(r["verdict"] for r in supported)
known = statements()
checked = known.index.intersection({r["statement"] for r in supported})
glue("speed-up", printed_table("1").query("layers == 4")["speed_up_percent"].max(), ".0f")
glue("n-checks", len(reports), "d")
glue("n-supported", len(supported), "d")
glue("n-comparisons", sum(len(r["comparisons"]) for r in reports), "d")
glue("n-statements", len(known), "d")
glue("n-checked", len(checked), "d")
glue("n-open", len(known) - len(checked), "d")

# %% [markdown]
# ## What we found so far
#
# {glue:text}`n-checks` checks, made of {glue:text}`n-comparisons` comparisons of numbers, cover {glue:text}`n-checked` of
# the paper's {glue:text}`n-statements` statements, tables and figures; {glue:text}`n-supported` of the checks support
# their verdict in this run, and {glue:text}`n-open` statements wait for one. The [status page](status.py) lists
# them all, and a [map](statement_map.py) shows which rests on which.

# %% tags=["remove-input"]
meaning = {
    "holds": "true as printed",
    "misprint": "a slip; what is concluded stands once it is mended",
    "missing assumption": "true once something is added that the paper does not say",
    "conclusion changes": "what the paper concludes there falls",
    "undecided": "what was measured speaks neither for it nor against it",
}
table(
    pd.DataFrame(
        {"verdict": [badge(v) for v in meaning], "checks": [counts[v] for v in meaning], "it means": meaning.values()}
    ),
    name="tab-verdicts",
    caption="The verdicts, and how many checks of this run support each.",
)

# %% [markdown]
# Some of the checks matter most to a reader of the paper. The [errata](errata.py) list all that does not hold as printed.

# %% tags=["remove-input"]
chosen = [
    ("2.2", "Eqs. S33-S36"),
    ("S1.12", ""),
    ("2.4", ""),
    ("Table S3", None),
    ("Section 3", "(directionality, vision and audio)"),
    ("Section 4.2", "(recorded runs, equal scale)"),
    ("Section 4.2", "(recorded runs, parts of the gain)"),
]
rows = [r for n, part in chosen for r in supported if r["statement"] == n and part in (None, r["part"])]
findings = [
    {
        "in": f"{r['statement']} {badge(r['verdict'])}",
        "the paper": r["printed"],
        "what holds": r["corrected"] or r["remark"],
    }
    for r in rows
]
table(pd.DataFrame(findings), name="tab-findings", caption=f"{len(findings)} findings, in the words of their checks.")

# %% [markdown]
# The whole argument of the paper, and how many checks along it end in which verdict:


# %% tags=["remove-cell"]
def verdicts(*numbers: str) -> str:
    """The verdicts of the supported checks of some statements, most frequent first; or that there is none yet."""
    found = Counter(r["verdict"] for r in supported if r["statement"] in numbers)
    return " ".join(f"{badge(v)} {n}" for v, n in found.most_common()) or "not checked yet"


# %% tags=["remove-input"]
claims = pd.DataFrame(
    [
        (
            "attention compares tokens by a bilinear form",
            "2.1, S1.1, S1.2, S1.4, S1.5",
            "[bilinear form](bilinear_form.py)",
        ),
        (
            "the gradient of the form is a sum of rank-1 terms",
            "2.2, S1.3, S1.6",
            "[implicit gradient](implicit_gradient.py)",
        ),
        (
            "a token acts differently as context and as prediction",
            "S1.7, S1.10",
            "[context and prediction](context_and_prediction.py)",
        ),
        (
            "autoregressive training lets columns dominate",
            "2.3, S1.8, S1.9, S1.11, S1.12",
            "[column dominance](column_dominance.py)",
        ),
        (
            "bidirectional training gives symmetric updates",
            "2.4, S1.13, S1.14, S1.15",
            "[symmetric updates](symmetric_updates.py)",
        ),
        ("two scores measure both structures", "3.1, 3.2, S1.16, S1.17, S1.18", "[two scores](two_scores.py)"),
        (
            "encoders are more symmetric, decoders more directional",
            "Section 3, Table S2, Table S3, Figure 2",
            "[pretrained models](pretrained_survey.py)",
        ),
        (
            "scores grow during training",
            "Section 4.1, Figure 3, Figure S3, Figure S4",
            "[scores during training](training_scores.py)",
        ),
        (
            "symmetric initialisation speeds up encoders",
            "S2.1, Section 4.2, Table 1, Figure S5, Web table, Web speed-up",
            "[symmetric initialisation](symmetric_initialisation.py)",
        ),
        (
            "a loss can pull the form towards either structure",
            "Eq. S146, Eq. S147, Eq. S148",
            "[constraints](constraints.py)",
        ),
    ],
    columns=["the paper says", "in", "chapter"],
)
claims.insert(2, "our checks", [verdicts(*numbers.split(", ")) for numbers in claims["in"]])
table(claims, name="tab-claims", caption="The paper's line of argument, and the verdicts of the checks along it.")

# %% [markdown]
# ## How to read
#
# Chapters follow the paper's order. A statement stands in a frame, in our words and notation (see [Notation](../notation.md)),
# with its number in the paper; its proof, where there is one, unfolds below it; then comes the check, with what was
# measured, what the statement says, the tolerance, and whether it holds. A number with $\pm$ is a mean over random draws with
# its standard error. Where a statement fails as printed, the corrected one is checked beside it, and both stand on the
# [errata page](errata.py), which also says which slips may be our copy's and not the paper's.
#
# Three rules hold throughout. No number in the text is typed: it comes from the run whose parameters and versions stand at
# the end of the page. A check that could not fail is not a check: the wrong formula is planted in the tests, and has to be
# refused. A failed replication is reported with its evidence, and so is a successful one.
#
# ```sh
# attngeo score bert-base-uncased          # both scores of a checkpoint, layer by layer
# attngeo run two_scores -p gamma 3.0      # this book's chapter, with another threshold
# ```
