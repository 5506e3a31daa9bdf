import pytest
import torch

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import score
from attngeo.experiments.survey.quantisation import BLOCK, SCHEMES, quantised

GENERATOR = torch.Generator().manual_seed(0)


def planted(alike=0.8, heads=4, d=256, d_head=64):
    """Heads whose queries resemble their keys: symmetry far from chance."""
    wk, noise = (torch.randn(heads, d, d_head, generator=GENERATOR) for _ in range(2))
    return BilinearForm(alike * wk + (1 - alike**2) ** 0.5 * noise, wk)


FORM = planted()


def test_a_block_has_sixteen_levels():
    for scheme in ("q4_0", "q4_1"):
        blocks = quantised(FORM, scheme).wq.unflatten(1, (-1, BLOCK))  # (H, blocks, 32, d_head)
        counts = [len(block.unique()) for block in blocks[0].transpose(1, 2).flatten(0, 1)]
        assert max(counts) <= 16 and sum(counts) > 8 * len(counts)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_weight_moves_by_more_than_its_step(scheme):
    moved = (quantised(FORM, scheme).wq - FORM.wq).abs().unflatten(1, (-1, BLOCK)).amax(2)
    blocks = FORM.wq.unflatten(1, (-1, BLOCK))
    steps = {
        "float16": blocks.abs().amax(2) * 2**-11,
        "int8": FORM.wq.abs().amax() / 127 / 2 * torch.ones_like(moved),
        "q4_0": blocks.abs().amax(2) / 8,  # the largest of the other sign lies a whole step off
        "q4_1": (blocks.amax(2) - blocks.amin(2)) / 15 / 2,
    }
    assert (moved <= steps[scheme] * 1.01 + 2e-3).all()


@pytest.mark.parametrize("scheme", ["int8", "q4_0", "q4_1"])
def test_symmetry_shrinks_by_the_errors_share_of_the_norm(scheme):
    """s' = s / (1 + e), e of the errors of both factors: to a tenth of the loss."""
    rounded = quantised(FORM, scheme)
    errors = (
        BilinearForm(rounded.wq - FORM.wq, FORM.wk).dense().norm() ** 2
        + BilinearForm(FORM.wq, rounded.wk - FORM.wk).dense().norm() ** 2
    ) / FORM.dense().norm() ** 2
    before, after = score(FORM).symmetry.item(), score(rounded).symmetry.item()
    assert before - after == pytest.approx(before * errors.item(), rel=0.25)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_width_that_fills_no_block_and_weights_of_zero(scheme):
    narrow = BilinearForm(torch.zeros(1, 40, 3), torch.ones(1, 40, 3))
    assert torch.equal(quantised(narrow, scheme).wq, narrow.wq)
    torch.testing.assert_close(quantised(narrow, scheme).wk, narrow.wk)
