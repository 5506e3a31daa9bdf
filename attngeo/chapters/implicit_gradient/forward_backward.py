"""Equation 1, Figure 1 and the model behind the proof of Proposition 2.2 (Eqs. S23-S25), against autograd."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.chapters.implicit_gradient.gradient import CHAPTER, exact_beta
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


def per_head_scale(d: int, d_head: int) -> float:
    """``1/sqrt(d_head)``, what implementations divide scores by."""
    return d_head**-0.5


@claim
def attention_scale(
    d: int = 32, n_heads: int = 4, n_tokens: int = 8, seed: int = 0, scale: Callable = per_head_scale
) -> Result:
    """Equation 1: the printed scale 1/sqrt(d) is that of one head; with several, attention uses 1/sqrt(d_head)."""
    generator = torch.Generator().manual_seed(seed)
    d_head = ToyConfig(d=d, n_heads=n_heads).d_head
    x, wq, wk = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((n_tokens, d), (d, d), (d, d)))
    q, k = ((x @ w).unflatten(1, (n_heads, d_head)).transpose(0, 1) / d**0.5 for w in (wq, wk))
    identity = torch.eye(n_tokens, dtype=torch.float64).expand(n_heads, -1, -1)
    reference = torch.nn.functional.scaled_dot_product_attention(q, k, identity)  # weights: the values are I
    ours, printed = ((s * q @ k.mT).softmax(-1) for s in (scale(d, d_head), d**-0.5))
    w_qk = wq @ wk.T
    return Result(
        statement="Eq. 1",
        part="(scale)",
        title="the factor on the scores",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("PyTorch's attention weights against ours", (reference - ours).abs().max(), 0),
            Comparison(
                f"the same with 1/√d, {n_heads} heads", float((reference - printed).abs().max()), "≠", 0.0, 1e-3
            ),
            exact("symmetry score, W_qk rescaled", symmetry_score(w_qk * d**-0.5), symmetry_score(w_qk)),
        ),
        printed="Scores are divided by $\\sqrt{d}$, also for several heads (Eq. S18).",
        corrected="Scores of a head are divided by $\\sqrt{d_h}$; the two agree for one head with $d_h = d$.",
        remark="The scale multiplies $W_{qk}$, so that neither score of the paper depends on it; gradients do.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def forward_and_backward(
    d: int = 32, n_heads: int = 4, n_tokens: int = 8, seed: int = 0, coefficients: Callable = exact_beta
) -> Result:
    """Figure 1: the score is x_i^T W_qk x_j forwards, and its error times K_ij is what comes back."""
    comparisons = []
    for softmax in (True, False):
        config = ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens, n_layers=1, softmax=softmax)
        model = ToyTransformer.random(config, seed)
        one_pass = model.example(Objective.AUTOREGRESSIVE, seed)
        g = one_pass.gradient(0)
        scores = g.layer.x @ g.layer.w_qk @ g.layer.x.T  # forward: x_i^T W_qk x_j
        scores.requires_grad_()
        weights = (
            (config.score_scale * scores.masked_fill(~g.layer.mask, -torch.inf)).softmax(-1)
            if softmax
            else config.score_scale * scores * g.layer.mask
        )
        (error,) = torch.autograd.grad((weights * g.weights).sum(), scores)  # g.weights = dL/dalpha
        if softmax:
            comparisons += [
                exact(
                    "forward: largest difference in the attention weights",
                    (weights.detach() - g.layer.weights).abs().max(),
                    0,
                ),
                exact("backward: dL/dscore against β", (error - coefficients(g, config.score_scale)).abs().max(), 0),
            ]
        products = torch.einsum("id,hjd->hij", g.errors, g.layer.values) * config.score_scale * g.layer.mask
        difference = relative_error(products, error)
        label = f"backward: relative error of the dot product δ·x, {'with' if softmax else 'without'} softmax"
        comparisons.append(Comparison(label, difference, "≠", 0.0, 0.1) if softmax else exact(label, difference, 0))
    return Result(
        statement="Figure 1",
        part="",
        title="a score forwards, a rank-1 term backwards",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The backward pass multiplies the dot product of error and context embedding with $K_{ij}$.",
        corrected="So it is without softmax. With softmax the factor is the error of the score, $\\beta_{ij}$, in "
        "which the value of $j$ is measured against the mean value of its row.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def loss_sign(d: int = 32, n_tokens: int = 8, seed: int = 0, sign: int = -1) -> Result:
    """Equations S23, S28, S31: sum t log sigma(z) is minus the negative log-likelihood; (t - sigma) W_u^T likewise."""
    model = ToyTransformer.random(ToyConfig(d=d, n_tokens=n_tokens), seed)
    one_pass = model.example(Objective.BIDIRECTIONAL, seed)
    x = one_pass.layers[-1].output
    (descent,) = torch.autograd.grad(one_pass.losses.sum(), x, retain_graph=True)
    log_p = one_pass.logits.detach().log_softmax(-1)
    targets = (log_p + one_pass.losses.detach()[:, None]).abs().argmin(-1)  # the loss is -log p of the target
    one_hot = torch.nn.functional.one_hot(targets, log_p.shape[-1])
    printed_loss, printed_error = (one_hot * log_p).sum(), (one_hot - log_p.exp()) @ model.wu.detach().T
    loss = float(one_pass.losses.detach().sum())
    return Result(
        statement="2.2",
        part="Eqs. S23, S28, S31",
        title="the sign of the loss and of its gradient",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("Eq. S23 with the sign, over the negative log-likelihood", sign * printed_loss / loss, 1),
            exact("relative error of (t - σ) W_u with the sign", relative_error(sign * printed_error, descent), 0),
            Comparison(
                "Eq. S23 as printed, over the negative log-likelihood", float(printed_loss / loss), "≠", 1.0, 1e-3
            ),
        ),
        printed="$L(U) = \\sum_i t_i \\log \\sigma(z_i)$, and $(t_i - \\sigma(z_i))^\\top W_u^\\top$ as its gradient.",
        corrected="$L(U) = -\\sum_i t_i^\\top \\log \\sigma(z_i)$, gradient $(\\sigma(z_i) - t_i)^\\top W_u^\\top$.",
        remark="The printed pair is consistent: it is the log-likelihood. As Remark S1.6 adds the gradient, the two "
        "slips cancel and the step descends on the loss.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def prediction_from_its_own_input(d: int = 32, n_tokens: int = 8, seed: int = 0, ahead: int = 1) -> Result:
    """Equation S24: as printed, position i predicts token i from its own embedding; trained models shift or mask."""
    model = ToyTransformer.random(ToyConfig(d=d, n_tokens=n_tokens, n_vocab=n_tokens), seed)
    tokens = torch.randperm(n_tokens, generator=torch.Generator().manual_seed(seed))  # distinct, so rows of W_e too
    masked = torch.arange(n_tokens) % 3 == 1
    log_p = model.run(tokens, Objective.AUTOREGRESSIVE).logits.log_softmax(-1)

    def own_embedding(losses: Tensor, predicted: Tensor) -> float:  # largest over the predictions
        rows = (torch.autograd.grad(loss, model.we, retain_graph=True)[0] for loss in losses)
        return max(float(r[t].norm()) for r, t in zip(rows, predicted, strict=True))

    def causal(shift: int) -> float:  # position i predicts token i + shift
        later = tokens[shift:]
        return own_embedding(-log_p[: len(later)].gather(1, later[:, None])[:, 0], later)

    in_mask = model.run(tokens, Objective.MASKED, masked).losses[masked]
    in_sight = model.run(tokens, Objective.BIDIRECTIONAL).losses
    return Result(
        statement="2.2",
        part="Eq. S24",
        title="the token to predict stands in its own input",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("derivative of a prediction by the embedding of what it predicts, causal, shifted", causal(ahead), 0),
            exact("the same, masked", own_embedding(in_mask, tokens[masked]), 0),
            Comparison("the same, causal, Eq. S24 as printed", causal(0), "≠", 0.0, 0.1),
            Comparison("the same, bidirectional, Eq. S24 as printed", own_embedding(in_sight, tokens), "≠", 0.0, 0.1),
        ),
        printed="$z_i = W_u^\\top x_i^L$ predicts $t_i$, and $x_i^0$ is the embedding of $t_i$.",
        corrected="With a causal mask $z_i$ predicts $t_{i+1}$; in masked training $x_i^0$ is the "
        "embedding of the mask token.",
        remark="As printed, the residual connection hands the answer to the prediction.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def residual_input(d: int = 32, n_tokens: int = 8, seed: int = 0, previous: str = "output") -> Result:
    """Equation S25: attention adds to x^{l-1}, the output of the previous layer, not to its x-hat^{l-1}."""
    model = ToyTransformer.random(ToyConfig(d=d, n_tokens=n_tokens), seed)
    below, layer = model.example(Objective.AUTOREGRESSIVE, seed).layers
    added = (layer.weights @ layer.values).sum(0)

    def error(name: str) -> float:
        return relative_error((getattr(below, name) + added).detach(), layer.attended.detach())

    return Result(
        statement="2.2",
        part="Eq. S25",
        title="what attention is added to",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("relative error of x^{l-1} + a_l against Eq. S1", error(previous), 0),
            Comparison("relative error of x̂^{l-1} + a_l against Eq. S1", error("attended"), "≠", 0.0, 1e-2),
        ),
        printed="$\\hat x_i^l = \\hat x_i^{l-1} + a_l(x_i^{l-1})$",
        corrected="$\\hat x_i^l = x_i^{l-1} + a_l(x_i^{l-1})$, as in Eq. S1",
        flaw=Flaw.MISPRINT,
        maybe_copying=True,
        chapter=CHAPTER,
    )
