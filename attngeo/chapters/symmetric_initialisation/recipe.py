"""Appendix S2.1: the recipes of symmetric and skew-symmetric initialisation, and what the released code adds."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import score_heads, symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo

STD = 0.02  # of BERT's weights
CHAPTER = "symmetric_initialisation"
Heads = Float[Tensor, "heads d d_head"]


@claim
def symmetric_recipe(
    d: int = 64, heads: int = 4, draws: int = 40, seed: int = 0, key: Callable[[Tensor], Tensor] = lambda wq: wq
) -> Result:
    """``W_k = W_q`` makes every head symmetric, and positive semi-definite: the diagonal stands out by ``sqrt(d)``.

    Args:
        d: width.
        heads: per layer.
        draws: of the queries.
        seed: of the draws.
        key: ``W_k`` from ``W_q``, (heads, d, d_head), as the recipe has it.
    """
    generator = torch.Generator().manual_seed(seed)
    lowest, least, prominence, untied, logits = [], [], [], [], []
    for _ in range(draws):
        wq, other = (_queries(heads, d, generator) for _ in range(2))
        form = BilinearForm(wq, key(wq))
        lowest.append(float(score_heads(form).symmetry.min()))
        dense = form.dense()
        eigenvalues = torch.linalg.eigvals(dense).real
        least.append(float(eigenvalues.min() / eigenvalues.abs().max()))
        prominence.append(_prominence(dense))
        untied.append(_prominence(BilinearForm(wq, other).dense()))
        token = torch.randn(d, dtype=torch.float64, generator=generator)
        token *= math.sqrt(d) / token.norm()  # as a normalised layer input
        logits.append(float(((token @ wq) * (token @ key(wq))).sum(-1).mean()) / math.sqrt(d // heads))
    return Result(
        "S2.1",
        "(symmetric)",
        "$W_k = W_q$ makes $W_{qk}$ symmetric",
        Verdict.HOLDS,
        (
            exact("least symmetry s of a head", min(lowest), 1.0, 1e-10),
            exact("least eigenvalue over the largest magnitude", min(0.0, *least), 0.0, 1e-10),
            monte_carlo("mean diagonal over sd of the other entries, tied", prominence, math.sqrt(d)),
            monte_carlo("the same of a random start", untied, 0.0),
            monte_carlo("logit of a token with itself, before the softmax", logits, self_logit(d, heads)),
        ),
        remark=(
            "It makes more than a symmetric matrix: $W_q W_q^\\top$ has no negative eigenvalue, and a diagonal "
            "$\\sqrt d$ times its other entries. Every token starts out leaning towards itself, by a logit of "
            "$d \\sqrt{d_h} \\cdot 0.02^2$: little in a narrow model."
        ),
        chapter=CHAPTER,
    )


def _skew_normal(n: int, generator: torch.Generator) -> Float[Tensor, "n n"]:
    a = torch.randn(n, n, dtype=torch.float64, generator=generator)
    return a - a.T


@claim
def skew_recipe(
    d: int = 64,
    heads: int = 4,
    draws: int = 40,
    seed: int = 0,
    mixer: Callable[[int, torch.Generator], Tensor] = _skew_normal,
) -> Result:
    """``W_k = W_q S^T`` with ``S = A - A^T`` is skew head by head only if S is (d_head, d_head), one for each head.

    Args:
        d: width.
        heads: per layer.
        draws: of queries and mixers.
        seed: of the draws.
        mixer: S of a width.
    """
    generator = torch.Generator().manual_seed(seed)
    d_head = d // heads
    own, summed, shared, scale = [], [], [], []
    for _ in range(draws):
        wq = _queries(heads, d, generator)
        mixers = torch.stack([mixer(d_head, generator) for _ in range(heads)])
        wk = wq @ mixers.mT
        own.append(float(score_heads(BilinearForm(wq, wk)).symmetry.max()))
        scale.append(float(wk.square().sum() / wq.square().sum()))
        one = BilinearForm(wq, _split(_joined(wq) @ mixer(d, generator).T, heads))
        summed.append(float(symmetry_score(one.dense())))
        shared += score_heads(one).symmetry.tolist()
    return Result(
        "S2.1",
        "(skew)",
        "$W_k = W_q S^\\top$ with a skew-symmetric $S$ makes $W_{qk}$ skew-symmetric",
        Verdict.ASSUMPTIONS,
        (
            exact("largest s of a head, an S for each head", max(own), -1.0, 1e-10),
            exact("largest s of the sum over heads, one S of the model's width", max(summed), -1.0, 1e-10),
            monte_carlo("s of its heads, one S of the model's width", shared, -1.0, ">"),
            monte_carlo("squared norm of $W_k$ over that of $W_q$, S for each head", scale, 2 * (d_head - 1)),
        ),
        printed="$W_k = W_q S^\\top$ with $S = A - A^\\top$, $A$ random, makes $W_q W_k^\\top$ skew-symmetric.",
        corrected=(
            "So it does for each head with its own $S$ of shape $d_h \\times d_h$. One $S$ of shape $d \\times d$ "
            "makes only the sum over heads skew-symmetric: attention, which works head by head, starts with heads of "
            f"$s$ near {sum(shared) / len(shared):.2f}. With normal $A$ of unit variance the keys also grow by "
            "$\\sqrt{2(d_h - 1)}$."
        ),
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def scale_of_the_released_recipe(
    widths: Sequence[int] = (128, 256, 768, 1024),
    seed: int = 0,
    made: Callable[[int], nn.Linear] = lambda d: nn.Linear(d, d),
) -> Result:
    """Projections made anew by ``nn.Linear`` change the scale of ``W_qk`` by ``(1 / (3 d)) / 0.02^2``, and add biases.

    Args:
        widths: of the models: ours, the paper's 4 and 12 layers, the web page's 24.
        seed: of the draws.
        made: the projection as it is made anew.
    """
    from transformers import BertConfig

    comparisons = [exact("standard deviation of BERT's weights", BertConfig().initializer_range, STD)]
    for d in widths:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            query, key = made(d), made(d)
        # sd of a sample variance of n uniform values is sqrt(4/5 / n) of it
        error = math.sqrt(0.8) / d * scale_factor(d)
        measured = float(query.weight.detach().double().square().mean()) / STD**2
        comparisons += [
            Comparison(f"scale of $W_{{qk}}$ over BERT's, d = {d}", measured, "=", scale_factor(d), 4 * error, error),
            Comparison(f"largest gap between query and key biases, d = {d}", _gap(query, key), "≠", 0.0, 1e-6),
        ]
    factors = ", ".join(f"{scale_factor(d):.2f} at $d = {d}$" for d in widths)
    return Result(
        "S2.1",
        "(released code)",
        "symmetric and random start differ in symmetry",
        Verdict.CORRECTED,
        tuple(comparisons),
        printed="The query weights are initialised randomly, and the key weights are set to them.",
        corrected=(
            "The released code first makes queries, keys *and values* anew with the library's default: the scale of "
            f"$W_{{qk}}$ changes by $(1/3d)/0.02^2$ ({factors}), and biases, 0 in BERT, become random and stay apart."
        ),
        remark="What the released code does was read by an audit; the numbers that follow from it are computed here.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def self_logit(d: int, heads: int, scale: float = 1.0) -> float:
    """``d sqrt(d_head) 0.02^2``, times ``scale``: mean logit of a token with itself; W_k = W_q, norm(x)^2 = d."""
    return d * math.sqrt(d // heads) * STD**2 * scale


def scale_factor(d: int) -> float:
    """``(1 / (3 d)) / 0.02^2``: variance of nn.Linear's weights at width d over that of BERT's."""
    return 1 / (3 * d) / STD**2


def _queries(heads: int, d: int, generator: torch.Generator) -> Heads:
    return STD * torch.randn(heads, d, d // heads, dtype=torch.float64, generator=generator)


def _joined(heads: Heads) -> Float[Tensor, "d all"]:
    return torch.cat(tuple(heads), dim=1)


def _split(whole: Float[Tensor, "d all"], heads: int) -> Heads:
    return torch.stack(whole.chunk(heads, dim=1))


def _prominence(form: Float[Tensor, "d d"]) -> float:
    """Mean of the diagonal over the standard deviation of the other entries."""
    off = form[~torch.eye(len(form), dtype=torch.bool)]
    return float(form.diagonal().mean() / off.std())


def _gap(query: nn.Linear, key: nn.Linear) -> float:
    return float((query.bias - key.bias).abs().max().detach())
