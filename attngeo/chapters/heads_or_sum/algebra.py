"""Remark S1.5: the score of a sum over heads by pairs of heads, and the eigenvalues of a sum and of one head."""

from itertools import product

import torch

from attngeo.chapters.heads_or_sum.overlaps import overlaps, parts, ratio
from attngeo.chapters.heads_or_sum.spectrum import spectrum, symmetric_eigenvalues
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Judgement, check, exact


def related_heads(n_heads: int = 6, n_kv_heads: int = 3, d: int = 24, d_head: int = 3, seed: int = 0) -> BilinearForm:
    """Normal factors with a common part, so that heads overlap and are neither symmetric nor the contrary."""
    generator = torch.Generator().manual_seed(seed)
    common, *own = (
        torch.randn(n, d, d_head, generator=generator, dtype=torch.float64) for n in (1, n_heads, n_kv_heads)
    )
    return BilinearForm(*(common + w for w in own))


@check(related_heads)
def score_of_a_sum(form: BilinearForm) -> Judgement:
    """Eq. S20 in the score: inner products of pairs of heads add up to s; the sum multiplies (1 + s) / (1 - s)."""
    m = torch.stack([*form.heads()])
    kinds = {"symmetric": (m + m.mT) / 2, "skew": (m - m.mT) / 2}
    found, told = overlaps(form), parts(**overlaps(form).sums())
    signs = torch.tensor(list(product((1, -1), repeat=len(m))), dtype=torch.float64)
    turned = [torch.einsum("g,gh,h->", e, found.symmetric, e) for e in signs]
    return Judgement(
        exact("traces", _gap(found.traces, _inner(m.mT, m))),
        exact("products", _gap(found.products, _inner(m, m))),
        *(exact(kind, _gap(getattr(found, kind), _inner(of, of))) for kind, of in kinds.items()),
        exact("layer", told["symmetry"], symmetry_score(form.dense())),
        exact("ratio", told["factor"] * ratio(told["heads"]) / ratio(symmetry_score(form)), 1),
        *(
            exact(f"{kind} gain", told[f"{kind}_gain"], of.sum(0).square().sum() / of.square().sum())
            for kind, of in kinds.items()
        ),
        exact("signs", torch.stack(turned).mean() / found.symmetric.trace(), 1),
        heads=len(m),
    )


@check(related_heads)
def spectrum_of_a_sum(form: BilinearForm) -> Judgement:
    """Eigenvalues of the sum and of a head by small products; a head's symmetric part has d_head of either sign."""
    q, k = form.merged()
    told, of_heads = spectrum(q, k), [spectrum(*pair) for pair in zip(*form.per_head(), strict=True)]
    whole = torch.linalg.eigvalsh(form.symmetric_part())
    found = torch.cat([symmetric_eigenvalues(q, k), whole.new_zeros(max(0, form.d_model - 2 * q.shape[1]))])
    return Judgement(
        exact("score", told["in_eigenvalues"] * told["real"], symmetry_score(form.dense())),
        exact("normal", spectrum(q, q)["in_eigenvalues"], 1),
        exact("eigenvalues", _gap(found.sort().values, whole)),
        exact("positive share", told["positive"], whole.clamp_min(0).square().sum() / whole.square().sum()),
        *(exact(sign, max(abs(of[f"n_{sign}"] - form.d_head) for of in of_heads), 0, 0) for sign in SIGNS),
        d_head=form.d_head,
    )


SIGNS = ("positive", "negative")


def _inner(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Frobenius products of every pair: (g, d, d) and (h, d, d) to (g, h)."""
    return torch.einsum("gij,hij->gh", a, b)


def _gap(a: torch.Tensor, b: torch.Tensor) -> float:
    """Largest difference, relative to the largest entry."""
    return float((a - b).abs().max() / b.abs().max())
