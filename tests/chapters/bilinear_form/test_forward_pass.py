"""The quantities of the forward pass follow from one another, and a causal mask leaves the last output alone."""

import numpy as np
import pytest
import torch
from chapters.bilinear_form import order_violations, random_layer
from chapters.bilinear_form.forward_pass import forward_pass

from attngeo.errors import ParameterError


@pytest.mark.parametrize("mask", ["causal", "none"])
def test_each_quantity_follows_from_those_before(mask):
    held = {name: torch.tensor(v, dtype=torch.float64) for name, v in forward_pass(1).data["passes"][mask].items()}
    close = {"atol": 2e-3, "rtol": 0}  # the data have four digits
    torch.testing.assert_close(held["queries"] @ held["keys"].T, held["scores"], **close)
    scores = held["scores"].masked_fill(held["attended"] == 0, -torch.inf)
    torch.testing.assert_close((scores / len(scores) ** 0.5).softmax(-1), held["weights"], **close)
    torch.testing.assert_close(held["embeddings"] + held["mixed"], held["outputs"], **close)
    torch.testing.assert_close(held["probabilities"].sum(1), torch.ones(len(scores), dtype=torch.float64), **close)


def test_the_mask_changes_every_output_but_the_last():
    causal, none = forward_pass(0).data["passes"].values()
    changed = np.abs(np.array(causal["outputs"]) - np.array(none["outputs"])).max(1)
    assert changed[-1] == 0 and changed[:-1].min() > 0
    assert causal["weights"][0][0] == 1 and causal["scores"] == none["scores"]


def test_order_violations_counts_triples():
    raw = torch.tensor([[1.0, 2.0, 3.0]])
    assert order_violations(raw, raw) == 0
    assert order_violations(raw.flip(-1), raw) == 6  # every ordered pair of the three
    assert order_violations(torch.tensor([[2.0, 1.0, 3.0]]), raw, torch.tensor([[True, False, True]])) == 0
    assert order_violations(torch.zeros(1, 3), raw) == 3  # ties are no order


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ParameterError):
        random_layer(10, 4, 3, 0)
