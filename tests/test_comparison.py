import numpy as np
import pandas as pd
import pytest

from attngeo.claims.survey import table_s2_symmetry, table_s3_directionality
from attngeo.comparison import SCORES, beside_printed, layer_medians
from attngeo.registry import registry


def layers(**scores):
    """A long table of one model whose layers have the given scores."""
    n = len(next(iter(scores.values())))
    frame = pd.DataFrame({"model": "GPT-2", "part": "decoder", "layer": range(n), "head": -1})
    return frame.assign(**{name: scores.get(name, [0.0] * n) for name in SCORES})


def test_medians_and_quartile_distances():
    row = layer_medians(layers(symmetry=[0.0, 0.1, 0.2, 0.7, 1.0])).iloc[0]
    np.testing.assert_allclose([row.symmetry, row.symmetry_minus, row.symmetry_plus], [0.2, 0.1, 0.5])
    assert row.n_layers == 5


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (0.2, "differs by 0.20")])
def test_a_row_reproduces_only_to_its_printed_digits(shift, verdict):
    """GPT2 is printed as 0.15 [0.02, 0.03]."""
    values = np.array([0.13, 0.13, 0.15, 0.18, 0.18]) + shift
    frame = beside_printed("S2", {"ours": "symmetry"}, layer_medians(layers(symmetry=values)), registry())
    assert frame["model"].tolist() == ["GPT2"] and frame["printed"].tolist() == ["0.15 [0.02, 0.03]"]
    assert frame["ours"].item().endswith(verdict)


def test_the_checks_refuse_other_numbers():
    """The same checks on shifted medians are not supported."""
    from attngeo.checkout import data
    from attngeo.survey_record import named, read_records

    table, _ = read_records(data("survey"))
    medians = layer_medians(named(table)[lambda t: t["head"] == -1])
    assert table_s2_symmetry(medians).supported and table_s3_directionality(medians).supported
    assert not table_s2_symmetry(medians.assign(symmetry=2 * medians["symmetry"])).supported
    swapped = medians.assign(directionality_tables=medians["directionality_released"])
    assert not table_s3_directionality(swapped).supported
