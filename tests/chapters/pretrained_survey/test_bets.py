"""The six matrices are drawn by a rule, and told apart by their numbers."""

import numpy as np
import pytest

from attngeo.chapters.pretrained_survey.bets import EACH, SIDE, Drawn, drawn, place_your_bet, wins
from attngeo.records.checkout import data
from attngeo.survey.measured import named, read_records
from attngeo.survey.models import registry


@pytest.fixture(scope="module")
def shown():
    return drawn()


def test_each_kind_is_drawn_as_often_and_from_no_family_twice(shown):
    families = {(m.name, m.part): m.family for m in registry()}
    for part in ("encoder", "decoder"):
        own = [families[one.model, one.part] for one in shown if one.part == part]
        assert len(own) == len(set(own)) == EACH


def test_scores_are_those_of_the_middle_layer(shown):
    scores = dict(list(named(read_records(data("survey"))[0]).query("head == -1").groupby(["model", "part"])))
    for one in shown:
        rows = scores[one.model, one.part].set_index("layer")
        row = rows.loc[len(rows) // 2]
        assert (one.layer, one.s, one.d) == (row.name, row["symmetry"], row["directionality"])
        assert one.picture.shape[0] == min(SIDE, row["d_model"])


def test_the_same_are_drawn_again(shown):
    assert [one.model for one in drawn()] == [one.model for one in shown]


def test_nothing_that_is_read_before_the_bets_gives_them_away(shown):
    still = place_your_bet(shown).still
    assert not any(one.model in still.caption for one in shown)


def test_wins_are_pairs_in_which_the_encoder_is_ahead():
    def one(part, s):
        return Drawn("A", "m", part, 0, s, 0.0, np.eye(2))

    shown = [one("encoder", 0.3), one("encoder", 0.1), one("encoder", 0.0)]
    shown += [one("decoder", 0.2), one("decoder", 0.0), one("decoder", -0.1)]
    assert wins(shown, "s") == 3 + 2 + 1.5 and wins(shown, "d") == 4.5
