# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: The proof of the paper's Prop. 2.2, and other models
#
# On this page, we correct the paper's proof of Proposition 2.2. We also show which pairs of tokens contribute to the
# gradient, and we extend the formula for the update of $\Wqk$ to models that the paper's definition excludes. We use the
# notation of [the page on the gradient](implicit_gradient.py), in particular {eq}`eq-2-2-head` and {eq}`eq-2-2-beta`.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 8  # tokens of a sequence; in [4, 32]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.functional import jacobian
from torch.nn.functional import cross_entropy, one_hot

from livingpaper.display.page import show
from attngeo.bilinear.form import BilinearForm
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.objectives import TRAINED, Objective, every_third
from attngeo.gradients.rank_one import cosine, exact_coefficients, gradient_sum, relative_error, step_of_factors
from attngeo.gradients.toy_transformer import LayerPass, ToyConfig, ToyTransformer, first_layer

TOY = ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens)
DIFFERENT = 0.1  # relative error above which two formulas count as different
SIGN = -1  # of the loss and of its gradient, which Eqs. S23 and S31 leave out
AHEAD = 1  # positions from a query to what it predicts under a causal mask

# %% [markdown]
# ## Figure 1 of the paper
#
# Figure 1 of the paper shows the two roles that a pair of tokens has in {prf:ref}`prop-2-2`. In the forward pass, the pair
# has the score $x_i\T \Wqk x_j$. In the backward pass, an error is propagated to this score, and $K_{ij}$ is multiplied by
# this error. The figure shows the error as a dot product, which is correct for attention without a softmax.
# {numref}`fig-one-pair` shows the exact term for attention with a softmax.


# %%
@claim(
    "Figure 1",
    "",
    "a pair has a score in the forward pass and a rank-1 term in the backward pass",
    Verdict.STATED,
    printed="""In the picture, the "contribution to the weight update of $W_{qk}$ (backward pass, see Equation (8))" is
    the product of $K_{ij}$ and the dot product of the error and the context embedding, as in the proof: "Let the
    attention scores be computed without the row-wise softmax operation".""",
    place="Section 2.2 (Figure 1) and Section S1.3 (Eq. S33)",
    remark=r"""With the softmax, $K_{ij}$ is multiplied by $\beta_{ij}$, the derivative with respect to the score. This
    derivative contains the difference between the value of $j$ and the average value of the row.""",
)
def forward_and_backward(toy=TOY, seed=0):
    g = first_layer(replace(toy, n_layers=1), Objective.AUTOREGRESSIVE, seed)
    scores = (g.layer.x @ g.layer.w_qk @ g.layer.x.T).requires_grad_()  # forward: x_i^T W_qk x_j
    scaled = g.scale * scores
    weights = scaled.masked_fill(~g.layer.mask, -torch.inf).softmax(-1)
    (error,) = torch.autograd.grad((weights * g.weights).sum(), scores)  # backward: g.weights = dL/dalpha
    without = g.scale * g.weights * g.layer.mask
    products = torch.einsum("id,hjd->hij", g.errors, g.layer.values) * g.scale * g.layer.mask
    difference = (weights.detach() - g.layer.weights).abs().max()
    yield exact("forward pass: largest difference in the attention weights", difference)
    yield exact(
        r"backward pass: largest difference between $\beta$ and the derivative with respect to the score",
        (error - g.beta).abs().max(),
    )
    words = r"backward pass: relative error of the dot product $\delta_i^\top x_j$"
    yield compare(f"{words} with softmax", relative_error(products, error), "≠", 0, DIFFERENT)
    yield exact(f"{words} without softmax", relative_error(products, without))


show(forward_and_backward(seed=seed))

# %% [markdown]
# ## Which tokens i and j are
#
# In the gradient, $i$ is the position of the *query*, and $j$ runs over all positions to which $i$ attends, including $i$
# itself. In each term $\beta_{ij}\, x_i x_j\T$ of the gradient of $\Wqk$, the left factor $x_i$ is therefore the embedding
# at a query position:
#
# - With a causal mask, the query is computed from the last token before the predicted token, and never from the predicted
#   token itself. The first position attends only to itself, so its coefficients are zero.
# - In a single-layer model that is trained with the masked objective, all of these queries are computed from the mask token,
#   at different positions.
# - In the lower layers of a deeper model, positions with visible tokens also act as queries, because the loss depends on
#   these positions through the layers above.


# %%
def query_side(x: Float[Tensor, "n d"]) -> Tensor:
    """``x_i`` of K_ij: the embedding at the query position itself."""
    return x


def share_of_queries(beta: Float[Tensor, "heads n n"], queries: Tensor) -> float:
    """Share of ``sum_ij beta_ij^2`` in the rows of some positions, a mask (N,)."""
    return float(beta[:, queries].square().sum() / beta.square().sum())


