"""What `livingpaper.display.page` puts into a notebook: in Markdown for the reader, in metadata for the book."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from livingpaper.claims.results import Result, Verdict, exact
from livingpaper.display import page
from myst_nb.core.variables import format_plain_text

from attngeo.errors import ParameterError


@pytest.fixture
def shown(monkeypatch):
    """The outputs a cell would have: (data, metadata) pairs."""
    outputs = []
    monkeypatch.setattr(page, "display", lambda data, raw, metadata: outputs.append((data, metadata)))
    return outputs


def test_checks_are_shown_as_lines_that_unfold_and_recorded_as_json_even_when_not_finite(shown):
    results = [
        Result("S1.17", "(3)", "the bound on $s$", Verdict.MISPRINT, (exact("trace", *numbers),))
        for numbers in ((1.0, 1.0), (math.nan, math.inf))
    ]
    page.show(*results)
    data, metadata = shown[0]
    assert data["text/markdown"].count('<details class="check"') == 2
    records = json.loads(json.dumps(metadata["attngeo"]["results"], allow_nan=False))
    assert records[0] == json.loads(json.dumps(results[0].to_dict()))
    (comparison,) = records[1]["comparisons"]
    assert math.isnan(float(comparison["measured"])) and float(comparison["expected"]) == math.inf


@pytest.mark.parametrize(
    "value, spec, text",
    [
        (0.52, ".4f", "0.5200"),
        (3, "", "3"),
        ("a<b", "", "a<b"),
        (1e6, ",.0f", "1,000,000"),
        ("a sentence on\n    two lines, 99\N{NO-BREAK SPACE}%", "", "a sentence on two lines, 99\N{NO-BREAK SPACE}%"),
    ],
)
def test_a_glued_value_is_the_formatted_text_in_one_line(shown, value, spec, text):
    page.glue("x", value, spec)
    data, metadata = shown[0]
    assert format_plain_text(data[f"{page.GLUE_PREFIX}text/plain"], "s") == text
    assert metadata["scrapbook"]["name"] == "x"


def test_a_table_carries_caption_and_label_and_a_named_index_as_a_column(shown):
    columns = {"model": ["gpt2", "a|b"], "symmetry": [0.123456, np.nan], "n": [1, 2], "good": [True, False]}
    page.table(pd.DataFrame(columns).set_index("model"), "tab-scores", "Scores,\n by model.", {"symmetry": ".3f"})
    data, metadata = shown[0]
    assert metadata["attngeo"]["table"] == {"name": "tab-scores", "caption": "Scores, by model."}
    rows = data["text/markdown"].splitlines()[2:]
    assert rows[1] == "| --- | ---: | ---: | --- |"
    assert rows[2].startswith("| gpt2 | 0.123 | 1 |") and rows[3].startswith(r"| a\|b | – | 2 |")
    with pytest.raises(ParameterError, match=r"'t'.*\bs\b"):
        page.table(pd.DataFrame({"s": [1.0]}), "tab-s", "Caption.", {"t": ".3f"})
