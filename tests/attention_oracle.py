"""The oracle of the extraction: a transformers model's own attention probabilities.

A small model with random weights is read by `attngeo.open_model`, saved, read by `attngeo.open_checkpoint` with the
same forms, and run: every model inside that has attention of its own, by itself, with inputs that fit its signature.
The logits are rebuilt from the forms read, ``x_i^T W_qk,h x_j``, with the inputs that the query and key weights really
had, scaled and masked as the model does; their softmax must be what softmax gives inside its attention modules. What
all heads write must be ``sum_h p_ij W_o,h W_v,h^T x_j``. Biases are zero, positions equal, and norms of
queries and keys left out, so that nothing but W_qk remains in the logits.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from inspect import getattr_static, signature
from os.path import commonprefix
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import torch
from edited_files import edit_json
from safetensors.torch import load_file
from small_models import inputs_of, small_model
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.initialization import no_init_weights

from attngeo import AttentionLayer, BilinearForm, open_checkpoint, open_model
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.reading import Folding, Reading

TOLERANCE = 1e-6
EPSILON = 0.05  # by which the epsilon of a normalisation moves mean squares; a wrong gain by tenths
# parameters that add to the logits, zeroed like biases; a logit_scale of 0 is a factor exp(0)
ADDED = """relative rel_pos rel_embeddings rel_attn emb_rel position_bias distance_embedding pe_k bias_u bias_v rpb
logit_scale linear_pos""".split()
QK_NORMS = (
    *("q_norm", "k_norm", "q_layernorm", "k_layernorm", "query_layernorm", "key_layernorm", "qk_norm"),
    *("q_layer_norm", "k_layer_norm"),
)
# model_types whose entries name no normalisation though one stands before their queries, or behind what is before them
UNFOLDED = "chameleon glpn lxmert molmo2 muse_glimmer_assistant pvt pvt_v2 segformer".split()


@dataclass(frozen=True)
class Case:
    """A model_type and how its small model is made and run.

    Args:
        id: model_type, and after a "+" what is particular.
        build: makes the model; by default `small_models.small_model` of the model_type. A model of another type stands
            in for one whose code is not in transformers.
        run: calls the model, where running the models inside is not enough, or runs attention that is no form.
        scale: factor of the logits; by default what the attention module says, or 1 / sqrt(d_head).
        cosine: the model divides queries and keys by their lengths.
        time_first: the model's sequences are (tokens, batch, d).
        prepare: further changes to the model, such as taking positions out of its logits.
    """

    id: str
    build: Callable[[], PreTrainedModel] | None = None
    run: Callable[[PreTrainedModel], object] | None = None
    scale: float | None = None
    cosine: bool = False
    time_first: bool = False
    prepare: Callable[[PreTrainedModel], None] = lambda model: None

    @property
    def model_type(self) -> str:
        return self.id.partition("+")[0]


@dataclass(frozen=True)
class Made:
    """The small model of a case, with what is read from its files and from memory."""

    case: Case
    model: PreTrainedModel
    folder: Path
    checkpoint: Checkpoint
    opened: Checkpoint  # of the model itself
    in_memory: list[AttentionLayer]
    weights: Mapping[str, Tensor]  # of the whole file


def agrees(made: Made) -> None:
    """Fail unless every head of every layer of a case gives the model's own probabilities, and memory what files do."""
    case, observations = made.case, observe(made)
    plans = list(dict.fromkeys(each.plan for each in observations))
    norms = [plan.norm for plan in plans if plan.part != "cross"]
    folding = Folding(case.id, Reading(fold_norm=True), plans, {}) if norms and all(norms) else None
    for observed in observations:
        assert observed.masked_as_read(), ("mask", observed.plan)
        assert observed.error() < TOLERANCE, ("logits", observed.plan)
        assert observed.error_of_values() < TOLERANCE, ("values", observed.plan)
        form, live = observed.form, observed.in_memory.form
        assert torch.equal(live.wq, form.wq) and torch.equal(live.wk, form.wk), observed.in_memory.module
        places = [(layer.part, layer.layer, layer.causal) for layer in (observed.plan, observed.in_memory)]
        assert places[0] == places[1]
        if observed.before is not None and (observed.plan.norm or case.model_type not in UNFOLDED):
            assert torch.equal(observed.before, observed.weights[observed.plan.norm]), ("norm", observed.plan)
        if observed.plan.norm:
            normalised = observed.before_the_gain()
            assert normalised.unevenness() < EPSILON, ("gain", observed.plan)
            if folding is not None:
                folded = folding.folded(observed.form, observed.plan, observed.weights)
                assert normalised.error(folded) < TOLERANCE, ("folded", observed.plan)


