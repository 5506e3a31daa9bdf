import pytest

from attngeo.chapters.training_scores.models import table_s1_beside_presets, table_s1_is_what_the_presets_build


def test_table_s1_holds():
    result = table_s1_is_what_the_presets_build()
    assert result.supported and [c.measured for c in result.comparisons] == [11, 11]
    rows = table_s1_beside_presets()
    assert len(rows) == 11 and list(rows["bert, ours"]) == list(rows["bert, printed"])


@pytest.mark.parametrize("setting", ["hidden_size", "hidden_activation", "layer_norm_epsilon"])
def test_a_printed_value_that_differs_is_noticed(setting):
    assert not table_s1_is_what_the_presets_build(changed={setting.replace("_", " "): "7"}).supported
