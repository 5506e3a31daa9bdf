"""What is said of the scores between positions follows from what has been measured."""

import pandas as pd
import pytest
from chapters.why import places


@pytest.mark.parametrize(
    ("learned", "rotary", "words"),
    [
        (0.9, 0.8, "only $W_{qk}$ loses its symmetry"),
        (0.9, 0.1, "becomes less symmetric, too"),
        (0.8, 0.45, "loses some of its symmetry"),
    ],
)
def test_every_outcome_has_its_sentence(learned, rotary, words):
    ours = [{"model": "ours, small", "positional encoding": kind} for kind in ("learned", "rotary")]
    rows = pd.DataFrame(ours).assign(**{places.COLUMNS["between_places"]: [learned, rotary]})
    assert words in places.told_of_ours(rows)
    assert "We have not measured" in places.told_of_ours(rows[:1])


def test_released_models_are_medians_of_the_record_and_ours_wait_for_the_plan():
    rows = places.places_table(with_ours=False)
    assert list(rows["positional encoding"]) == ["learned", "rotary"] and list(rows["objective"]) == [
        "encoder",
        "decoder",
    ]
    between = rows[places.COLUMNS["between_places"]]
    assert between[0] == pytest.approx(0.966, abs=1e-3) and between[1] == pytest.approx(0.679, abs=1e-3)