@dataclass(frozen=True)
class Observation:
    """One attention layer in action: what it was read as, its inputs, and the model's probabilities."""

    case: Case
    plan: LayerPlan
    form: BilinearForm
    in_memory: AttentionLayer  # the same, from the model itself
    weights: Mapping[str, Tensor]  # of the whole file
    queries: Tensor  # (batch, i, d)
    keys: Tensor  # (batch, j, d)
    probabilities: Tensor  # (batch, heads, i, j)
    values: Tensor  # (batch, j, d) what the value weight reads
    written: Tensor | None  # (batch, i, d) what the output weight makes; WavLM's is given to torch's own attention
    before: Tensor | None  # weight of the layer's normalisation whose output the queries are made of
    scale: float

    def masked_as_read(self) -> bool:
        """Whether a query attends to a key behind it where the layer is not causal, and there alone."""
        sees_later_tokens = bool(self.probabilities.triu(1).any())
        causal = self.plan.part == "cross" or self.plan.causal != sees_later_tokens
        return causal and self.keys.shape[-2] > 1

    def unevenness(self) -> float:
        """How far the mean square of a token's input is from 1; that of padding may be 0."""
        squares = self.queries.square().mean(-1)
        return float((squares[squares > 0] - 1).abs().max())

    def before_the_gain(self) -> "Observation":
        """The same layer with inputs as they are before the gain."""
        gain, of_keys = (
            self.weights[norm] + self.plan.norm_offset
            for norm in (self.plan.norm, self.plan.key_norm or self.plan.norm)
        )
        return replace(self, queries=self.queries / gain, keys=self.keys / of_keys)

    def error_of_values(self) -> float:
        """Largest deviation of what heads write, rebuilt from the form of values and outputs, over its size."""
        if not self.plan.output or self.written is None:
            return 0.0
        outputs, values = self.plan.form(self.weights, "ov").per_head()
        heads = self.probabilities.reshape(len(self.queries), len(outputs), *self.probabilities.shape[-2:])
        written = torch.einsum("bhij,bjd,hdr,her->bie", heads.to(values.dtype), self.values, values, outputs)
        assert written.numel() == self.written.numel(), (written.shape, self.written.shape)
        largest = self.written.abs().max() or torch.tensor(1.0)  # the first objects that a DETR asks for are zeros
        return float((written - self.written.reshape(written.shape)).abs().max() / largest)

    def error(self, form: BilinearForm | None = None) -> float:
        """Largest deviation of the probabilities rebuilt from a form, over all heads."""
        q, k = (form or self.form).per_head()
        logits = torch.einsum("bid,hdr,her,bje->bhij", self.queries, q, k, self.keys) * self.scale
        if self.case.cosine:
            lengths = torch.einsum("bid,hdr->bhir", self.queries, q).norm(dim=-1)[..., None]
            logits = logits / lengths / torch.einsum("bjd,hdr->bhjr", self.keys, k).norm(dim=-1)[..., None, :]
        assert logits.numel() == self.probabilities.numel(), (logits.shape, self.probabilities.shape)
        probabilities = self.probabilities.reshape(logits.shape)
        logits = logits.masked_fill(probabilities == 0, -torch.inf)  # the causal one: `masked_as_read`
        return float((logits.softmax(-1) - probabilities).abs().max())


