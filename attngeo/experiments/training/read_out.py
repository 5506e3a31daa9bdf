"""What a BERT reads out of an attended token in each layer, and the bilinear form of W_qk between positions."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import PreTrainedModel

from attngeo.experiments.training.bert import attention_layers, forms


@dataclass(frozen=True, eq=False)
class Probe:
    """Blocks with one predicted position each, and the tokens between which we measure read-outs."""

    input_ids: Int[Tensor, "blocks n"]
    predicted: Int[Tensor, " blocks"]  # a position of each block
    tokens: Int[Tensor, " vocab"]  # ids, such as the commonest of a text
    frequencies: Float[Tensor, " vocab"]  # relative frequencies of these tokens


def read_outs(model: PreTrainedModel, probe: Probe) -> Float[Tensor, "layers vocab vocab"]:
    """``A_ab = (mean d logit_a / d o) v_b``, centred: the effect of a unit of attention to token b on the logit of
    token a.

    o_i is the output of the heads of a layer at the predicted position, and v_b is the mean value of token b in this
    layer. Both indices are centred by the frequencies, because a constant that is added to all logits or to all values
    has no effect.
    """
    outputs, values, handles = [], [], []
    for layer in attention_layers(model):
        handles.append(layer.output.dense.register_forward_pre_hook(lambda _, given: outputs.append(given[0])))
        handles.append(layer.self.value.register_forward_hook(lambda _, given, made: values.append(made.detach())))
    try:
        logits = model(input_ids=probe.input_ids).logits
    finally:
        for handle in handles:
            handle.remove()
    blocks = torch.arange(len(probe.input_ids))
    summed = logits[blocks, probe.predicted][:, probe.tokens].sum(0)
    shown = (probe.input_ids[..., None] == probe.tokens).double()  # (blocks, N, vocab)
    counts = shown.sum((0, 1)).clamp_min(1)
    jacobians = torch.zeros(len(outputs), len(probe.tokens), outputs[0].shape[-1], dtype=torch.float64)
    for a, logit in enumerate(summed):
        for layer, grad in enumerate(torch.autograd.grad(logit, outputs, retain_graph=True)):
            jacobians[layer, a] = grad[blocks, probe.predicted].mean(0)
    means = torch.stack([torch.einsum("bnv,bnd->vd", shown, v.double()) / counts[:, None] for v in values])
    return centred(jacobians @ means.mT, probe.frequencies)


def centred(form: Float[Tensor, "*layers v v"], frequencies: Float[Tensor, " v"]) -> Float[Tensor, "*layers v v"]:
    """``(I - 1 pi^T) A (I - pi 1^T)``."""
    form = form - (frequencies @ form)[..., None, :]
    return form - (form @ frequencies)[..., None]


def weighted_symmetry(form: Float[Tensor, "v v"], frequencies: Float[Tensor, " v"]) -> float:
    """``sum pi_a pi_b A_ab A_ba / sum pi_a pi_b A_ab^2``: s over pairs of tokens, weighted by their frequencies."""
    weights = torch.outer(frequencies, frequencies)
    return float((weights * form * form.T).sum() / (weights * form.square()).sum())


def position_forms(model: PreTrainedModel, n_positions: int) -> Float[Tensor, "layers n n"]:
    """``P W_qk P^T`` of every layer, P the first rows of the position table, centred over them."""
    table = model.bert.embeddings.position_embeddings.weight[:n_positions].detach().double()
    p = table - table.mean(0)
    return torch.stack([p @ form.dense().detach().double() @ p.T for form in forms(model)])
