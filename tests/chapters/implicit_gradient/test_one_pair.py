"""One pair, drawn: what the pictures show adds up."""

import pytest
from chapters.implicit_gradient import one_pair

from attngeo.gradients.rank_one import relative_error
from attngeo.gradients.toy_transformer import sentence_gradient


@pytest.mark.parametrize("seed", [0, 1])
def test_the_pictures_add_up(seed):
    g = sentence_gradient("autoregressive", seed, d=6)
    figure = one_pair(g)
    drawn = {axes.get_title("left"): axes.images[0].get_array() for axes in figure.figure.axes if axes.images}
    pair = next(title for title in drawn if title.startswith("$K_"))
    i, j = (int(n) - 1 for n in pair[4 : pair.index("}")].split(","))
    x = g.layer.x
    assert relative_error(x[i].outer(x[j]), x.new_tensor(drawn[pair])) < 1e-12
    gradient, others = (x.new_tensor(drawn[name]) for name in ("$\\partial L / \\partial W_{qk}$", "all other pairs"))
    assert relative_error(gradient, g.w_qk[0]) < 1e-12
    share = (gradient - others) / x[i].outer(x[j])  # a number: beta_ij
    assert float(share.std() / share.abs().mean()) < 1e-9
    assert f"{abs(float(share.mean())):.2f} scales a matrix" in figure.caption
    assert f"{abs(float(x[i] @ g.layer.w_qk[0] @ x[j])):.2f}. Backwards" in figure.caption