@contextmanager
def float64() -> Iterator[None]:
    """Models are made, and make their inputs, in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@float64()
def make(case: Case, folder: Path) -> Made:
    """Make, save and read a case's model."""
    torch.manual_seed(0)
    with no_init_weights():
        model = (case.build or small_model(case.model_type))().eval()
    model.config._experts_implementation = "eager"  # the others know no float64
    randomise(model)
    case.prepare(model)
    model.save_pretrained(folder)
    if model.config.model_type != case.model_type:  # a stand-in
        edit_json(folder / "config.json", model_type=case.model_type)
    opened = open_model(model, dict(model.config.to_dict(), model_type=case.model_type))
    return Made(case, model, folder, open_checkpoint(folder), opened, list(opened), load_weights(folder))


@float64()
def observe(made: Made, positions: bool = False, norms: bool = False) -> list[Observation]:
    """Run a case's model; with or without rotary positions, and norms of queries and keys.

    What is left out once is left out of every later run.
    """
    torch.manual_seed(0)
    case, model, checkpoint = made.case, made.model, made.checkpoint
    if not positions:
        leave_out_positions(model)
    if not norms:
        leave_out_norms(model)
    normalised = watch_norms(model)
    watched = {plan: Watched(model, live) for plan, live in zip(checkpoint.plans, made.opened.plans, strict=True)}
    Watched.running, Watched.unread = [], []
    with torch.no_grad(), recorded_softmax(), nullcontext() if positions else without_rotation(model):
        case.run(model) if case.run else run_alone(model, [each.module for each in watched.values()])
    assert case.run or not Watched.unread, "the model has more attention than was read"
    observations = []
    for plan, layer, live in zip(checkpoint.plans, checkpoint, made.in_memory, strict=True):
        calls = watched[plan].calls(case.time_first)
        assert calls, f"{plan.module} was not run"
        for queries, keys, values, written, p in calls:  # more than one where layers share their weights
            before = norm_before(plan, queries, normalised)
            seen = queries, keys, p, values, written
            scale = watched[plan].scale() if case.scale is None else case.scale
            observations.append(Observation(case, plan, layer.form, live, made.weights, *seen, before, scale))
    return observations


def watch_norms(model: nn.Module) -> list[tuple[str, Tensor, Tensor]]:
    """Name, weight and output of every normalisation, as they run."""
    outputs = []

    def noted(name: str, module: nn.Module, output: Tensor) -> None:
        outputs.append((name, module.weight, first_of(output)))

    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        if (
            re.search("(?<!No)norm", type(module).__name__, re.I)
            and isinstance(weight, Tensor)
            and not name.endswith(QK_NORMS)
        ):
            module.register_forward_hook(lambda module, args, output, name=name: noted(name, module, output))
    return outputs


def norm_before(plan: LayerPlan, queries: Tensor, outputs: Sequence[tuple[str, Tensor, Tensor]]) -> Tensor | None:
    """The weight of a normalisation of this layer whose output is what queries are made of; cross-attention has two."""
    numbers = re.findall(r"\d+", plan.module)
    for name, weight, output in outputs:
        of_layer = plan.part != "cross" and re.findall(r"\d+", re.sub(r"norm_?\d", "", name)) == numbers
        behind = name.endswith("full_layer_layer_norm")  # of ALBERT, whose layers are one
        if of_layer and not behind and output.numel() == queries.numel():
            if torch.equal(output.flatten(), queries.flatten()):
                return weight
    return None


