"""Initialisations that tie the keys of any model to its queries.

Notation: ``W_q,h``, ``W_k,h`` are (d, d_head); ``torch.nn.Linear`` holds the transposes of all heads, one below the
    other. Keys are tied to queries head by head: ``W_k,h = W_q,h S_h``, with S_h the identity, symmetric, or
    skew-symmetric, and orthogonal, so that the keys keep the scale and the singular values of the queries. Appendix
    S2.1 uses one d x d matrix S for all heads, which makes the sum of the heads skew-symmetric but not the single
    heads.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import score_heads
from attngeo.checkpoints.architectures.entry import Part
from attngeo.checkpoints.models import open_model
from attngeo.checkpoints.quantised_formats import FLOAT8
from attngeo.choices import SYMMETRY, Initialisation
from attngeo.errors import AttngeoError, ParameterError


class InitialisationError(AttngeoError):
    """The weights of a model do not have the symmetry that its initialisation should give."""


def reflection(d_head: int, generator: torch.Generator) -> Tensor:
    """``S = S^T``, half of whose eigenvalues are -1 and the others 1, so that W_qk,h is symmetric and indefinite."""
    signs = torch.ones(d_head, dtype=torch.float64)
    signs[1::2] = -1
    return _turned(torch.diag(signs), generator)


def rotation(d_head: int, generator: torch.Generator) -> Tensor:
    """``S = -S^T``, so that W_qk,h is skew-symmetric. If the width is odd, one direction is left out and the others are
    enlarged."""
    if d_head == 1:
        raise ParameterError("heads of width 1 cannot be skew-symmetric; use fewer heads or a larger d_model.")
    blocks = [torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * (d_head // 2) + [torch.zeros(1, 1)] * (d_head % 2)
    turn = torch.block_diag(*blocks).double() * math.sqrt(d_head / (d_head - d_head % 2))
    return _turned(turn, generator).T


def _turned(middle: Float[Tensor, "n n"], generator: torch.Generator) -> Float[Tensor, "n n"]:
    """``Q middle Q^T`` with Q orthogonal, drawn uniformly (Haar)."""
    n = len(middle)
    q, r = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))
    q = q * r.diagonal().sign()
    return q @ middle @ q.T


# (d_head, generator) -> S of one head, (d_head, d_head), on the CPU
Mixer = Callable[[int, torch.Generator], Tensor]
MIXERS: dict[Initialisation, Mixer] = {
    Initialisation.SYMMETRIC: lambda d_head, generator: torch.eye(d_head, dtype=torch.float64),
    Initialisation.SYMMETRIC_INDEFINITE: reflection,
    Initialisation.SKEW: rotation,
}


def tie(
    wq: Float[Tensor, "heads d d_head"],
    wk: Float[Tensor, "kv_heads d d_head"],
    mixer: Mixer,
    generator: torch.Generator,
) -> None:
    """``W_k,h = W_q,h S_h`` for every head, in place.

    If several query heads share a key head, the key head is computed from the first of them, and the other query heads
    are computed from the key head, ``W_q,h = W_k,g S_h``. If S_h is the identity, these query heads are then equal to
    one another.
    """
    group = len(wq) // len(wk)
    for h in range(len(wq)):
        source, target = (wk[h // group], wq[h]) if h % group else (wq[h], wk[h // group])
        target.copy_(source.cpu().double() @ mixer(wq.shape[-1], generator))


@torch.no_grad()
def initialise(
    model: nn.Module,
    initialisation: Initialisation | str,
    seed: int = 0,
    part: Part | None = None,
    config: Mapping | Any = None,
) -> None:
    """``W_k,h = W_q,h S_h``: compute the keys of every head from its queries, so that s = 1 (or s = -1 for ``skew``).

    The matrix S_h is the identity for ``symmetric``, symmetric and orthogonal for ``symmetric-indefinite``, and
    skew-symmetric and orthogonal for ``skew``. With ``random``, all weights remain unchanged. The other initialisations
    change only the keys: the queries, all other weights and all biases remain unchanged. There is one exception. If
    several query heads share a key head, the queries of all but the first of these heads are overwritten as well. With
    ``symmetric``, the query heads that share a key head become equal to one another. Training can change queries and
    keys independently afterwards.

    Args:
        model: any model that `attngeo.open_model` accepts.
        initialisation: "symmetric", "symmetric-indefinite", "skew" or "random".
        seed: seed for drawing S_h.
        part: "encoder" or "decoder", to initialise only this part. By default, all self-attention layers are
            initialised.
        config: configuration of the model (see `attngeo.open_model`).

    Raises:
        CheckpointError: the model cannot be opened.
        ParameterError: the initialisation is unknown, the model has cross-attention and no ``part`` is given, weights
            are stored in 8 bits, or ``skew`` is requested for heads of width 1.
        InitialisationError: a head does not have the requested symmetry, for example because its queries are zero.

    Source: paper, Appendix S2.1.
    """
    if initialisation not in (Initialisation.RANDOM, *MIXERS):
        asked, known = getattr(initialisation, "value", initialisation), ", ".join(kind.value for kind in MIXERS)
        raise ParameterError(f"{asked!r} is not an initialisation; use one of random, {known}.")
    opened = open_model(model, config)
    plans = [plan for plan in opened.plans if part in (None, plan.part)]
    if not plans:
        there = ", ".join(dict.fromkeys(plan.part for plan in opened.plans))
        raise ParameterError(f"{opened.name} has no part {part!r}; its parts are {there}.")
    for plan in plans:
        if plan.part == "cross":
            raise ParameterError(
                f"{plan.module} of {opened.name} is cross-attention, whose queries and keys come from different"
                " sequences and cannot be tied; choose the part to initialise with part='encoder' or part='decoder'."
            )
        if opened.adapter is not None:
            raise ParameterError(f"{opened.name} has an adapter; initialise the model before you add the adapter.")
        if opened.writable(plan)[plan.query].dtype in FLOAT8:
            raise ParameterError(
                f"{plan.query} is stored in 8 bits and cannot be overwritten; load the model in a wider type."
            )
    if initialisation == Initialisation.RANDOM:
        return
    kind = Initialisation(initialisation)
    generator = torch.Generator().manual_seed(seed)
    for plan in plans:
        form = opened.read(plan).form
        wq, wk = form.wq.clone(), form.wk.clone()
        tie(wq, wk, MIXERS[kind], generator)
        plan.store(BilinearForm(wq, wk), opened.writable(plan))
        # rounding the entries to a type with unit roundoff u changes s by less than 16 u^2; 1e-5 covers the wider types
        slack = max(1e-5, 16 * torch.finfo(form.wq.dtype).eps ** 2)
        for h, s in enumerate(score_heads(opened.read(plan).form).symmetry.tolist()):
            if not abs(s - SYMMETRY[kind]) <= slack:  # also true for NaN, which s is if queries are zero
                raise InitialisationError(
                    f"head {h} of {plan.module} has symmetry {s:.4g} after initialisation, but should have"
                    f" {SYMMETRY[kind]:.4g}; give its queries random weights first."
                )
