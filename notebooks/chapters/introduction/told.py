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
from chapters.positions.pictures import repetition
from chapters.pretrained_survey.sizes import rank_correlation
from chapters.why.places import SYMMETRIC, places_table
from chapters.why.places import of_ours as of_small_encoders

PAPER = "https://arxiv.org/abs/2502.10927"
SCORED = "minilm-l6-v2"  # the model of the example
OUTPUT = f"score_{SCORED}.txt"  # of `attngeo score` for it, in data/sentence
BETWEEN_PLACES = "SmolLM2-135M-Instruct"  # the rotary model whose scores between positions were measured
two_digits = "{:.2f}".format


def from_to(values: pd.Series) -> str:
    """The smallest and the largest score, as they follow the word *between*: ``0.20 and 0.30``."""
    return extent(values, two_digits).replace(" to ", " and ")


def opening(first: positions.Judged, pieces: positions.Judged) -> str:
    """What the paper claims and what was found (MyST)."""
    s, of_pieces = means(first), means(pieces)
    assert s["mlm-learned"] > s["clm-learned"] and of_pieces["mlm-learned"] > of_pieces["clm-learned"]
    assert s["clm-rotary"] - s["mlm-rotary"] > 0.2 and 0 < of_pieces["clm-rotary"] - of_pieces["mlm-rotary"] < 0.05
    return (
        f"A [paper at ICML 2025]({PAPER}) claims that training makes the query–key weights $W_{{qk}}$ symmetric in"
        " encoders such as BERT, but not in decoders such as GPT. We confirm that encoders are more symmetric than"
        " decoders. In the small models that we trained, however, this difference depends on how a model encodes"
        " positions. **With rotary position embeddings, the order is reversed: character-level decoders have a"
        f" symmetry score of {number(s['clm-rotary'], 2)}, whereas character-level encoders score only"
        f" {number(s['mlm-rotary'], 2)}. Among models trained on subword tokens, decoders"
        f" ({number(of_pieces['clm-rotary'], 2)}) and encoders ({number(of_pieces['mlm-rotary'], 2)}) with rotary"
        " position embeddings have almost the same score.**"
    )


def to_keep_in_mind(models: pd.DataFrame, experiments: Mapping[str, positions.Judged]) -> str:
    """What speaks against a hasty reading of the figure (MyST)."""
    places = pd.read_csv(data("positions", "scores_between_places.csv"))
    of_rotary = places[places["model"] == BETWEEN_PLACES].median(numeric_only=True)
    assert of_rotary["between_places"] > of_rotary["symmetry"] + 0.3
    learned, of_ours = of_small_encoders(places_table())
    assert of_ours > SYMMETRIC
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
            "- **Attention between positions can be symmetric even if $W_{qk}$ is not.** Rotary position embeddings rotate the"
            " queries and keys after these have been computed, so $W_{qk}$ alone does not determine the attention scores. We"
            " therefore also measured the mean attention score between each pair of positions, summed over the heads of a"
            f" layer, in some of our small encoders. These scores are almost as symmetric with rotary position embeddings ({number(of_ours, 2)}) as with learned"
            f" ones ({number(learned, 2)}). SmolLM2, a published decoder with rotary position embeddings, is another example:"
            f" its $W_{{qk}}$ has a symmetry score of only {number(of_rotary['symmetry'], 2)}, but its mean attention scores"
            f" between positions have a symmetry score of {number(of_rotary['between_places'], 2)} (medians over layers). This"
            " includes the scores that a decoder never uses, because its causal mask hides them.",
            "- **In models trained on subword tokens, the reversal is small.** When we replace learned position embeddings by"
            f" rotary ones in these models, the mean score of encoders changes from {number(pieces['mlm-learned'], 2)} to"
            f" {number(pieces['mlm-rotary'], 2)}, and the mean score of decoders changes from"
            f" {number(pieces['clm-learned'], 2)} to {number(pieces['clm-rotary'], 2)}. In character-level models with the"
            " dimensions of the paper's four-layer model, the same replacement changes the mean score of encoders from"
            f" {number(mini['mlm-learned'], 2)} to {number(mini['mlm-rotary'], 2)}, and the mean score of decoders from"
            f" {number(mini['clm-learned'], 2)} to {number(mini['clm-rotary'], 2)}.",
            "- **Published models can be symmetric without learned position embeddings.** For example, the encoders"
            f" of T5 have scores of {extent(t5, two_digits)} and the encoders of DeBERTa have scores of"
            f" {extent(deberta, two_digits)}, although neither family adds learned position embeddings to its token"
            " embeddings. Moreover, rotary position embeddings are associated with higher scores in our small"
            " decoders, but not in published decoders: published decoders with rotary position embeddings score"
            f" between {from_to(rotary)}, whereas the GPT-2 models, which have"
            f" learned position embeddings, score between {from_to(gpt2)}.",
            "- **The models in the figure are small.** We had no published encoder with rotary position embeddings"
            " for comparison. The only such encoder for which the paper reports a score is ModernBERT. According to a"
            " [second-hand report](../notation.md#the-audit) on the authors' code, which we have not read ourselves,"
            " the matrices of ModernBERT were extracted incorrectly.",
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
**The models.** The figure shows four small models that started from the same random weights. Each model has
{config["layers"]} layers of width {config["d_model"]}, reads {config["block_size"]} characters of Wikipedia at a time, and was
trained for {config["steps"]:,} steps. The squares show the first layer of each model. The large number above each square is the
median score over the {config["layers"]} layers, and the chart shows the same median. The thin lines in the chart show {seeds}
further pairs of models, which started from other random weights. The thick lines show the means over these pairs.

