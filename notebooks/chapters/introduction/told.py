"""Texts of the front page that follow from recorded numbers: its first sentences, what to keep in mind, how to read."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import yaml

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.experiments.runs.numbers_in_words import extent, number, spelled
from attngeo.experiments.survey.measured import named, read_records
from attngeo.files.checkout import data, root
from chapters import positions
from chapters.introduction.findings import means
from chapters.positions.told import MINI
from chapters.positions_pictures import repetition
from chapters.pretrained_survey.sizes import rank_correlation, released_by_size
from livingpaper.released_results import released_results

PAPER = "https://arxiv.org/abs/2502.10927"
SCORED = "minilm-l6-v2"  # the model of the example
OUTPUT = f"score_{SCORED}.txt"  # of `attngeo score` for it, in data/sentence
BETWEEN_PLACES = "SmolLM2-135M-Instruct"  # the rotary model whose scores between positions were measured
two_digits = "{:.2f}".format


def opening(first: positions.Judged, pieces: positions.Judged) -> str:
    """What the paper claims and what was found (MyST)."""
    s, of_pieces = means(first), means(pieces)
    assert s["mlm-learned"] > s["clm-learned"] and of_pieces["mlm-learned"] > of_pieces["clm-learned"]
    assert s["clm-rotary"] - s["mlm-rotary"] > 0.2 and 0 < of_pieces["clm-rotary"] - of_pieces["mlm-rotary"] < 0.05
    return (
        f"A [paper at ICML 2025]({PAPER}) claims that training makes the query–key weights $W_{{qk}}$ symmetric in encoders"
        " such as BERT, but not in decoders such as GPT. Encoders are indeed more symmetric, but in the small models that we"
        " trained this depends on how a model encodes positions. **With rotary positions the order is reversed: in models that"
        f" read single characters, decoders score {number(s['clm-rotary'], 2)} and encoders {number(s['mlm-rotary'], 2)}. On"
        f" word pieces it is nearly a tie ({number(of_pieces['clm-rotary'], 2)} and {number(of_pieces['mlm-rotary'], 2)}).**"
    )


def to_keep_in_mind(models: pd.DataFrame, experiments: Mapping[str, positions.Judged]) -> str:
    """What speaks against a hasty reading of the figure (MyST)."""
    places = pd.read_csv(data("positions", "scores_between_places.csv"))
    of_rotary = places[places["model"] == BETWEEN_PLACES].median(numeric_only=True)
    assert of_rotary["between_places"] > of_rotary["symmetry"] + 0.3
    pieces, mini = (means(experiments[positions.TITLES[name]]) for name in ("positions_pieces_longer", MINI))
    t5 = models.query("family == 'T5' and part == 'encoder' and source == 'half'")["s"]
    deberta = models.query("family == 'DeBERTa' and source == 'released'")["s"]
    decoders = models.query("part == 'decoder' and source == 'released'")
    rotary = decoders.query("positions == 'rotary'")["s"]
    gpt2 = decoders[decoders["name"].str.contains("gpt-?2", case=False)]["s"]
    assert set(models.query("family in ['T5', 'DeBERTa']")["positions"]).isdisjoint({"learned", "rotary"})
    assert models.query("part == 'encoder' and positions == 'rotary'").empty
    assert rotary.max() < gpt2.max() and rotary.min() < gpt2.min() and deberta.min() > rotary.max()
    return "\n".join(
        (
            ":::{div} front-mind",
            "**What to keep in mind**",
            "",
            "- **A matrix $W_{qk}$ that is not symmetric does not make attention between positions lopsided.** Rotary positions"
            " turn queries and keys after $W_{qk}$ has been applied. For example, in SmolLM2, a released decoder with rotary"
            f" positions, $W_{{qk}}$ scores {number(of_rotary['symmetry'], 2)}, but the mean attention scores between two positions"
            f" score {number(of_rotary['between_places'], 2)} (medians over layers). We have not measured this in our small models.",
            f"- **On word pieces the reversal is small.** In models that read word pieces, rotary positions take encoders from {number(pieces['mlm-learned'], 2)}"
            f" to {number(pieces['mlm-rotary'], 2)} and decoders from {number(pieces['clm-learned'], 2)} to"
            f" {number(pieces['clm-rotary'], 2)}. In the shape of the paper's four-layer model, which reads characters, rotary"
            f" positions take encoders from {number(mini['mlm-learned'], 2)} to {number(mini['mlm-rotary'], 2)} and decoders from"
            f" {number(mini['clm-learned'], 2)} to {number(mini['clm-rotary'], 2)}.",
            "- **Released models show that learned positions are not the only way.** The encoders of T5 score"
            f" {extent(t5, two_digits)} and those of DeBERTa {extent(deberta, two_digits)}, without learned position embeddings."
            f" Released decoders with rotary positions ({extent(rotary, two_digits)}) do not score higher than GPT-2, which has"
            f" learned position embeddings ({extent(gpt2, two_digits)}).",
            "- **The models of the figure are small**, and no released encoder with rotary positions is among the models that we"
            " could count.",
            ":::",
        )
    )


def what_is_shown(first: positions.Judged) -> str:
    """How the figure was made (MyST)."""
    config = first.arms["mlm-learned"].config
    shares = {arm: first.of_arm(f"{arm}-learned")["share"].mean() for arm in ("mlm", "clm")}
    seeds = len(first.arms["mlm-learned"])
    repeated = repetition()
    return f"""::::{{dropdown}} What exactly is shown?
