import pytest
import torch
from chapters.symmetric_updates import (
    ARMS,
    HELP,
    STEP,
    Outcome,
    argument_figure,
    in_short,
    in_training,
    masked_in_turn,
    outcome_by_plan,
    steps_of_the_argument,
    told_correlation,
    told_in_training,
)
from notebook_code import notebook

from attngeo.experiments.runs.estimates import Estimate
from attngeo.gradients.objectives import Objective
from attngeo.gradients.toy_transformer import ToyConfig, one_layer

page = notebook("symmetric_updates_details")


def test_a_row_of_coefficients_is_that_of_the_pass_in_which_its_position_is_masked():
    (s,) = masked_in_turn(d=8, n_tokens=5, n_models=1)
    model = one_layer(8, 5)
    tokens = torch.randint(40, (5,), generator=torch.Generator().manual_seed(0))
    x, total = model.we[tokens].detach(), 0
    for i in range(5):
        embeddings = x.clone()
        embeddings[i] = model.we[-1].detach()
        total = total + model.config.score_scale * torch.outer(embeddings[i], s.beta[i] @ embeddings)
    torch.testing.assert_close(s.gradient.abs(), total.abs())


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("claim", [page.symmetry_of_an_update, page.symmetry_over_a_corpus])
def test_other_seeds(claim, seed):
    result = claim(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


def test_pairs_are_counted_as_in_loops():
    tokens = torch.tensor([[0, 1, 1, 2], [2, 0, 1, 0]])
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for sequence in tokens.tolist():
        for i in range(4):
            for j in range(i):
                expected[sequence[i], sequence[j]] += 1
    corpus = page.random_corpus(4, 3, 4, 2)._replace(tokens=tokens)
    assert torch.equal(page.pair_counts(corpus, page.context_matrix("autoregressive", 4)), expected)


@pytest.mark.parametrize("objective", Objective)
def test_the_figure_shows_how_far_each_step_is_met(objective):
    met = steps_of_the_argument(ToyConfig(d=8, n_heads=2, n_tokens=6), objective, n_models=3, seed=2)
    one_step, both_orders = met[STEP].mean(), met[HELP]
    assert 0 < one_step < 0.95 and (met[HELP] == 0).all() == (objective is Objective.AUTOREGRESSIVE)
    figure = argument_figure(met, objective, 0.378)
    drawn = [bar.get_width() for bar in figure.figure.axes[0].patches]
    assert drawn == pytest.approx([1, one_step, both_orders.mean(), 1])
    said = told_correlation(objective, both_orders)
    assert ("one of the two contributions is always 0" in said) == (objective is Objective.AUTOREGRESSIVE)


def test_the_outcome_follows_the_plan_and_is_told():
    def early(*intervals):
        return {arm: Estimate((low + high) / 2, low, high) for arm, (low, high) in zip(ARMS, intervals, strict=True)}

    for outcome, arms in {
        Outcome.MET: early((0.6, 0.7), (0.51, 0.9), (0.7, 0.8)),
        Outcome.NOT_MET: early((0.0, 0.1), (-0.2, 0.49), (0.1, 0.2)),
        Outcome.MIXED: early((0.6, 0.7), (0.4, 0.6), (0.0, 0.1)),
    }.items():
        assert outcome_by_plan(arms) is outcome
        assert "without any positional encoding (95 %" in told_in_training(outcome, arms, 15, 15)
        assert "0.5 that our plan required" in in_short(outcome, arms)


def test_an_incomplete_experiment_is_open():
    outcome, early, recorded, planned = in_training()
    assert (outcome is Outcome.OPEN) == (not early)
    if outcome is Outcome.OPEN:
        assert f"So far, {recorded} of these runs" in told_in_training(outcome, early, recorded, planned)