@claim(
    "2.2",
    "Eqs. 7, 8 (index sets)",
    "a pair consists of the embeddings at the query position and at an attended position",
    Verdict.MISPRINT,
    printed=r"""$\beta_{ij}$ is "the contribution of the token embedding $x_j$ to the error in predicting the token
    embedding $x_i$", and $K_{ij}$ is formed from these two embeddings: "$K_{ij}^{l-1} = x_i^{l-1} x_j^{l-1 \top}$".""",
    place="Section 2.2, Eqs. 8 and 10",
    holds="""$x_i$ is the embedding at the query position. With a causal mask, this is the embedding of the last token
    *before* the predicted token. In masked training of a single layer, it is the embedding of the mask token. The
    index $j$ runs over all attended positions, including $i$. Below the last layer, visible positions also act as
    queries.""",
    remark="""The left factor $x_i$ in the update of $W_{qk}$ is therefore the embedding from which a token is
    predicted, not the embedding of the predicted token.""",
)
def pairs_that_count(toy=TOY, seed=0):
    toy = replace(toy, n_tokens=toy.n_tokens + 1)
    for objective in TRAINED:
        run = ToyTransformer.random(toy, seed).example(objective, seed)
        g, last, predicts, masked = run.gradient(0), run.gradient(-1), run.losses > 0, objective is Objective.MASKED
        x = g.layer.x
        attended = relative_error(query_side(x).T @ g.beta @ x, g.w_qk)
        yield exact(f"relative error with $x_i$ at the query position, {objective}", attended)
        if masked:
            words = r"share of $\sum \beta_{ij}^2$ with a visible token as query, masked,"
            yield exact(f"{words} last layer", share_of_queries(last.beta, ~predicts))
            yield compare(f"{words} first layer", share_of_queries(g.beta, ~predicts), ">", 0, 0.01)
        else:
            predicted = relative_error(x.roll(-1, 0).T @ g.beta @ x, g.w_qk)
            words = f"relative error with $x_i$ of the predicted token, {objective}"
            yield compare(words, predicted, "≠", 0, DIFFERENT)


show(pairs_that_count(seed=seed))

# %% [markdown]
# ## The loss of one token
#
# According to Eq. S36 of the paper, the gradient of the loss of one token contains a single row of coefficients in every
# layer. This is correct for the last layer, where $x_n^L$ depends only on $\hat x_n^L$ and not on the vectors $\hat x_i^L$
# at other positions. In the layers below, the loss at position $n$ depends on every position to which $n$ attends in a later
# layer.


# %%
def rows_that_count(beta: Float[Tensor, "heads n n"], position: int) -> Tensor:
    """Which rows of beta make up the gradient of the loss at a position: all of them."""
    return beta


@claim(
    "2.2",
    "Eq. S36",
    "the loss of one token has coefficients in many rows",
    Verdict.MISPRINT,
    printed=r""""$\nabla_{W_{qk}^l} \mathcal{L}(t_i) = \sum_{j \in \mathcal{C}_i} \beta_{ij}^l K_{ij}^{l-1}$": one row of $\beta$
    per predicted token, in every layer.""",
    place="Section S1.3, Eq. S36",
    holds=r"""$\nabla L(t_n) = \sum_i \sum_j \beta^{(n)}_{ij} K_{ij}$ with $g_i = \partial L(t_n) / \partial \hat x_i$.
    In the last layer, only row $i = n$ differs from 0. In the layers below, the row of every attended position can
    differ from 0.""",
    remark="The sum over $n$ (Eq. S37) has the same form, where $i$ is a query position.",
)
def rows_of_one_loss(toy=TOY, seed=0):
    for objective in TRAINED:
        run = ToyTransformer.random(toy, seed).example(objective, seed)
        position = int(run.losses.nonzero()[-1])  # the last position that predicts: it attends to most others
        for layer, where in ((1, "last layer"), (0, "layer below")):
            g = run.gradient(layer, run.losses[position])
            one_row = torch.zeros_like(g.beta)
            one_row[:, position] = g.beta[:, position]
            every, alone = (gradient_sum(b, g.layer.x) for b in (rows_that_count(g.beta, position), one_row))
            yield exact(f"relative error with all rows, {objective}, {where}", relative_error(every, g.w_qk))
            words, error = f"relative error with only row $i$, {objective}, {where}", relative_error(alone, g.w_qk)
            yield exact(words, error) if layer else compare(words, error, "≠", 0, DIFFERENT)


show(rows_of_one_loss(seed=seed))

# %% [markdown]
# The sum over all losses (Eq. S37) has the same form, where $i$ is a query position. Eq. 9 of the paper is the same sum,
# grouped by context. In Eqs. 9 and S38, the two summation signs are in the wrong order, because the set $P_j$ depends on
# $j$.
#
# ## The steps of the proof
#
# Five steps between Eq. S23 and Eq. S32 of the paper need a correction. None of these corrections changes the form of
# {eq}`eq-2-2-sum`.
#
# **The model (Eqs. S23 to S25).** Both the loss and its gradient lack a minus sign, so the two are consistent with each
# other. According to Eq. S24, token $i$ is predicted from the embedding of token $i$ itself, which the residual connection
# passes on to the output. In Eq. S25, attention is added to $\hat x_i^{l-1}$ instead of $x_i^{l-1}$.


