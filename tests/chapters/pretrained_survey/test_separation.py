import pytest

from attngeo.chapters.pretrained_survey.released_figures import figure_2_as_drawn, figure_s1_as_drawn
from attngeo.survey.models import released_results

RESULTS = released_results()


@pytest.mark.parametrize("check", [figure_2_as_drawn, figure_s1_as_drawn])
def test_both_figures_are_as_the_checks_say(check):
    result = check(RESULTS)
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert result.chapter == "pretrained_survey" and len(result.comparisons) >= 5


@pytest.mark.parametrize("check", [figure_2_as_drawn, figure_s1_as_drawn])
def test_encoders_and_decoders_exchanged_are_noticed(check):
    swapped = RESULTS["drawn_as"].map({"encoder": "decoder", "decoder": "encoder"}).fillna(RESULTS["drawn_as"])
    assert not check(RESULTS.assign(drawn_as=swapped)).supported


def test_a_figure_whose_scores_say_nothing_is_noticed():
    rank = RESULTS.index.to_series().map(lambda i: (i * 7919 % 101) / 101)
    assert not figure_2_as_drawn(RESULTS.assign(s=rank)).supported


def test_musicgen_must_be_what_separates_audio_models_in_directionality():
    told = RESULTS["defects"].str.replace("cross-attention", "").str.replace("text-encoder", "")
    assert not figure_s1_as_drawn(RESULTS.assign(defects=told)).supported
