"""What the planned experiments on positions found, in sentences that follow from the recorded runs."""

from collections import Counter
from collections.abc import Mapping

from chapters.positions import (
    EARLIER,
    ENOUGH,
    TITLES,
    UNDATED,
    Judged,
    Outcome,
    S,
    progress,
    recorded,
)
from attngeo.experiments.runs.circumstances import made, made_alike
from chapters.positions.compared import extent_over_plans
from attngeo.files.checkout import data
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, spelled, with_interval

MINI = "positions_mini"
FOUND = {
    Outcome.HOLDS: "met the criterion of its plan",
    Outcome.IN_PART: "showed a smaller or less certain effect than its plan required",
    Outcome.UNDECIDED: "could not be judged, because the encoders had hardly learned anything",
    Outcome.FALLS: "showed no effect",
}


def outcomes(experiments: Mapping[str, Judged]) -> str:
    """How many experiments found what: ``Of five planned experiments, two met the criteria of their plans, ...``."""
    counts = Counter(judgement.outcome for judgement in experiments.values())
    told = []
    for outcome, found in FOUND.items():
        if counts[outcome]:
            words = found if counts[outcome] == 1 else found.replace("its plan", "their plans")
            words = words.replace("criterion of their plans", "criteria of their plans")
            told.append(f"{spelled(counts[outcome])} {words}")
    *others, last = told
    listed = f"{', '.join(others)}, and {last}" if others else last
    return f"Of {spelled(len(experiments))} planned experiments, {listed}."


def headline(experiments: Mapping[str, Judged]) -> str:
    """By how much s drops in each kind of model, for the head of a page."""
    table, rotary = (extent_over_plans(experiments, arm) for arm in ("mlm-learned", "mlm-rotary"))
    sentences = [
        "In three planned experiments, character-level encoders with learned position embeddings have mean scores $s$ between"
        f" {table.replace(' to ', ' and ')}. If we replace the learned position embeddings by rotary positions, the mean"
        f" scores are between {rotary.replace(' to ', ' and ')}."
    ]
    if TITLES[MINI] in experiments:
        drop = _drop(experiments[TITLES[MINI]])
        sentences.append(
            f"In encoders with the dimensions of the paper's four-layer model, the mean score drops {drop}."
        )
    drop = _drop(experiments[TITLES["positions_pieces_longer"]])
    sentences.append(f"In encoders that are trained on subword tokens, it drops {drop}.")
    return " ".join(sentences)


def _drop(judgement: Judged) -> str:
    table, rotary = (number(judgement.arms[arm].mean(S), 2) for arm in ("mlm-learned", "mlm-rotary"))
    return f"from {table} to {rotary}"


def of_plan(judgement: Judged) -> str:
    """What a plan asked for, what was found, and what follows by the plan."""
    first = with_interval(judgement.first, as_score)
    interaction = with_interval(judgement.interaction, as_score)
    found = (
        f"Over {len(judgement.arms['mlm-learned'])} seeds, the symmetry score of encoders with learned position"
        f" embeddings minus that of encoders with rotary positions is {first}. This difference minus the corresponding"
        f" difference for decoders is {interaction}."
    )
    asked = f"The plan required the first interval to lie above {ENOUGH:g} and the second interval above 0."
    follows = {
        Outcome.HOLDS: "Both conditions are met.",
        Outcome.IN_PART: "The first interval lies above 0, but at least one of the two conditions is not met.",
        Outcome.FALLS: "The first interval includes 0 or lies below 0, so the prediction is refuted.",
        Outcome.UNDECIDED: (
            "The encoders with learned position embeddings did not learn. Their held-out loss remained at the level of a"
            " model that has learned little more than the frequency of each token. Under the criteria of the plan, the result"
            " is then inconclusive."
        ),
    }
    if judgement.outcome is Outcome.UNDECIDED:
        return follows[Outcome.UNDECIDED]
    return f"{found} {asked} {follows[judgement.outcome]}"


def of_the_papers_shape() -> str:
    """What is known of the experiment in the shape of the paper's four-layer model; MyST."""
    judgement = recorded(MINI)
    done, planned = progress(MINI)
    settings = read_experiment(data("runs", MINI)).runs[0].settings
    characters = settings["steps"] * settings["batch_size"] * settings["block_size"]
    shape = f"{settings['layers']} layers of width {settings['d_model']}, {characters / 1e6:.0f} million characters"
    if judgement is None or done < planned:
        return (
            "In a further experiment, we repeat the comparison with the dimensions of the paper's four-layer model"
            f" ({shape}). So far, {done} of its {planned} planned runs are recorded. The plan allows no comparison before all"
            " runs are complete, so we report no result."
        )
    earlier = judgement.of(EARLIER[MINI])
    seeds, seeds_before = (spelled(len(runs)) for runs in (judgement.arms["mlm-learned"], EARLIER[MINI]))
    table, rotary = (number(judgement.arms[arm].mean(S), 2) for arm in ("mlm-learned", "mlm-rotary"))
    result = (
        f"**The dimensions of the paper's four-layer model** ({shape}). With these dimensions, encoders with learned position"
        f" embeddings have a mean score of $s$ = {table}, and encoders with rotary positions have a mean score of {rotary}."
        f" {of_plan(judgement)}"
    )
    amended = (
        f"Before the first run, we amended this plan to use {seeds} seeds instead of {seeds_before} and a GPU instead"
        " of a CPU core. Readers cannot verify that we made this amendment before the runs, because it was committed"
        " to the repository together with the runs. The original plan was committed before the runs. If we count only"
        f" the {seeds_before} seeds of the original plan, the difference between encoders is"
        f" {with_interval(earlier.first, as_score)}, and the label of the outcome under the criteria of the plan is"
        f" *{earlier.outcome.verdict}*. Contrary to the plan, we also saw the scores of the encoders before the last"
        " decoders had been trained. By then, the number of seeds had been fixed."
    )
    return f"{result}\n\n{amended}{_codes(judgement)}"


def _codes(judgement: Judged) -> str:
    """That a plan asked for one version of the code and its runs have several; nothing where they have one."""
    if made_alike(judgement.arms.values()):
        return ""
    ways = Counter(made(run) for arm in judgement.arms.values() for run in arm.runs)
    machines = {f"in {way.precision} on {way.processor}" for way in ways}
    if len(machines) > 1:
        listed = [f"{n} runs used commit {w.commit} in {w.precision} on {w.processor}" for w, n in ways.items()]
        return f" The plan required a single version of the code, but {joined_by_and(listed)}."
    listed = [f"{n} runs used commit {way.commit}" for way, n in ways.items()]
    return f" The plan required a single version of the code, but {joined_by_and(listed)}, all {machines.pop()}."


def remark(judgement: Judged) -> str:
    """`of_plan`, after what cannot be looked up."""
    if judgement.plan.name not in UNDATED:
        return of_plan(judgement)
    return f"{of_plan(judgement)} Readers cannot verify that we wrote this plan before the runs, because its commit was lost."