# %%
@claim(
    "2.2",
    "Eqs. S23, S28, S31",
    "the loss and its gradient lack a minus sign",
    Verdict.MISPRINT,
    printed=r""""$\mathcal{L}(U) = \sum_{i=1}^N \mathcal{L}(t_i)$ $= \sum_{i=1}^N t_i \log(\sigma(z_i))$", and "$(t_i -
    \sigma(z_i))^\top W_u^\top$" in its gradient.""",
    place="Section S1.3, Eqs. S23, S28 and S31",
    holds=r"The loss is $L(U) = -\sum_i t_i^\top \log \sigma(z_i)$, and its gradient is $(\sigma(z_i) - t_i)^\top W_u^\top$.",
    remark="""The two printed expressions are consistent with each other, because both belong to the log-likelihood. In
    Remark S1.6, the gradient is added instead of subtracted, so the two errors cancel, and the step decreases the
    loss.""",
)
def loss_sign(seed=0):
    model = ToyTransformer.random(ToyConfig(), seed)
    run = model.example(Objective.BIDIRECTIONAL, seed)
    (descent,) = torch.autograd.grad(run.losses.sum(), run.layers[-1].output, retain_graph=True)
    losses, log_p = run.losses.detach(), run.logits.detach().log_softmax(-1)
    targets = one_hot((log_p + losses[:, None]).abs().argmin(-1), log_p.shape[-1])  # the loss is -log p of the target
    printed, error = (targets * log_p).sum(), (targets - log_p.exp()) @ model.wu.detach().T
    yield exact("Eq. S23 with a minus sign, divided by the negative log-likelihood", SIGN * printed / losses.sum(), 1)
    yield exact(r"relative error of $(\sigma(z_i) - t_i)^\top W_u^\top$", relative_error(SIGN * error, descent))
    yield compare("Eq. S23 as printed, divided by the negative log-likelihood", printed / losses.sum(), "≠", 1, 1e-3)


show(loss_sign(seed=seed))


# %%
def from_itself(model: ToyTransformer, losses: Float[Tensor, " some"], predicted: Int[Tensor, " some"]) -> float:
    """The largest derivative of a loss by the embedding of the token that it predicts."""
    rows = (torch.autograd.grad(loss, model.we, retain_graph=True)[0] for loss in losses)
    return max(float(row[token].norm()) for row, token in zip(rows, predicted, strict=True))


@claim(
    "2.2",
    "Eq. S24",
    "a predicted token is contained in the input from which it is predicted",
    Verdict.MISPRINT,
    printed=r""""[W]e let $z_i$ be the prediction of the $i$-th token $t_i$", and "$x_i^{0\top} = t_i^\top W_e + W_p$" is the
    embedding of $t_i$.""",
    place="Section S1.3, Eq. S24",
    holds="With a causal mask, $z_i$ predicts $t_{i+1}$. In masked training, $x_i^0$ is the embedding of the mask"
    " token.",
    remark="With the printed equation, the residual connection passes the embedding of the target on to the"
    " prediction.",
)
def prediction_from_its_own_input(n_tokens=8, seed=0):
    model = ToyTransformer.random(ToyConfig(n_tokens=n_tokens, n_vocab=n_tokens), seed)
    tokens = torch.randperm(n_tokens, generator=torch.Generator().manual_seed(seed))  # each has its own row of W_e
    masked, words = every_third(n_tokens), "derivative of a prediction with respect to the embedding of its target,"
    log_p = model.run(tokens, Objective.AUTOREGRESSIVE).logits.log_softmax(-1)
    shifted, printed = (
        from_itself(model, -log_p[: n_tokens - ahead].gather(1, tokens[ahead:, None])[:, 0], tokens[ahead:])
        for ahead in (AHEAD, 0)
    )
    hidden = model.run(tokens, Objective.MASKED, masked).losses[masked]
    yield exact(f"{words} causal, target shifted by one", shifted)
    yield exact(f"{words} masked", from_itself(model, hidden, tokens[masked]))
    yield compare(f"{words} causal, Eq. S24 as printed", printed, "≠", 0, DIFFERENT)


show(prediction_from_its_own_input(seed=seed))


# %%
def residual(below: LayerPass) -> Tensor:
    """``x^{l-1}``, what attention is added to, from the layer below, (N, d)."""
    return below.output


@claim(
    "2.2",
    "Eq. S25",
    "attention is added to the input of the layer",
    Verdict.MISPRINT,
    printed=r'"$\hat x_i^{l\top} = \hat x_i^{l-1 \top} + a_l(x_i^{l-1})$"',
    place="Section S1.3, Eq. S25",
    holds=r"$\hat x_i^l = x_i^{l-1} + a_l(x_i^{l-1})$, as in Eq. S1",
    maybe_copying=True,
)
def residual_input(seed=0):
    below, layer = ToyTransformer.random(ToyConfig(), seed).example(Objective.AUTOREGRESSIVE, seed).layers
    attention, sums = (layer.weights @ layer.values).sum(0), layer.attended.detach()
    right, printed = (relative_error((x + attention).detach(), sums) for x in (residual(below), below.attended))
    yield exact("relative error of $x_i^{l-1} + a_l$ against Eq. S1", right)
    yield compare(r"relative error of $\hat x_i^{l-1} + a_l$ against Eq. S1", printed, "≠", 0, 1e-2)


show(residual_input(seed=seed))

