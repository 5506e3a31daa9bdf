"""Build a matrix: symmetry, strong columns and a rotation of the basis, and what each does to both scores."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.two_scores.figures import gallery
from attngeo.display.interactive import Interactive, packed
from attngeo.forms.scores import GAMMA, directionality_score, symmetry_score
from attngeo.runs.numbers_in_words import number

ROWS = 128  # a power of two, for the rotation
STEP = 79  # from one strong column to the next: nearest to the golden section of all columns, so that they spread
LEVELS = 40  # that one standard deviation takes: the page and the figure start from the same whole numbers
TURNED = math.pi / 4  # where a rotation mixes every coordinate with every other in equal parts
Matrix = Float[Tensor, "n n"]


def build_a_matrix(generator: torch.Generator, gamma: float = GAMMA) -> Interactive:
    """A random matrix whose symmetry, strong columns and basis a reader sets, with s and d in its three variants."""
    base = (LEVELS * torch.randn(ROWS, ROWS, generator=generator)).round().clamp(-127, 127).double()
    shown = {
        "random": built(base),
        "symmetric": built(base, symmetry=1.0),
        "8 strong columns": built(base, columns=8, factor=4.0),
        "the same, turned": built(base, columns=8, factor=4.0, turn=TURNED),
    }
    data = {"side": ROWS, "step": STEP, "gamma": gamma, "levels": packed(base.to(torch.int8).numpy())}
    still = gallery(shown, gamma)
    s, before, after = (
        number(value, 2)
        for value in (
            symmetry_score(shown["the same, turned"]),
            *(directionality_score(shown[name], gamma) for name in ("8 strong columns", "the same, turned")),
        )
    )
    caption = (
        f"{still.caption} A rotation of the basis leaves $s$ at {s} and changes $d$ by the definition from {before} to "
        f"{after}."
    )
    return Interactive("build_a_matrix", data, replace(still, caption=caption))


def built(base: Matrix, symmetry: float = 0.0, columns: int = 0, factor: float = 1.0, turn: float = 0.0) -> Matrix:
    """``R M R^T``: M of a symmetry from the parts of the base, n a power of two, then with some columns times a factor.

    R is the Kronecker product of log2 n rotations of the plane by the angle ``turn``.
    """
    n = len(base)
    parts = (base + base.T, base - base.T)
    weights = (math.sqrt((1 + symmetry) / 2), math.sqrt((1 - symmetry) / 2))
    m = sum(weight * part / part.norm() for weight, part in zip(weights, parts, strict=True))
    for k in range(columns):
        m[:, STEP * (k + 1) % n] *= factor
    cos, sin = math.cos(turn), math.sin(turn)
    plane = torch.tensor([[cos, -sin], [sin, cos]], dtype=base.dtype)
    rotation = torch.ones(1, 1, dtype=base.dtype)
    while len(rotation) < n:
        rotation = torch.kron(plane, rotation)
    return rotation @ m @ rotation.T
