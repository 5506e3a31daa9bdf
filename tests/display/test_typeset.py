"""Numbers as the book writes them."""

import math

import pytest

from attngeo.display.typeset import number, typeset, with_error, within


@pytest.mark.parametrize(
    "text, written",
    [
        ("-2.5e-16", "\u22122.5 × 10⁻¹⁶"),
        ("1e-10", "10⁻¹⁰"),
        ("from -0.3 to -.2", "from \u22120.3 to \u2212.2"),
        ("gpt-2, S33-S36, 4-layer, x-1", "gpt-2, S33-S36, 4-layer, x-1"),
        ("$s = -1$ and `-1e-3`", "$s = -1$ and `-1e-3`"),
    ],
)
def test_text_has_one_minus_sign_and_one_style_of_exponents(text, written):
    assert typeset(text) == written


@pytest.mark.parametrize(
    "value, written",
    [
        (0.333333333, "0.3333"),
        (-3.0, "\u22123"),
        (3.1e-16, "3 × 10⁻¹⁶"),
        (math.inf, "∞"),
        (17320.0, "17320"),
    ],
)
def test_numbers(value, written):
    assert number(value) == written


@pytest.mark.parametrize(
    "value, error, written",
    [
        (0.68123, 0.0423, "0.681 ± 0.042"),
        (15.9312, 0.9876, "15.93 ± 0.99"),
        (1234.5, 37.2, "1234 ± 37"),
        (1.0, 0.0, "1 ± 0"),
    ],
)
def test_an_error_has_two_digits_and_its_value_as_many_decimals(value, error, written):
    assert with_error(value, error) == written


def test_an_interval_has_the_decimals_of_its_half():
    assert within(0.0312, 0.0281, 0.0343) == "0.0312 [0.0281, 0.0343]"
