# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: The gradient of $W_{qk}$
#
# Training never changes the [query-key matrix](bilinear_form.py) $\Wqk = \Wq \Wk\T$ directly. Training changes $\Wq$ and
# $\Wk$, and the product $\Wqk$ changes as a result. Proposition 2.2 of the paper {cite}`saponati2025` describes this change
# as a sum over pairs of tokens. On this page, we correct the proposition and prove it, and we present the checks behind two
# sections of the page [What do the paper's theorems explain?](symmetric_updates.py).
#
# **The gradient of $\Wqk$ is exactly a sum over pairs of tokens, provided that the coefficients take the softmax into
# account. A training step, however, points in a different direction.** For a head of BERT-base with random weights, the
# cosine between a training step and the gradient is only {glue:text}`bert-cos`.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [2, 16]
n_layers: int = 3  # layers of the toy Transformers; in [2, 6]
n_tokens: int = 8  # tokens of a sequence; in [4, 32]
d_wide: int = 64  # width for the alignment of step and gradient; in [16, 256]
draws: int = 60  # random factors drawn per head width; in [10, 300]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from dataclasses import replace

import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Float
from torch import Tensor

from chapters.implicit_gradient import alignment, one_pair
from livingpaper.display.page import glue, show
from attngeo.plot.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.objectives import TRAINED, Objective
from attngeo.gradients.rank_one import cosine, gradient_sum, rank_one_terms, relative_error, step_of_factors
from attngeo.gradients.toy_transformer import LayerGradient, ToyConfig, ToyTransformer, first_layer, sentence_gradient

TOY = ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens)
BERT = 768, 64  # width of BERT-base and of its heads
SEVERAL = 5  # pairs, the largest of a sequence


def printed_beta(g: LayerGradient, scale: float = 1.0) -> Float[Tensor, "heads n n"]:
    """``beta_ij = delta_i^T x_j = g_i^T v_j`` (Eqs. S31, S35) on the attended pairs: the gradient without a softmax."""
    return scale * (g.errors @ g.layer.values.mT) * g.layer.mask


def cosines_with_gradient(toy: ToyConfig, models: int, seed: int) -> pd.DataFrame:
    """Of a step on both factors and of sums of terms ``beta_ij x_i x_j^T``, for the first head of random models."""
    rows = []
    for objective in TRAINED:
        for k in range(seed, seed + models):
            g, form = first_layer(toy, objective, k), ToyTransformer.random(toy, k).form(0)
            terms = rank_one_terms(g.beta[0], g.layer.x).flatten(0, 1)  # (N * N, d, d)
            largest = terms[terms.flatten(1).norm(dim=1).argsort(descending=True)]
            matrices = {
                "training step (SGD)": step_of_factors(form.wq, form.wk, g.w_qk)[0],
                "largest pair": largest[0],
                f"{SEVERAL} largest pairs": largest[:SEVERAL].sum(0),
                "all pairs": terms.sum(0),
                "all pairs, without softmax": gradient_sum(printed_beta(g), g.layer.x)[0],
            }
            rows += [(objective.value, name, cosine(m, g.w_qk[0])) for name, m in matrices.items()]
    return pd.DataFrame(rows, columns=["objective", "matrix", "cosine with the gradient"])


@house_style()
def cosine_bars(cosines: pd.DataFrame) -> CaptionedFigure:
    """Mean and standard deviation over models, by objective."""
    figure, panel = new_figure(6.4, 2.7)
    colours = dict(zip([objective.value for objective in TRAINED], (DECODER, ENCODER), strict=True))
    x, y, hue = reversed(cosines.columns)
    sns.barplot(cosines, x=x, y=y, hue=hue, palette=colours, errorbar="sd", ax=panel)
    panel.axvline(1, color=NEUTRAL, linestyle="--")
    panel.set(ylabel="", xlim=(0, 1.05))
    sns.move_legend(panel, "lower right", bbox_to_anchor=(1, 1), ncol=2, title=None)
    caption = rf"""Cosine between the gradient of $\Wqk$ and several other matrices: a training step of gradient
    descent on $\Wq$ and $\Wk$, and sums of the terms $\beta_{{ij}} x_i x_j\T$ over some or all pairs. Bars show means
    over untrained Transformers of width {TOY.d} with heads of width {TOY.d_head}, and lines show standard deviations."""
    means = cosines.groupby("matrix", sort=False)["cosine with the gradient"].mean()
    alt = f"""Bars that show cosines with the gradient for two objectives. Means over both objectives:
    {"; ".join(f"{name}, {value:.2f}" for name, value in means.items())}."""
    return CaptionedFigure(figure, "fig-gradient-cosines", caption, alt)


