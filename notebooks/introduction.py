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
# # Encoders are more symmetric than decoders; in small ones, because of how they read positions
#
# An *encoder* fills in hidden words from both sides, a *decoder* predicts the next word. Attention scores token $j$
# for token $i$ by $x_i^\top W_{qk}\, x_j$, with $W_{qk} = W_q W_k^\top$. {cite:t}`saponati2025` say that training makes
# $W_{qk}$ symmetric in encoders and lets few columns dominate in decoders, and that encoders which start symmetric train faster.
#
# - **Symmetry** $s$ is 1 if $W_{qk}$ is its mirror image, $-1$ if it is the negative, near 0 at random.
# - **Directionality** $d$ compares unusually long rows (queries) and columns (keys); below 0, columns weigh more, they
#   say.

# %% tags=["remove-cell"]
import numpy as np
from IPython.display import Markdown

from attngeo import directionality_score, symmetry_score
from chapters import positions
from chapters.positions import told
from chapters.introduction import citations
from chapters.introduction.cards import Sentence, cards, on, sentences
from chapters.introduction.two_models import two_models
from chapters.symmetric_initialisation import starts
from chapters.symmetric_initialisation.speed_ups import speed_up_of
from livingpaper.display.check_line import badge, legend
from livingpaper.display.verdicts import account, reported_checks
from attngeo.bilinear.null_laws import laws_of_shape
from livingpaper.claims import Verdict
from livingpaper.claims.published import printed_table
from attngeo.files.checkout import data, root
from attngeo.files.provenance import commit
from attngeo.experiments.runs.numbers_in_words import as_percent, number
from attngeo.experiments.survey.families import auc
from livingpaper.released_results import released_results

encoder = data("runs", "one_start", "encoder-weights")

# %%
from attngeo import open_checkpoint

W = next(iter(open_checkpoint(encoder))).form.dense().double()  # encoder: a folder or Hub id
s = (W * W.T).sum() / (W * W).sum()
rows, columns = (n[n > n.mean() + 2 * n.std(correction=0)].sum() for n in (W.norm(dim=1), W.norm(dim=0)))
d = (rows - columns) / (rows + columns)
print(f"first layer of a small encoder: s = {s:.2f}, d = {d:.2f}")

# %% tags=["remove-cell"]
assert np.isclose(s, symmetry_score(W)) and np.isclose(d, directionality_score(W))

# %% tags=["remove-cell"]
paper = account(reported_checks())

results = released_results()
text = results[results["counted"] & (results["modality"] == "text") & (results["figure"] != "S2")]
encoders, decoders = (text.loc[text["attention"] == kind, "s"] for kind in ("bidirectional", "causal"))
higher = auc(encoders, decoders)
assert higher > 0.9


def ends(attention: str, kind: str) -> str:
    """Which of these released models have the lowest and the highest s."""
    s = text[(text["attention"] == attention) & (text["positions"] == kind)].set_index("model")["s"]
    return f"{s.idxmin()} has the lowest $s$, {number(s.min(), 2)}, and {s.idxmax()} the highest, {number(s.max(), 2)}"


of_positions = positions.all_recorded()
for experiment in of_positions.values():  # what the second sentence says of all that could tell
    table, rotary = (experiment.arms[arm].mean(positions.S) for arm in ("mlm-learned", "mlm-rotary"))
    assert experiment.outcome is positions.Outcome.UNDECIDED or (experiment.first.low > 0 and rotary < table / 5)

theorems = [paper.verdict("2.4", ""), paper.verdict("S1.12", "Eqs. S101, S102")]
assert theorems == [Verdict.STATED, Verdict.CHANGES]

plans = starts.planned()
# encoders; one plan asks again what another has answered
asked = [p for p in starts.about_symmetry(plans) if p.encoder and p.plan != starts.AGAIN]
compared = {p.plan: p.primary.difference() for p in asked}  # final loss of encoders, symmetric less random start
assert [name for name, e in compared.items() if e.high < -starts.BAND] == ["confirm_mini"]  # clearly lower
assert len(compared) == 8 and not any(e.low > 0 for e in compared.values())
# of the steps in that shape, and with new seeds
saved = [speed_up_of(plans[name].primary).value for name in ("confirm_mini", starts.AGAIN)]
assert 0.05 < min(saved) < max(saved) < 0.3