class Watched:
    """The modules of one layer's attention, and what goes into its query and key weights and comes out of softmax."""

    running: ClassVar[list["Watched"]] = []
    unread: ClassVar[list[Tensor]] = []  # what softmax gives in maps of heads that no attention read is running

    def __init__(self, model: nn.Module, plan: LayerPlan) -> None:
        self.read = {name: [] for name in (plan.query, plan.key, plan.value) if name}
        self.plan, self.inputs, self.softmax, self.written = plan, [], [], []
        for name, seen in self.read.items():
            owner(model, name).register_forward_pre_hook(lambda module, args, seen=seen: seen.append(first_of(args)))
        if plan.output:
            owner(model, plan.output).register_forward_hook(lambda _, args, made: self.written.append(first_of(made)))
        within = [plan.query] if plan.keys_of is not None else [plan.query, plan.key]
        around = commonprefix([name.split(".")[:-2] for name in within])  # noqa: RUF071, of lists
        self.module = model.get_submodule(".".join(around))  # the innermost with both
        self.module.register_forward_pre_hook(self._enter, with_kwargs=True)
        self.module.register_forward_hook(lambda *_: Watched.running.remove(self))

    def scale(self) -> float:
        """The factor of the logits: what the module states, or 1 / sqrt(d_head)."""
        names = ("scaling", "scale", "softmax_scale", "attention_multiplier", "scalar")
        scale = next((getattr(self.module, name) for name in names if hasattr(self.module, name)), None)
        return self.plan.d_head**-0.5 if isinstance(scale, bool | nn.Module | None) else float(scale)

    def _enter(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        Watched.running.append(self)
        self.inputs.append((*args, *kwargs.values())[0])

    def calls(self, time_first: bool) -> list[tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]]:
        """Inputs of queries, keys and values, (batch, tokens, d), what is written, and probabilities, call by call."""
        reads = [self.read.get(name) or self.inputs for name in (self.plan.query, self.plan.key, self.plan.value)]
        flat = [
            [x.reshape(-1, *x.shape[-2:]) if x.ndim < 4 else x.flatten(1, -2) for x in xs]
            for xs in (*reads, self.written)
        ]
        flat = [[x.transpose(0, 1) for x in xs] for xs in flat] if time_first else flat
        window = getattr(self.module, "one_sided_attn_window_size", None)
        if window is not None:  # Longformer's code has tokens before sequences, and probabilities by distance
            flat[:3] = [[x.transpose(0, 1) for x in xs] for xs in flat[:3]]
            self.softmax = [by_tokens(p, window) for p in self.softmax]
        none, attend = [None] * len(reads[0]), []
        for p in self.softmax:
            queries, keys = (x[min(len(attend), len(x) - 1)] for x in flat[:2])
            rows, n = self.plan.heads * queries.numel() // queries.shape[-1], keys.shape[-2]
            # a softmax may have a sink behind the keys, or be one of other things, as of ConvBERT's kernels
            if p.shape[-1] in (n, n + 1) and p[..., 0].numel() == rows:
                attend.append(p[..., :n])
        return list(zip(*flat[:3], flat[3] or none, attend if len(attend) == len(none) else none, strict=True))


def by_tokens(banded: Tensor, window: int) -> Tensor:
    """Probabilities (batch, i, heads, distances from -window to window) by query and key, (batch, heads, i, j)."""
    n = banded.shape[1]
    by_key = banded.new_zeros(*banded.shape[:3], n + 2 * window)
    for i in range(n):
        by_key[:, i, :, i : i + 2 * window + 1] = banded[:, i]
    return by_key[..., window : window + n].transpose(1, 2)


def run_alone(model: PreTrainedModel, attentions: Sequence[nn.Module]) -> None:
    """Run each innermost model with attention, and each that holds one of the modules that are read."""
    inputs = {each: inputs_of(each) for each in model.modules() if isinstance(each, PreTrainedModel)}
    models = [each for each, given in inputs.items() if given]
    holding = {id(each): module for module in models for each in module.modules()}  # inner models come later
    attending = [each for each in models if any("Attention" in type(module).__name__ for module in each.modules())]
    innermost = [each for each in attending if not any(other in models for other in list(each.modules())[1:])]
    for inner in dict.fromkeys([*(holding[id(each)] for each in attentions), *innermost]):
        inner(**inputs[inner])


