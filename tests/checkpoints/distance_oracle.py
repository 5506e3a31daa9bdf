"""W_q R_m W_k^T at every distance against the model's own attention."""

import torch
from attention_oracle import Made, Observation, observe

from attngeo import BilinearForm, open_checkpoint
from attngeo.bilinear.rotations import at_distance
from attngeo.checkpoints.architectures.qk_norms import known_norms
from attngeo.checkpoints.architectures.rotary import rotation_of

CLOSE = 2e-5  # models compute angles in float32
PLANTED = 1e-2


def agrees_at_a_distance(made: Made) -> None:
    """Fail unless the forms of a case at every distance give the model's own probabilities."""
    plain, far, rotates = made.checkpoint, open_checkpoint(made.folder, distance=-2), False
    for observed in observe(made, positions=True):
        plan = observed.plan
        if plan in far.plans:
            forms = forms_by_distance(plain, observed, plain.plans.index(plan))
            assert equal(far.read(plan).form, forms[-2]), plan
            assert error(observed, forms) < CLOSE, plan
            rotates |= error(observed, {0: observed.form}) > PLANTED
    assert rotates  # so that a rotation that does nothing would be noticed


def error(observed: Observation, forms: dict[int, BilinearForm], epsilon: float | None = None) -> float:
    """Largest deviation of the probabilities rebuilt from forms by distance; 0 stands for all without one."""
    n = observed.queries.shape[-2]
    logits = torch.zeros(len(observed.queries), observed.plan.heads, n, n, dtype=torch.float64)
    for m in range(1 - n, n):
        q, k = forms.get(m, forms[0]).per_head()
        at_m = torch.einsum("bid,hdr,her,bje->bhij", observed.queries, q, k, observed.keys) * observed.scale
        logits += torch.diag_embed(at_m.diagonal(m, -2, -1), m, -2, -1)
    if epsilon is not None:
        q, k = divisors(observed, epsilon)
        logits = logits / q[..., :, None] / k[..., None, :]
    p = observed.probabilities.reshape(logits.shape)
    return float((logits.masked_fill(p == 0, -torch.inf).softmax(-1) - p).abs().max())


def divisors(observed: Observation, epsilon: float) -> list[torch.Tensor]:
    """By how much the norms divide queries and keys, (batch, heads, tokens), from the plain factors."""
    group, kind = observed.plan.heads // observed.plan.kv_heads, known_norms()[observed.case.model_type]
    found = []
    for inputs, factor, weight in (
        (observed.queries, observed.form.wq, observed.plan.query),
        (observed.keys, observed.form.wk, observed.plan.key),
    ):
        x = torch.einsum("btd,hdr->bhtr", inputs, factor)
        name = f"{weight.removesuffix('.weight').rpartition('.')[0]}.{kind.names[len(found)]}.weight"
        gain = observed.weights.get(name)
        over = (1, 3) if gain is not None and gain.ndim == 1 and len(gain) > x.shape[-1] else (3,)
        x = x - x.mean(over, keepdim=True) if kind.centred else x
        found.append((x.square().mean(over, keepdim=True) + epsilon).sqrt().expand(*x.shape[:3], 1)[..., 0])
    return [found[0], found[1].repeat_interleave(group, 1)]


def forms_by_distance(checkpoint, observed, place, rotate=at_distance) -> dict[int, BilinearForm]:
    """By distance, the form of a layer of a checkpoint that was opened at no distance."""
    plan, form, n = checkpoint.plans[place], checkpoint[place].form, observed.queries.shape[-2]
    rotations = {m: rotation_of(plan, m) for m in range(1 - n, 1 if plan.causal else n)}
    return {m: form if rotation is None else rotate(form, m, rotation) for m, rotation in rotations.items()}


def equal(one: BilinearForm, other: BilinearForm) -> bool:
    return torch.equal(one.wq, other.wq) and torch.equal(one.wk, other.wk)