**The models.** Four small models start from the same random weights: {config["layers"]} layers of width {config["d_model"]} that
read {config["block_size"]} characters of Wikipedia at a time and train for {config["steps"]:,} steps. The squares show the first
layer of these models. The large number above a square is the median score over the {config["layers"]} layers, which is also what
the chart shows. The chart shows {seeds} other pairs of models with other random weights, and the thick lines are means.

**The squares with learned embeddings.** Row $i$ and column $j$ show how much position $i$ attends to position $j$, whatever
characters stand there: $P W_{{qk}} P^\\top$, where the rows of $P$ are the position embeddings minus their mean. Numbers are
therefore relative to the average of a row and of a column. **Each square is scaled to its own largest number, at every step, so shades cannot be compared between two steps.**
These runs did not record the scale. We therefore repeated the two runs on another processor, where their symmetry scores
differ by at most {number(repeated.gap, 2)} from those shown. At the end of training, the largest number in the encoder's square is
{number(repeated.largest["encoder"], 2)}, and the largest number in the decoder's square is {number(repeated.largest["decoder"], 2)}.
What the squares do not show is how much of $W_{{qk}}$ they account for: the directions of positions hold
{100 * repeated.share["encoder"]:.0f} % of the squared norm of $W_{{qk}}$ in the first layer of this encoder, but only
{100 * repeated.share["decoder"]:.0f} % in that of the decoder. In the models of the chart these shares are {100 * shares["mlm"]:.0f} %
and {100 * shares["clm"]:.0f} % (means over {seeds} seeds, medians over layers). A decoder never uses the part above its diagonal, because
it cannot look ahead, and its last position has nothing left to predict.

**The squares with rotary positions.** Rotary positions turn queries and keys after they have been computed. $W_{{qk}}$ is
the same at every position, so there is no square of positions to show. We show the first rows and columns of $W_{{qk}}$ instead.