def first_of(given: Any) -> Any:
    """The tensor of inputs or of an output; modules that can be quantised give a scale beside it."""
    return first_of(given[0]) if isinstance(given, tuple) else given


@contextmanager
def recorded_softmax() -> Iterator[None]:
    """Every softmax is noted by the attention module that runs."""

    def noting(softmax: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def noted(*args, **kwargs) -> Tensor:
            result = softmax(*args, **kwargs)
            for watched in Watched.running:
                watched.softmax.append(result)
            over = kwargs.get("dim", args[1] if len(args) > 1 else -1)
            if not Watched.running and result.ndim == 4 and over in (-1, 3):
                Watched.unread.append(result)
            return result

        return noted

    with mock.patch.object(torch, "softmax", noting(torch.softmax)):
        with mock.patch.object(Tensor, "softmax", noting(Tensor.softmax)):  # which nn.functional's calls
            yield


def randomise(model: PreTrainedModel) -> None:
    """Weights of the size that makes logits of order one; no biases."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or any(word in name for word in ADDED):
                parameter.zero_()
            elif name.endswith("sinks"):
                parameter.fill_(-1e4)  # a logit that draws no attention
            elif parameter.ndim > 1 and not name.endswith("alpha"):  # of a codec's activation, by which it divides
                parameter.normal_(0, parameter.shape[1:].numel() ** -0.5 if "embed" not in name else 1)
            else:
                parameter.uniform_(0.5, 1.5)


def leave_out_positions(model: nn.Module) -> None:
    """Every token at position 0, where the rotation has cosine 1 and sine 0."""
    for module in model.modules():
        if any(word in type(module).__name__ for word in ("RotaryEmbedding", "RopePositionEmbedding")):
            module.register_forward_hook(
                lambda module, args, output: (
                    (torch.ones_like(output[0]), torch.zeros_like(output[1])) if isinstance(output, tuple) else output
                )
            )


def leave_out_norms(model: nn.Module) -> None:
    """Queries and keys not normalised."""
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in QK_NORMS:
            module.register_forward_hook(lambda module, args, output: args[0])


@contextmanager
def without_rotation(model: nn.Module) -> Iterator[None]:
    """The functions by which a model's code rotates queries and keys leave them as they are."""
    kinds = {type(module) for module in model.modules()}
    with ExitStack() as stack:
        for place in kinds | {sys.modules[kind.__module__] for kind in kinds}:
            for name in [
                each for each in vars(place) if re.match("(vision)?_?(apply|rotate).*(rotary|rope|rotation)", each)
            ]:
                static = isinstance(getattr_static(place, name), staticmethod)
                stack.enter_context(mock.patch.object(place, name, unrotated(getattr(place, name), static)))
        yield


def unrotated(rotate: Callable, static: bool) -> Any:
    """A function that gives back the queries and keys it is given, or its first argument."""

    def as_given(*args, **kwargs) -> Any:
        given = signature(rotate).bind(*args, **kwargs).arguments
        given.pop("self", None)
        both = [value for name, value in given.items() if re.match("x?[qkv](uery|ey|alue)?(_|$)", name)]
        return tuple(both) if len(both) > 1 else next(iter(given.values()))

    return staticmethod(as_given) if static else as_given


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a saved model, read by the safetensors library."""
    return {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}


def owner(model: nn.Module, weight: str) -> nn.Module:
    """The module that holds a weight, which a state dict of the model names; XLNet's attention holds several."""
    place = weight.removesuffix(".weight")
    return model.get_submodule(place.rpartition(".")[0] if re.search(r"rel_attn\.[qkv]$", place) else place)
