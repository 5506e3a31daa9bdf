"""What is said of the scores between positions follows from what has been measured."""

import pandas as pd
import pytest
from chapters.why import places


@pytest.mark.parametrize(
    ("learned", "rotary", "words"),
    [
        (0.9, 0.8, "although $W_{qk}$ does not"),
        (0.9, 0.1, "become less symmetric as well"),
        (0.8, 0.45, "lose some of their symmetry"),
    ],
)
def test_every_outcome_has_its_sentence(learned, rotary, words):
    ours = [{"model": "ours, small", "positional encoding": kind} for kind in ("learned", "rotary")]
    rows = pd.DataFrame(ours).assign(**{places.COLUMNS["between_places"]: [learned, rotary]})
    assert words in places.told_of_ours(rows)
    assert "We have not measured" in places.told_of_ours(rows[:1]) and places.in_short(rows[:1]) == ""
    assert bool(places.in_short(rows)) == (rotary > places.SYMMETRIC)


def test_models_are_medians_over_layers_of_the_records():
    rows = places.places_table()
    assert list(rows["positional encoding"]) == ["learned", "rotary", "learned", "rotary"]
    between = rows[places.COLUMNS["between_places"]]
    assert between[0] == pytest.approx(0.966, abs=1e-3) and between[1] == pytest.approx(0.679, abs=1e-3)
    assert between[2] == pytest.approx(places.trained().query("arm == 'table'")["between_places"].mean())