law = laws_of_shape(768, 768, 2.0, "definition")["symmetry"]
random = law.mean + law.half_width

# %% tags=["remove-input"]
Markdown(
    sentences(
        Sentence(
            "Encoders are more symmetric than decoders.",
            on(paper, "Section 3", "(symmetry, language)"),
            f"Among released language models an encoder has the higher $s$ in {as_percent(higher)} of pairs."
            " Directionality separates them less, and by another formula than printed"
            f" {on(paper, 'Section 3', '(directionality, language)')}.",
            "pretrained_survey.py",
        ),
        Sentence(
            "In small models that we trained, encoders become symmetric with learned position embeddings, and not with"
            " rotary positions.",
            told.badges(of_positions),
            f"{told.headline(of_positions)} {told.outcomes(of_positions)} This is about $W_{{qk}}$: whether the attention"
            " between positions becomes less symmetric, too, has not been measured. For one layer at the start of training,"
            " [a theorem](positions_theory.py) with conditions gives a reason, namely a window on both sides. For trained"
            " models the reason is open.",
            "positions.py",
        ),
        Sentence(
            "Whether the paper's Theorem 2.4 is the reason is open.",
            badge(theorems[0].value),
            "The theorem assumes that two tokens help equally to predict each other. Between positions, we prove this"
            " assumption under conditions, for one layer at the start of training. For pairs of tokens in models that are"
            " being trained, it has not been measured, and we plan to measure it.",
            "symmetric_updates.py",
        ),
        Sentence(
            "The paper's Theorem 2.3, on why columns dominate in decoders, does not follow as printed.",
            badge(theorems[1].value),
            "The chapter has conditions under which columns do dominate, which the paper does not state.",
            "column_dominance_details.py",
        ),
        Sentence(
            "Do not rely on a symmetric start.",
            on(paper, "Section 4.2", "(planned runs, equal scale)"),
            f"In one of {len(compared)} planned comparisons of encoders it clearly lowered the final loss, in none clearly raised it."
            f" New seeds found that one again: it saves {as_percent(min(saved))} to {as_percent(max(saved))} of the steps."
            f" The paper prints up to {printed_table('1')['speed_up_percent'].max():.0f} %.",
            "symmetric_initialisation.py",
        ),
        Sentence(
            "Check your own model: `attngeo score MODEL`.",
            "",
            f"Random weights of width 768 seldom exceed $s$ = {number(random, 3)}. Compare medians over layers of models that"
            f" take positions the same way. Of released encoders of text with a table of positions, {ends('bidirectional', 'learned')}."
            f" Of rotary decoders whose weights were extracted rightly, {ends('causal', 'rotary')}.",
            "../use/score.md",
        ),
    )
)

# %% tags=["remove-input"]
two_models()

# %% tags=["remove-input"]
each = "The claims of the paper one by one, with what the checks say and what the badges mean"
Markdown(f":::::{{dropdown}} {each}\n{cards(paper)}\n\n{legend()}\n:::::")

# %% tags=["remove-input"]
bibtex = citations.of_the_paper(root() / "book" / "references.bib")
book = citations.of_this_book(root(), commit(root()))
to_cite = "Cite the paper for its theorems and scores, this project for a check or a measurement"
Markdown(f"````{{dropdown}} {to_cite}\n```bibtex\n{bibtex}\n\n{book}\n```\n{citations.links(root())}\n````")

# %% [markdown]
# - **An engineer:** in a checkout of this book, with Python 3.10 or later, `pip install .` brings
#   `attngeo score MODEL -o x.json`, where MODEL is a Hub id or a folder. Paste what `x.json` holds into the figure above:
#   nothing is uploaded.
# - **Ten minutes:** the figures of [](pretrained_survey.py) and [](positions.py).
# - **A student:** the chapters in their order, from [](two_scores_details.py) on; symbols are in [](../notation.md), and
#   [the animations](../references.md#the-animations-of-the-papers-web-page) of the paper's web page can be played.
# - **An author of the paper:** the [errata](errata.py) by consequence, [all judgements](status.py), the
#   [printed scores](printed_scores_details.py) row by row.
