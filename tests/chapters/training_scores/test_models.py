import pytest
from planting import drawn, supported

from attngeo.chapters.training_scores import models


@pytest.mark.parametrize(
    "check", [models.table_s1_is_what_the_presets_build, models.no_encoder_is_trained_unidirectionally]
)
def test_statement(check):
    assert supported(check)


def test_every_setting_of_table_s1_is_compared():
    result = models.table_s1_is_what_the_presets_build()
    assert [c.measured for c in result.comparisons] == [11, 11]
    rows = models.table_s1_beside_presets()
    assert len(rows) == 11 and list(rows["bert, ours"]) == list(rows["bert, printed"])


@pytest.mark.parametrize("setting", ["hidden size", "hidden activation", "layer norm epsilon"])
@pytest.mark.parametrize("column", models.COLUMNS)
def test_a_printed_value_that_differs_is_noticed(setting, column):
    check = models.table_s1_is_what_the_presets_build
    rows = drawn(check).copy()
    rows.loc[rows["setting"] == setting, f"{column}, printed"] = "7"
    assert not check.of(rows).supported


def test_an_encoder_that_looks_left_only_is_noticed():
    check = models.no_encoder_is_trained_unidirectionally
    attention = drawn(check)
    assert check.of(attention).comparisons[1].measured == 0
    assert not check.of(attention._replace(encoder=attention.decoder)).supported
    assert not check.of(attention._replace(decoder=attention.encoder)).supported
