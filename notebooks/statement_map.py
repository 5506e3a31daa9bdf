# ---
# jupyter:
#   attngeo:
#     after: all
#     reads: [data/published, notebooks]
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
# # What is proven, what is measured, what is open
#
# Which of the paper's statements {cite}`saponati2025` stand on a proof, which on a measurement, and which on neither?
# Of {glue:text}`n-paper` statements on the map {glue:text}`n-stand` hold, some under an assumption or once a misprint is
# mended; the conclusion of {glue:text}`n-fail` changes and {glue:text}`n-undecided` are undecided. This book adds
# {glue:text}`n-proven` statements with a proof.
#
# An arrow leads from a statement to one that rests on it. Shape and colour tell the state, which comes from the checks
# of this build. A sentence of the paper with several parts stands here with the checks that speak for it: undecided in one
# of them, it is undecided, unless another falls. The [status page](status.py) has all of them, steps of proofs too; a step
# falls, and the statement stands, in {glue:text}`fallen-steps`. Each node leads to its statement, and the lists below say
# the same in words.

# %% tags=["remove-cell"]
from collections import Counter

from IPython.display import HTML, display

from attngeo.book import reported_checks
from attngeo.book.notebooks import find_book
from attngeo.chapters.statement_map.drawing import drawing
from attngeo.chapters.statement_map.lists import listed, questions, sorted_out
from attngeo.chapters.statement_map.nodes import State, content, nodes, stated, states
from attngeo.display.page import glue
from attngeo.display.verdicts import account
from attngeo.paper import Verdict
from attngeo.paper.numbering import of_the_paper
from attngeo.paper.published import statements

# %% tags=["remove-cell"]
paper, said = statements(), content()
found = nodes(paper, said, stated({chapter.name: chapter.text for chapter in find_book().chapters()}))
judged = account(reported_checks())
state = states(found, judged.findings)
lists, tally = sorted_out(found, state), Counter(state.values())
glue("n-paper", sum(bool(node.number) for node in found.values()))
glue("n-stand", sum(tally[s] for s in (State.HOLDS, State.ASSUMPTION, State.MISPRINT)))
glue("n-fail", tally[State.CHANGES])
glue("n-undecided", tally[State.UNDECIDED])
glue("n-proven", tally[State.PROVEN])
fallen = {node.number for name, node in found.items() if state[name] is State.CHANGES}
glue("fallen-steps", ", ".join(of_the_paper(n) for n in judged.about(Verdict.CHANGES) if n not in fallen) or "none")

# %% tags=["remove-input"]
display(HTML(drawing(found, state)))

# %% [markdown]
# ## Proven
#
# Judged by a proof in the chapter, by calculation or by a counterexample, which may be a simulated one.

# %% tags=["remove-input"]
display(HTML(listed(lists["proven"])))

# %% [markdown]
# ## Measured
#
# In trained models, or in simulations of ours that no proof stands behind.

# %% tags=["remove-input"]
display(HTML(listed(lists["measured"])))

# %% [markdown]
# ## Open
#
# Statements that the measurements leave undecided, and questions that neither a proof nor a measurement here answers.

# %% tags=["remove-input"]
display(HTML(listed(lists["open"]) + questions(said["open"], found)))