# %% [markdown]
# **The chain rule (Eqs. S27 to S32).** The derivative of the loss with respect to *one* attention weight contains only one
# value vector. The sum over $j$ arises only afterwards, from applying the chain rule to all attention weights of a row. In
# addition, the Jacobians of the layers above have to be multiplied, not added. Let $F_m'$ be the Jacobian of what block $m$
# adds to the residual stream, taken over the whole sequence, and let $m_l'$ be the Jacobian of the feedforward layer. Then
#
# $$
# \frac{\partial X^L}{\partial \hat X^l} = (I + F_L') (I + F_{L-1}') \cdots (I + F_{l+1}') (I + m_l') .
# $$ (eq-2-2-jacobian)
#
# The paper has $1 + \sum_m F_m'$ instead of the product. If $F_m'$ is the Jacobian of what block $m$ adds to the residual
# stream, this sum is the first-order part of the product, and it is exact if there is only a single layer above. If $F_m'$
# is instead the Jacobian of $\mathcal F_l$ as defined in Eqs. S24 and S25 of the paper, which already contains the residual
# connection, the additional 1 is wrong.


# %%
def one_value(gain: Float[Tensor, "heads n n"], mask: Tensor) -> Tensor:
    """``dL/dalpha_ij = g_i^T v_j``, from gain = g_i^T v_j."""
    return gain


def summed_values(gain: Float[Tensor, "heads n n"], mask: Tensor) -> Tensor:
    """Equation S28 as printed: ``g_i^T sum_{j in C_i} v_j`` for every j."""
    return (gain * mask).sum(-1, keepdim=True).expand_as(gain)


@claim(
    "2.2",
    "Eqs. S27, S28, S31, S32",
    "the derivative with respect to one attention weight contains a single value",
    Verdict.MISPRINT,
    printed=r"""$\partial L / \partial \alpha_{ij}$ ends in "$W_v^\top \sum_{j \in C_i} x_j^{l-1}$", and "$\nabla_{w^l}
    \mathcal{L}(t_i) = \frac{\partial \mathcal{L}(t_i)}{\partial \alpha_{ij}^l} \frac{\partial \alpha_{ij}^l}{\partial
    w^l}$" has no sum.""",
    place="Section S1.3, Eqs. S27, S28, S31 and S32",
    holds=r"""$\partial L / \partial \alpha_{ij} = \delta_i^\top x_j$, and $\nabla_w L = \sum_{j \in C_i} (\partial L / \partial
    \alpha_{ij}) (\partial \alpha_{ij} / \partial w)$.""",
    remark="The corrected steps lead to the result in Eq. S32.",
)
def single_weight_derivative(seed=0):
    for objective in TRAINED:
        g = first_layer(ToyConfig(), objective, seed)
        gain = g.errors @ g.layer.values.mT
        right, printed = (relative_error(f(gain, g.layer.mask), g.weights) for f in (one_value, summed_values))
        yield exact(rf"relative error of $g_i^\top v_j$, {objective}", right)
        yield compare(rf"relative error of $\sum_j g_i^\top v_j$, {objective}", printed, "≠", 0, DIFFERENT)


show(single_weight_derivative(seed=seed))


# %%
def product_of_jacobians(blocks: list[Tensor], feedforward: Float[Tensor, "n n"]) -> Tensor:
    """``prod_m (I + F_m') (I + m')``, later blocks on the left; every F_m' is the Jacobian of a block's increment."""
    total = torch.eye(len(feedforward), dtype=feedforward.dtype) + feedforward
    for block in blocks:
        total = total + block @ total
    return total


def sum_of_jacobians(blocks: list[Tensor], feedforward: Float[Tensor, "n n"]) -> Tensor:
    """Equation S29 as printed: ``(I + sum_m F_m') (I + m')``."""
    identity = torch.eye(len(feedforward), dtype=feedforward.dtype)
    return (identity + sum(blocks)) @ (identity + feedforward)


@claim(
    "2.2",
    "Eqs. S29, S30",
    "the Jacobian of the layers above is a product, not a sum",
    Verdict.MISPRINT,
    printed=r'''"$\frac{\partial x_i^L}{\partial \hat x_i^l}$ $= \big(1 + \sum_{m=l}^{L-1} \mathcal{F}'_l(x_i^m)\big) \big(1 +
    m'_l(\hat x_i^l)\big)$"''',
    place="Section S1.3, Eqs. S29 and S30",
    holds=r"""For the whole sequence, $\partial X^L / \partial \hat X^l = \prod_{m = L}^{l+1} (I + F'_m)\, (I + m'_l)$,
    where $F'_m$ is the Jacobian of what block $m$ adds.""",
    remark=r"""The correction changes only the definition of $\delta$ and not the form of the result. In addition, the
    index of $\mathcal{F}'_l$ should be the index of the sum.""",
)
def jacobian_of_later_layers(d=12, n_tokens=4, n_above=2, seed=0):
    toy = ToyConfig(d=d, n_heads=2, n_layers=n_above + 1, n_tokens=n_tokens, d_mlp=2 * d)
    model = ToyTransformer.random(toy, seed)
    layers = model.example(Objective.BIDIRECTIONAL, seed).layers
    mask, start = layers[0].mask, layers[0].attended.detach()

    def above(x):  # x-hat of the lowest layer to the last output
        x = model.feedforward(0, x)
        for index in range(1, n_above + 1):
            x = model.layer(index, x, mask).output
        return x

    def square(function, at):  # Jacobian over the whole sequence, (N d, N d)
        return jacobian(function, at).reshape(at.numel(), at.numel())

    truth, feedforward = square(above, start), square(lambda x: model.feedforward(0, x) - x, start)
    blocks = [
        square(lambda x, i=i: model.layer(i, x, mask).output - x, layers[i].x.detach()) for i in range(1, n_above + 1)
    ]
    printed = relative_error(sum_of_jacobians(blocks, feedforward), truth)
    yield exact("relative error of the product", relative_error(product_of_jacobians(blocks, feedforward), truth))
    yield compare(f"relative error of the sum as printed, with {n_above} layers above", printed, "≠", 0, 1e-2)


