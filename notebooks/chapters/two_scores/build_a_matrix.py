"""Build a matrix: symmetry, strong columns and a rotation of the basis, and what each does to both scores."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.scores import GAMMA, score
from livingpaper.display.interactive import Interactive, packed
from attngeo.plot.style import CaptionedFigure, house_style, new_figure, signed_image
from attngeo.experiments.runs.numbers_in_words import number

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
    return Interactive("build_a_matrix", data, gallery(shown, gamma))


@house_style()
def gallery(matrices: Mapping[str, Matrix], gamma: float = GAMMA) -> CaptionedFigure:
    """Matrices as images, each with both scores; directionality by its three formulas."""
    figure, panels = new_figure(9, 2.9, columns=len(matrices))
    words = {}
    for panel, (name, m) in zip(panels, matrices.items(), strict=True):
        signed_image(panel, m.numpy())
        values = score(m, gamma)
        d = (values.directionality, values.directionality_released, values.directionality_tables)
        s, *d = (number(float(value), 2) for value in (values.symmetry, *d))
        panel.set(xticks=[], yticks=[], title=name, xlabel=f"s = {s}\nd = {' / '.join(d)}")
        words[name] = s, d[0]
    s, turned = words["the same, turned"]
    d = words["8 strong columns"][1]
    changes = (
        f"does not change the $d$ of Definition 3.2 either, which remains {d}"
        if d == turned
        else f"changes the $d$ of Definition 3.2 from {d} to {turned}"
    )
    caption = f"""Matrices with {ROWS} rows, their symmetry scores $s$ and their directionality scores $d$ at
        $\\gamma$ = {gamma:g}. We computed the three values of $d$ according to Definition 3.2, from the amounts by which the
        norms exceed their threshold (the formula of the authors' code) and from the amounts by which the logarithms of
        the norms exceed their threshold (the formula of Table S3). Negative entries are blue, and positive entries are red. A
        rotation of the basis does not change $s$, which remains {s}. The rotation {changes}."""
    scores = "; ".join(f"{name} {s}, {d}" for name, (s, d) in words.items())
    alt = f"{len(matrices)} square heat maps with their scores; s and d of Definition 3.2: {scores}."
    return CaptionedFigure(figure, "fig-score-gallery", caption, alt)


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
