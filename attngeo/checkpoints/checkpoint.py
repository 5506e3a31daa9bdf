"""The attention layers of a model: located by the names of its tensors, and read one at a time.

Only the query and key tensors are read. No code of the model is run, and no model is built.
"""

import math
import re
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import overload

import torch
from jaxtyping import Float

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints import position_tables, remarks
from attngeo.checkpoints.adapters import Adapter
from attngeo.checkpoints.architectures.entry import BETWEEN
from attngeo.checkpoints.architectures.locate import locate, unfollowed
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import Misfit
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.derived import require_readable
from attngeo.checkpoints.gguf_files import GgufFile
from attngeo.checkpoints.model_files import ModelFiles, Tensors
from attngeo.checkpoints.quantised import WAY_OUT, Quantised, is_quantised, refusal
from attngeo.checkpoints.quantised_formats import FLOAT8
from attngeo.checkpoints.reading import Folding, Reading
from attngeo.errors import CheckpointError

AHEAD = 64 * 2**20  # bytes of this and later layers that are fetched over a network while one is processed
READERS = 8  # layers fetched at the same time


class Checkpoint:
    """The attention layers of one model, as an iterable of `AttentionLayer`.

    Layers are read one at a time, and you can iterate over the checkpoint several times. Use `open_checkpoint` or
    `attngeo.open_model` to create this object.

    Args:
        model: name, configuration and open files of the model.
        reading: which matrix to read, and which gains and rotations to include in it.
        adapter: LoRA adapter that is merged into the queries and keys.

    Raises:
        CheckpointError: the architecture is unknown, the tensors do not match the configuration, there are no gains to
            fold, or the value and output weights cannot be identified.
    """

    def __init__(self, model: ModelFiles, reading: Reading, adapter: Adapter | None = None) -> None:
        self.name = model.name if adapter is None else f"{model.name} + {adapter.name}"
        self.revision, self.model_type = model.revision, model.model_type
        self.read_as = "" if model.own_type is None else model.model_type
        self.reading, self.adapter = reading, adapter
        self._model, self._tensors = model, Tensors(model.files)
        self._read: list[int] = []  # bytes of each tensor
        try:
            self._tensors.dequantise(model.config)
            self.plans, self._unfollowed = _located(model, self._tensors)
            self._require_readable()
        except CheckpointError as error:
            raise CheckpointError(f"{self.name}: {_why_not_located(model, error)}") from error
        is_unknown = any(isinstance(file, GgufFile) and not file.is_known for file in model.files)
        self.taken_for = self.plans[0].part if is_unknown else ""  # for a GGUF file whose architecture is not known
        if adapter is not None:
            adapter.fit(model.config, self.plans, self._tensors.shapes)
        if reading.matrix == "ov" and (why := _why_not_values(self.plans, self._tensors, adapter)):
            raise CheckpointError(f"{self.name}: values and outputs {why}; score W_qk instead (matrix 'qk').")
        self._folding = Folding(self.name, reading, self.plans, self._tensors.files)
        self.plans = self._folding.plans

    def _require_readable(self) -> None:
        """Refuse weights whose numbers are not in the files."""
        for weight in self._weights:
            if weight in self._tensors.files:
                require_readable(weight, self._tensors.files)

    @property
    def _weights(self) -> list[str]:
        """The tensors of the factors of all layers, each once."""
        names = (name for plan in self.plans for name in plan.names(self.reading.matrix))
        return list(dict.fromkeys(filter(None, names)))

    def __len__(self) -> int:
        return len(self.plans)

    @overload
    def __getitem__(self, number: int) -> AttentionLayer: ...
    @overload
    def __getitem__(self, number: slice) -> list[AttentionLayer]: ...
    def __getitem__(self, number: int | slice) -> AttentionLayer | list[AttentionLayer]:
        """Read one layer by its position in the iteration, or all layers of a slice."""
        chosen = self.plans[number]
        return list(map(self.read, chosen)) if isinstance(chosen, list) else self.read(chosen)

    def __repr__(self) -> str:
        layers = "1 layer" if len(self) == 1 else f"{len(self)} layers"
        return f"<{type(self).__name__} {self.name!r}: {self.model_type}, {layers}>"

    def __iter__(self) -> Generator[AttentionLayer, None, None]:
        """Yield the layers one after the other.

        Over a network, the next layers (up to AHEAD bytes) are fetched in the meantime.
        """
        if not any(file.remote for file in self._model.files):
            yield from map(self.read, self.plans)
            return
        pool, later, coming = ThreadPoolExecutor(READERS), iter(self.plans), deque[Future]()
        most = math.ceil(AHEAD / max(map(self._size, self.plans), default=1))
        try:
            for _ in self.plans:
                coming.extend(pool.submit(self.read, plan) for plan in islice(later, most - len(coming)))
                yield coming.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def bytes_read(self) -> int:
        """Number of bytes of tensors that have been read so far."""
        return sum(self._read)

    @property
    def bytes_in_all(self) -> int:
        """Total number of bytes of all query and key weights, according to the file headers."""
        return sum(self._size(plan) for plan in self.plans)

    @property
    def left_out(self) -> list[str]:
        """Components of the model's attention that are not part of ``W_qk``.

        They are identified by the configuration and the tensor names.
        """
        return remarks.left_out(self.plans, self._folding) if self.reading.matrix == "qk" else []

    @property
    def unread(self) -> list[str]:
        """Tensors that have the name of a query weight but belong to no layer of this checkpoint.

        They may belong to a tower that is missing from the description of the model type.
        """
        read = {plan.query for plan in (*self.plans, *self._folding.without_rotation)}
        return remarks.unread(self._tensors.files, read)

    @property
    def remarks(self) -> list[str]:
        """Sentences that say how queries and keys were read if the files and the model allow more than one way."""
        weights, tensors = self._weights, self._tensors
        return [
            *remarks.of_heads_without_config(self._model),
            *remarks.of_files(weights, tensors, self.adapter is not None),
            *remarks.of_layers(self.plans),
            *remarks.of_unstated_width(self.plans, self._model.config, tensors),
            *remarks.of_pruned_heads(self.plans),
            *dict.fromkeys(remark for plan in self.plans for remark in plan.remarks),
            *remarks.of_computed_weights(weights, tensors),
            *(remarks.of_unfollowed_keys(self._unfollowed) if self.reading.matrix == "qk" else ()),
        ]

    @property
    def included(self) -> list[str]:
        """Sentences about the rotations and gains that were included in ``W_qk`` on request."""
        return list(remarks.included(self.name, self.plans, self._folding))

    def read(self, plan: LayerPlan) -> AttentionLayer:
        """One layer, by its plan.

        Raises:
            CheckpointError: a file cannot be read, or a tensor contains NaN or infinite weights.
        """
        matrix = self.reading.matrix
        weights = {name: self._weight(name, rows) for name, rows in self._spans(plan).items()}
        form = self._folding.folded(plan.form(weights, matrix), plan, weights)
        self._require_finite(plan, form)
        return AttentionLayer(
            part=plan.part,
            layer=plan.layer,
            form=form,
            causal=plan.causal,
            module=plan.module,
            file=self._tensors.files[plan.query].name,
            norm=self._folding.norm(plan),
            matrix=matrix,
            read_as=self.read_as,
            head_numbers=plan.head_numbers,
            distance=self.reading.distance,
            qk_norms=self._folding.qk_gains(plan),
            reweighted=self._folding.reweights(plan, form.d_head),
        )

    def _require_finite(self, plan: LayerPlan, form: BilinearForm) -> None:
        """Refuse a layer with NaN or infinite weights."""
        for name, factor in zip(plan.names(self.reading.matrix), (form.wq, form.wk), strict=True):
            least, greatest = zip(*(torch.aminmax(head.mT) for head in factor), strict=True)  # NaN if any entry is
            if not torch.stack((*least, *greatest)).isfinite().all():
                raise CheckpointError(
                    f"{self.name}: {name} contains NaN or infinite weights, so training diverged or the file is"
                    " damaged; open another checkpoint, or score only layers with finite weights (attngeo score"
                    " --layer N)."
                )

    def position_rows(
        self, plan: LayerPlan, gain: Float[torch.Tensor, " width"] | float = 1.0
    ) -> Float[torch.Tensor, "positions d"]:
        """The position embeddings p_i of ``x_i = e(t_i) + p_i`` (Def. S1.1), in float64.

        Args:
            plan: the layer in whose input coordinates the embeddings are given.
            gain: gains of a layer normalisation through which the embeddings pass. They multiply the coordinates.

        Raises:
            CheckpointError: the model does not add position embeddings, or the files do not contain them.
        """
        d = self._tensors.files[plan.query].shapes[plan.query][0 if plan.layout.transposed else 1]
        return position_tables.position_rows(self.name, plan, d, self._weight, gain)

    def _weight(self, name: str, rows: tuple[int, int] | None = None) -> torch.Tensor:
        """A weight, or its rows [start, stop)."""
        file = self._tensors.files[name]
        weight = file.read(name, rows)
        self._read.append(file.size(name, rows))
        if not weight.is_floating_point() or weight.dtype in FLOAT8:
            why = refusal(self._model.config)
            why = why or f"the files do not say which numbers the stored values represent; {WAY_OUT}."
            raise CheckpointError(f"{self.name}: {name} is stored as {str(weight.dtype)[6:]}, and {why}")
        return weight if self.adapter is None else self.adapter.merged(name, weight, rows)

    def _spans(self, plan: LayerPlan) -> dict[str, tuple[int, int] | None]:
        """The tensors to read for a layer, each with the rows [start, stop) that are needed, or None for all rows."""
        return plan.spans(self.reading.matrix) | dict.fromkeys(self._folding.gains(plan))

    def _size(self, plan: LayerPlan) -> int:
        """Number of bytes that are read for a layer."""
        return sum(self._tensors.files[name].size(name, rows) for name, rows in self._spans(plan).items())


