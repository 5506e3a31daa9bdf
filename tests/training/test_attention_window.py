import pytest
import torch

from attngeo.experiments.training.attention_window import attend_within
from attngeo.experiments.training.bert import build_model
from attngeo.experiments.training.choices import Shape

ONE_LAYER = Shape(layers=1, d_model=24, heads=3, d_ff=40, vocab_size=60, longest=14, dropout=0.0)
IDS = torch.randint(0, 60, (3, 12), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("near, far", [(0, None), (0, 2), (2, 4), (3, None)])
def test_a_place_of_one_layer_depends_on_itself_and_on_the_places_within_its_window(near, far, attention):
    model = build_model(ONE_LAYER, True, seed=1, attention=attention).double().eval()
    attend_within(model, near, far)
    logits = model(IDS).logits
    for j in range(12):
        changed = IDS.clone()
        changed[:, j] = (changed[:, j] + 1) % 60
        moved = (model(changed).logits - logits).abs().amax((0, 2)) > 1e-9
        seen = [i == j or near <= i - j <= (12 if far is None else far) for i in range(12)]
        assert moved.tolist() == seen, j
