"""Section 4.2 and Figure S5 on recorded runs: what symmetry does to the loss when nothing else changes, and to itself.

The verdicts follow from the runs in ``data/runs``: with fewer than three seeds of an arm nothing is decided.
"""

from collections.abc import Sequence

from attngeo.checkout import data
from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim
from attngeo.claims.seed_intervals import Case, all_met, joined
from attngeo.control_matrix import (
    AT_EQUAL_SCALE,
    BASELINE,
    CONTRASTS,
    Contrast,
    Setting,
    comparisons,
    main_settings,
    settings,
)
from attngeo.run_groups import over_seeds
from attngeo.run_record import Run, read_runs
from attngeo.speed_up import LEAST_SEEDS, verdict
from attngeo.wording import as_nats, with_interval

CHAPTER = "symmetric_initialisation"
AS_RELEASED = tuple(c for c in CONTRASTS if c.arm == "released")  # against the random start, and against its own scale
SCALE = tuple(c for c in CONTRASTS if c.arm == "default-linear")
TIED = ("symmetric", "released")  # the starts of Figure S5
PRINTED = "Enforcing symmetry at initialization lowers the final loss of most models, and reaches it sooner."
SMALL = "These are small models and short runs, held-out loss, intervals of 95 % over seeds."


def recorded() -> list[Run]:
    """The recorded runs that optimise nothing but their predictions."""
    return read_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


@claim
def symmetry_at_equal_scale(runs: Sequence[Run] | None = None) -> Result:
    """Symmetric starts of the random start's scale end lower than it, in the encoders that were recorded.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = _losses(_encoders(runs), AT_EQUAL_SCALE)
    return _judged(cases, "(recorded runs, equal scale)", "symmetry alone helps encoders to learn")


@claim
def released_start_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """The start of the released code ends lower than the random one, and than its own copy without the tie.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    encoders = _encoders(runs)
    return _judged(
        _losses(encoders, AS_RELEASED),
        "(recorded runs, as released)",
        "the released start helps encoders, by its symmetry",
        beside=_losses(encoders, SCALE),
    )


@claim
def figure_s5_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """Figure S5 (b, c): a symmetric start loses symmetry, ends with more than the random one, and layers differ less.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = []
    for setting in _encoders(runs):
        for arm in (arm for arm in TIED if setting.has(Contrast(arm, BASELINE, ""))):
            cases += _symmetry_cases(setting, arm)
    result = {
        "statement": "Figure S5",
        "part": "(b, c), recorded runs",
        "title": f"symmetric starts lose symmetry, keep more than random ones, and layers differ less{_open(cases)}",
        "comparisons": joined(cases) or _undecided(cases),
        "remark": SMALL,
        "chapter": CHAPTER,
    }
    if all_met(cases):
        return Result(verdict=Verdict.HOLDS, **result)
    return Result(
        verdict=Verdict.ASSUMPTIONS,
        printed="Symmetric starts lose symmetry but end above random ones, and the gap between layers decreases.",
        corrected=_sentence(cases),
        flaw=Flaw.ASSUMPTION,
        **result,
    )


def _encoders(runs: Sequence[Run] | None) -> list[Setting]:
    found = main_settings(settings(recorded() if runs is None else runs))
    return [setting for setting in found if setting.part == "encoder"]


def _losses(found: Sequence[Setting], contrasts: Sequence[Contrast]) -> list[Case]:
    """Final held-out losses, arm less arm; the paper expects less than zero."""
    return [
        Case(s.label, f"loss of {c.contrast.arm} less {c.contrast.against}", c.difference, -1)
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


def _judged(cases: Sequence[Case], part: str, title: str, beside: Sequence[Case] = ()) -> Result:
    """A verdict on cases to which the paper gives a sign.

    It holds if every case has that sign, is corrected if none has, fails if every one has the other sign, and holds
    under assumptions in between; ``beside`` are cases that are told but do not count.
    """
    known = [case for case in cases if case.known]
    sentence = _sentence([*cases, *beside])
    result = {
        "statement": "Section 4.2",
        "part": part,
        "title": f"{title}{_open(cases)}",
        "comparisons": joined([*cases, *beside]) or _undecided(cases),
        "chapter": CHAPTER,
    }
    if all_met(cases):
        return Result(verdict=Verdict.HOLDS, remark=f"{SMALL} {sentence}", **result)
    result["printed"] = PRINTED
    if known and all(case.reversed for case in known):
        return Result(verdict=Verdict.FAILS, remark=f"{SMALL} {sentence}", flaw=Flaw.FAILURE, **result)
    none = known and not any(case.met for case in known)
    return Result(
        verdict=Verdict.CORRECTED if none else Verdict.ASSUMPTIONS,
        corrected=sentence,
        remark=SMALL,
        flaw=Flaw.ASSUMPTION,  # small runs that show no gain do not make a statement on large ones false
        **result,
    )


def _open(cases: Sequence[Case]) -> str:
    """An addition to a title."""
    return "" if any(case.known for case in cases) else " (not decided yet)"


def _undecided(cases: Sequence[Case]) -> tuple[Comparison, ...]:
    """What keeps a verdict from being reached."""
    return (Comparison("contrasts with seeds enough", float(sum(c.known for c in cases)), "<", 1.0, 0.0),)


def _sentence(cases: Sequence[Case]) -> str:
    """Every case with an interval, and what it says."""
    known = [
        f"{case.quantity} ({case.label}): {with_interval(case.estimate, as_nats)}, {_outcome(case)}"
        for case in cases
        if case.known
    ]
    if not known:
        return f"Not decided: no arm has been run with {LEAST_SEEDS} seeds."
    return f"In the runs recorded here: {'; '.join(known)}."


def _outcome(case: Case) -> str:
    return verdict(case.estimate) if case.quantity.startswith("loss") else case.outcome