def _located(model: ModelFiles, tensors: Tensors) -> tuple[list[LayerPlan], list[str]]:
    """The plans of the attention layers, and the keys of the configuration that they do not take into account."""
    if model.plans is not None:
        return model.plans, []
    of_layers = locate(model.architectures, model.config, tensors.shapes)
    return of_layers, unfollowed(model.architectures, model.config)


def _why_not_located(model: ModelFiles, error: CheckpointError) -> str:
    """The reason why the attention of a model cannot be found in its files, and a solution."""
    is_misfit = isinstance(error, Misfit)
    why = (refusal(model.config) if is_misfit else "") or f"{error}"
    if not model.own_type or not (is_misfit or model.model_type not in model.architectures):
        return why
    way = (
        "Read it as this type"
        if model.own_type in model.architectures
        else "Give a supported type that is like it, or register it"
    )
    why = re.split("; |[.] ", why)[0].removesuffix(".")
    return f"it cannot be read as {model.model_type!r}, because {why}. Its config says {model.own_type!r}. {way}."


def _why_not_values(plans: list[LayerPlan], tensors: Tensors, adapter: Adapter | None) -> str:
    """The reason why values and outputs cannot be read, or "" if they can be."""
    rounded = tensors.quantised
    unknown = next((plan for plan in plans if not plan.output), None)
    beside = {name for plan in plans for name in plan.names("ov")} - rounded.keys()
    if not all(isinstance(file, Quantised) for file in rounded.values()):
        return "are rounded while the model runs, which attngeo supports only for queries and keys"
    if (rounded and unknown) or any(is_quantised(name, tensors.files) for name in beside):
        return "of quantised weights cannot be read"
    if unknown and any(isinstance(file, GgufFile) for file in tensors.files.values()):
        return "of a GGUF file cannot be read"
    if unknown:
        return f"of {unknown.part} layer {unknown.layer} {_why_unknown(unknown, tensors)}"
    if adapter is not None:
        return "may be adapted, but attngeo merges adapters only into queries and keys"
    return ""


def _why_unknown(plan: LayerPlan, tensors: Tensors) -> str:
    """The reason why the plan of a layer has no value and output weights."""
    own = [name for name in tensors.shapes if name.startswith(f"{plan.module}.") and name not in (plan.query, plan.key)]
    between = next((name for name in own if any(word in name for word in BETWEEN)), "")
    if plan.layout.gated or between:
        return (
            f"are gated or normalised{f' ({between})' if between else ''}, so W_o W_v^T does not describe what heads"
            " write"
        )
    if plan.query != plan.key and not any(len(tensors.shapes[name]) == 2 for name in own):
        return "are not in these files"
    return "are not known for this model type, or one of them is not in these files"
