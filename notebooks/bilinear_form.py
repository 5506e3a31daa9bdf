# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One matrix per head decides attention, their sum does not
#
# A Transformer turns *the dog met my old cat* into vectors, *embeddings*, and attention mixes them. What decides how much of
# *cat* goes into *dog*?
#
# **In a head, one matrix.** The *query-key matrix* $\Wqk = \Wq \Wk\T$ scores every pair of tokens; a softmax makes weights
# of scores. $\Wqk$ is symmetric exactly if $i$ always scores $j$ as $j$ scores $i$. The paper {cite}`saponati2025` studies
# the sum over a layer's heads. That does not decide the weights: in two layers with one sum they differ by up to {glue:text}`gap`.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding, a multiple of n_heads; in [8, 512]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 12  # tokens of a sequence; in [4, 64]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from chapters.bilinear_form import order_violations, random_layer
from livingpaper.display.interactive import Interactive
from livingpaper.display.page import glue, show
from attngeo.plot.style import SEQUENTIAL, CaptionedFigure, house_style, new_figure, plain_panel, signed_image
from attngeo.bilinear.form import BilinearForm
from livingpaper.claims.claim import Verdict, claim, compare, exact
from attngeo.gradients.objectives import Objective
from attngeo.gradients.rank_one import relative_error
from attngeo.gradients.toy_transformer import WORDS, sentence_model

MASKS = {"causal": Objective.AUTOREGRESSIVE, "none": Objective.BIDIRECTIONAL}

sizes = {"d": d, "n_tokens": n_tokens, "n_heads": n_heads, "seed": seed}


@house_style()
def heads_of_equal_sum(separate: Tensor, averaged: Tensor) -> CaptionedFigure:
    """Attention weights (heads, tokens, tokens) of two layers whose forms have the same sum."""
    n, largest = len(separate), float(max(separate.max(), averaged.max()))
    figure, panels = new_figure(1.75 * n + 0.9, 3.5, 2, n, squeeze=False)
    for row, maps in zip(panels, (separate, averaged), strict=True):
        for panel, weights in zip(row, maps, strict=True):
            image = panel.imshow(weights.numpy(), cmap=SEQUENTIAL, vmin=0, vmax=largest)
            plain_panel(panel)
            panel.set(xticks=[], yticks=[])
    for h, (above, below) in enumerate(panels.T):
        above.set_title(f"head {h + 1}")
        below.set(title="↕ same sum" if h == n // 2 else "", xlabel="key token")
    for panel, words in zip(panels[:, 0], ("heads that differ", "every head the mean"), strict=True):
        panel.set_ylabel(f"{words}\nquery token", fontsize=9)
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.8)
    caption = rf"""Attention weights of two layers with the same sum $\sum_h W_{{qk,h}}$. Above, heads that differ; below, each
        replaced by their mean. Weights differ by up to {float((separate - averaged).abs().max()):.2f}."""
    alt = f"""Two rows of {n} square heat maps of attention weights, query tokens against key tokens. The upper maps all differ,
        the lower are equal."""
    return CaptionedFigure(figure, "fig-heads-of-equal-sum", caption, alt)


layer = random_layer(d, n_tokens, n_heads, seed)
forms = torch.stack(list(layer.form.heads()))  # (n_heads, d, d)
by_head, by_mean = (
    torch.softmax(layer.form.d_head**-0.5 * (layer.x @ m @ layer.x.T), -1)
    for m in (forms, forms.mean(0).expand_as(forms))
)
glue("gap", float((by_head - by_mean).abs().max()), ".2f")

# %% tags=["remove-input"]
heads_of_equal_sum(by_head, by_mean)

# %% [markdown]
# ## A pair of tokens has one score
#
# Attention turns the embedding $x_i \in \R^d$ of token $i$ into a *query* $q_i = \Wq\T x_i$, and that of token $j$ into a *key*
# $k_j = \Wk\T x_j$. Their dot product is the *raw score* of the pair,
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = (\Wq\T x_i) \cdot (\Wk\T x_j) = x_i\T\, \Wqk\, x_j, \qquad \Wqk = \Wq \Wk\T .
# $$ (eq-1)
#
# This is a *bilinear form*, a map that is linear in each of the two embeddings, with the matrix $\Wqk$. Rows of $\Wqk$ belong to
# the query side $i$, columns to the key side $j$. The view is not new {cite}`elhage2021,olsson2022,dar2023`.


# %%
def query_key_matrix(wq: Tensor, wk: Tensor) -> Tensor:
    """``W_qk = W_q W_k^T`` (Eq. 2)."""
    return wq @ wk.T