show(jacobian_of_later_layers(seed=seed))

# %% [markdown]
# ## The two terms of one pair
#
# By {prf:ref}`rem-s1-6`, the pair $(i, j)$ contributes $\Wq \Wq\T K_{ij} + K_{ij} \Wk \Wk\T$ to the update, up to its
# coefficient. In Eq. S41 of the paper, a transpose is missing in the first term.


# %%
def left_factor(w: Float[Tensor, "d d_head"]) -> Float[Tensor, "d d"]:
    """``W_q W_q^T``, which takes x_i to x-bar_i."""
    return w @ w.T


@claim(
    "S1.6",
    "Eq. S41",
    "the first of the two terms of a pair lacks a transpose",
    Verdict.MISPRINT,
    printed=r'"$W_q^l W_q^{l\top} K_{ij}^{l-1} = (W_q^l W_q^l x_i^{l-1})\, x_j^{l-1 \top}$"',
    place="Section S1.3, Remark S1.6, Eq. S41",
    holds=r"""$W_q W_q^\top K_{ij} = (W_q W_q^\top x_i) x_j^\top$. Each of the two terms has rank 1, and the matrix
    that the pair adds to $W_{qk}$ has rank 2.""",
    maybe_copying=True,
)
def terms_of_the_step(d=24, d_head=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((2, d, d_head), (d, d), (2, d))  # where d_head = d alone is there a W_q W_q
    (wq, wk), square, (x, y) = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes)
    k = torch.outer(x, y)
    first, second = wq @ wq.T @ k, k @ wk @ wk.T
    printed = relative_error(torch.outer(square @ square @ x, y), square @ square.T @ k)
    right = relative_error(torch.outer(left_factor(wq) @ x, y), first)
    yield exact(r"relative error with $\bar x_i = W_q W_q^\top x_i$", right)
    yield compare(r"relative error with $\bar x_i = W_q W_q x_i$ and $d_h = d$", printed, "≠", 0, DIFFERENT)
    yield exact("rank of the matrix that the pair adds", torch.linalg.matrix_rank(first + second), 2, 0)


show(terms_of_the_step(seed=seed))

