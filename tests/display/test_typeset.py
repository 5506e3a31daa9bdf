"""Numbers as the book writes them."""

import math

from attngeo.plot.typeset import significant, typeset, with_error, within


def test_text_has_one_minus_sign_and_one_style_of_exponents():
    for text, written in {
        "-2.5e-16": "\u22122.5 × 10⁻¹⁶",
        "1e-10": "10⁻¹⁰",
        "from -0.3 to -.2": "from \u22120.3 to \u2212.2",
        "gpt-2, S33-S36, 4-layer, x-1": "gpt-2, S33-S36, 4-layer, x-1",
        "$s = -1$ and `-1e-3`": "$s = -1$ and `-1e-3`",
    }.items():
        assert typeset(text) == written


def test_numbers_have_the_digits_of_their_error_or_interval():
    values = {1 / 3: "0.3333", -3.0: "\u22123", 3.1e-16: "3 × 10⁻¹⁶", math.inf: "∞", 17320.0: "17320"}
    assert {value: significant(value) for value in values} == values
    for value, error, written in [
        (0.68123, 0.0423, "0.681 ± 0.042"),
        (15.9312, 0.9876, "15.93 ± 0.99"),
        (1234.5, 37.2, "1234 ± 37"),
        (1.0, 0.0, "1 ± 0"),
    ]:
        assert with_error(value, error) == written
    assert within(0.0312, 0.0281, 0.0343) == "0.0312 [0.0281, 0.0343]"
