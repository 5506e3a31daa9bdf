"""The outcome of each plan on *Why?* is that of its rules, and the sentences tell the outcomes of the recorded runs."""

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from chapters import positions, why
from chapters.positions import crossing
from chapters.positions_theory import read_outs
from chapters.why import findings
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


@pytest.mark.parametrize(
    ("levels", "outcome"),
    [
        ({"table": 0.7, "rotary": 0.7, "none": 0.8}, findings.MET),
        ({"table": 0.2, "rotary": 0.1, "none": 0.3}, findings.NOT_MET),
        ({"table": 0.2, "rotary": 0.7, "none": 0.7}, findings.DEPENDS),
        ({"table": 0.49, "rotary": 0.7, "none": 0.7}, findings.DEPENDS),  # its interval contains 0.5
    ],
)
def test_the_correlation_is_judged_by_the_intervals_of_all_arms(levels, outcome):
    steps = {0: 0.0, findings.EARLY: 1.0, 100: 0.5}  # share of the level
    rows = [
        {"run": f"{arm}-{seed}", "step": step, "layer": layer, "heads": share * level + seed / 100}
        for arm, level in levels.items()
        for seed in range(5)
        for step, share in steps.items()
        for layer in range(4)
    ]
    found = findings.agreement(pd.DataFrame(rows))
    assert found.outcome == findings.coefficients(found).outcome == outcome
    for arm, (step, highest) in findings.highest(found).items():
        assert step == findings.EARLY and highest == pytest.approx(levels[arm] + 0.02)
    assert list(findings.agreement_table(found)) == ["positional encoding", "step 0", "step 50", "step 100"]


def test_findings_against_our_explanations_come_first():
    outcomes = [findings.STAGES_HOLD, "in part", "the lead falls", findings.REFUTED]
    made = [findings.Finding(outcome, "asked", "found", outcome) for outcome in outcomes]
    first = findings.findings_table(made)["what we expected"]
    assert list(first) == [findings.REFUTED, "the lead falls", "in part", findings.STAGES_HOLD]
    unlearned = findings.Finding("unlearned", "asked", "found", "the lead falls", learned=False)
    outcomes = findings.findings_table([unlearned, made[-1]])["outcome by the plan"]
    assert list(outcomes) == ["**refuted**", "**refuted** (not counted)"]


def test_experiments_are_counted_by_what_they_are_evidence_for():
    outcomes = [findings.STAGES_HOLD, "in part", "undecided", "undecided"]
    made = [findings.Finding(outcome, "asked", "found", outcome) for outcome in outcomes]
    made += [findings.Finding("unlearned", "asked", "found", "the lead falls", learned=False)] * 2
    made.append(findings.Finding("theorem", "asked", "found", findings.NOT_MET, about_the_paper=True))
    assert findings.counted(made) == (
        "We planned seven experiments to test explanations of this kind. By the criteria that we had set"
        " in advance, the explanation under test was confirmed in one experiment, partly confirmed in one and left"
        " undecided in two. In two other experiments, at least one kind of model hardly learned anything, so we do not"
        " count the results as evidence."
    )
    with pytest.raises(AssertionError):
        findings.counted([*made, findings.Finding("refuted", "asked", "found", findings.REFUTED)])


@pytest.mark.parametrize("experiment", crossing.READ)
def test_which_models_are_ahead_is_told_for_every_number_of_seeds(experiment):
    for seeds in range(3, 11):
        judgement = positions.recorded(experiment).of_first(seeds)
        words, reversal = crossing.sentences(judgement), crossing.unplanned(judgement)
        if judgement.outcome is not positions.Outcome.UNDECIDED:
            assert ("but less symmetric if both have rotary" in words) == bool(reversal)
            assert ("does not exceed the variation between seeds" in words) == (not reversal)


def test_other_scores_would_fail_the_sentence():
    judgement = positions.recorded()
    for one, other in (("learned", "rotary"), ("rotary", "learned")):
        for part in crossing.PARTS.values():
            arms = judgement.arms | {f"{part}-{one}": judgement.arms[f"{part}-{other}"]}
            with pytest.raises(AssertionError):
                crossing.sentences(replace(judgement, arms=arms))
    exchanged = {f"mlm-{kind}": judgement.arms[f"clm-{kind}"] for kind in crossing.ENDS}
    exchanged |= {f"clm-{kind}": judgement.arms[f"mlm-{kind}"] for kind in crossing.ENDS}
    with pytest.raises(AssertionError):
        crossing.sentences(replace(judgement, arms=judgement.arms | exchanged))


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


def test_the_readme_counts_the_machines_and_commits_of_the_sides():
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


@pytest.mark.parametrize(
    ("finding", "plan", "planted"),
    [
        (findings.windows, "why_window", (why, "PLATEAU", 2.7)),  # the decoders with the window have learned
        (findings.windows, "why_window", (why.Planned, "estimate", lambda *of: about(-0.2))),
        (findings.tables, "why_tables", (why, "PLATEAU", 4.0)),
        (findings.shift, "why_shift", (why, "PLATEAU", 4.0)),
        (findings.hidden, "why_hidden", (why.Planned, "difference", lambda *of: about(0.2))),
    ],
)
def test_a_finding_is_not_told_of_runs_that_contradict_it(monkeypatch, finding, plan, planted):
    runs = why.planned(plan)
    finding(runs)
    monkeypatch.setattr(*planted)
    with pytest.raises(AssertionError):
        finding(runs)
