"""The six findings of the front page, each with one number, a label of strength, and what it rests on."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from attngeo.experiments.runs.arms import LOSS, Contrast, contrasts
from attngeo.experiments.runs.estimates import LEVEL, over_seeds
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_percent, extent, number, spelled, with_interval
from attngeo.experiments.survey.families import compared, of_families
from chapters.pretrained_survey.choices import TEXT_ALONE, choices
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from chapters import positions
from chapters.positions import told
from chapters.positions.compared import directionality as directionality_of
from chapters.positions.crossing import OF_CHARACTERS
from chapters.pretrained_survey.measures import of_modality, recorded_weights
from chapters.symmetric_initialisation import starts
from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.told import of_encoders
from chapters.symmetric_updates import correlations, in_short, in_training
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
    return Finding(
        as_percent(published.auc),
        "of encoder–decoder pairs, in which the encoder has the higher score $s$",
        "Published text encoders are more symmetric than published text decoders.",
        "solid",
        "for published text models",
        f"We compared {published.n_first} text encoders with {published.n_second} text decoders whose scores the"
        f" authors published. The encoder has the higher symmetry score in {as_percent(published.auc)} of the pairs."
        " Among the models whose weights we scored ourselves, we paired every encoder family with every decoder"
        f" family. The encoder family has the higher score in {as_percent(every.auc)} of these pairs, but most of"
        " these encoders are not text models. If we count text models alone, the encoder family has the higher score"
        f" in {as_percent(text.auc)} of the pairs. With only {text.n_first} encoder families and {text.n_second}"
        " decoder families, however, we cannot draw a conclusion.",
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
    outcomes = Counter(experiment.outcome.name for experiment in experiments.values())
    undated = sum(experiment.plan.name in positions.UNDATED for experiment in experiments.values())
    assert outcomes.keys() == {"HOLDS", "IN_PART", "UNDECIDED"} and undated > 1
    two = {name: number(value, 2) for name, value in s.items()}
    of_pieces = {name: number(value, 2) for name, value in pieces.items()}
    of_mini = {name: number(value, 2) for name, value in wide.items()}
    return Finding(
        f"{two['mlm-learned']} → {two['mlm-rotary']}",
        "score $s$ of encoders, with learned → with rotary position embeddings",
        "Small encoders become symmetric with learned position embeddings, but much less so with rotary ones.",
        "in small models",
        f"4 layers, {spelled(len(experiments))} planned experiments",
        "If we replace the learned position embeddings of a character-level encoder by rotary position embeddings,"
        f" its mean symmetry score drops from {two['mlm-learned']} to {two['mlm-rotary']}. In character-level encoders"
        f" with the dimensions of the paper's four-layer model, the score drops from {of_mini['mlm-learned']} to"
        f" {of_mini['mlm-rotary']}, and in encoders trained on subword tokens from {of_pieces['mlm-learned']} to"
        f" {of_pieces['mlm-rotary']}. Before the training runs, we fixed a criterion for success in each of"
        f" {spelled(len(experiments))} experiments. Of these experiments, {spelled(outcomes['HOLDS'])} met the"
        f" criterion, {spelled(outcomes['IN_PART'])} showed a smaller or less certain effect than the criterion required"
        f" and {spelled(outcomes['UNDECIDED'])} could not be judged, because the encoders had hardly learned anything."
        f" For {spelled(undated)} of these experiments, readers cannot verify that we fixed the criterion before the"
        " runs, because the commits that would prove this were lost. A possible reason for the drop is that, at each"
        " position, an encoder uses the positions to the left and to the right in the same way. For a single layer at"
        " the start of training, we [prove](positions_theory.py) that, under certain conditions, this leads to symmetric"
        " updates of the part of $W_{qk}$ that compares positions. For trained models, the reason is still"
        " [unknown](why.py).",
        "why.py",
    )


def one_bert() -> Finding:
    """The split of one BERT by the directions of its positions."""
    rows = positions.splits_table(positions.splits()).set_index("model")
    bert = rows.loc[BERT]
    assert bert["s outside"] > 0.3
    inside, outside, whole = (number(bert[name], 2) for name in ("s inside", "s outside", "s"))
    return Finding(
        outside,
        f"score $s$ of one BERT outside the directions of its position embeddings (score of the whole matrix: {whole})",
        "In the only BERT base model that we could obtain, positions explain only part of the symmetry.",
        "measured, unexplained",
        "one model",
        "In this BERT base model, which was fine-tuned on radiology reports, the directions of the position"
        f" embeddings account for {bert['share']} of the squared norm of $W_{{qk}}$. This part of the matrix is nearly"
        f" symmetric ($s$ = {inside}). However, the rest of the matrix still scores {outside}, and we do not know what"
        f" makes it symmetric. All these values are medians over {bert['layers']} layers.",
        "why.py",
    )


def theorem_on_updates(paper: Account) -> Finding:
    """Theorem 2.4, its assumption in untrained models and in training, and Theorem 2.3."""
    assert paper.verdict("2.4", "") is Verdict.STATED
    assert paper.verdict("S1.12", "Eqs. S101, S102") is Verdict.CHANGES
    untrained = over_seeds(correlations(Objective.MASKED, d=32, n_tokens=32, n_models=30, seed=0))
    assert untrained.low < 0 < untrained.high
    outcome, early, *_ = in_training()
    return Finding(
        number(untrained.value, 3),
        "correlation that Theorem 2.4 assumes, in untrained models",
        "It has not been shown that the paper's Theorem 2.4 explains the symmetry.",
        "not shown",
        "for trained models",
        "Theorem 2.4 is correct under the assumption that the paper states. The updates are symmetric if *dog*"
        " contributes as much to predicting *cat* as *cat* contributes to predicting *dog*, and the paper assumes"
        " that these two contributions are correlated. In untrained one-layer models that read random tokens, we found"
        f" no such correlation: the correlation coefficient is {with_interval(untrained, lambda x: number(x, 3))} (95 %"
        f" confidence interval over 30 models). {in_short(outcome, early)} As printed, the paper's Theorem 2.3 on"
        " decoders [does not follow](directionality.py) from its assumptions.",
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
        "nats: increase of the loss of an encoder whose $W_{qk}$ is forced to be skew-symmetric",
        "With learned position embeddings, forcing $W_{qk}$ to be skew-symmetric hurts a small encoder but has"
        " little effect on a small decoder.",
        "in small models",
        f"{spelled(seeds)} seeds",
        "Forcing $W_{qk}$ to be skew-symmetric during training increases the loss of an encoder on unseen text by"
        f" {with_interval(encoder, lambda x: number(x, 2))} nats (95 % confidence interval over {spelled(seeds)}"
        " seeds), and this difference was still shrinking when training ended. The loss of a decoder increases by"
        f" only {number(decoder.value, 2)} nats, which may be due to chance. However, not every encoder needs a"
        " symmetric $W_{qk}$: our small encoders with rotary position embeddings are not symmetric, yet their mean"
        f" loss ({number(loss['rotary'], 2)} nats) is lower than that of our encoders with learned position embeddings"
        f" ({number(loss['learned'], 2)} nats).",
        "constraints.py",
    )


def symmetric_start() -> Finding:
    """Planned comparisons of encoders that start symmetric with encoders that start random."""
    plans = starts.planned()
    asked = of_encoders(starts.about_symmetry(plans))
    compared_losses = {p.plan: p.primary.difference() for p in asked}
    lower = [name for name, gap in compared_losses.items() if gap.high < -starts.BAND]
    assert lower == ["confirm_mini"] and not any(gap.low > 0 for gap in compared_losses.values())
    assert not any(len(asked) * p.p < 1 - LEVEL for p in asked)  # "none of them is significant"
    saved = [speed_up_of(plans[name].primary).value for name in (*lower, starts.AGAIN)]
    assert 0.05 < min(saved) < max(saved) < 0.3 and plans[starts.AGAIN].primary.difference().high < 0
    main = starts.main_settings(starts.settings(starts.recorded()))
    by_chance = max(max(starts.between_random_starts(setting)[1]) for setting in main)
    printed = printed_table("1")["speed_up_percent"].max()
    read = max(p.training.tokens for p in asked) / starts.PAPERS.tokens
    return Finding(
        f"{len(lower)} of {len(asked)}",
        "comparisons in which a symmetric initialisation clearly helped",
        "It has not been shown that a symmetric initialisation speeds up training.",
        "not shown",
        "small models, short runs",
        f"The paper reports that encoders with a symmetric initialisation need up to {printed:.0f} % fewer training"
        f" steps than randomly initialised encoders. We planned {spelled(len(asked))} comparisons of symmetrically and"
        f" randomly initialised encoders with learned position embeddings. The symmetric initialisation clearly helped in {spelled(len(lower))} of"
        f" these comparisons: it saved {extent(saved, as_percent)} of the training steps, and it did so again with new"
        " seeds. In none of the comparisons was it clearly harmful. However, by the paper's measure of speed-up, one"
        f" of our *randomly* initialised encoders can appear as much as {as_percent(by_chance)} faster than another."
        f" Even in the longest of these comparisons, our models were trained on only {100 * read:.2g} % as many tokens"
        " as the models in the paper.",
        "symmetric_initialisation.py",
    )


def directionality(page: str) -> str:
    """MyST: the other half of the paper's title, which is not among the six; ``page`` says more."""
    published = of_modality("text", "d", released_results())
    read = compared(of_families(recorded_weights().stacks), "directionality").separation
    assert published.low > 0.5 and read.low < 0.5 < read.high
    small = [found for found in positions.all_recorded().values() if found.plan.name in OF_CHARACTERS]
    assert all(
        directionality_of(found, "learned").low > 0 > directionality_of(found, "rotary").value for found in small
    )
    return (
        "**What about decoders?** The second half of the paper's claim is that decoders are *directional*, which means"
        " that a few columns of $W_{qk}$ have much larger norms than the other columns. In the published scores of"
        f" text models, the decoder is more directional than the encoder in {as_percent(published.auc)} of the pairs,"
        " but as far as we can tell, these scores were computed with a formula that the paper does not state. When we"
        " apply the paper's own formula to the models that we scored ourselves, the decoder family is more directional"
        f" than the encoder family in only {as_percent(read.auc)} of the pairs. Among our small character-level models,"
        " decoders are more directional than encoders with learned position embeddings, but not with rotary ones. Our"
        f" measurements therefore do not settle the question. {strength('not shown')} [More]({page})"
    )
