"""What is recorded of a text in two models: of their own inputs."""

import json

import numpy as np
import pytest
import torch
from chapters.introduction import sentence
from small_models import small_model

from attngeo.files.checkout import data
from attngeo.gradients.objectives import Objective
from attngeo.gradients.random_updates import unevenness, uniform_softmax_squared_norms

IDS = {"input_ids": torch.tensor([[3, 1, 4, 1, 5]])}


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_unevenness_is_that_of_what_the_queries_of_a_layer_read(name):
    torch.manual_seed(0)
    model = small_model(name)().eval()
    with torch.no_grad():
        states = model(**IDS, output_hidden_states=True).hidden_states[:-1]
        if name == "llama":
            states = [layer.input_layernorm(x) for layer, x in zip(model.layers, states, strict=True)]
    inputs = sentence.inputs_of_layers(model, IDS)
    torch.testing.assert_close(torch.stack(inputs).float(), torch.cat(list(states)))
    found = sentence.measure(model, IDS, Objective.BIDIRECTIONAL)
    assert found.shape == (len(inputs), 2, 2, 2)
    later = inputs[1][1:]
    rows, columns = uniform_softmax_squared_norms(later - later.mean(0), Objective.BIDIRECTIONAL)
    np.testing.assert_allclose(found[1, 1, 1], [float(unevenness(rows)), float(unevenness(columns))], rtol=1e-6)


def test_the_record_has_every_layer_and_its_packages():
    about = json.loads(data("sentence", "record.json").read_text("utf-8"))
    assert about["text"] == sentence.TEXT
    for (name, package), layers in zip(sentence.PACKAGES.items(), (6, 30), strict=True):
        assert sentence.recorded(name).shape == (layers, 2, 2, 2)
        made_of = about["packages"][name]
        assert len(made_of["sha256"]) == 64 and made_of["version"] == package.version
