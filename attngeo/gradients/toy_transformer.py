"""A Transformer small enough to differentiate with respect to all its parts: the reference for checking formulas.

It follows Def. S1.1 with several heads (Remark S1.5): a residual stream, attention, an optional feedforward layer, no
biases and no layer normalisation. W_qk of every head is a node of the graph, so automatic differentiation gives
``dL/dW_qk`` directly.
"""

import math
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.errors import ParameterError
from attngeo.gradients.objectives import Objective, attended_matrix, every_third
from attngeo.gradients.rank_one import exact_coefficients

# The sentence of the book. No word occurs twice, so it is also the vocabulary.
WORDS = ("the", "dog", "met", "my", "old", "cat")


@dataclass(frozen=True)
class ToyConfig:
    """Shape of a `ToyTransformer`.

    Raises:
        ParameterError: n_heads does not divide d.
    """

    d: int = 32  # width of the embedding
    n_heads: int = 4  # must divide d; d_head = d / n_heads
    n_layers: int = 2
    n_tokens: int = 8  # length of every sequence, N >= 2
    n_vocab: int = 24  # without the mask token, whose id is n_vocab
    d_mlp: int = 64  # width of the feedforward layer; 0: none
    softmax: bool = True  # False: the attention weights are the scaled scores (Eq. S33)

    def __post_init__(self) -> None:
        if self.d % self.n_heads:
            raise ParameterError(
                f"the width {self.d} cannot be divided into {self.n_heads} heads; choose a multiple of the number of"
                " heads as d."
            )

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.d // self.n_heads

    @property
    def score_scale(self) -> float:
        """Factor by which the scores are multiplied."""
        return 1 / math.sqrt(self.d_head)


@dataclass(frozen=True)
class LayerPass:
    """The intermediate results of one layer. In a `Pass`, the tensors are nodes of the autograd graph."""

    x: Float[Tensor, "n d"]  # x^{l-1}, input
    mask: Bool[Tensor, "n n"]  # whether a position (row) attends to another position (column)
    w_qk: Float[Tensor, "heads d d"]
    weights: Float[Tensor, "heads n n"]  # alpha, 0 if i does not attend to j
    values: Float[Tensor, "heads n d"]  # x_j^T W_v,h W_o,h, in the residual stream
    attended: Float[Tensor, "n d"]  # x-hat^l, after attention and its residual connection
    output: Float[Tensor, "n d"]  # x^l


@dataclass(frozen=True)
class LayerGradient:
    """One layer, and the gradients of a loss with respect to its parts, by automatic differentiation; all detached."""

    layer: LayerPass
    w_qk: Float[Tensor, "heads d d"]  # dL/dW_qk,h
    errors: Float[Tensor, "n d"]  # g_i = dL/d x-hat_i
    weights: Float[Tensor, "heads n n"]  # dL/dalpha_ij
    scale: float  # of the scores

    @property
    def beta(self) -> Float[Tensor, "heads n n"]:
        """The coefficients of ``dL/dW_qk = sum_ij beta_ij x_i x_j^T``: scale times ``alpha_ij g_i^T (v_j - o_i)``."""
        return exact_coefficients(self.layer.weights, self.layer.values, self.errors, self.scale)


@dataclass(frozen=True)
class Pass:
    """A forward pass of one sequence."""

    scale: float  # of the scores
    layers: tuple[LayerPass, ...]
    logits: Float[Tensor, "n vocab"]
    losses: Float[Tensor, " n"]  # -log p of the token that each position predicts; 0 if it predicts no token

    def gradient(self, layer: int, loss: Float[Tensor, ""] | None = None) -> LayerGradient:
        """The gradients of a loss, by default the sum of all losses (Eq. 6), with respect to the parts of one layer."""
        part = self.layers[layer]
        nodes = (part.w_qk, part.attended, part.weights)
        grads = torch.autograd.grad(self.losses.sum() if loss is None else loss, nodes, retain_graph=True)
        return LayerGradient(LayerPass(*(getattr(part, f.name).detach() for f in fields(part))), *grads, self.scale)


