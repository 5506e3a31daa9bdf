"""The outcome of each plan on *Why?* is that of its rules, for every outcome that the rules know."""

from collections import Counter

import pandas as pd
import pytest
from chapters import why
from chapters.positions import crossing
from chapters.positions_theory import read_outs
from chapters.why import Planned, findings
from chapters.why.findings import Outcome

from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import Estimate
from attngeo.files import checkout


def about(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half)


def test_thresholds_are_those_of_the_plans():
    asked = {name: findings.threshold(name) for name in ("why_shift", "why_hidden", "why_sides")}
    assert asked == {"why_shift": -0.5, "why_hidden": 0.15, "why_sides": -0.5}
    assert findings.threshold("why_sides", "undecided") == 2.75
    assert findings.threshold("why_agreement", findings.MET) == 0.5
    with pytest.raises(ValueError, match="no number"):
        findings.threshold("why_tables", "in part")


@pytest.mark.parametrize(("value", "outcome"), [(-0.7, "HOLDS"), (-0.5, "IN_PART"), (-0.05, "FALLS"), (0.3, "FALLS")])
def test_an_interval_that_must_lie_below_a_negative_number(value, outcome):
    assert findings.below(about(value), -0.5) is Outcome[outcome]
    assert findings.of_sides(about(value), 2.7, -0.5, 2.75) is Outcome[outcome]
    assert findings.of_sides(about(value), 2.75, -0.5, 2.75) is Outcome.UNDECIDED


def test_the_rules_of_the_other_plans():
    assert findings.of_hidden(about(0.2), 0.15) is Outcome.HOLDS
    assert findings.of_hidden(about(0.12), 0.15) is Outcome.IN_PART
    assert findings.of_hidden(about(0.05), 0.15) is Outcome.FALLS
    assert findings.of_tables(about(0.2), about(0.2), about(0.4), about(-0.2)) is Outcome.HOLDS
    assert findings.of_tables(about(0.2), about(0.2), about(0.4), about(0.0)) is Outcome.IN_PART
    assert findings.of_tables(about(0.2), about(0.2), about(0.0), about(-0.2)) is Outcome.FALLS
    assert findings.of_windows(about(0.3), about(-0.2), about(0.1)) is Outcome.HOLDS
    assert findings.of_windows(about(0.3), about(0.2), about(0.5)) is Outcome.IN_PART
    assert findings.of_windows(about(0.3), about(-0.6), about(-0.3)) is Outcome.IN_PART
    assert findings.of_windows(about(0.05), about(-0.2), about(0.1)) is Outcome.FALLS
    assert findings.one_sided(about(-0.3), -0.1).outcome == findings.STAGES_HOLD
    assert findings.one_sided(about(-0.15), -0.1).outcome == Outcome.UNDECIDED.value
    assert findings.one_sided(about(0.2), -0.1).outcome == findings.REFUTED
    for before, more, outcome in ((0.95, 0.2, findings.STAGES_HOLD), (0.7, 0.2, "undecided"), (0.95, 0.0, "refuted")):
        assert outcome in findings.read_out((about(before), about(more)), (0.8, 0.5)).outcome


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, findings.STAGES_HOLD),
        ({"losses": {"both": 2.1, "left": 2.6}}, Outcome.UNDECIDED.value),
        ({"predicted": about(-0.05)}, Outcome.UNDECIDED.value),
        ({"distance": 0.21}, Outcome.UNDECIDED.value),
        ({"difference": about(-0.15)}, Outcome.UNDECIDED.value),
        ({"difference": about(-0.1)}, findings.REFUTED),
        ({"difference": about(0.3), "distance": 0.5}, findings.REFUTED),
        ({"difference": about(0.3), "predicted": about(0.3)}, Outcome.UNDECIDED.value),
        ({"difference": about(0.3), "losses": {"both": 2.7, "left": 2.1}}, Outcome.UNDECIDED.value),
    ],
)
def test_the_rules_of_the_longer_intervention(changed, outcome):
    held = {"difference": about(-0.3), "predicted": about(-0.4), "distance": 0.1, "losses": {"both": 2.1, "left": 2.2}}
    finding = findings.one_sided_longer(**held | changed, asked=(-0.1, 0.2))
    assert finding.outcome == outcome and finding.asked.startswith("interval below −0.1, and")


def test_the_longer_intervention_asks_what_its_plan_says():
    assert read_outs.asked_of_longer() == (-0.1, 0.2)


