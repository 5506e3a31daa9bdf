"""What is recorded of one sentence in two models: their own scores, those of the survey, those of the weights."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from chapters.introduction import sentence
from small_models import small_model

from attngeo import BilinearForm, open_checkpoint, open_model
from attngeo.errors import CheckpointError
from attngeo.experiments.survey.measured import read_records
from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective


@pytest.fixture(params=["bert", "llama"])
def model(request):
    torch.manual_seed(0)
    return small_model(request.param)().eval()


def measured(model):
    ids = {"input_ids": torch.tensor([[3, 1, 4, 1, 5]])}
    return sentence.measure(model, ids, torch.tensor([1, 2, 3]), ids, Objective.BIDIRECTIONAL)


def test_raw_scores_are_of_what_a_model_reads_and_of_its_form(model):
    found = measured(model)
    assert found.raw.shape == (len(found.symmetry), 3, 3) and found.entries.shape[2] == 2
    dense = next(iter(open_model(model))).form.to(torch.float64).dense().numpy()
    both = np.stack([dense, dense.T], -1).reshape(-1, 2)
    away = abs(found.entries[0][:, None] - both).max(-1).min(1)
    assert away.max() < 1e-6 * abs(dense).max()


def test_scores_that_are_not_those_of_the_form_are_refused(model, monkeypatch):
    layers = list(open_model(model))
    wrong = [replace(layer, form=BilinearForm(1.01 * layer.form.wq, layer.form.wk)) for layer in layers]
    monkeypatch.setattr(sentence, "open_model", lambda model: wrong)
    with pytest.raises(CheckpointError, match="do not give the scores"):
        measured(model)


def test_the_record_has_the_scores_of_the_survey_and_its_packages():
    scores = read_records(data("survey"))
    packages = json.loads(data("sentence", "record.json").read_text("utf-8"))["packages"]
    for name, package in sentence.PACKAGES.items():
        found = sentence.recorded(name)
        layers = scores[(scores["model"] == name) & (scores["head"] == -1)]
        np.testing.assert_allclose(found.symmetry, layers["symmetry"], atol=1e-6)
        assert found.raw.shape == (len(layers), len(sentence.WORDS), len(sentence.WORDS))
        assert len(packages[name]["sha256"]) == 64 and packages[name]["version"] == package.version


@pytest.mark.parametrize("name", sentence.PACKAGES)
def test_the_entries_are_those_of_the_weights(name, weights):
    found = sentence.recorded(name).entries
    for layer in open_checkpoint(weights / name):
        dense = layer.form.dense().double()
        i, j = torch.triu_indices(*dense.shape, 1)
        at = torch.randperm(len(i), generator=torch.Generator().manual_seed(layer.layer))[: sentence.PAIRS]
        np.testing.assert_allclose(found[layer.layer, :, 0], dense[i[at], j[at]], atol=2e-6 * float(dense.abs().max()))
