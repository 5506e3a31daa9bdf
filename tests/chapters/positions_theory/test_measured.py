"""The numbers that the plans compare, on invented kernels, text and models of a second."""

import pandas as pd
import pytest
import torch
from chapters.positions_theory import intervention
from chapters.positions_theory.measured import Reader, evenness
from small_runs import small_config, write_text

from attngeo.experiments.training.bert import attention_layers


@pytest.mark.parametrize(
    ("gamma", "even"), [([3, 1, 9, 1, 3], 1), ([-3, -1, 9, 1, 3], -1), ([0, 1, 9, 0, 2], 0), ([1, 9, 3], 0.6)]
)
def test_evenness_of_invented_kernels(gamma, even):
    assert evenness(torch.tensor(gamma).double()) == pytest.approx(even)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNGEO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield Reader(
            small_config(write_text(tmp_path_factory.mktemp("text") / "text.txt"), objective="mlm", dropout=0.0)
        )


def test_stages_of_the_intervention(reader, monkeypatch):
    monkeypatch.setattr(intervention, "WARMUP", 2)
    stages = intervention.Stages(read_out=2, attention=2, every=2)
    models, build = [], intervention.build_model
    monkeypatch.setattr(intervention, "build_model", lambda *given: models.append(build(*given)) or models[-1])
    both, left = (pd.DataFrame(intervention.run(reader, window, 0, stages)) for window in intervention.WINDOWS)
    for rows in (both, left):
        first, second = (part for _, part in rows.groupby("stage"))
        assert len(first) == len(second) == 4  # two layers, before and after
        assert (first["position_norm"] == 0).all() and (second["position_norm"] > 0).all()
    learned = ["stage", "step", "layer", "evenness"]
    assert not both[learned].equals(left[learned])
    for model in models:
        attention = {
            p for layer in attention_layers(model) for m in (layer.self.query, layer.self.key) for p in m.parameters()
        }
        assert all(p.requires_grad == (p in attention) for p in model.parameters())
        assert not any(m._forward_pre_hooks for m in model.modules())


def test_the_update_between_positions_has_the_kernel_along_its_diagonals():
    gamma = torch.arange(-8.0, 9.0)
    update = intervention.offset_matrix(gamma, 12)
    assert update[3, 5] == 2 and update[5, 3] == -2 and update[4, 4] == 0 and update[0, 11] == 0 and update[0, 8] == 8