@claim("Eq. 1", "", "scores are a bilinear form of the embeddings", Verdict.HOLDS)
def scores_are_a_bilinear_form(d=32, n_tokens=12, seed=0):
    x, form, *_ = random_layer(d, n_tokens, 1, seed)
    wq, wk = form.wq[0], form.wk[0]
    w_qk, raw_scores = query_key_matrix(wq, wk), (x @ wq) @ (x @ wk).T
    everything = r"relative distance of $X W_{qk} X^\top$ from $Q K^\top$"
    yield exact(everything, relative_error(x @ w_qk @ x.T, raw_scores))
    pair = r"one pair: $x_i^\top W_{qk} x_j - q_i \cdot k_j$"
    yield exact(pair, x[0] @ w_qk @ x[1] - raw_scores[0, 1])


show(scores_are_a_bilinear_form(d=d, n_tokens=n_tokens, seed=seed), unfolded=True)

# %% [markdown]
# ## A symmetric matrix scores a pair alike in both orders
#
# The scores $x_i\T \Wqk x_j$ and $x_j\T \Wqk x_i = x_i\T \Wqk\T x_j$ are equal for all embeddings exactly if
# $\Wqk = \Wqk\T$. They are opposite for all embeddings exactly if $\Wqk\T = -\Wqk$; then the matrix is *skew-symmetric*. Every
# matrix is the sum of a symmetric and a skew-symmetric part, and the [symmetry score](two_scores.py) $s$ says how much there is
# of either. Weights need not be equal where scores are: the softmax divides each row of scores by a sum of its own.
#
# ## Softmax keeps the order within a row
#
# ````{prf:proposition} Prop. 2.1 of the paper: attention weights keep the order of the raw scores
# :label: prop-2-1
#
# Let $\hat\alpha_{ij} = x_i\T \Wqk x_j$ for embeddings $x_1, \dots, x_N \in \R^d$, and
# $\alpha_{ij} = \exp(\hat\alpha_{ij} / \tau) / Z_i$ with $Z_i = \sum_k \exp(\hat\alpha_{ik} / \tau)$ and some $\tau > 0$. Then
# for every row $i$
#
# 1. the weights are convex coefficients: $\alpha_{ij} > 0$ and $\sum_j \alpha_{ij} = 1$;
# 2. they are ordered as the raw scores are:
#    $\alpha_{ij} < \alpha_{ij'} \Leftrightarrow \hat\alpha_{ij} < \hat\alpha_{ij'}$;
# 3. attention adds an image of a point in the convex hull of the embeddings,
#
# $$
# \hat x_i\T = x_i\T + \sum_{j=1}^N \alpha_{ij}\, x_j\T W_v .
# $$ (eq-2-1)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The map $t \mapsto \exp(t / \tau) / Z_i$ is positive and strictly increasing, and $\alpha_{ij}$ is its value at
# $\hat\alpha_{ij}$. This gives 2 and the first half of 1; the second half is the definition of $Z_i$. Row $i$ of
# $\hat X = X + A X W_v$ is $x_i\T + \sum_j \alpha_{ij} (x_j\T W_v)$, and by 1 the vector $\sum_j \alpha_{ij} x_j$ lies in the
# convex hull of the $x_j$. Nothing in this depends on $\tau$, so every scale of the scores will do.
# ```
# ````


# %%
@claim(
    "2.1",
    "",
    "attention weights keep the order of the raw scores",
    Verdict.HOLDS,
    remark="Within one row i. Rows have different denominators, so weights of different rows are not comparable.",
)
def order_of_scores_is_kept(d=32, n_tokens=24, n_heads=4, seed=0):
    layer = random_layer(d, n_tokens, n_heads, seed)
    raw, x, directions = layer.raw(), layer.x, layer.directions
    weights, small = torch.softmax(raw, -1), torch.softmax(raw / 100, -1)
    # a point is in the convex hull if no direction shows it further out than every token
    reach = ((weights @ x) @ directions).amax((0, 1)) - (x @ directions).amax(0)
    yield exact("triples $(i, j, j')$ out of order, all heads", order_violations(weights, raw), 0, 0)
    yield exact("triples out of order, scores divided by 100", order_violations(small, raw), 0, 0)
    yield exact("largest distance of a row sum from 1", (weights.sum(-1) - 1).abs().max())
    yield compare("smallest weight", weights.min(), ">")
    yield compare("how far any mean lies outside the tokens, of 256 directions", reach.max(), "<")


show(order_of_scores_is_kept(**sizes))