cosines = cosines_with_gradient(TOY, 12, seed)

# %% tags=["remove-input"]
cosine_bars(cosines)


# %% tags=["remove-cell"]
def kept_symmetry(d: int, d_head: int, trace_share: float = 0.0) -> float:
    """``s(dW_qk) = (2 d_head + 1 + t) / (d + 2 d_head + 1)``, ``t = Tr(G)^2 / ||G||^2``, for a symmetric G."""
    return (2 * d_head + 1 + trace_share) / (d + 2 * d_head + 1)


by_matrix = cosines.groupby("matrix")["cosine with the gradient"]
assert by_matrix.min()["all pairs"] > 1 - 1e-12  # the proposition below
for name, value in {
    "largest": by_matrix.mean()[f"{SEVERAL} largest pairs"],
    "bert-cos": alignment(*BERT),
    "bert-s": kept_symmetry(*BERT),
    "square-cos": alignment(BERT[0], BERT[0]),
}.items():
    glue(name, value, ".2f")
glue("several", SEVERAL)
glue("n-causal", n_tokens * (n_tokens + 1) // 2)
glue("n-masked", n_tokens**2)

# %% [markdown]
# :::{admonition} How sure is this
# We prove the formulas on this page, and automatic differentiation in double precision agrees with them up to rounding
# errors. To compute the angle between step and gradient, we assume that the factors $\Wq$ and $\Wk$ are random and do not
# depend on the gradient. None of the results on this page comes from trained models.
# :::
#
# ## A pair of tokens adds an outer product
#
# Let $x_i$ be the input of a layer at position $i$. Let $A_i$ be the set of positions to which $i$ attends. A head of width
# $d_h$ compares $x_i$ with the inputs at these positions. The scores are $a_{ij} = x_i\T \Wqk x_j / \sqrt{d_h}$, and the
# output of the head is
#
# $$
# o_i = \sum_{j \in A_i} \alpha_{ij} v_j , \qquad \alpha_{ij} = \frac{e^{a_{ij}}}{\sum_{k \in A_i} e^{a_{ik}}} ,
# $$ (eq-2-2-head)
#
# where $v_j = W_o\T W_v\T x_j$ is the *value* of token $j$. Adding the outputs of all heads to $x_i$ gives $\hat x_i$. A
# feedforward layer may follow. In *autoregressive* models, $A_i = \{j \le i\}$, and at position $i$ the model predicts the
# token at position $i + 1$. In *masked* models, each position attends to all positions, and the model predicts the tokens
# that are hidden by masks. {numref}`fig-one-pair` shows what one pair of tokens contributes to the gradient.

# %% tags=["remove-input"]
one_pair(sentence_gradient(Objective.AUTOREGRESSIVE, seed, d=8))

# %% [markdown]
# ````{prf:proposition} Prop. 2.2 of the paper, corrected: the gradient of $\Wqk$ is a sum of rank-1 matrices
# :label: prop-2-2
#
# Let $L$ be any differentiable function of the outputs of a Transformer on one sequence, such as the sum of the negative
# log-likelihoods. For a head with query-key matrix $\Wqk$ in a layer with inputs $x_i$, we have
#
# $$
# \frac{\partial L}{\partial \Wqk} = \sum_i \sum_{j \in A_i} \beta_{ij} K_{ij}, \qquad K_{ij} = x_i x_j\T ,
# $$ (eq-2-2-sum)
#
# $$
# \beta_{ij} = \tfrac{1}{\sqrt{d_h}}\, \alpha_{ij}\; g_i\T (v_j - o_i), \qquad
# g_i = \frac{\partial L}{\partial \hat x_i} .
# $$ (eq-2-2-beta)
#
# Consequently, $\sum_{j \in A_i} \beta_{ij} = 0$ for every $i$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The inputs $x_i$ of the layer do not depend on the query-key matrix $\Wqk$ of this layer, and the loss depends on $\Wqk$
# only through the scores.
#
# *One weight.* The output $\hat x_i = x_i + \sum_h o_i^h$ is linear in the attention weights $\alpha_{ij}$ of row $i$, and
# no other output of the layer depends on these weights. Hence $\partial L / \partial \alpha_{ij} = g_i\T v_j$, with a single
# value $v_j$ and no sum over $j$. The vector $g_i$ accounts for everything that happens above this point, including
# attention between positions in later layers.
#
# *One score.* For a softmax over $A_i$, we have $\partial \alpha_{ik} / \partial a_{ij} = \alpha_{ik} (\delta_{jk} -
# \alpha_{ij})$. Hence
#
# $$
# \frac{\partial L}{\partial a_{ij}} = \sum_{k \in A_i} g_i\T v_k\, \alpha_{ik} (\delta_{jk} - \alpha_{ij})
# = \alpha_{ij} \Bigl( g_i\T v_j - \sum_{k \in A_i} \alpha_{ik}\, g_i\T v_k \Bigr)
# = \alpha_{ij}\, g_i\T (v_j - o_i) .
# $$
#
# *The query-key matrix.* The score $a_{ij}$ is linear in $\Wqk$, and $\partial a_{ij} / \partial \Wqk = x_i x_j\T /
# \sqrt{d_h}$. Applying the chain rule to all scores gives {eq}`eq-2-2-sum` with the coefficients {eq}`eq-2-2-beta`.
#
# *The sum of a row.* Since the attention weights of a row add up to 1, we have $\sum_j \alpha_{ij} (v_j - o_i) = o_i - o_i =
# 0$.
# ```
# ````
#
# In the paper, the coefficient is the product of an error and an embedding, $\beta_{ij} = \delta_i\T x_j$. In the paper, the
# index $i$ denotes the predicted token, whereas in our notation, it denotes the [position of the
# query](implicit_gradient_details.py#which-tokens-i-and-j-are). The paper also [divides the scores by $\sqrt
# d$](bilinear_form_details.py#heads-rank-scale-span) rather than $\sqrt{d_h}$. The paper's proof [needs several
# corrections](implicit_gradient_details.py#the-steps-of-the-proof), but none of them changes the form of the sum.
#
# In {numref}`fig-gradient-cosines`, the sum over all pairs has a cosine of 1 with the gradient. The sum over the
# {glue:text}`several` pairs with the largest terms has a cosine of {glue:text}`largest` with the gradient on average. In
# this example, an autoregressive model has {glue:text}`n-causal` pairs, and a masked model has {glue:text}`n-masked` pairs.


# %%
@claim(
    "2.2",
    "",
    "the gradient of a query-key matrix is a sum of rank-1 matrices",
    Verdict.ASSUMPTION,
    printed=r""""Following the gradient of $\mathcal{L}(U)$, the implicit weight update of $W_{qk}^l$ at the $l$-th layer is
    proportional to" the sum "$\sum_i \sum_{j \in C_i} \beta_{ij}^l K_{ij}^{l-1}$".""",
    place="Section 2.2, Proposition 2.2, Eq. 8",
    holds=r"""If $W_{qk,h}$ is treated as one parameter, then $\partial L / \partial W_{qk,h} = \sum_{i,j} \beta_{ij}^h
    K_{ij}$ exactly for every head. Here, $i$ runs over the query positions, $j$ runs over the positions to which $i$
    attends, and $\beta$ includes the softmax.""",
    missing=("one parameter",),
    remark="A training step on $W_q$ and $W_k$ does not change $W_{qk}$ in the direction of this gradient (Remark S1.6).",
)
def gradient_is_sum_of_rank_one(toy=TOY, n_layers=3, seed=0):
    for objective in TRAINED:
        for d_mlp, kind in ((2 * toy.d, "with"), (0, "without")):
            model = ToyTransformer.random(replace(toy, n_layers=n_layers, d_mlp=d_mlp), seed)
            run = model.example(objective, seed)
            # by automatic differentiation
            gradients = [run.gradient(layer) for layer in range(n_layers)]
            errors = [relative_error(gradient_sum(g.beta, g.layer.x), g.w_qk) for g in gradients]
            words = f"largest relative error over layers, {objective}, {kind} feedforward layers"
            yield exact(words, max(errors))
    terms = rank_one_terms(gradients[0].beta[0], gradients[0].layer.x)
    rank = torch.linalg.matrix_rank(terms).max()
    yield exact(r"largest rank of a term $\beta_{ij} K_{ij}$", rank, 1, 0)


show(gradient_is_sum_of_rank_one(n_layers=n_layers, seed=seed), unfolded=True)

# %% [markdown]
# ## With the softmax, a token is compared with the average token
#
# The paper's proof omits the softmax (Eq. S33) and arrives at $\beta_{ij} = g_i\T v_j$. The softmax changes the coefficients
# in two ways. First, the contribution of a pair is proportional to its attention weight $\alpha_{ij}$. Second, the value
# $v_j$ is replaced by its difference from $o_i$, the weighted average of the values to which position $i$ attends. If token
# $j$ helps less than this average, a gradient step on $\Wqk$ lowers the score of the pair. The coefficients of a row
# therefore add up to zero. As a consequence, a component that all embeddings share does not affect the gradient on the
# *column* side, although it does affect the gradient on the *row* side.


# %%
@claim(
    "2.2",
    "Eqs. S33-S36",
    "the coefficients of the sum are products of an error and an embedding",
    Verdict.STATED,
    printed=r""""Let the attention scores be computed without the row-wise softmax operation". In this case, "the term
    $\delta_i^{l\top} x_j^{l-1}$ is a scalar quantity that we define as $\beta_{ij}^l$".""",
    place="Section S1.3, Eqs. S33 to S36",
    holds=r"""Without the softmax, this is correct up to the scale of the scores. With the softmax, the coefficients
    are $\beta_{ij} = \tfrac{1}{\sqrt{d_h}} \alpha_{ij}\, g_i^\top (v_j - o_i)$, where $g_i = \partial L / \partial
    \hat x_i$, $v_j = W_o^\top W_v^\top x_j$ and $o_i = \sum_k \alpha_{ik} v_k$.""",
    remark=r"""Prop. 2.2 of the paper is about attention with a softmax, and only its proof omits the softmax. With the
    softmax, we have $\sum_j \beta_{ij} = 0$, so a component that all keys share does not affect the gradient.""",
)
def coefficients_without_softmax(toy=TOY, draws=12, seed=0):
    for objective in TRAINED:
        errors, cosines = [], []
        for k in range(seed, seed + draws):
            g = first_layer(toy, objective, k)
            errors.append(relative_error(gradient_sum(g.beta, g.layer.x), g.w_qk))
            cosines.append(cosine(gradient_sum(printed_beta(g), g.layer.x), g.w_qk))
        yield exact(rf"relative error of the sum with the exact $\beta$, {objective}", max(errors))
        words = f"cosine of the sum without softmax with the gradient, {objective}"
        yield monte_carlo(words, cosines, 1, "<", paper="= 1")
    shifted = g.layer.x + torch.linspace(-3, 3, toy.d).double()  # one vector added to every key's embedding
    yield exact(r"largest $|\sum_j \beta_{ij}|$, exact $\beta$", g.beta.sum(-1).abs().max())
    moved = relative_error(g.layer.x.T @ g.beta @ shifted, g.w_qk)
    yield exact("relative change of the sum when one vector is added to all keys", moved)
    g = first_layer(replace(toy, softmax=False), Objective.AUTOREGRESSIVE, seed)
    words = r"relative error without softmax, $\beta_{ij} = \delta_i^\top x_j / \sqrt{d_h}$"
    yield exact(words, relative_error(gradient_sum(printed_beta(g, g.scale), g.layer.x), g.w_qk))


show(coefficients_without_softmax(seed=seed))

# %% [markdown]
# ## The step on both factors drops part of the gradient
#
# Gradient descent changes the two factors $\Wq$ and $\Wk$. Let $G = \partial L / \partial \Wqk$ and let $\eta$ be the
# learning rate. In one step, $\Wq$ changes by $-\eta\, \partial L / \partial \Wq = -\eta\, G \Wk$, and $\Wk$ changes by
# $-\eta\, G\T \Wq$. Multiplying the new factors and subtracting the old product gives the change in $\Wqk$.
#
# ````{prf:remark} Remark S1.6 of the paper: the update through $\Wq$ and $\Wk$
# :label: rem-s1-6
#
# In one step of gradient descent on $\Wq$ and $\Wk$, the product $\Wqk = \Wq \Wk\T$ changes by
#
# $$
# \begin{aligned}
# \Delta \Wqk = &-\eta\, (\Wq \Wq\T G + G\, \Wk \Wk\T) \\
# &+ \eta^2\, G\, \Wk \Wq\T G .
# \end{aligned}
# $$ (eq-s1-6-step)
# ````


# %%
def second_order(form: BilinearForm, gradient: Float[Tensor, "heads d d"]) -> Tensor:
    """``G W_k W_q^T G`` of every head."""
    return gradient @ form.wk @ (gradient.mT @ form.wq).mT


@claim(
    "S1.6",
    "Eq. S39",
    "the remainder of the first-order update is of order $\\eta^2$",
    Verdict.MISPRINT,
    printed=r'''"$W_q^l W_k^{l\top}$ $+ \eta \big(W_q^l \nabla_{W_k^l} \mathcal{L}^\top(U)$ $+ \nabla_{W_q^l} \mathcal{L}(U)
    W_k^{l\top}\big)$ $+ o(\eta^2)$"''',
    place="Section S1.3, Remark S1.6, Eq. S39",
    holds=r"""The paper's first-order terms are correct. However, the remainder is $\eta^2 G W_k W_q^\top G$, which is
    $O(\eta^2)$ and not $o(\eta^2)$.""",
    remark=r"If $G$ is the gradient of the negative log-likelihood, the first-order terms of a step of gradient descent have the sign $-\eta$.",
)
def step_through_factors(toy=TOY, rate=1e-2, seed=0):
    for objective in TRAINED:
        model = ToyTransformer.random(toy, seed)
        run, form = model.example(objective, seed), model.form(0)
        grad_q, grad_k = torch.autograd.grad(run.losses.sum(), (model.wq, model.wk), retain_graph=True)
        after = BilinearForm(form.wq - rate * grad_q[0], form.wk - rate * grad_k[0])
        change = torch.stack(list(after.heads())) - torch.stack(list(form.heads()))
        g = run.gradient(0).w_qk
        remainder = change + rate * step_of_factors(form.wq, form.wk, g)
        error = relative_error(remainder, rate**2 * second_order(form, g))
        yield exact(f"relative error of the remainder, {objective}", error)
        words = rf"norm of the remainder over $\eta^2$, {objective}"
        yield compare(words, remainder.norm() / rate**2, "≠", 0, 1e-3)


show(step_through_factors(seed=seed))

# %% [markdown]
# From the first-order terms, the paper concludes that $\Delta \Wqk$ is proportional to $G$ (Eq. S40). This conclusion is
# wrong. The rank of $\Wq \Wq\T$ and $\Wk \Wk\T$ is at most $d_h$. Multiplying $G$ by these matrices keeps the part of $G$
# that lies in the span of the current factors and drops the rest. Suppose that the entries of the factors are independent
# Gaussian random variables with mean 0 and equal variance, and that $G$ does not depend on the factors. The cosine between
# $\Delta \Wqk$ and $-G$ is then [approximately](implicit_gradient_details.py#how-far-a-step-points-from-the-gradient)
# $\sqrt{2 d_h / (d + 2 d_h + 1)}$ to first order in $\eta$.


# %%
def normal(*shape: int, generator: torch.Generator) -> Tensor:
    """Standard normal entries in float64."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def every_node(d: int, d_head: int) -> tuple[Tensor, Tensor, Tensor]:
    """All factors of entries -sqrt(3), 0, sqrt(3), and weights by which polynomials of degree 5 have Gaussian means."""
    points, n = torch.tensor([-(3**0.5), 0, 3**0.5]).double(), 2 * d * d_head
    nodes, weights = (torch.cartesian_prod(*[v] * n) for v in (points, torch.tensor([1, 4, 1]).double() / 6))
    return *nodes.view(-1, 2, d, d_head).unbind(1), weights.prod(1)


@claim(
    "S1.6",
    "Eq. S40",
    "the update is not proportional to the sum of rank-1 terms",
    Verdict.CHANGES,
    printed=r'''"$\Delta W_{qk}^l = \eta \sum_i \sum_{j \in \mathcal{C}_i} \beta_{ij}^l \big[(W_q^l W_q^{l\top} K_{ij}^{l-1})$ $+
    (K_{ij}^{l-1} W_k^l W_k^{l\top})\big]$ $\propto \sum_i \sum_{j \in \mathcal{C}_i} \beta_{ij}^l K_{ij}^{l-1}$"''',
    place="Section S1.3, Remark S1.6, Eq. S40",
    remark="""For a symmetric $G$ with a small trace, the symmetry score of the update is close to the square of this
    cosine. The score is 1 if $W_q = W_k$ or $G = I$. Before the remark, Section S1.3 states that $W_{qk}$ "is
    implicitly updated with a combination of the weight updates of $W_q$ and $W_k$ having the same form as in
    Proposition 2.2". The form is indeed the same, because each pair contributes two matrices of rank 1.""",
)
def update_is_not_proportional(d=64, draws=60, seed=0):
    generator = torch.Generator().manual_seed(seed)
    gradient = normal(d, d, generator=generator)
    for n, d_head in ((2, 2), (4, 1)):
        g, (wq, wk, weights) = gradient[:n, :n], every_node(n, d_head)
        even, sizes = g + g.T, f"by exact quadrature, $d$ = {n}, $d_h$ = {d_head}"
        step, even_step = (step_of_factors(wq, wk, m) for m in (g, even))
        products = (step * g, step.square(), even_step * even_step.mT, even_step.square())
        inner, square, trace, even_square = (weights @ product.sum((1, 2)) for product in products)
        measured, words = inner / square.sqrt() / g.norm(), f"ratio of moments that gives the cosine, {sizes}"
        yield exact(words, measured, alignment(n, d_head), paper="= 1")
        expected = kept_symmetry(n, d_head, float(even.trace() ** 2 / even.square().sum()))
        words = f"ratio of moments that gives the symmetry score for a symmetric $G$, {sizes}"
        yield exact(words, trace / even_square, expected)
    for d_head in (d, d // 16):
        steps = step_of_factors(*normal(draws, 2, d, d_head, generator=generator).unbind(1), gradient)
        words = rf"cosine of $\Delta W$ and $-G$, $d$ = {d}, $d_h$ = {d_head}"
        yield monte_carlo(words, [cosine(step, gradient) for step in steps], 1, "<", paper="= 1")
    orthogonal, tied = torch.linalg.qr(gradient).Q, normal(d, d // 4, generator=generator)
    words = r"cosine of $\Delta W$ and $-G$, $W_q = W_k$ orthogonal"
    yield exact(words, cosine(step_of_factors(orthogonal, orthogonal, gradient), gradient), 1, paper="= 1")
    words = r"symmetry score of $\Delta W$ for symmetric $G$, $W_q = W_k$"
    yield exact(words, symmetry_score(step_of_factors(tied, tied, gradient + gradient.T)), 1)
    square, head = (alignment(BERT[0], d_head) for d_head in BERT)
    holds = rf"""The update is parallel to every $G$ only if $W_q W_q^\top$ and $W_k W_k^\top$ are multiples of the identity,
    which requires $d_h = d$. For Gaussian factors, the cosine between the update and $-G$ is approximately
    $\sqrt{{2 d_h / (d + 2 d_h + 1)}}$. At the width of BERT-base, this is {head:.2f} for one of its heads, and {square:.2f} for
    a single head with $d_h = d$ as in Definition S1.1."""
    return {"holds": holds}


show(update_is_not_proportional(d=d_wide, draws=draws, seed=seed))


# %% [markdown]
# For a head of BERT-base, this formula gives a cosine of {glue:text}`bert-cos` between the training step and $-G$. For a
# single head that is as wide as the model, as in Definition S1.1 of the paper, the cosine is {glue:text}`square-cos`. The
# narrower the heads, the larger the angle between the step and the gradient.
#
# A step also loses part of the symmetry of the gradient. If the gradient is perfectly symmetric and has a small trace, the
# step in a head of BERT-base has a [symmetry score](two_scores_details.py) of only about {glue:text}`bert-s`. There is one
# exception: if $\Wq = \Wk$, as in the symmetric initialisation of Section 4.2 of the paper, a symmetric $G$ leads to a
# symmetric step.
#
# On the next page, we consider models with [biases, rotary position embeddings or shared
# layers](implicit_gradient_details.py#biases-rotary-positions-shared-layers), as well as [models with several heads and
# training with the Adam optimiser](implicit_gradient_details.py#several-heads-and-adam).
