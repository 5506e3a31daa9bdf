"""What the benchmarks measure goes into ``data/benchmarks``, one file a module, with what it was measured on."""

import json
from datetime import datetime, timezone

import costs
import pytest
import torch

from attngeo.files.atomic import write_text
from attngeo.files.checkout import data, root
from attngeo.files.provenance import commit, hardware, versions

torch.set_num_threads(1)  # for all of it


@pytest.fixture
def record(request):
    """Rows of numbers; those of a test that passed replace its last ones in the file of its module."""
    rows: list[dict] = []
    failed = request.session.testsfailed
    yield rows
    if not rows or request.session.testsfailed > failed:
        return
    file = data("benchmarks", f"{request.path.stem.removeprefix('test_')}.json")
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    about = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "commit": commit(root()), **hardware("cpu")}
    kept[request.node.name] = {"about": about | {"versions": versions(("torch", "transformers"))}, "rows": rows}
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(kept.items()))
    write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")
    write_text(costs.TABLE, costs.costs())