**"Not symmetric".** When a square is folded, the percentage below it is the share of its sum of squares that is left in its
skew-symmetric part: 0 % for a symmetric matrix, 50 % for a random one.
::::"""


def terminal() -> str:
    """The command and what it prints for a small encoder (MyST)."""
    lines = data("sentence", OUTPUT).read_text("utf-8").rstrip().splitlines()
    after = 1 + max(k for k, line in enumerate(lines) if line.startswith("encoder"))
    table = "\n".join((f"$ attngeo score {SCORED}", *lines[:after]))
    notes = "\n".join(line for line in lines[after:] if line)
    return f"::::{{div}} front-terminal\n```text\n{table}\n```\n\n```text\n{notes}\n```\n::::"


def how_to_read(models: pd.DataFrame) -> str:
    """How to read the output of the command (MyST)."""
    scores = read_records(data("survey"))
    layers = scores[(scores["model"] == SCORED) & (scores["head"] == -1)]
    shape = layers.iloc[0]
    law = laws_of_shape(int(shape["d_model"]), int(shape["rank"]), float(shape["gamma"]), shape["convention"])[
        "symmetry"
    ]
    (name,) = named(layers)["model"].unique()
    learned = models.query("source == 'released' and part == 'encoder' and positions == 'learned'")
    rotary = models.query("source == 'released' and part == 'decoder' and positions == 'rotary'")
    least, most = (law.mean - law.half_width, law.mean + law.half_width)
    assert (layers["symmetry"] > most).all()
    return "\n".join(
        (
            f"The command reads only the query and key weights of a model. The example is {name}, a small encoder for sentences.",
            "",
            f"- The median layer scores **$s$ = {number(layers['symmetry'].median(), 2)}**. Of random weights of the same shape, 95 %"
            f" score between {number(least, 3)} and {number(most, 3)}, so all {spelled(len(layers))} layers are far from random.",
            "- Compare a model only with models of **similar size** and with the **same type of positional encoding**. The"
            f" published encoders with learned position embeddings score {extent(learned['s'], two_digits)}, and the published"
            f" decoders with rotary positions score {extent(rotary['s'], two_digits)}.",
            "- A star marks a layer outside the range of 95 % of random weights. *z* is the distance from the mean of random weights"
            " in standard deviations, and *p* is the share of random weights that lie as far from it.",
            "- *Directionality* is the paper's second score. It compares the rows of $W_{qk}$ that have large norms with the columns that"
            " have large norms, and the last two columns of the table count them."
            f" [Question 7]({questions()[6].page}) explains why this score needs more care.",
        )
    )


def about_sizes(models: pd.DataFrame) -> str:
    """What the plot of models by size shows (MyST)."""
    released = released_by_size(released_results())
    encoders = released[released["part"] == "encoder"]
    rho = rank_correlation(released, "encoder")
    assert rho < -0.8
    t5 = models.query("family == 'T5' and source == 'half'")
    of_encoders = t5.query("part == 'encoder'").sort_values("parameters")
    smallest, *_, largest = of_encoders.itertuples()
    decoder = t5.query("part == 'decoder'").set_index("name").loc[largest.name, "s"]
    assert smallest.s < largest.s < decoder
    halves = t5.pivot(index="name", columns="part", values="s")
    assert (halves["decoder"] > halves["encoder"]).sum() == 1
    return (
        f"Among the {len(encoders)} published encoder-only models, larger models are less symmetric (rank correlation"
        f" {number(rho, 2)}). T5 is different: the encoder of its smallest model scores {number(smallest.s, 2)}, and the"
        f" encoder of its largest model, T5-11B, scores {number(largest.s, 2)}. T5-11B is also the only model of this family whose decoder"
        f" ({number(decoder, 2)}) has a higher score than its encoder. We do not know the reason for either of these observations."
    )


class Question(NamedTuple):
    """A page of the reading path."""

    question: str  # MyST
    page: str


QUESTIONS = (
    "What does it mean that $W_{qk}$ is symmetric?",
    "Are encoders symmetric, and decoders not?",
    "Why?",
    "What do the paper's theorems explain?",
    "Does symmetry matter?",
    "Should I start symmetric?",
    "And directionality?",
    "What happens during training?",
)


def questions() -> list[Question]:
    """The pages of the first part of ``_toc.yml``, in its order."""
    contents = yaml.safe_load((root() / "_toc.yml").read_text("utf-8"))
    pages = [entry["file"].rpartition("/")[2] for entry in contents["parts"][0]["chapters"]]
    return [Question(question, f"{page}.py") for question, page in zip(QUESTIONS, pages, strict=True)]


def cards_of_questions() -> str:
    """MyST: a card for each question, which leads to its page and shows the title of the page as an answer.

    A title that is a question itself stands alone.
    """
    cards = []
    for number_of, (question, page) in enumerate(questions(), start=1):
        title = re.search("^# # (.+)$", (root() / "notebooks" / page).read_text("utf-8"), re.MULTILINE)[1]
        words = f"**[]({page})**" if title.endswith("?") else f"**{question}**\n\n[]({page})"
        cards.append(f":::{{div}} front-page-card\n[{number_of}]{{.front-no}}\n\n{words}\n:::")
    return "\n\n".join(["::::{div} front-pages", *cards, "::::"])
