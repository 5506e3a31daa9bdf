import pandas as pd
import pytest

from attngeo.chapters.pretrained_survey.figures import symmetry_by_positions
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Attention
from attngeo.survey.models import registry
from attngeo.survey.released_results import absolute_against_others, families_by_positions, released_results


def test_the_registry_says_what_the_architectures_say():
    assert all(bool(m.positions) == (m.part != "cross") for m in registry())
    for m in registry():
        stacks = [s for s in ARCHITECTURES[m.model_type] if isinstance(s, Attention) and s.part == m.part]
        if stacks and stacks[0].positions:
            assert m.positions == stacks[0].positions.kind, m.name


def test_the_test_is_exact():
    rows = pd.DataFrame({"s": [0.6, 0.5, 0.4, 0.2, 0.1], "absolute": [True] * 3 + [False] * 2})
    rows = rows.assign(attention="bidirectional", counted=True)
    assert absolute_against_others(rows, "bidirectional") == (pytest.approx(0.35), pytest.approx(2 / 10), 10)
    # by hand: of the ten, only the one observed and 0.1, 0.2, 0.4 against 0.5, 0.6 are as far apart
    mixed = rows.assign(absolute=[True, False, True, False, True])  # planted: kinds dealt wrongly
    assert absolute_against_others(mixed, "bidirectional")[1] > 0.3


def test_the_figure_names_what_it_leaves_out():
    families = families_by_positions(released_results()).set_index(["family", "attention"])
    assert not families.loc[("ModernBERT", "bidirectional"), "counted"]
    assert families.loc[("BERT", "bidirectional"), ["absolute", "counted"]].all()
    assert "ModernBERT" in symmetry_by_positions(released_results()).caption