# %% [markdown]
# Weights of two rows do not compare, since each row has its own $Z_i$. The details say [which scores a softmax suppresses, and what
# a causal mask changes](bilinear_form_details.py#the-order-of-scores-row-by-row). {numref}`fig-forward-pass` plays one layer:
# follow a token to its prediction, then switch the mask.


# %% tags=["remove-cell"]
@house_style()
def passed_forward(passes: dict[str, dict[str, list]]) -> CaptionedFigure:
    """What one attention layer computes, by mask and quantity a row for each of the words, and what a mask changes."""
    causal, none = passes["causal"], passes["none"]
    shown = {name: causal[name] for name in ("embeddings", "queries", "keys")} | {"raw scores": causal["scores"]}
    for name, held in (("causal mask", causal), ("no mask", none)):
        shown |= {f"weights, {name}": held["weights"], f"outputs, {name}": held["outputs"]}
    figure, panels = new_figure(9, 4.9, 2, 4)
    for panel, (title, values) in zip(panels.flat, shown.items(), strict=True):
        seen, m = np.array(causal["attended"]), np.array(values)
        hidden = (seen == 0) & (title == "weights, causal mask")
        signed_image(panel, np.where(hidden, np.nan, m))
        panel.set_title(title, fontsize=9)
        panel.set_yticks(range(len(WORDS)), WORDS)
        of_tokens = "scores" in title or "weights" in title
        panel.set_xticks(range(m.shape[1]), WORDS if of_tokens else [""] * m.shape[1], rotation=90)
        panel.set_xlabel("attended token" if of_tokens else "coordinate", fontsize=9)
    caption = """One attention layer reads *the dog met my old cat*, a row each (red positive, blue negative, each picture on its own scale).
        Its weights are random, so what it predicts means nothing. A causal mask leaves raw scores as they are and hides later
        tokens: the first token then takes up only itself. The last one sees every token either way, and its output stays."""
    alt = f"""Eight heat maps with a row for each of {len(WORDS)} tokens: embeddings, queries, keys and raw scores; then weights
        and outputs with a causal mask, where the weights fill the lower triangle, and without, where they fill the whole
        square."""
    return CaptionedFigure(figure, "fig-forward-pass", caption, alt)


def forward_pass(seed: int = 0) -> Interactive:
    """Embeddings, queries and keys, raw scores, weights, mixed values, outputs and probabilities (Eqs. 1 to 3)."""
    model, passes = sentence_model(seed, d=len(WORDS)), {}
    for mask, objective in MASKS.items():
        run = model.run(torch.arange(len(WORDS)), objective)
        layer, form = run.layers[0], model.form(0)
        quantities = {
            "embeddings": layer.x,
            "queries": layer.x @ form.wq[0],
            "keys": layer.x @ form.wk[0],
            "scores": layer.x @ layer.w_qk[0] @ layer.x.T,
            "weights": layer.weights[0],
            "mixed": (layer.weights @ layer.values).sum(0),
            "outputs": layer.attended,
            "probabilities": run.logits.softmax(-1),
        }
        passes[mask] = {name: values.detach().round(decimals=4).tolist() for name, values in quantities.items()}
        passes[mask]["attended"] = layer.mask.int().tolist()
    return Interactive("forward_pass", {"words": WORDS, "passes": passes}, passed_forward(passes))


# %% tags=["remove-input"]
forward_pass(seed)

# %% [markdown]
# ## The matrices of the heads add up, their weights do not
#
# ````{prf:remark} Remark S1.5 of the paper: the forms of the heads add up
# :label: rem-s1-5
#
# With $H$ heads of width $d_h = d / H$, $\Wq = [W_{q,1} | \dots | W_{q,H}]$ and $\Wk$ likewise, blocks of shape
# $(d, d_h)$,
#
# $$
# \Wqk = \Wq \Wk\T = \sum_{h=1}^H W_{q,h} W_{k,h}\T = \sum_{h=1}^H W_{qk,h}, \qquad \operatorname{rank} W_{qk,h} \le d_h .
# $$ (eq-s1-20)
#
# Where several query heads share a key head, $W_{k,h}$ is the shared one. Attention itself is
#
# $$
# \hat X = X + \sum_{h=1}^H \sigma\bigl(d_h^{-1/2}\, X W_{qk,h} X\T\bigr)\, X W_{v,h} W_{o,h} .
# $$ (eq-s1-18)
# ````
#
# To see {eq}`eq-s1-20`, group the columns of both factors by head; for {eq}`eq-s1-18`, group the rows of the output matrix.


# %%
def summed_heads(wq: Tensor, wk: Tensor) -> Tensor:
    """``sum_h W_q,h W_k,h^T``: factors (H, d, d_head), sum (d, d)."""
    return torch.einsum("hic,hjc->ij", wq, wk)


