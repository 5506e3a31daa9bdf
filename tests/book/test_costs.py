"""The table of costs on the page *Score yours*."""

import json
import shutil

import costs


def test_the_table_of_the_page_is_that_of_the_recorded_benchmarks():
    """Renewed by ``make benchmarks``."""
    assert costs.TABLE.read_text("utf-8") == costs.costs()
    page = (costs.ROOT / "book" / "use" / "score.md").read_text("utf-8")
    assert "```{include} ../../data/benchmarks/costs.md\n" in page


def test_costs_are_medians_of_rounds(tmp_path):
    shutil.copytree(costs.RECORDS, tmp_path / "benchmarks")
    file = tmp_path / "benchmarks" / "scores.json"
    seconds = {"ours": [6.0, 6.0, 7.0], "released": [8.0, 9.0, 50.0]}
    recorded = json.loads(file.read_text())
    for name, entry in recorded.items():
        if name.startswith("test_sum_over_heads"):
            entry["rows"][0]["seconds"] = seconds
    file.write_text(json.dumps(recorded))
    table = costs.costs(tmp_path / "benchmarks")
    assert table.count("| 6 s | forming $\\Wqk$ in float32 | 9 s |") == 2
