import numpy as np
import pytest

from attngeo.chapters.pretrained_survey.released_points import released_scores, separations
from attngeo.chapters.pretrained_survey.separation import all_separations
from attngeo.errors import ParameterError
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import layer_medians


@pytest.mark.parametrize(
    ("panels", "n"),
    [({"2": "language"}, 100), ({"S1 vision": "vision", "S1 audio": "audio"}, 81), ({"S2": "both"}, 26)],
)
def test_the_paper_s_figures_hold_every_released_point(panels, n):
    figure = released_scores(released_results(), panels, "fig-released")
    offsets = sum(
        len(line.get_xdata()) for axes in figure.figure.axes[::2] for line in axes.lines if line.get_marker() in "xo"
    )
    assert offsets == n
    assert sum(int(w.split(" points")[0].split()[-1]) for w in figure.caption.split(": ")[1:] if " points" in w) == n


def test_our_scores_lie_on_the_released_points(scores):
    results = released_results()
    ours = layer_medians(scores[scores["head"] == -1]).assign(model="GPT-2", symmetry=0.15)
    figure = released_scores(results, {"2": "language"}, "fig-released", ours)
    ring = next(line for line in figure.figure.axes[0].lines if line.get_fillstyle() == "none")
    np.testing.assert_allclose(ring.get_ydata(), 0.15)
    assert ring.get_xdata() == results[results["model"] == "GPT-2"]["parameters"].item()


def test_each_separation_is_a_line_with_its_intervals():
    table = all_separations(released_results())
    assert len(table) == 14 and ((table["low"] <= table["auc"]) & (table["auc"] <= table["high"])).all()
    figure = separations(table)
    assert len(figure.figure.axes[0].get_yticklabels()) == 14
    assert [text.get_text() for text in figure.figure.axes[0].texts] == [f"{auc:.2f}" for auc in table["auc"]]
    above = [sum(table[table["score"] == score]["low"] > 0.5) for score in "sd"]
    assert f"{above[0]} of 7 of $s$, {above[1]} of 7 of $d$" in figure.caption


def test_where_a_group_is_one_family_no_interval_of_families_is_drawn():
    table = all_separations(released_results())
    lines = [c for c in separations(table).figure.axes[0].collections if c.get_linewidth()[0] == 4]
    one = (table["family_low"] == table["low"]) & (table["family_high"] == table["high"])
    assert set(table[one]["models"]) >= {"vision", "audio"} and len(lines) == (~one).sum() > 0


def test_a_label_of_another_kind_is_refused():
    with pytest.raises(ParameterError):
        released_scores(released_results(), {"2": "language"}, "tab-released")