**The squares with learned embeddings.** The entry in row $i$ and column $j$ shows how much position $i$ attends to position
$j$, regardless of which characters are at these two positions. We compute this as $P W_{{qk}} P^\\top$, where the rows of
$P$ are the position embeddings minus their mean. Subtracting the mean also removes the average of every row and every
column of the square, so each value is relative to these averages. **We scale each square by its own largest absolute value
at every training step, so shades cannot be compared between two steps.** The absolute scale was not recorded in these training runs. We therefore repeated both runs
on a different processor, and the symmetry scores of the repeated runs differ by at most {number(repeated.gap, 2)} from the
scores shown. At the end of these runs, the largest absolute value is {number(repeated.largest["encoder"], 2)} in the
encoder's square and {number(repeated.largest["decoder"], 2)} in the decoder's square. The squares do not show how much of
$W_{{qk}}$ is due to positions. In the first layer of this encoder, the directions of the position embeddings account for {100 * repeated.share["encoder"]:.0f} % of the squared norm of $W_{{qk}}$, but in the first layer of
the decoder they account for only {100 * repeated.share["decoder"]:.0f} %. For each model shown in the chart, we computed
this share of the squared norm in every layer and took the median over the layers. On average over the {seeds} seeds, this
median is {100 * shares["mlm"]:.0f} % for encoders and {100 * shares["clm"]:.0f} % for decoders. A decoder never uses the
entries above the diagonal, because it cannot attend to later positions. At its last position, a decoder has no next
character to predict.

**The squares with rotary position embeddings.** Rotary position embeddings rotate queries and keys after they have been
computed. The matrix $W_{{qk}}$ is therefore the same at every position, and a matrix of scores between positions cannot be
computed from it alone. Instead, we show the first few rows and columns of $W_{{qk}}$.

**"Not symmetric".** Folding a square means subtracting its mirror image from the square. The percentage below the square shows
how much of the squared norm of the matrix comes from its skew-symmetric part. This share is 0 % for a symmetric matrix and about
50 % for a random matrix.
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
            f"The command needs only the query and key weights of a model. As an example, we score {name}, a small encoder that"
            " computes sentence embeddings.",
            "",
            f"- The median of $s$ over the layers is **{number(layers['symmetry'].median(), 2)}**. For comparison, 95"
            f" % of random matrices of the same shape have a score between {number(least, 3)} and {number(most, 3)}."
            f" All {spelled(len(layers))} layers are therefore much more symmetric than random matrices.",
            "- Compare a model only with models of **similar size** that have the **same type of positional encoding**. Published"
            " encoders with learned position embeddings score between"
            f" {from_to(learned['s'])}, and published decoders with rotary position"
            f" embeddings score between {from_to(rotary['s'])}. These are models of all sizes, whereas the comparison below"
            " the table covers only encoders of about the same size.",
            "- A star marks a score outside the central 95 % of the scores of random weights. The column *z* shows"
            " how many standard deviations a score lies above or below the mean score of random weights. The column"
            " *p* shows how often the score of random weights lies at least as far from this mean as the score of the"
            " model does.",
            "- *Directionality* is the paper's second score. It compares the rows of $W_{qk}$ that have large norms"
            f" with the columns that have large norms. The page on [question 7]({questions()[6].page}) explains why"
            " directionality has to be interpreted with more care than symmetry.",
            "- *c_S* is larger than 1 if the symmetric parts of the heads reinforce each other, and *c_N* is larger"
            " than 1 if their skew-symmetric parts reinforce each other. Transposing some of the heads of a layer can"
            " change how symmetric the layer is. Of all possible choices of heads to transpose, the *rank* is the share"
            " for which the layer does not become more symmetric. A rank close to 0 means that the heads of the layer agree on the"
            " direction of attention.",
        )
    )


def about_sizes(models: pd.DataFrame) -> str:
    """What the plot of models by size shows (MyST)."""
    encoders = models.query("source == 'released' and part == 'encoder'")
    rho = rank_correlation(encoders, "encoder")
    assert rho < -0.8
    t5 = models.query("family == 'T5' and source == 'half'")
    of_encoders = t5.query("part == 'encoder'").sort_values("parameters")
    smallest, *_, largest = of_encoders.itertuples()
    decoder = t5.query("part == 'decoder'").set_index("name").loc[largest.name, "s"]
    assert smallest.s < largest.s < decoder
    halves = t5.pivot(index="name", columns="part", values="s")
    assert (halves["decoder"] > halves["encoder"]).sum() == 1
    return (
        f"Among the {len(encoders)} published encoder-only models, larger models are less symmetric than smaller models (rank"
        f" correlation {number(rho, 2)}). The T5 family does not follow this pattern: the encoder of the smallest T5 model scores"
        f" {number(smallest.s, 2)}, whereas the encoder of the largest, T5-11B, scores {number(largest.s, 2)}. T5-11B is also"
        f" the only T5 model whose decoder ({number(decoder, 2)}) has a higher score than its encoder. We do not know the reason"
        " for either of these observations."
    )


class Question(NamedTuple):
    """A page of the reading path."""

    question: str  # MyST
    page: str


QUESTIONS = (
    "What does it mean for $W_{qk}$ to be symmetric?",
    "Are encoders symmetric while decoders are not?",
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
