"""The six findings of the front page, each with one number, a label of strength, and what it rests on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attngeo.experiments.runs.arms import LOSS, Contrast, contrasts
from attngeo.experiments.runs.estimates import over_seeds
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_percent, extent, joined_by_and, number, spelled, with_interval
from attngeo.experiments.survey.families import TEXT_ALONE, choices, compared, of_families
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from chapters import positions
from chapters.positions import told
from chapters.pretrained_survey.measures import of_modality, recorded_weights
from chapters.symmetric_initialisation import starts
from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_updates import correlations, in_training, told_in_training
from livingpaper.claims import Verdict
from livingpaper.claims.published import printed_table
from livingpaper.display.strength import STRENGTHS, strength
from livingpaper.display.verdicts import Account
from livingpaper.released_results import released_results

BERT = "BERT base radiology"  # the one BERT whose weights were read


class Finding(NamedTuple):
    """What was found, and how sure it is."""

    number: str  # the large one
    of: str  # what it is: MyST
    says: str  # the finding in a sentence: MyST
    label: str  # of STRENGTHS
    about: str  # what the label is about, in a few words
    text: str  # MyST
    page: str  # where more is said


def listed(*findings: Finding) -> str:
    """MyST of findings below each other."""
    blocks = []
    for one in findings:
        blocks += [
            "::::{div} front-finding",
            f":::{{div}} front-stat\n[{one.number}]{{.front-number}}\n\n{one.of}\n:::",
            f":::{{div}} front-says\n**{one.says}**\n\n{one.text} [More]({one.page})\n:::",
            f":::{{div}} front-sure\n{strength(one.label)}\n\n{one.about}\n:::",
            "::::",
        ]
    return "\n\n".join([":::::{div} front-findings", *blocks, ":::::"])


def labels() -> str:
    """MyST: what every label of strength means."""
    rows = (f":::{{div}} front-label\n{strength(label)}\n\n{words}\n:::" for label, words in STRENGTHS.items())
    return "\n\n".join(["::::{div} front-labels", *rows, "::::"])


def encoders_are_more_symmetric() -> Finding:
    """Published scores of text models, and weights that were read."""
    published = of_modality("text", "s", released_results())
    read = recorded_weights().stacks
    every = compared(of_families(read), "symmetry").separation
    text = compared(of_families(choices(read)[TEXT_ALONE]), "symmetry").separation
    assert published.low > 0.5 and every.low > 0.5 > text.low
    (odd,) = read.query("attention == 'bidirectional' and symmetry < 0").itertuples()
    assert odd.model == "BART g2p" and odd.n_layers == 1
    return Finding(
        as_percent(published.auc),
        "of pairs: the encoder has the higher score $s$",
        "Published encoders of text are more symmetric than published decoders of text.",
        "solid",
        "for published text models",
        f"From the scores that the authors published for text models, we left out those that are repeated, random or wrongly"
        f" extracted. If we pick any of the {published.n_first} remaining encoders and any of the {published.n_second}"
        f" remaining decoders, the encoder has the higher symmetry score in {as_percent(published.auc)} of the pairs. On"
        f" weights that we read ourselves, the encoder has the higher score in {as_percent(every.auc)} of the pairs of"
        f" {every.n_first} families of encoders and {every.n_second} families of decoders, but most of these encoders"
        f" do not read text. Among families that read text, the encoder has the higher score in {as_percent(text.auc)} of the"
        f" pairs, but {text.n_first} families of encoders and {text.n_second} families of decoders are too few to decide. The one encoder with a negative score ({number(odd.symmetry, 2)}) is"
        f" {odd.model}, a model with a single layer that turns spelling into sounds.",
        "pretrained_survey.py",
    )


def means(experiment: positions.Judged) -> dict[str, float]:
    """Symmetry by arm, mean over seeds."""
    return {name: experiment.arms[name].mean(positions.S) for name in positions.ARMS}


def learned_positions(experiments: Mapping[str, positions.Judged]) -> Finding:
    """Encoders of characters and word pieces, with learned and with rotary positions."""
    first, longer, mini = (
        experiments[positions.TITLES[name]] for name in (positions.FIRST, "positions_pieces_longer", told.MINI)
    )
    s, pieces, wide = map(means, (first, longer, mini))
    for name, experiment in experiments.items():
        learned, rotary = (experiment.arms[arm].mean(positions.S) for arm in ("mlm-learned", "mlm-rotary"))
        silent = experiment.outcome is positions.Outcome.UNDECIDED
        assert silent or (experiment.first.low > 0 and rotary < learned / 4), name
    assert all(found["clm-rotary"] > found["mlm-rotary"] for found in (s, pieces, wide))
    assert pieces["clm-rotary"] - pieces["mlm-rotary"] < 0.05 < wide["clm-rotary"] - wide["mlm-rotary"]
    outcomes = told_outcomes(
        [experiment.outcome for experiment in experiments.values()],
        sum(experiment.plan.name in positions.UNDATED for experiment in experiments.values()),
    )
    two = {name: number(value, 2) for name, value in s.items()}
    of_pieces = {name: number(value, 2) for name, value in pieces.items()}
    of_mini = {name: number(value, 2) for name, value in wide.items()}
    return Finding(
        f"{two['mlm-learned']} → {two['mlm-rotary']}",
        "score $s$ of encoders, learned → rotary positions",
        "In small models, encoders become symmetric with learned position embeddings, and hardly with rotary positions.",
        "in small models",
        f"4 layers, {spelled(len(experiments))} planned experiments",
        f"If we replace the learned position embeddings by rotary positions, the score of an encoder that reads single"
        f" characters drops from {two['mlm-learned']} to {two['mlm-rotary']}. In the shape of the paper's four-layer model it"
        f" drops from {of_mini['mlm-learned']} to {of_mini['mlm-rotary']}, and on word pieces from {of_pieces['mlm-learned']} to"
        f" {of_pieces['mlm-rotary']}. {outcomes} A possible reason is that an encoder reads the positions on"
        " its left and on its right alike, so that position $i$ gains as much from position $j$ as $j$ gains from $i$."
        " We [prove](positions_theory.py) this under conditions for one layer at the start of training. For trained models,"
        " the reason is [open](why.py).",
        "why.py",
    )


def told_outcomes(outcomes: Sequence[positions.Outcome], undated: int) -> str:
    """How many plans found what, and for how many of them nobody can check that they came before their runs."""
    found = {
        positions.Outcome.HOLDS: "the result met the criterion in {}",
        positions.Outcome.IN_PART: "the effect was smaller or less certain than we had required in {}",
        positions.Outcome.FALLS: "there was no effect in {}",
        positions.Outcome.UNDECIDED: "there was no answer in {}, because the encoders had hardly learned anything",
    }
    parts = [words.format(spelled(outcomes.count(of))) for of, words in found.items() if of in outcomes]
    sentence = (
        f"We wrote down a criterion for each of {spelled(len(outcomes))} experiments before we ran them:"
        f" {joined_by_and(parts)}."
    )
    if not undated:
        return sentence
    return (
        f"{sentence} For {spelled(undated)} of them a reader cannot check that the criterion came first, because the commits"
        " were lost."
    )


def one_bert() -> Finding:
    """The split of one BERT by the directions of its positions."""
    rows = positions.splits_table(positions.splits()).set_index("model")
    bert = rows.loc[BERT]
    assert bert["s outside"] > 0.3
    inside, outside, whole = (number(bert[name], 2) for name in ("s inside", "s outside", "s"))
    return Finding(
        outside,
        f"score $s$ of one BERT outside the directions of its positions ({whole} in all)",
        "In the one BERT base that we could read, positions explain only a part of the symmetry.",
        "measured, unexplained",
        "one model",
        "This BERT base was fine-tuned on radiology reports. The directions of its position embeddings hold"
        f" {bert['share']} of the squared norm of $W_{{qk}}$, and this part is nearly symmetric ({inside}). The rest of"
        f" $W_{{qk}}$ still scores {outside}, and the whole matrix scores {whole} (medians over {bert['layers']} layers)."
        " We do not know what makes the rest symmetric.",
        "why.py",
    )


def theorem_on_updates(paper: Account) -> Finding:
    """Theorem 2.4, its assumption in untrained models and in training, and Theorem 2.3."""
    assert paper.verdict("2.4", "") is Verdict.STATED
    assert paper.verdict("S1.12", "Eqs. S101, S102") is Verdict.CHANGES
    untrained = over_seeds(correlations(Objective.MASKED, d=32, n_tokens=32, n_models=30, seed=0))
    assert untrained.low < 0 < untrained.high
    return Finding(
        number(untrained.value, 3),
        "correlation that Theorem 2.4 assumes, in untrained models",
        "Whether the paper's Theorem 2.4 explains the symmetry has not been shown.",
        "not shown",
        "for trained models",
        "Theorem 2.4 is correct under the assumption that it states: updates are symmetric if *dog* helps to predict *cat*"
        " as much as *cat* helps to predict *dog*. The paper assumes that these two contributions are correlated. In small"
        f" untrained models they are not: the correlation is {with_interval(untrained, lambda x: number(x, 3))} (95 % confidence"
        f" interval over 30 models). {told_in_training(*in_training())} The paper's Theorem 2.3, about decoders,"
        " [does not follow](directionality.py) as it is printed.",
        "symmetric_updates.py",
    )


def forbidding(experiment: positions.Judged) -> Finding:
    """Encoders and decoders that may not be symmetric, beside free ones; encoders with rotary positions."""
    pairs = contrasts(recorded_runs(data("runs")), "constraint", "skew", "none", free=("gamma",))
    cost = {pair.first.config["objective"]: pair for pair in pairs}
    encoder, decoder = (cost[objective].difference() for objective in ("mlm", "clm"))
    assert encoder.low > decoder.high > 0 > decoder.low
    assert {pair.first.config["positions"] for pair in pairs} == {"learned"}
    loss = {kind: experiment.arms[f"mlm-{kind}"].mean(LOSS) for kind in ("learned", "rotary")}
    assert Contrast(experiment.arms["mlm-rotary"], experiment.arms["mlm-learned"]).difference(LOSS).high < 0
    seeds = len(cost["mlm"])
    return Finding(
        number(encoder.value, 2, "+"),
        "nats of loss for an encoder that may not be symmetric",
        "With learned position embeddings, forbidding symmetry hurts a small encoder, but not a small decoder.",
        "in small models",
        f"{spelled(seeds)} seeds",
        f"If we hold $W_{{qk}}$ skew-symmetric during training, the loss of an encoder on unseen text rises by"
        f" {with_interval(encoder, lambda x: number(x, 2))} nats (95 % confidence interval over {spelled(seeds)} seeds),"
        f" although the gap was still closing when training ended. The loss of a decoder rises by {number(decoder.value, 2)}"
        " nats, which could be chance. All of these models have learned position embeddings. An encoder with rotary"
        f" positions is not symmetric and still reaches a lower loss ({number(loss['rotary'], 2)} instead of"
        f" {number(loss['learned'], 2)} nats). So symmetry is what an encoder with learned positions uses, and not what every"
        " encoder needs.",
        "constraints.py",
    )


def symmetric_start() -> Finding:
    """Planned comparisons of encoders that start symmetric with encoders that start random."""
    plans = starts.planned()
    asked = [p for p in starts.about_symmetry(plans) if p.encoder and p.plan != starts.AGAIN]
    compared_losses = {p.plan: p.primary.difference() for p in asked}
    lower = [name for name, gap in compared_losses.items() if gap.high < -starts.BAND]
    assert lower == ["confirm_mini"] and not any(gap.low > 0 for gap in compared_losses.values())
    saved = [speed_up_of(plans[name].primary).value for name in (*lower, starts.AGAIN)]
    assert 0.05 < min(saved) < max(saved) < 0.3 and plans[starts.AGAIN].primary.difference().high < 0
    main = starts.main_settings(starts.settings(starts.recorded()))
    by_chance = max(max(starts.between_random_starts(setting)[1]) for setting in main)
    printed = printed_table("1")["speed_up_percent"].max()
    read = max(p.training.tokens for p in asked) / starts.PAPERS.tokens
    return Finding(
        f"{len(lower)} of {len(asked)}",
        "comparisons in which a symmetric start clearly helped",
        "It has not been shown that a symmetric start speeds up training.",
        "not shown",
        "small models, short runs",
        f"The paper reports that encoders that start symmetric need up to {printed:.0f} % fewer steps. In"
        f" {spelled(len(lower))} of our {spelled(len(asked))} planned comparisons a symmetric start clearly lowered the"
        f" loss, and in none of them did it clearly do harm. In that one, which has the shape of the paper's four-layer model,"
        f" the symmetric start saved {extent(saved, as_percent)} of the steps, with the first seeds and with new ones. By the measure that the paper uses, one *random* start of ours is up to"
        f" {as_percent(by_chance)} faster than another. Our runs are much shorter than the paper's: the longest of these"
        f" comparisons reads {100 * read:.2g} % of its tokens.",
        "symmetric_initialisation.py",
    )


def directionality(page: str) -> str:
    """MyST: the other half of the paper's title, which is not among the six; ``page`` says more."""
    published = of_modality("text", "d", released_results())
    read = compared(of_families(recorded_weights().stacks), "directionality").separation
    assert published.low > 0.5 and read.low < 0.5 < read.high
    return (
        f"**What about decoders?** The other half of the paper's claim is that decoders are *directional*, which means that a"
        f" few columns of $W_{{qk}}$ have much larger norms than the others. In the published scores of text models, the decoder"
        f" is more directional in {as_percent(published.auc)} of the pairs, but these scores follow a formula that the paper"
        f" does not state. By the formula that the paper states, and on weights that we read, the decoder is more directional in"
        f" {as_percent(read.auc)} of the pairs of families, which decides nothing. {strength('not shown')} [More]({page})"
    )
