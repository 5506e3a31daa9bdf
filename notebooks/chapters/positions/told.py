"""What the planned experiments on positions found. Sentences assert the recorded outcomes on which they depend."""

from collections import Counter
from collections.abc import Mapping
from functools import partial

from chapters.positions import CHARACTERS, EARLIER, ENOUGH, TITLES, UNDATED, Judged, Outcome, encoder_means, recorded
from attngeo.experiments.runs.circumstances import made
from attngeo.files.checkout import data
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, spelled, with_interval

MINI = "positions_mini"
as_s = partial(number, digits=2)


def outcomes(experiments: Mapping[str, Judged]) -> str:
    """How many experiments found what: ``Of six planned experiments, three met the criteria of their plans, ...``."""
    counts = Counter(judgement.outcome for judgement in experiments.values())
    met, in_part, undecided = (counts[o] for o in (Outcome.HOLDS, Outcome.IN_PART, Outcome.UNDECIDED))
    assert not counts[Outcome.FALLS] and min(met, in_part) > 1 and undecided
    return (
        f"Of {spelled(len(experiments))} planned experiments, {spelled(met)} met the criteria of their plans,"
        f" {spelled(in_part)} showed a smaller or less certain effect than their plans required, and"
        f" {spelled(undecided)} could not be judged, because the encoders had hardly learned anything."
    )


def headline(experiments: Mapping[str, Judged]) -> str:
    """By how much s drops in each kind of model, for the head of a page."""
    means = {name: encoder_means(experiments[title]) for name, title in TITLES.items()}
    of_characters = list(zip(*(means[name] for name in CHARACTERS), strict=True))
    mini, pieces = means[MINI], means["positions_pieces_longer"]
    assert max(of_characters[1]) < min(of_characters[0]) and mini[1] < mini[0] and pieces[1] < pieces[0]
    learned, rotary = (f"between {as_s(min(values))} and {as_s(max(values))}" for values in of_characters)
    return (
        f"In {spelled(len(CHARACTERS))} planned experiments, character-level encoders with learned position embeddings"
        f" have mean scores $s$ {learned}. If we replace the learned position embeddings by rotary positions, the mean"
        f" scores are {rotary}. In encoders with the dimensions of the paper's four-layer model, the mean score drops"
        f" from {as_s(mini[0])} to {as_s(mini[1])}. In encoders that are trained on subword tokens, it drops from"
        f" {as_s(pieces[0])} to {as_s(pieces[1])}."
    )


def of_plan(judgement: Judged) -> str:
    """What a plan asked for, what was found, and what follows by the plan."""
    if judgement.outcome is Outcome.UNDECIDED:
        return (
            "The encoders with learned position embeddings did not learn. Their held-out loss remained at the level of a"
            " model that has learned little more than the frequency of each token. Under the criteria of the plan, the"
            " result is then inconclusive."
        )
    assert judgement.interaction.low > 0  # "exceeds"
    follows = "Both conditions are met."
    if judgement.outcome is not Outcome.HOLDS:
        assert judgement.outcome is Outcome.IN_PART
        follows = f"The first interval lies above 0 but not above {ENOUGH:g}, so only the second condition is met."
    return (
        f"Over {len(judgement.arms['mlm-learned'])} seeds, the difference in symmetry score between encoders with"
        " learned position embeddings and encoders with rotary positions (learned minus rotary) is"
        f" {with_interval(judgement.first, as_score)}. This difference exceeds the corresponding difference for"
        f" decoders by {with_interval(judgement.interaction, as_s)}. The plan required the first interval to lie above"
        f" {ENOUGH:g} and the second interval above 0. {follows}"
    )


def of_the_papers_shape() -> str:
    """The experiment in the shape of the paper's four-layer model; MyST."""
    judgement = recorded(MINI)
    earlier = judgement.of(EARLIER[MINI])
    settings = read_experiment(data("runs", MINI)).runs[0].settings
    characters = settings["steps"] * settings["batch_size"] * settings["block_size"]
    seeds, seeds_before = (spelled(len(runs)) for runs in (judgement.arms["mlm-learned"], EARLIER[MINI]))
    learned, rotary = map(as_s, encoder_means(judgement))
    ways = Counter(made(run) for arm in judgement.arms.values() for run in arm.runs)
    (machine,) = {f"in {way.precision} on {way.processor} GPUs" for way in ways}
    codes = [f"{n} runs used commit {way.commit}" for way, n in ways.items()]
    assert len(codes) > 1
    return (
        f"**The dimensions of the paper's four-layer model** ({settings['layers']} layers of width"
        f" {settings['d_model']}, {characters / 1e6:.0f} million characters). With these dimensions, encoders with"
        f" learned position embeddings have a mean score of $s$ = {learned}, and encoders with rotary positions have a"
        f" mean score of {rotary}. {of_plan(judgement)}\n\n"
        f"Before the first run, we amended this plan to use {seeds} seeds instead of {seeds_before} and a GPU instead"
        " of a CPU core. Readers cannot verify that we made this amendment before the runs, because it was committed"
        " to the repository together with the runs. The original plan was committed before the runs. If we count only"
        f" the {seeds_before} seeds of the original plan, the difference between encoders is"
        f" {with_interval(earlier.first, as_score)}, and under the criteria of the plan, the outcome has the label"
        f" *{earlier.outcome.verdict}*. Contrary to the plan, we also saw the scores of the encoders before the last"
        " decoders had been trained. By then, the number of seeds had been fixed. The plan required a single version of"
        f" the code, but {joined_by_and(codes)}, all {machine}."
    )


def remark(judgement: Judged) -> str:
    """`of_plan`, after what cannot be looked up."""
    if judgement.plan.name not in UNDATED:
        return of_plan(judgement)
    return f"{of_plan(judgement)} Readers cannot verify that we wrote this plan before the runs, because its commit was lost."
