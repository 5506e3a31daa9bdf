"""Equation 1, Figure 1 and the model behind the proof of Proposition 2.2 (Eqs. S23-S25), against autograd."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot, scaled_dot_product_attention

from attngeo.chapters.implicit_gradient.gradient import exact_beta
from attngeo.chapters.implicit_gradient.toy_passes import ToyPass, toy_pass
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import relative_error
from attngeo.updates.toy_transformer import LayerPass, ToyConfig, ToyTransformer


def score_scale(d: int, d_head: int) -> float:
    """``1/sqrt(d_head)``, what implementations divide scores by."""
    return d_head**-0.5


class RandomAttention(NamedTuple):
    """Embeddings (N, d), and the factors that make scores of them."""

    x: Tensor
    form: BilinearForm


def attention_layer(d: int = 32, n_heads: int = 4, n_tokens: int = 8, seed: int = 0) -> RandomAttention:
    """Normal entries."""
    generator, d_head = torch.Generator().manual_seed(seed), ToyConfig(d=d, n_heads=n_heads).d_head
    shapes = ((n_tokens, d), (d, d), (d, d))
    x, *factors = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return RandomAttention(x, BilinearForm(*(w.unflatten(1, (n_heads, d_head)).transpose(0, 1) for w in factors)))


@check(attention_layer)
def attention_scale(layer: RandomAttention) -> Comparisons:
    """Equation 1: the printed scale 1/sqrt(d) is that of one head; with several, attention uses 1/sqrt(d_head)."""
    x, form = layer
    d = form.d_model
    q, k = (x @ w / d**0.5 for w in (form.wq, form.wk))
    identity = torch.eye(len(x), dtype=x.dtype).expand(form.n_heads, -1, -1)
    reference = scaled_dot_product_attention(q, k, identity)  # weights: the values are I
    ours, printed = ((s * q @ k.mT).softmax(-1) for s in (score_scale(d, form.d_head), d**-0.5))
    yield exact("per head", (reference - ours).abs().max())
    yield compare("as printed", (reference - printed).abs().max(), "≠", 0, 1e-3, n_heads=form.n_heads)
    yield exact("symmetry", symmetry_score(form.dense() * d**-0.5), symmetry_score(form))


def one_layer(seed: int = 0, **config: int) -> list[ToyPass]:
    """Passes through attention with softmax, and without."""
    return [toy_pass(seed=seed, n_layers=1, softmax=softmax, **config) for softmax in (True, False)]


@check(one_layer)
def forward_and_backward(passes: list[ToyPass]) -> Comparisons:
    """Figure 1: the score is x_i^T W_qk x_j forwards, and its error times K_ij is what comes back."""
    for p in passes:
        g = p.run.gradient(0)
        scores = (g.layer.x @ g.layer.w_qk @ g.layer.x.T).requires_grad_()  # forward: x_i^T W_qk x_j
        if p.model.config.softmax:
            weights = (p.scale * scores.masked_fill(~g.layer.mask, -torch.inf)).softmax(-1)
        else:
            weights = p.scale * scores * g.layer.mask
        (error,) = torch.autograd.grad((weights * g.weights).sum(), scores)  # g.weights = dL/dalpha
        products = torch.einsum("id,hjd->hij", g.errors, g.layer.values) * p.scale * g.layer.mask
        difference = relative_error(products, error)
        if p.model.config.softmax:
            yield exact("forward", (weights.detach() - g.layer.weights).abs().max())
            yield exact("backward", (error - exact_beta(g, p.scale)).abs().max())
            yield compare("softmax", difference, "≠", 0, 0.1)
        else:
            yield exact("no softmax", difference)


SIGN = -1  # of the loss and of its gradient, which Eqs. S23 and S31 leave out


@check(toy_pass, objective=Objective.BIDIRECTIONAL)
def loss_sign(p: ToyPass) -> Comparisons:
    """Equations S23, S28, S31: sum t log sigma(z) is minus the negative log-likelihood; (t - sigma) W_u^T likewise."""
    losses = p.run.losses.detach()
    (descent,) = torch.autograd.grad(p.run.losses.sum(), p.run.layers[-1].output, retain_graph=True)
    log_p = p.run.logits.detach().log_softmax(-1)
    targets = one_hot((log_p + losses[:, None]).abs().argmin(-1), log_p.shape[-1])  # the loss is -log p of the target
    printed_loss, printed_error = (targets * log_p).sum(), (targets - log_p.exp()) @ p.model.wu.detach().T
    yield exact("loss", SIGN * printed_loss / losses.sum(), 1)
    yield exact("gradient", relative_error(SIGN * printed_error, descent))
    yield compare("as printed", printed_loss / losses.sum(), "≠", 1, 1e-3)


class DistinctTokens(NamedTuple):
    """A sequence in which no token comes twice, and a model for it."""

    model: ToyTransformer
    tokens: Tensor  # (N,)


def distinct_tokens(d: int = 32, n_tokens: int = 8, seed: int = 0) -> DistinctTokens:
    """Every token of the vocabulary once, so that each has its own row of W_e."""
    model = ToyTransformer.random(ToyConfig(d=d, n_tokens=n_tokens, n_vocab=n_tokens), seed)
    return DistinctTokens(model, torch.randperm(n_tokens, generator=torch.Generator().manual_seed(seed)))


AHEAD = 1  # positions from a query to what it predicts under a causal mask


@check(distinct_tokens)
def prediction_from_its_own_input(sample: DistinctTokens) -> Comparisons:
    """Equation S24: as printed, position i predicts token i from its own embedding; trained models shift or mask."""
    model, tokens = sample
    masked = torch.arange(len(tokens)) % 3 == 1
    log_p = model.run(tokens, Objective.AUTOREGRESSIVE).logits.log_softmax(-1)

    def own_embedding(losses: Tensor, predicted: Tensor) -> float:  # largest over the predictions
        rows = (torch.autograd.grad(loss, model.we, retain_graph=True)[0] for loss in losses)
        return max(float(r[t].norm()) for r, t in zip(rows, predicted, strict=True))

    def causal(shift: int) -> float:  # position i predicts token i + shift
        later = tokens[shift:]
        return own_embedding(-log_p[: len(later)].gather(1, later[:, None])[:, 0], later)

    in_mask = model.run(tokens, Objective.MASKED, masked).losses[masked]
    in_sight = model.run(tokens, Objective.BIDIRECTIONAL).losses
    yield exact("causal", causal(AHEAD))
    yield exact("masked", own_embedding(in_mask, tokens[masked]))
    yield compare("causal as printed", causal(0), "≠", 0, 0.1)
    yield compare("bidirectional as printed", own_embedding(in_sight, tokens), "≠", 0, 0.1)


def residual(below: LayerPass) -> Tensor:
    """``x^{l-1}``, what attention is added to, from the layer below, (N, d)."""
    return below.output


@check(toy_pass)
def residual_input(p: ToyPass) -> Judgement:
    """Equation S25: attention adds to x^{l-1}, the output of the previous layer, not to its x-hat^{l-1}."""
    below, layer = p.run.layers[-2:]
    added = (layer.weights @ layer.values).sum(0)
    right, printed = (
        relative_error((x + added).detach(), layer.attended.detach()) for x in (residual(below), below.attended)
    )
    return Judgement(exact("output", right), compare("as printed", printed, "≠", 0, 1e-2))
