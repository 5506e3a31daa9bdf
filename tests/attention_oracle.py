"""The oracle of the extraction: a transformers model's own attention probabilities.

A small model with random weights is saved, read by `attngeo.open_checkpoint`, and run. The logits are rebuilt from the
forms read, ``x_i^T W_qk,h x_j``, with the inputs that the query and key weights really had, scaled and masked as the
model does; their softmax must be the probabilities that the model returns. Biases are zero and positions equal, so
that nothing but W_qk remains in the logits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from attngeo import BilinearForm, open_checkpoint
from attngeo.architectures import LayerPlan

TOLERANCE = 1e-6
POSITIONAL = ("relative", "rel_pos", "rel_embeddings", "position_bias")  # added to logits; zeroed like biases


@dataclass(frozen=True)
class Case:
    """A model_type and how its small model is made and run.

    Args:
        build: makes the model.
        inputs: what it is called with.
        attentions: part -> attribute of the output with the probabilities, (batch, heads, i, j) per layer.
        scale: factor of the logits, from the width of a head.
    """

    id: str
    build: Callable[[], PreTrainedModel]
    inputs: Callable[[], dict]
    attentions: Mapping[str, str] = field(default_factory=lambda: {"decoder": "attentions"})
    scale: Callable[[int], float] = lambda d_head: d_head**-0.5


@dataclass(frozen=True)
class Observation:
    """One attention layer in action: what it was read as, its inputs, and the model's probabilities."""

    plan: LayerPlan
    form: BilinearForm
    weights: Mapping[str, Tensor]  # of the whole file
    queries: Tensor  # (batch, i, d)
    keys: Tensor  # (batch, j, d)
    probabilities: Tensor  # (batch, heads, i, j)
    scale: float

    def error(self, form: BilinearForm | None = None) -> float:
        """Largest deviation of the probabilities rebuilt from a form, over all heads."""
        q, k = (form or self.form).per_head()
        logits = torch.einsum("bid,hdr,her,bje->bhij", self.queries, q, k, self.keys) * self.scale
        if self.plan.part == "decoder":
            logits = logits.masked_fill(~torch.ones(logits.shape[-2:]).tril().bool(), -torch.inf)
        assert logits.shape == self.probabilities.shape
        return float((logits.softmax(-1) - self.probabilities).abs().max())


def observe(case: Case, folder: Path, seed: int = 0) -> list[Observation]:
    """Save, read and run a case's model."""
    torch.manual_seed(seed)
    model = case.build().double().eval()
    model.set_attn_implementation("eager")
    randomise(model)
    model.save_pretrained(folder)
    checkpoint = open_checkpoint(folder)
    weights = load_weights(folder)
    owners = {name: owner(model, weights[name]) for plan in checkpoint.plans for name in (plan.query, plan.key)}
    seen: dict[nn.Module, list[Tensor]] = {module: [] for module in owners.values()}
    for module, calls in seen.items():
        module.register_forward_pre_hook(lambda module, args, calls=calls: calls.append(args[0]))
    for module in model.modules():
        if "RotaryEmbedding" in type(module).__name__:
            module.register_forward_hook(equal_positions)
    with torch.no_grad():
        output = model(**case.inputs(), output_attentions=True)
    observations = []
    for layer in checkpoint:
        plan = checkpoint.plans[len(observations)]
        queries, keys = seen[owners[plan.query]][-1], seen[owners[plan.key]][-1]
        probabilities = output[case.attentions[plan.part]][plan.layer]
        observations.append(
            Observation(plan, layer.form, weights, queries, keys, probabilities, case.scale(layer.form.d_head))
        )
    found = {part: sum(o.plan.part == part for o in observations) for part in case.attentions}
    assert found == {part: len(output[name]) for part, name in case.attentions.items()}
    return observations


def randomise(model: PreTrainedModel) -> None:
    """Weights of the size that makes logits of order one; no biases."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or any(word in name for word in POSITIONAL):
                parameter.zero_()
            elif parameter.ndim > 1:
                parameter.normal_(0, parameter[0].numel() ** -0.5 if "embed" not in name else 1)
            else:
                parameter.uniform_(0.5, 1.5)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a saved model, read by the safetensors library."""
    return {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}


def owner(model: nn.Module, weight: Tensor) -> nn.Module:
    """The module that holds a weight of the file: found by value, since a model may name it otherwise than its file."""
    for module in model.modules():
        found = getattr(module, "weight", None)
        if isinstance(found, Tensor) and found.shape == weight.shape and torch.equal(found, weight):
            return module
    raise AssertionError("no module of the model holds this weight")


def equal_positions(module: nn.Module, args: tuple, output: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The rotation at position 0 for every token: cosine 1, sine 0."""
    return torch.ones_like(output[0]), torch.zeros_like(output[1])