# %% [markdown]
# ## How far a step points from the gradient
#
# ````{prf:proposition} Remark S1.6 of the paper, corrected: alignment of update and gradient
# :label: rem-s1-6-alignment
#
# Let the entries of the $d \times d_h$ matrices $\Wq$ and $\Wk$ be independent Gaussian variables with mean zero and equal
# variance, and let $G$ be independent of them. To first order in $\eta$, and with expectations taken over the factors, we
# have
#
# $$
# \frac{\mathrm{E}\,\langle \Delta \Wqk, -G \rangle}{\sqrt{\mathrm{E}\,\|\Delta \Wqk\|^2}\; \|G\|}
# = \sqrt{\frac{2 d_h}{d + 2 d_h + 1}} .
# $$ (eq-s1-6-alignment)
#
# If $G$ is symmetric, then, with $t = \operatorname{Tr}(G)^2 / \|G\|^2$,
#
# $$
# \frac{\mathrm{E} \operatorname{Tr}(\Delta \Wqk \Delta \Wqk)}{\mathrm{E}\, \|\Delta \Wqk\|^2}
# = \frac{2 d_h + 1 + t}{d + 2 d_h + 1} .
# $$ (eq-s1-6-symmetry)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Without loss of generality, let the variance be 1. Then $A = \Wq \Wq\T = \sum_{c=1}^{d_h} w_c w_c\T$ with independent
# standard Gaussian columns $w_c$. The matrix $B = \Wk \Wk\T$ is independent of $A$ and has the same distribution. For one
# column $w$ and a fixed matrix $M$, Wick's rule gives $\mathrm{E}[w w\T M w w\T] = M + M\T + \operatorname{Tr}(M) I$. For
# two different columns, we have $\mathrm{E}[w_c w_c\T M w_{c'} w_{c'}\T] = M$. Hence $\mathrm{E} A = d_h I$ and
#
# $$
# \mathrm{E}[A M A] = d_h^2 M + d_h \bigl(M\T + \operatorname{Tr}(M) I\bigr), \qquad
# \mathrm{E} A^2 = d_h (d + d_h + 1) I .
# $$
#
# Let $D = AG + GB = -\Delta \Wqk / \eta$. Since $A$ and $B$ are independent, we have
#
# $$
# \begin{aligned}
# \mathrm{E} \langle D, G \rangle
# &= \operatorname{Tr}(\mathrm{E}[A]\, G G\T) + \operatorname{Tr}(G\T G\, \mathrm{E}[B]) = 2 d_h \|G\|^2 , \\
# \mathrm{E} \|D\|^2
# &= \operatorname{Tr}(G\T \mathrm{E}[A^2] G) + \operatorname{Tr}(G\, \mathrm{E}[B^2] G\T)
# + 2 \operatorname{Tr}(\mathrm{E}[A]\, G\, \mathrm{E}[B]\, G\T) \\
# &= 2 d_h (d + d_h + 1) \|G\|^2 + 2 d_h^2 \|G\|^2 = 2 d_h (d + 2 d_h + 1) \|G\|^2 .
# \end{aligned}
# $$
#
# Dividing the first expectation by $\|G\|$ and by the square root of the second expectation gives {eq}`eq-s1-6-alignment`.
# If $G = G\T$, we have
#
# $$
# \begin{aligned}
# \mathrm{E} \operatorname{Tr}(D D)
# &= \operatorname{Tr}(G\, \mathrm{E}[A G A]) + \operatorname{Tr}(G\, \mathrm{E}[B G B])
# + 2 \operatorname{Tr}(\mathrm{E}[A]\, G\, G\, \mathrm{E}[B]) \\
# &= 2 (d_h^2 + d_h) \|G\|^2 + 2 d_h \operatorname{Tr}(G)^2 + 2 d_h^2 \|G\|^2 = 2 d_h (2 d_h + 1 + t) \|G\|^2 .
# \end{aligned}
# $$
#
# Dividing this expectation by $\mathrm{E} \|D\|^2$ gives {eq}`eq-s1-6-symmetry`.
# ```
# ````
#
# ## Biases, rotary positions, shared layers
#
# {prf:ref}`rem-s1-6` applies to a layer as defined in {prf:ref}`def-s1-1`, in which queries and keys have no biases,
# position embeddings are added to token embeddings, and every layer has its own factors. Many models differ from this
# definition. For example, BERT has biases, many later models rotate queries and keys by angles that depend on their
# positions, and all layers of ALBERT share one $\Wq$ and one $\Wk$.
#
# ````{prf:proposition} The update with biases, rotary positions and shared layers (ours)
# :label: prop-s1-6-beyond
#
# Let $\beta_{ij}$ be the exact coefficients {eq}`eq-2-2-beta`, let $G = \sum \beta_{ij} K_{ij}$, and let $\Wq$ and $\Wk$ be
# updated by one step of gradient descent with learning rate $\eta$. To first order in $\eta$, the following statements are
# true.
#
# 1. If the queries are $\Wq\T x_i + b_q$ and the keys are $\Wk\T x_j + b_k$, then
#
# $$
# \Delta \Wqk = -\eta\, \Bigl( \Wq \Wq\T G + G\, \Wk \Wk\T + \Wq b_q \Bigl( \sum_{i,j} \beta_{ij} x_j \Bigr)^{\!\top} \Bigr) ,
# $$ (eq-s1-6-biases)
#
# whatever $b_k$ is.
#
# 2. If the queries are $R_i \Wq\T x_i$ and the keys are $R_j \Wk\T x_j$, where $R_i = R_1^i$ and $R_1$ is a rotation, then
#
# $$
# \Delta \Wqk = -\eta \sum_{i,j} \beta_{ij} \bigl( \Wq R_{j-i}\T \Wq\T K_{ij} + K_{ij} \Wk R_{j-i}\T \Wk\T \bigr) .
# $$ (eq-s1-6-rotary)
#
# 3. If several layers share $\Wq$ and $\Wk$, the first-order terms of {eq}`eq-s1-6-step` remain correct if $G = \sum_l G_l$
#    is the sum over these layers, where $G_l$ is the gradient with respect to the $\Wqk$ of layer $l$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *Part 1.* Before scaling, the score is $(\Wq\T x_i + b_q) \cdot (\Wk\T x_j + b_k)$. We multiply the derivatives of the
# scores by $\beta_{ij}$ and add them up. The resulting derivative with respect to $\Wq$ is $G \Wk + u\, b_k\T$, and the
# derivative with respect to $\Wk$ is $G\T \Wq + v\, b_q\T$, where $u = \sum_i x_i \sum_j \beta_{ij}$ and $v = \sum_{i,j}
# \beta_{ij} x_j$. By {prf:ref}`prop-2-2`, whose proof is valid for any scores under a softmax, we have $u = 0$. The
# first-order change in $\Wq \Wk\T$ is $-\eta \bigl( \Wq (\partial L / \partial \Wk)\T + (\partial L / \partial \Wq) \Wk\T
# \bigr)$, which is {eq}`eq-s1-6-biases`. The coefficients $\beta_{ij}$ do not depend on $b_k$ either, because $b_k$ adds the
# same number $q_i\T b_k$ to all scores of row $i$.
#
# *Part 2.* Before scaling, the score is $x_i\T \Wq R_{j-i} \Wk\T x_j$, because $R_i\T R_j = R_{j-i}$. The derivative with
# respect to $\Wq$ is $K_{ij} \Wk R_{j-i}\T$, and the derivative with respect to $\Wk$ is $K_{ij}\T \Wq R_{j-i}$. The rest of
# the proof is the same as in part 1.
#
# *Part 3.* By the chain rule, we have $\partial L / \partial \Wq = \sum_l G_l \Wk$ and $\partial L / \partial \Wk = \sum_l
# G_l\T \Wq$.
# ```
# ````
#
# In BERT, the left factor $\Wq b_q$ of the bias term is the same for all sequences of a training step. With rotary
# positions, the update is not a function of $G$, because the terms of pairs at different distances are rotated differently
# before they are added.


