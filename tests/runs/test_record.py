import json

import pytest

from attngeo.experiments.runs import record
from attngeo.experiments.runs.record import RunError, read_about


def test_a_run_recorded_before_a_setting_was_there_has_the_value_that_was_in_force(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "IN_FORCE", {"optimiser": "adamw", "seed": 7})
    (tmp_path / "run.json").write_text(json.dumps({"config": {"seed": 1}, "status": "finished"}))
    assert read_about(tmp_path)["config"] == {"optimiser": "adamw", "seed": 1}


@pytest.mark.parametrize("content", ["", "{}", '{"config": 3, "status": "finished"}', '{"config": {}}'])
def test_a_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match=tmp_path.name):
        read_about(tmp_path)
