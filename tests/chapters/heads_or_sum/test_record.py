"""The record: written from weights, read back, and held against the weights again."""

import json

import pytest
import torch
from small_models import small_model

from attngeo.chapters.heads_or_sum import record
from attngeo.errors import CheckpointError
from attngeo.records.checkout import CheckoutError


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A small BERT, and a model of one head, which is left out."""
    folders = {}
    for name, heads in (("several", 4), ("one", 1)):
        torch.manual_seed(heads)
        folders[name] = str(tmp_path / name)
        small_model("bert", num_attention_heads=heads)().save_pretrained(folders[name])
    monkeypatch.setattr(record, "local_weights", lambda: folders)
    monkeypatch.setattr(record, "data", lambda *parts: tmp_path.joinpath(*parts))
    return tmp_path


def test_what_is_recorded_is_read_back_and_agrees_with_the_weights(weights, capsys):
    record.record(weights / "heads_or_sum")
    found = record.recorded()
    assert capsys.readouterr().out.split() == ["several", "one"]
    assert set(found.pairs["model"]) == {"several"} and len(found.pairs) == 2 * 10 and len(found.spectra) == 2 * 5
    assert found.removals.groupby("layer").size().tolist() == [12, 12]
    assert len(json.loads((weights / "heads_or_sum" / "record.json").read_text())["sha256"]) == 2
    assert record.verified("several", found.pairs) == pytest.approx(0, abs=1e-12)
    assert record.verified("elsewhere", found.pairs) is None
    changed = found.pairs.assign(trace=found.pairs["trace"] + 0.01)
    assert record.verified("several", changed) == pytest.approx(0.01)
    assert not record.verified("several", found.pairs[1:]) < 1  # a pair is missing


def test_what_is_missing_is_said(weights, monkeypatch):
    with pytest.raises(CheckoutError, match=r"removals\.parquet"):
        record.recorded()
    monkeypatch.setattr(record, "local_weights", dict)
    with pytest.raises(CheckpointError, match="ATTNGEO_WEIGHTS"):
        record.record(weights / "heads_or_sum")