# %%
class Head(NamedTuple):
    """One causal head with biases, whose queries and keys are turned, between inputs and a prediction of tokens."""

    x: Tensor  # (N, d)
    wq: Tensor  # (d, d_head)
    wk: Tensor  # (d, d_head)
    bq: Tensor  # (d_head,)
    bk: Tensor  # (d_head,)
    turns: Tensor  # (N, d_head, d_head), R_i
    values: Tensor  # (N, d)
    wu: Tensor  # (d, V)
    targets: Tensor  # (N,)


def random_head(d: int = 12, d_head: int = 4, n_tokens: int = 7, seed: int = 0) -> Head:
    """Normal entries, nothing turned."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    targets = torch.randint(9, (n_tokens,), generator=generator)
    factors, biases = [normal(d, d_head) / d**0.5 for _ in range(2)], [normal(d_head) for _ in range(2)]
    upright = torch.eye(d_head, dtype=torch.float64).expand(n_tokens, -1, -1)
    return Head(normal(n_tokens, d), *factors, *biases, upright, normal(n_tokens, d), normal(d, 9), targets)


def rotations(n_tokens: int, d_head: int) -> Float[Tensor, "n d_head d_head"]:
    """``R_i``: planes of neighbouring coordinates turn by the position over the number of the plane."""
    one = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    turn = torch.block_diag(*(one / plane for plane in range(1, d_head // 2 + 1)))
    return torch.stack([torch.matrix_exp(i * turn) for i in range(n_tokens)])


def backward(head: Head) -> tuple[Tensor, Tensor]:
    """``W_q (dL/dW_k)^T + dL/dW_q W_k^T`` by automatic differentiation, and the exact beta (N, N)."""
    wq, wk = head.wq.clone().requires_grad_(), head.wk.clone().requires_grad_()
    sides = ((wq, head.bq), (wk, head.bk))
    q, k = (torch.einsum("nab,nb->na", head.turns, head.x @ w + b) for w, b in sides)
    scale, ahead = len(head.bq) ** -0.5, torch.ones(len(q), len(q)).triu(1).bool()
    weights = (scale * q @ k.T).masked_fill(ahead, -torch.inf).softmax(-1)
    attended = head.x + weights @ head.values
    loss = cross_entropy(attended @ head.wu, head.targets, reduction="sum")
    grad_q, grad_k, errors = torch.autograd.grad(loss, (wq, wk, attended))
    return head.wq @ grad_k.T + grad_q @ head.wk.T, exact_coefficients(weights.detach(), head.values, errors, scale)


def bias_term(head: Head, beta: Float[Tensor, "n n"]) -> Tensor:
    """``W_q b_q (sum_ij beta_ij x_j)^T``: what biases add; that of the keys adds nothing."""
    return torch.outer(head.wq @ head.bq, head.x.T @ beta.sum(0))


def rotary_step(head: Head, beta: Float[Tensor, "n n"]) -> Tensor:
    """``sum_ij beta_ij (W_q R^T W_q^T K_ij + K_ij W_k R^T W_k^T)`` with ``R = R_i^T R_j``."""
    back = torch.einsum("jba,ibc->ijac", head.turns, head.turns)  # R_j^T R_i
    pairs = torch.einsum("ij,ia,jb->ijab", beta, head.x, head.x)
    return (head.wq @ back @ head.wq.T @ pairs + pairs @ head.wk @ back @ head.wk.T).sum((0, 1))


@claim(
    "S1.6",
    "(biases, rotary positions)",
    "biases of queries add one term to the update, and rotary positions rotate its terms",
    Verdict.HOLDS,
    ours=True,
    printed="""Eq. S40 is about a layer of Definition S1.1, in which positions are added to the embeddings. The
    definition states: "We omit layer normalization and biases for simplicity".""",
    place="Section S1.3, Remark S1.6, Eq. S40, and Definition S1.1",
    holds=r"""If queries have biases, as in BERT, the term $W_q b_q (\sum \beta_{ij} x_j)^\top$ is added to the sum.
    Key biases do not add a term. With rotary positions, the terms of a pair are $W_q R_{j-i}^\top W_q^\top K_{ij} +
    K_{ij} W_k R_{j-i}^\top W_k^\top$.""",
)
def step_beyond_the_definition(seed=0):
    head = random_head(seed=seed)
    none = torch.zeros_like(head.bq)
    turned = head._replace(bq=none, bk=none, turns=rotations(len(head.x), len(none)))
    (biased, beta), (rotary, beta_rotary) = backward(head), backward(turned)
    plain, unturned = (step_of_factors(head.wq, head.wk, gradient_sum(b, head.x)) for b in (beta, beta_rotary))
    without = backward(head._replace(bk=none))[0]
    yield exact(
        "relative error with biases, including their term", relative_error(plain + bias_term(head, beta), biased)
    )
    yield compare("relative error with biases, without their term", relative_error(plain, biased), "≠", 0, 0.01)
    yield exact("relative change of the update when the keys lose their bias", relative_error(without, biased))
    words, step = "relative error with rotary positions,", rotary_step(turned, beta_rotary)
    yield exact(f"{words} with a rotation in each term", relative_error(step, rotary))
    yield compare(f"{words} without rotations in the terms", relative_error(unturned, rotary), "≠", 0, DIFFERENT)


show(step_beyond_the_definition(seed=seed))

# %% [markdown]
# ## Several heads, and Adam
#
# If a layer has several heads, the loss is not a function of the summed matrix $\sum_h W_{qk,h}$, because every head has its own softmax
# and its own values. The update of the layer is the sum of the updates of the heads, and each head has its own gradient $G_h$.


# %%
def every_head_its_own(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-sum_h (W_q,h W_q,h^T G_h + G_h W_k,h W_k,h^T)``: the first-order update of a layer's form, eta = 1."""
    return -step_of_factors(form.wq, form.wk, gradients).sum(0)