def multi_head_output(x: Tensor, forms: Tensor, values: Tensor, scale: float) -> Tensor:
    """``sum_h softmax(scale X W_qk,h X^T) X W_v,h W_o,h``: forms and values (H, d, d), output (N, d)."""
    return (torch.softmax(scale * (x @ forms @ x.T), -1) @ x @ values).sum(0)


@claim("S1.5", "Eqs. S19, S20", "the forms of the heads add up to the form of the layer", Verdict.HOLDS)
def heads_add_up(d=32, n_heads=4, seed=0):
    form = random_layer(d, 12, n_heads, seed).form
    wq, wk = form.wq, form.wk
    side_by_side = wq.transpose(0, 1).flatten(1) @ wk.transpose(0, 1).flatten(1).T  # [W_q,1 | W_q,2 | ...] (Eq. S19)
    shared = BilinearForm(wq, wk[: max(1, len(wk) // 2)])
    ranks = [int(torch.linalg.matrix_rank(w)) for w in form.heads()]
    whole = relative_error(summed_heads(wq, wk), side_by_side)
    yield exact(r"distance of the sum over heads from $W_q W_k^\top$", whole)
    yield exact("largest rank of a head less $d_h$", max(ranks) - form.d_head, 0, 0)
    words = f"distance, {shared.n_kv_heads} key heads shared by {shared.n_heads} query heads"
    yield exact(words, relative_error(summed_heads(*shared.per_head()), shared.dense()))


show(heads_add_up(d=d, n_heads=n_heads, seed=seed))


# %%
@claim(
    "S1.5",
    "Eq. S21",
    "the raw decompositions of the heads add up",
    Verdict.HOLDS,
    remark="""Eq. S21 is an identity of raw scores, as Eq. S14 is. It says nothing of attention, in which each head has its own
    softmax and values. So scores of heads have to be given beside those of the sum.""",
)
def heads_do_not_share_one_softmax(d=32, n_tokens=12, n_heads=4, seed=0):
    x, form, wv, wo, _ = random_layer(d, n_tokens, n_heads, seed)
    forms, values, scale = torch.stack(list(form.heads())), wv @ wo, form.d_head**-0.5
    heads = scaled_dot_product_attention(x @ form.wq, x @ form.wk, x @ wv)
    attention = heads.transpose(0, 1).flatten(1) @ wo.flatten(0, 1)  # concat(A_1 V_1, ...) W_o (Eq. S18)
    one_softmax = torch.softmax(scale * (x @ forms.sum(0) @ x.T), -1) @ x @ values.sum(0)
    own_softmax, averaged = (multi_head_output(x, m, values, scale) for m in (forms, forms.mean(0).expand_as(forms)))
    raw = relative_error(sum((x @ w @ x.T) @ x for w in forms), x @ forms.sum(0) @ x.T @ x)
    yield exact("distance of the raw decompositions, head by head and summed first", raw)
    own, one = (f"distance of one softmax {of} from multi-head attention" for of in ("per head", "of the summed form"))
    yield exact(own, relative_error(own_softmax, attention), paper="")
    yield compare(one, relative_error(one_softmax, attention), "≠", 0, 0.1, paper="")
    change = relative_error(averaged, attention)
    yield compare("change of the output by heads of the same sum", change, "≠", 0, 0.1, paper="")


show(heads_do_not_share_one_softmax(**sizes))

# %% [markdown]
# Each head has its own softmax and its own values, and a sum of softmaxes is not the softmax of a sum. In
# {numref}`fig-heads-of-equal-sum` the mean of all heads replaces each. The sum stays; weights and output change. So the
# symmetry of a layer is not that of its heads: their sum can be symmetric while no head is. What trained models do stands in
# [Heads or their sum](heads_or_sum.py).
#
# ## Biases, rotations and normalisations stand outside the matrix
#
# $\Wqk$ does not hold the biases of queries, rotations that encode positions, the gains of a layer normalisation before it, or
# a normalisation of queries and keys. All of them change what a model attends to. ModernBERT, LLaMA and Mistral, which the paper scores, turn queries and keys by angles in proportion to the position. Then each
# distance between two tokens has a form of its own, and $\Wqk$ is the form at distance 0 ({prf:ref}`prop-rotary`). It can be
# symmetric while neighbours score each other differently.
#
# ## What it means for you
#
# - Look at the heads beside the layer: `attngeo score bert-base-uncased --per-head` gives both.
# - With rotary positions, do not read a symmetric $\Wqk$ as equal scores of two tokens in a text.
# - All scores here are of $\Wqk$ alone, as in the paper; the [notation page](../notation.md) lists the conventions.