@dataclass(frozen=True, eq=False)
class ToyTransformer:
    """The model with its weights; `ToyTransformer.random` draws them."""

    config: ToyConfig
    wq: Float[Tensor, "layers heads d d_head"]
    wk: Float[Tensor, "layers heads d d_head"]
    wv: Float[Tensor, "layers heads d d_head"]
    wo: Float[Tensor, "layers heads d_head d"]
    w1: Float[Tensor, "layers d d_mlp"]
    w2: Float[Tensor, "layers d_mlp d"]
    we: Float[Tensor, "vocab_and_mask d"]  # last row: the mask token
    wp: Float[Tensor, "n d"]
    wu: Float[Tensor, "d vocab"]

    @classmethod
    def random(cls, config: ToyConfig, seed: int) -> "ToyTransformer":
        """A model with Gaussian weights in float64, scaled so that scores and residual stream are of order 1."""
        c, generator = config, torch.Generator().manual_seed(seed)

        def draw(*shape: int, std: float) -> Tensor:
            return (torch.randn(*shape, generator=generator, dtype=torch.float64) * std).requires_grad_()

        inner = (c.n_layers, c.n_heads, c.d)
        return cls(
            config=c,
            wq=draw(*inner, c.d_head, std=c.d**-0.5),
            wk=draw(*inner, c.d_head, std=c.d**-0.5),
            wv=draw(*inner, c.d_head, std=c.d**-0.5),
            wo=draw(c.n_layers, c.n_heads, c.d_head, c.d, std=c.d**-0.5),
            w1=draw(c.n_layers, c.d, c.d_mlp, std=c.d**-0.5),
            w2=draw(c.n_layers, c.d_mlp, c.d, std=max(c.d_mlp, 1) ** -0.5),
            we=draw(c.n_vocab + 1, c.d, std=0.8),
            wp=draw(c.n_tokens, c.d, std=0.6),
            wu=draw(c.d, c.n_vocab, std=c.d**-0.5),
        )

    def form(self, layer: int) -> BilinearForm:
        """W_qk of a layer, given by its factors."""
        return BilinearForm(self.wq[layer].detach(), self.wk[layer].detach())

    def example(self, objective: Objective | str, seed: int) -> Pass:
        """`run` on a sequence of independent, uniformly distributed tokens."""
        generator = torch.Generator().manual_seed(seed)
        return self.run(torch.randint(self.config.n_vocab, (self.config.n_tokens,), generator=generator), objective)

    def run(
        self, tokens: Int[Tensor, " n"], objective: Objective | str, masked: Bool[Tensor, " n"] | None = None
    ) -> Pass:
        """A forward pass of one sequence, with the losses of an objective.

        Autoregressive: position i attends to ``j <= i`` and predicts token i + 1. Masked: the inputs at masked
        positions (by default every third position) are the mask token, every position attends to every position, and
        masked positions predict their tokens. Bidirectional: as in Eq. S24, every position predicts its own token,
        although this token is also its input.
        """
        objective = Objective(objective)
        mask = attended_matrix(objective, len(tokens))
        inputs, targets = tokens, tokens
        counted = torch.ones(len(tokens), dtype=torch.float64)
        if objective is Objective.AUTOREGRESSIVE:
            targets = tokens.roll(-1)
            counted[-1] = 0  # nothing follows the last token
        elif objective is Objective.MASKED:
            masked = every_third(len(tokens)) if masked is None else masked
            inputs, counted = torch.where(masked, self.config.n_vocab, tokens), masked.to(torch.float64)
        layers: list[LayerPass] = []
        x = self.we[inputs] + self.wp
        for index in range(self.config.n_layers):
            layers.append(self.layer(index, x, mask))
            x = layers[-1].output
        logits = x @ self.wu
        losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none") * counted
        return Pass(self.config.score_scale, tuple(layers), logits, losses)

    def layer(self, index: int, x: Float[Tensor, "n d"], mask: Bool[Tensor, "n n"]) -> LayerPass:
        """One layer, applied to the given inputs (N, d)."""
        w_qk = self.wq[index] @ self.wk[index].mT
        scores = self.config.score_scale * (x @ w_qk @ x.T)  # (H, N, N)
        if self.config.softmax:
            weights = torch.where(mask, scores, -torch.inf).softmax(-1)
        else:
            weights = torch.where(mask, scores, 0.0)
        values = x @ self.wv[index] @ self.wo[index]
        attended = x + (weights @ values).sum(0)
        return LayerPass(x, mask, w_qk, weights, values, attended, self.feedforward(index, attended))

    def feedforward(self, index: int, attended: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """``x-hat + m(x-hat)`` (Eq. S1), or the identity if there is no feedforward layer."""
        if not self.config.d_mlp:
            return attended
        return attended + torch.nn.functional.gelu(attended @ self.w1[index]) @ self.w2[index]


def first_layer(config: ToyConfig, objective: Objective | str, seed: int) -> LayerGradient:
    """The gradients in the first layer of a random Transformer, on a random sequence."""
    return ToyTransformer.random(config, seed).example(objective, seed).gradient(0)


def sentence_model(seed: int, d: int = 12) -> ToyTransformer:
    """A model of one layer with one head and without a feedforward layer, whose vocabulary is `WORDS`."""
    n = len(WORDS)
    return ToyTransformer.random(ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n, n_vocab=n, d_mlp=0), seed)


def sentence_gradient(objective: Objective | str, seed: int, d: int = 12) -> LayerGradient:
    """The gradients of a `sentence_model` that reads `WORDS`; the masked objective masks every third word."""
    return sentence_model(seed, d).run(torch.arange(len(WORDS)), objective).gradient(0)


def one_layer(d: int = 32, n_tokens: int = 32, seed: int = 0) -> ToyTransformer:
    """A random model of one layer with one head and without position embeddings.

    Its vocabulary is eight times as large as the number of positions, so that tokens seldom repeat.
    """
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=8 * n_tokens, d_mlp=0)
    model = ToyTransformer.random(config, seed)
    return replace(model, wp=torch.zeros_like(model.wp))


def head_gradient(
    d: int = 24, n_tokens: int = 8, seed: int = 0, objective: Objective = Objective.AUTOREGRESSIVE
) -> tuple[Float[Tensor, "n n"], Float[Tensor, "n d"], Float[Tensor, "d d"]]:
    """Beta, inputs and ``dL/dW_qk`` of one head in the first layer of a random model that reads a random sequence."""
    g = first_layer(ToyConfig(d=d, n_heads=2, n_tokens=n_tokens), objective, seed)
    return g.beta[0], g.layer.x, g.w_qk[0]