def made_agreement(**levels: float) -> tuple[Planned, pd.DataFrame]:
    """Runs of five seeds for each arm with correlations about a level, alike in four layers and at two steps."""
    recorded = why.planned("why_agreement")
    some_run = next(run for by_seed in recorded.runs.values() for run in by_seed.values())
    runs = {arm: dict.fromkeys(range(5), some_run) for arm in levels}
    rows = [
        {"run": f"{arm}-{seed}", "step": step, "layer": layer, "heads": level + seed / 100}
        for arm, level in levels.items()
        for seed in range(5)
        for step in (0, findings.EARLY)
        for layer in range(4)
    ]
    return Planned("made", runs, recorded.planned), pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("levels", "outcome"),
    [
        ({"table": 0.7, "rotary": 0.7, "none": 0.8}, findings.MET),
        ({"table": 0.2, "rotary": 0.1, "none": 0.3}, findings.NOT_MET),
        ({"table": 0.2, "rotary": 0.7, "none": 0.7}, findings.DEPENDS),
        ({"table": 0.49, "rotary": 0.7, "none": 0.7}, findings.DEPENDS),  # its interval contains 0.5
    ],
)
def test_every_outcome_of_the_correlation_has_its_sentence(levels, outcome):
    experiment, rows = made_agreement(**levels)
    found = findings.agreement(experiment, rows)
    assert found.outcome == outcome and findings.coefficients(experiment, found).outcome == outcome
    words = findings.agreement_told(experiment, found)
    assert "highest mean correlation is" in words
    assert words.startswith(findings.AGREEMENT_TOLD[outcome])
    assert list(findings.agreement_table(found)) == ["positional encoding", "step 0", "step 50"]


def test_the_correlation_is_not_compared_before_every_run_is_measured():
    experiment, rows = made_agreement(table=0.7, rotary=0.7, none=0.7)
    for missing in (rows[rows["run"] != "none-4"], rows[(rows["run"] != "none-4") | (rows["step"] == 0)]):
        assert findings.measured(experiment, missing) == 14 and findings.agreement(experiment, missing) is None
    assert findings.coefficients(experiment, None).outcome == findings.INCOMPLETE
    assert "no result" in findings.agreement_told(experiment, None)


def test_findings_against_our_explanations_come_first():
    outcomes = [findings.STAGES_HOLD, "in part", findings.INCOMPLETE, "the lead falls", findings.REFUTED]
    made = [findings.Finding(outcome, "asked", "found", outcome) for outcome in outcomes]
    first = findings.findings_table(made)["what we expected"]
    assert list(first) == [findings.REFUTED, "the lead falls", "in part", findings.INCOMPLETE, findings.STAGES_HOLD]
    unlearned = findings.Finding("unlearned", "asked", "found", "the lead falls", learned=False)
    outcomes = findings.findings_table([unlearned, made[-1]])["outcome by the plan"]
    assert list(outcomes) == ["**refuted**", "**refuted** (not counted)"]


def test_experiments_are_counted_by_what_they_are_evidence_for():
    outcomes = [findings.STAGES_HOLD, "in part", "the lead falls", findings.REFUTED, findings.INCOMPLETE]
    made = [findings.Finding(outcome, "asked", "found", outcome) for outcome in outcomes]
    made.append(findings.Finding("unlearned", "asked", "found", "the lead falls", learned=False))
    made.append(findings.Finding("theorem", "asked", "found", findings.NOT_MET, about_the_paper=True))
    assert findings.counted(made) == (
        "We planned seven experiments to test explanations of this kind. By the criteria that we had set"
        " in advance, the explanation under test was confirmed in one experiment, partly confirmed in one and refuted"
        " in two. In another experiment, at least one kind of model hardly learned anything, so we do not count the"
        " results as evidence. In one experiment, we tested the assumption of the paper's Theorem 2.4. Early in"
        " training, the correlation that the theorem assumes is weaker than our plan required. One experiment is not"
        " complete yet."
    )
    assert set(findings.PLAIN) == set(findings.ORDER)


def test_which_models_are_ahead_follows_from_both_intervals():
    up, none, down = about(0.3), about(0.0), about(-0.3)
    sentences = {
        crossing.ahead(*pair) for pair in ((up, down), (down, up), (up, up), (up, none), (none, down), (none, none))
    }
    assert len(sentences) == 6
    assert "encoders are more symmetric than decoders if both have learned" in crossing.ahead(up, down)
    assert crossing.change(0.58, 0.04) == "drops from 0.58 to 0.04" and crossing.change(0.05, 0.28).startswith("rises")
    assert crossing.change(0.058, 0.06).startswith("hardly changes")


def sides_of(*arms: str) -> Planned:
    """The recorded runs of why_sides with complete arms alone: those given, which repeat the runs of the main arms."""
    recorded = why.planned("why_sides")
    runs = {arm: recorded.runs[arm] for arm in findings.SIDES}
    return Planned(recorded.name, {arm: runs[findings.SIDES["q000" in arm]] for arm in arms}, recorded.planned)


