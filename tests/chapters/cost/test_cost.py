"""What the page makes of recorded benchmarks."""

import json

import pytest

from attngeo.chapters.cost import measured


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Writes a record of two layers in place of the repository's."""
    monkeypatch.setattr(measured, "data", lambda *parts: tmp_path.joinpath(*parts))
    rows = [
        {"d": 8192, "heads": 64, "key_heads": 64, "dtype": dtype, "seconds": seconds}
        for dtype, seconds in {
            "float32": {"released": [8.0, 9.0, 50.0], "ours": [6.0, 6.0, 7.0], "product": [4.5, 4.5, 4.5]},
            "bfloat16": {"released": [9.0], "ours": [3.0], "product": [1.0]},
        }.items()
    ]
    entries = {f"test_sum_over_heads[{row['dtype']}]": {"about": {}, "rows": [row]} for row in rows}
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "scores.json").write_text(json.dumps(entries))
    return tmp_path / "benchmarks" / "scores.json"


def test_ratios_are_of_medians(recorded):
    layers = measured.layers().set_index("dtype")
    assert layers["ratio"].to_dict() == {"float32": 1.5, "bfloat16": 3.0}
    assert layers["alone"].to_dict() == {"float32": 2.0, "bfloat16": 9.0}


def test_the_page_has_what_it_reads():
    assert set(measured.layers()["dtype"]) == {"float32", "bfloat16"}
    assert measured.other_ways()["products"].notna().all() and len(measured.everything_else()) >= 7
