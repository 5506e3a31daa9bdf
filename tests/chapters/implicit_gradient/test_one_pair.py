"""One pair, drawn: what the pictures show adds up."""

import pytest
from chapters.implicit_gradient import one_pair

from attngeo.gradients.rank_one import relative_error
from attngeo.gradients.toy_transformer import WORDS, sentence_gradient


@pytest.mark.parametrize("seed", [0, 1])
def test_the_pictures_add_up(seed):
    g = sentence_gradient("autoregressive", seed, d=6)
    figure, x = one_pair(g), g.layer.x
    drawn = {panel.get_title("left"): x.new_tensor(panel.images[0].get_array()) for panel in figure.figure.axes}
    title, term = next(iter(drawn.items()))
    i, j = (WORDS.index(word) for word in title.removeprefix("the pair ").split(", "))
    assert i != j
    share = term / x[i].outer(x[j])  # a number: beta_ij
    assert float(share.std() / share.abs().mean()) < 1e-9
    gradient = drawn["= the gradient of $W_{qk}$"]
    assert relative_error(gradient, g.w_qk[0]) < 1e-12
    assert relative_error(term + drawn["+ all other pairs"], gradient) < 1e-12
    caption = " ".join(figure.caption.replace("\N{MINUS SIGN}", "-").split())
    assert f"$\\beta_{{ij}}$ = {float(share.mean()):.2f}." in caption
    assert f"raw score {float(x[i] @ g.layer.w_qk[0] @ x[j]):.2f}." in caption