def heads_as_one(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-(W_q W_q^T G + G W_k W_k^T)`` with all columns of the factors and one G, the mean over heads (Eq. S39)."""
    return -step_of_factors(*form.merged(), gradients.mean(0))


@claim(
    "S1.6",
    "(several heads)",
    "the update of a layer is a sum over its heads",
    Verdict.ASSUMPTION,
    printed=r""""[T]he matrix $W_{qk}^l = W_q^l W_k^{l\top}$ is implicitly updated" by one gradient, $\sum \beta_{ij} K_{ij}$,
    that of the layer.""",
    place="Section S1.3, Remark S1.6, Eqs. S39 and S40",
    holds=r"""The statement is correct for a single head. If there are several heads, $\Delta W_{qk} = -\eta \sum_h (W_{q,h}
    W_{q,h}^\top G_h + G_h W_{k,h} W_{k,h}^\top)$. The loss is not a function of $\sum_h W_{qk,h}$, because every head
    has its own softmax and values.""",
    missing=("single head",),
)
def step_of_several_heads(toy=TOY, seed=0):
    for objective in TRAINED:
        model = ToyTransformer.random(toy, seed)
        run, form = model.example(objective, seed), model.form(0)
        grad_q, grad_k = torch.autograd.grad(run.losses.sum(), (model.wq, model.wk), retain_graph=True)
        slope = -(form.wq @ grad_k[0].mT + grad_q[0] @ form.wk.mT).sum(0)
        each, one = (relative_error(f(form, run.gradient(0).w_qk), slope) for f in (every_head_its_own, heads_as_one))
        yield exact(f"relative error with one $G$ for each head, {objective}", each)
        yield compare(f"relative error with one $G$ for all heads, {objective}", one, "≠", 0, DIFFERENT)


show(step_of_several_heads(seed=seed))

# %% [markdown]
# The authors train their models with AdamW. Apart from weight decay, the first step of AdamW follows the signs of the
# entries of the gradients with respect to $\Wq$ and $\Wk$. In models with random weights, this step points further away from
# $G$ than a step of gradient descent does.


# %%
def first_direction(gradient: Float[Tensor, "heads d d_head"]) -> Float[Tensor, "heads d d_head"]:
    """``sign(g)``: Adam's first step over its learning rate, against the gradient."""
    return gradient.sign()


@claim(
    "S1.6",
    "(optimiser)",
    "the first step of Adam points further away from the gradient than a step of gradient descent",
    Verdict.HOLDS,
    ours=True,
    printed="""
    "Let $W_q^l$ and $W_k^l$ be updated via gradient descent". The remark does not mention AdamW, with which the authors train
    their models (Section S2.3).
    """,
    place="Section S1.3, Remark S1.6",
    remark=r"""A step of Adam rescales every entry of the gradients of $W_q$ and $W_k$, so it is not a sum of $\beta_{ij} (W_q W_q^\top
    K_{ij} + K_{ij} W_k W_k^\top)$.""",
)
def first_adam_step(toy=TOY, draws=12, seed=0):
    for objective in TRAINED:
        gain = []
        for k in range(seed, seed + draws):
            form, g = ToyTransformer.random(toy, k).form(0), first_layer(toy, objective, k).w_qk
            step_q, step_k = first_direction(g @ form.wk), first_direction(g.mT @ form.wq)
            step = form.wq @ step_k.mT + step_q @ form.wk.mT
            gain.append(cosine(step, g) - cosine(step_of_factors(form.wq, form.wk, g), g))
        words = f"cosine of Adam's first step with $G$ minus the cosine of gradient descent, {objective}"
        yield monte_carlo(words, gain, 0, "<")


show(first_adam_step(seed=seed))
