"""The quantities of the forward pass follow from one another, and a causal mask leaves the last output alone."""

import numpy as np
import pytest
import torch

from attngeo.chapters.bilinear_form.forward_pass import forward_pass


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
    shown = forward_pass(0)
    causal, none = (np.array(shown.data["passes"][mask]["outputs"]) for mask in ("causal", "none"))
    changed = np.abs(causal - none).max(1)
    assert changed[-1] == 0 and changed[:-1].min() > 0
    assert "100%" in shown.still.caption