def test_only_complete_arms_of_the_sides_are_in_the_table():
    experiment = sides_of(*findings.SIDES, "n08-q050")
    experiment.runs["n08-q050"] = dict(list(experiment.runs["n08-q050"].items())[:4])
    shown = findings.sides_table(experiment)
    assert list(shown["q"]) == [0.0, 1.0] and list(shown["characters"]) == [16, 16]
    noise, text = (experiment.mean(arm, "position_symmetry") for arm in findings.SIDES)
    assert list(shown["s between positions"]) == [text, noise]
    told = findings.sides_by_share_told(experiment)
    assert "rank correlation" not in told  # of two values of q


def test_the_rank_correlation_of_the_sides_has_its_sign(monkeypatch):
    experiment = sides_of(*experiment_arms())
    noise, text = (experiment.mean(arm, "position_symmetry") for arm in findings.SIDES)
    assert noise < text
    scores = {"s between positions": [0.9, 0.5, 0.4], "s of the slowest waves": [0.98, 0.97, 0.96]}
    shown = pd.DataFrame({"characters": 16, "q": [0.0, 0.5, 1.0], "held-out loss": [2.0, 2.1, 2.2]} | scores)
    monkeypatch.setattr(findings, "sides_table", lambda experiment: shown)
    assert findings.sides_by_share_told(experiment) == (
        "For sequences of 16 characters, the rank correlation between $q$ and the mean score is"
        " \N{MINUS SIGN}1.00 (three values of $q$). For the slowest waves in these sequences, the mean score"
        " is 0.98 with $q = 0$ and 0.96 with $q = 1$."
    )
    idle = shown.assign(**{"held-out loss": [why.PLATEAU, 2.1, 2.0]})
    monkeypatch.setattr(findings, "sides_table", lambda experiment: idle)
    assert findings.sides_by_share_told(experiment) == (
        "For sequences of 16 characters, the encoders with $q = 0$ learned little more than the frequencies of"
        " characters (held-out loss: 2.60 nats), so we do not compare them with other encoders."
    )


def experiment_arms() -> list[str]:
    return list(why.planned("why_sides").planned)


README = " ".join(checkout.data("runs", "README.md").read_text("utf-8").split())


def test_the_readme_of_the_runs_counts_the_models_that_learned_little():
    of_all = {"why_shift": ["q0", "q2", "q4"], "why_window": ["window"], "why_tables": ["band"]}
    of_all["why_hidden"] = ["table-mask", "table-random", "none-mask", "none-random", "none-mixed"]
    expected = {name: dict.fromkeys(arms, 5) for name, arms in of_all.items()}
    expected["why_tables"] |= {"white": 4, "slow": 2}
    for name, counts in expected.items():
        runs = why.planned(name)
        above = {arm: int((runs.values(arm, LOSS) > why.PLATEAU).sum()) for arm in runs.runs}
        assert {arm: count for arm, count in above.items() if count} == counts
    assert f"a held-out loss above {why.PLATEAU} nats" in README
    assert "four of the five `white` encoders and two of the five `slow` encoders" in README


def test_the_readme_and_the_page_count_the_machines_and_commits_of_the_sides():
    recorded = why.planned("why_sides")
    abouts = [run.about for by_seed in recorded.runs.values() for run in by_seed.values()]
    gpus, commits = (
        Counter(about["versions"]["commit"][:8] for about in abouts if bool(about["hardware"].get("gpu")) is kind)
        for kind in (True, False)
    )
    assert f"All {len(abouts)} planned runs of `why_sides` are recorded" in README
    assert gpus == {"dbd8cea8": 5, "132e715e": 20} and commits == {"33cc7ddb": 25, "8d22a99e": 5}
    assert "Five runs of the primary contrast" in README and "Thirty runs were made on a CPU" in README
    assert "The last twenty runs" in README and "`132e715e`" in README
    assert "25 of the 55 runs were made on a GPU" in findings.sides_machines_told(recorded)
    assert "In the main comparison, five of the ten runs were made on a GPU." in findings.sides_machines_told(recorded)
    assert "from four different commits" in findings.sides_machines_told(recorded)


def test_decoders_that_hardly_learned_are_not_counted(monkeypatch):
    windows = why.planned("why_window")
    assert not findings.windows(windows).learned and "hardly learned" in findings.windows(windows).found
    monkeypatch.setattr(why, "PLATEAU", 2.7)
    assert findings.windows(windows).learned and "hardly learned" not in findings.windows(windows).found
