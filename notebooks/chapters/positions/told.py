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
from chapters.positions.compared import extent_over_plans, made, made_alike
from livingpaper.display.check_line import badge
from attngeo.files.checkout import data
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, number, spelled, with_interval

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


def badges(experiments: Mapping[str, Judged]) -> str:
    """The label of each outcome, with how many plans have it (HTML)."""
    counts = Counter(judgement.outcome.verdict for judgement in experiments.values())
    return " ".join(f"{badge(verdict.value)} ×{n}" if n > 1 else badge(verdict.value) for verdict, n in counts.items())


def headline(experiments: Mapping[str, Judged]) -> str:
    """By how much s drops in each kind of model, for the head of a page."""
    table, rotary = (extent_over_plans(experiments, arm) for arm in ("mlm-learned", "mlm-rotary"))
    sentences = [
        "If we replace the learned position embeddings of a character-level encoder by rotary positions, its score $s$"
        f" drops from between {table.replace(' to ', ' and ')} to between {rotary.replace(' to ', ' and ')}"
        " (means over the seeds of three planned experiments)."
    ]
    if TITLES[MINI] in experiments:
        drop = _drop(experiments[TITLES[MINI]])
        sentences.append(f"In the shape of the paper's four-layer model, the score drops {drop}.")
    drop = _drop(experiments[TITLES["positions_pieces_longer"]])
    sentences.append(f"In encoders that read word pieces, the score drops {drop}.")
    return " ".join(sentences)


def _drop(judgement: Judged) -> str:
    table, rotary = (number(judgement.arms[arm].mean(S), 2) for arm in ("mlm-learned", "mlm-rotary"))
    return f"from {table} to {rotary}"


def of_plan(judgement: Judged) -> str:
    """What a plan asked for, what was found, and what follows by the plan."""
    first = with_interval(judgement.first, as_score)
    interaction = with_interval(judgement.interaction, as_score)
    found = (
        "The symmetry score of encoders with a table minus that of encoders with rotary positions is"
        f" {first} over {len(judgement.arms['mlm-learned'])} seeds. The second measure of the plan, which is this"
        f" difference minus the same difference of decoders, is {interaction}."
    )
    asked = f"The plan asked for a first interval above {ENOUGH:g} and a second interval above 0."
    follows = {
        Outcome.HOLDS: "Both conditions are met.",
        Outcome.IN_PART: "The first interval lies above 0, but the conditions are not both met.",
        Outcome.FALLS: "The first interval includes 0 or lies below it, so the plan's claim is refuted.",
        Outcome.UNDECIDED: (
            "The encoders with a table did not learn. Their held-out loss stayed at the level of a model that knows"
            " little more than how frequent each token is. By the plan, the experiment is then undecided."
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
            f"A further experiment repeats the question in the shape of the paper's four-layer model ({shape}). So far,"
            f" {done} of its {planned} planned runs are recorded. Its plan allows no comparison before all of them are"
            " complete, so we report no result."
        )
    earlier = judgement.of(EARLIER[MINI])
    seeds, seeds_before = (spelled(len(runs)) for runs in (judgement.arms["mlm-learned"], EARLIER[MINI]))
    table, rotary = (number(judgement.arms[arm].mean(S), 2) for arm in ("mlm-learned", "mlm-rotary"))
    result = (
        f"**The shape of the paper's four-layer model** ({shape}). In this shape, encoders with a table score"
        f" $s$ = {table} and encoders with rotary positions score {rotary}. {of_plan(judgement)}"
    )
    amended = (
        f"We amended this plan before its first run, to {seeds} seeds instead of {seeds_before} and to a GPU instead of"
        " a CPU core. A reader cannot check that the amendment came first, because it enters the history of the"
        f" repository together with the runs. If only the {seeds_before} seeds of the original plan are counted, which"
        " stands in the history before the runs, the difference between encoders is"
        f" {with_interval(earlier.first, as_score)}, and the outcome by the rule of the plan is"
        f" *{earlier.outcome.verdict}*. We also saw the scores of the encoders before the last decoders were trained,"
        " which the plan does not allow. By then, the number of seeds had been fixed."
    )
    return f"{result}\n\n{amended}{_codes(judgement)}"


def _codes(judgement: Judged) -> str:
    """That a plan asked for one version of the code and its runs have several; nothing where they have one."""
    if made_alike(judgement.arms.values()):
        return ""
    ways = Counter(made(run) for arm in judgement.arms.values() for run in arm.runs)
    listed = "; ".join(f"{n} runs in {w.precision} on {w.processor} with commit {w.commit}" for w, n in ways.items())
    return f" The plan asked for one version of the code, but the runs were made differently: {listed}."


def remark(judgement: Judged) -> str:
    """`of_plan`, after what cannot be looked up."""
    if judgement.plan.name not in UNDATED:
        return of_plan(judgement)
    return (
        f"{of_plan(judgement)} A reader cannot check that this plan came before its runs, because its commit was lost."
    )
