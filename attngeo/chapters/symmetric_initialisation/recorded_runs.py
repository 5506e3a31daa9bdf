"""Section 4.2 and Figure S5 on recorded runs: what symmetry does to the loss when nothing else changes, and to itself.

The verdicts follow from the runs in ``data/runs``: with fewer than three seeds of an arm nothing is decided.
"""

from collections.abc import Sequence

from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AT_EQUAL_SCALE,
    BASELINE,
    CONTRASTS,
    Contrast,
    Setting,
    comparisons,
    main_settings,
    settings,
)
from attngeo.paper.checks import Result, claim
from attngeo.paper.seed_intervals import Case, judged
from attngeo.records.checkout import data
from attngeo.runs.arms import final_loss, over_seeds
from attngeo.runs.estimates import verdict
from attngeo.runs.record import Run, read_runs
from attngeo.runs.wording import as_nats, with_interval

CHAPTER = "symmetric_initialisation"
RELEASED, DEFAULT = (
    tuple(c for c in CONTRASTS if (c.arm, c.against) == (arm, BASELINE)) for arm in ("released", "default-linear")
)
TIES_AT_RELEASED_SCALE = tuple(c for c in CONTRASTS if c.against in ("default-linear", "scaled"))  # the tie
PARTS_OF_THE_GAIN = tuple(c for c in CONTRASTS if c.arm in ("scaled", "scaled-values"))
TIED = ("symmetric", "released")  # the starts of Figure S5
PRINTED = "Enforcing symmetry at initialization lowers the final loss of most models, and reaches it sooner."
SMALL = (
    "These are small models and short runs; held-out loss. Intervals are of 95 % over seeds, and a little too narrow: "
    "settings and seeds were not all fixed in advance, as the chapter tells."
)


def recorded() -> list[Run]:
    """The recorded runs that optimise nothing but their predictions."""
    return read_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


@claim
def symmetry_at_equal_scale(runs: Sequence[Run] | None = None) -> Result:
    """Symmetric starts of the random start's scale end lower than it, in the main setting of encoders on each text.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = _losses(_encoders(runs), AT_EQUAL_SCALE)
    return _judged(cases, "(recorded runs, equal scale)", "symmetry alone helps encoders to learn")


@claim
def released_start_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """The start of the released code ends lower than the random one, in the main setting of encoders on each text.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = _losses(_encoders(runs), RELEASED)
    return _judged(cases, "(recorded runs, as released)", "the released start helps encoders to learn")


@claim
def symmetrys_part_of_the_gain(runs: Sequence[Run] | None = None) -> Result:
    """Of what the released start gains over the random one, most is gained by the tie: ``(D - R) - (r - D) > 0``.

    D, R and r are the final losses of ``default-linear``, ``released`` and ``random`` at one seed: the first step,
    ``r - D``, changes scale, biases and values, the second ties the keys to the queries.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    encoders = _encoders(runs)
    cases = [
        Case(
            setting.label,
            "gain of the tie less gain of scale, biases and values",
            over_seeds([2 * d - released - random for d, released, random in ends]),
            seeds=len(ends),
            form=as_nats,
        )
        for setting in encoders
        if (ends := _final_losses(setting, "default-linear", "released", BASELINE))
    ]
    beside = _losses(encoders, (*DEFAULT, *TIES_AT_RELEASED_SCALE, *PARTS_OF_THE_GAIN))
    return _judged(cases, "(recorded runs, parts of the gain)", "the gain of the released start is symmetry's", beside)


@claim
def figure_s5_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """Figure S5 (b, c): a symmetric start loses symmetry, ends with more than the random one, and layers differ less.

    That it loses some is told, and decides nothing: it starts at the most there is.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases, lost = [], []
    for setting in _encoders(runs):
        for arm in (arm for arm in TIED if setting.has(Contrast(arm, BASELINE, ""))):
            of_arm = _symmetry_cases(setting, arm)
            lost.append(of_arm[0])
            cases += of_arm[1:]
    shared = {
        "statement": "Figure S5",
        "part": "(b, c), recorded runs",
        "title": "symmetric starts lose symmetry, keep more than random ones, and layers differ less",
        "remark": SMALL,
        "chapter": CHAPTER,
    }
    printed = "Symmetric starts lose symmetry but end above random ones, and the gap between layers decreases."
    return judged(shared, cases, printed, told=_sentence([*cases, *lost]))


def _encoders(runs: Sequence[Run] | None) -> list[Setting]:
    found = main_settings(settings(recorded() if runs is None else runs))
    return [setting for setting in found if setting.part == "encoder"]


def _losses(found: Sequence[Setting], contrasts: Sequence[Contrast]) -> list[Case]:
    """Final held-out losses, arm less arm; the paper expects less than zero."""
    return [
        Case(s.label, f"loss of {c.contrast.arm} less {c.contrast.against}", c.difference, -1, c.seeds, as_nats)
        for s in found
        for c in comparisons(s, contrasts)
    ]


def _symmetry_cases(setting: Setting, arm: str) -> list[Case]:
    """Loss of symmetry, symmetry at the end and gap between layers, the latter two against the random start."""
    seeds = [seed for seed in setting.arms[arm] if seed in setting.arms[BASELINE]]
    mine, random = ([_ends(setting.arms[a][seed]) for seed in seeds] for a in (arm, BASELINE))
    pairs = list(zip(mine, random, strict=True))
    lost = [a["start"] - a["end"] for a in mine]
    kept = [a["end"] - b["end"] for a, b in pairs]
    gap = [a["gap"] - b["gap"] for a, b in pairs]
    return [
        Case(setting.label, f"{arm}: $s$ at the start less at the end", over_seeds(lost)),
        Case(setting.label, f"$s$ at the end of {arm} less {BASELINE}", over_seeds(kept)),
        Case(setting.label, f"gap between layers of {arm} less {BASELINE}", over_seeds(gap), -1),
    ]


def _ends(run: Run) -> dict[str, float]:
    """Median symmetry over layers at both ends, and how far the layers lie apart at the last."""
    steps = run.layer_scores().groupby("step")["symmetry"]
    median = steps.median()
    last = steps.get_group(median.index[-1])
    return {"start": median.iloc[0], "end": median.iloc[-1], "gap": last.max() - last.min()}


def _final_losses(setting: Setting, *arms: str) -> list[tuple[float, ...]]:
    """Last held-out losses of some arms, seed by seed, on the seeds that all of them have."""
    return [tuple(final_loss(setting.arms[arm][seed]) for arm in arms) for seed in setting.common_seeds(*arms)]


def _judged(cases: Sequence[Case], part: str, title: str, beside: Sequence[Case] = ()) -> Result:
    """Judge Section 4.2 by recorded runs; ``beside`` are cases that are told but do not count."""
    shared = {"statement": "Section 4.2", "part": part, "title": title, "remark": SMALL, "chapter": CHAPTER}
    return judged(shared, cases, PRINTED, told=_sentence([*cases, *beside]))


def _sentence(cases: Sequence[Case]) -> str:
    """Every case with an interval, and what it says."""
    known = [
        f"{case.quantity} ({case.label}): {with_interval(case.estimate, case.form)}, {_outcome(case)}"
        for case in cases
        if case.known
    ]
    return f"{'; '.join(known)}." if known else ""


def _outcome(case: Case) -> str:
    return verdict(case.estimate) if case.quantity.startswith("loss") else case.outcome
