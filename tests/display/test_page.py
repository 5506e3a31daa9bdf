"""What `attngeo.display.page` puts into a notebook: in Markdown for the reader, in metadata for the book."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from attngeo.claims.results import Result, exact, monte_carlo
from attngeo.claims.verdict import Verdict
from attngeo.display import page as display
from attngeo.errors import ParameterError


@pytest.fixture
def shown(monkeypatch):
    """The outputs a cell would have: (data, metadata) pairs."""
    outputs = []
    monkeypatch.setattr(display, "display", lambda data, raw, metadata: outputs.append((data, metadata)))
    return outputs


def result(**changes):
    values = {
        "statement": "S1.17",
        "part": "(3)",
        "title": "the bound on $s$",
        "verdict": Verdict.MISPRINT,
        "comparisons": (exact("trace", 1.0, 1.0), monte_carlo("mean", [1.0, 2.0, 3.0], 2.0)),
    }
    return Result(**(values | changes))


def test_checks_are_shown_as_lines_that_unfold(shown):
    display.show(result(), result(part="(2)"))
    data, metadata = shown[0]
    assert data["text/markdown"].count('<details class="check">') == 2
    assert data["text/plain"].count("\n") == 1 and len(metadata["attngeo"]["results"]) == 2


def test_results_are_recorded_as_json_even_when_not_finite(shown):
    display.show(result(), result(comparisons=(exact("trace", math.nan, math.inf),)))
    records = json.loads(json.dumps(shown[0][1]["attngeo"]["results"], allow_nan=False))
    assert records[0] == json.loads(json.dumps(result().to_dict()))
    assert math.isnan(float(records[1]["comparisons"][0]["measured"]))


@pytest.mark.parametrize(
    "value, spec, text", [(0.52, ".4f", "0.5200"), (3, "", "3"), ("a<b", "", "a<b"), (1e6, ",.0f", "1,000,000")]
)
def test_a_glued_number_is_the_formatted_text(shown, value, spec, text):
    from myst_nb.core.variables import format_plain_text

    display.glue("x", value, spec)
    data, metadata = shown[0]
    assert format_plain_text(data[f"{display.GLUE_PREFIX}text/plain"], "s") == text
    assert metadata["scrapbook"]["name"] == "x"


def test_a_table_carries_caption_and_label(shown):
    frame = pd.DataFrame({"model": ["gpt2", "a|b"], "symmetry": [0.123456, np.nan], "n": [1, 2], "good": [True, False]})
    display.table(frame, "tab-scores", "Scores,\n by model.", {"symmetry": ".3f"})
    data, metadata = shown[0]
    assert metadata["attngeo"]["table"] == {"name": "tab-scores", "caption": "Scores, by model."}
    rows = data["text/markdown"].splitlines()[2:]
    assert rows[1] == "| --- | ---: | ---: | --- |"
    assert rows[2].startswith("| gpt2 | 0.123 | 1 |") and rows[3].startswith(r"| a\|b | – | 2 |")


def test_a_named_index_becomes_columns(shown):
    display.table(pd.DataFrame({"s": [1.0]}, index=pd.Index(["gpt2"], name="model")), "tab-x", "Caption.")
    assert "| model | s |" in shown[0][0]["text/markdown"]


@pytest.mark.parametrize(
    "arguments, named",
    [
        (("scores", "Caption."), "'scores'"),
        (("tab-Scores", "Caption."), "'tab-Scores'"),
        (("tab-scores", " "), "tab-scores"),
        (("tab-scores", "Caption.", {"t": ".3f"}), r"'t'.*\bs\b"),
    ],
)
def test_a_table_that_cannot_be_cited_is_refused(shown, arguments, named):
    with pytest.raises(ParameterError, match=named):
        display.table(pd.DataFrame({"s": [1.0]}), *arguments)


def test_a_name_for_the_prose_may_not_look_like_a_format(shown):
    with pytest.raises(ParameterError, match="'a:b'"):
        display.glue("a:b", 1)
