"""The query-key forms of a pretrained model's layers, reading nothing but the query and key tensors.

Tensors are found by their names, so no model code is run and no model is built.
"""

import math
import re
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any, get_args, overload

import torch
from jaxtyping import Float

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.positions import sinusoids
from attngeo.bilinear.rotations import Rotation, at_distance
from attngeo.checkpoints.adapters import Adapter, open_adapter
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import ABSOLUTE, Entry, Matrix, Part
from attngeo.checkpoints.architectures.keys import BESIDE
from attngeo.checkpoints.architectures.locate import is_opened, locate, unfollowed
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.qk_norms import norms_of, with_gains
from attngeo.checkpoints.architectures.rotary import NoRotation, is_hidden, limit_of, rotation_of
from attngeo.checkpoints.architectures.stacks import Count, Misfit
from attngeo.checkpoints.derived import Computed, by_plain_names, companions, require_readable
from attngeo.checkpoints.gguf_files import GgufFile, gguf_path
from attngeo.checkpoints.other_libraries import CLIP_CONFIG, of_clip, with_heads
from attngeo.checkpoints.quantised import FLOAT8, WAY_OUT, is_quantised, quantised, refusal
from attngeo.checkpoints.repositories import LocalFolder, open_repository, weight_files
from attngeo.checkpoints.tensorfiles import SUFFIXES, Repository, TensorFile, no_tensors
from attngeo.errors import CheckpointError, ParameterError
from attngeo.inputs import checked, local_path

QUERIES = ("q_proj", "query", "query_proj", "q", "qkv", "qkv_proj", "query_key_value", "c_attn", "to_q", "attn_q")
TABLE_APART = "positions/embeddings.safetensors"  # in a folder whose weights leave out the position table
WITHOUT_TABLE = {  # kinds of positions outside the embedding, in words
    "none-or-in-attention": "by rotating queries and keys or by a bias of the logits, or not at all",
    "rotary": "by rotating queries and keys",
    "alibi": "by a bias of the logits that falls with the distance",
    "rotary-or-alibi": "by rotating queries and keys, or by a bias of the logits",
    "relative-bias": "by a bias of the logits for each distance",
    "relative-key": "by keys for each distance",
    "relative-key-query": "by queries and keys for each distance",
    "relative-disentangled": "by queries and keys of their own for each distance",
    "convolution": "by a convolution over its inputs",
    "object-queries": "by learned queries without an order",
    "unknown": "in a way that the names of the tensors do not tell",
}
DIVISION = "the norms by which queries and keys are divided (a different number for each token and head)"
# configuration keys that tell the width of a head, or of all heads
WIDTH_OF_A_HEAD = re.compile(
    "head_dim|dim_head|head_size|head_width|d_kv|d_head|kv_channels|key_length|head_ratio|per_layer|q_dim|qk_|kv_heads"
)
PARTS = get_args(Part)
AHEAD = 64 * 2**20  # bytes of this and later layers that are fetched over a network while one is worked on
READERS = 8  # layers fetched at the same time


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """The query-key form of one attention layer, and where it was read.

    Args:
        part: "encoder", "decoder" or "cross" (attention from a decoder to an encoder).
        layer: number of the layer within its part, counted from 0.
        form: the factors of ``W_qk``, or of ``W_o W_v^T`` if ``matrix`` is "ov".
        causal: whether tokens attend only to themselves and to earlier tokens.
        module: name of the attention module in the file.
        file: name of the file that contains the query weight.
        norm: name of the tensor with the gains of the preceding layer normalisation if these gains are folded into the
            form, otherwise "".
        matrix: the matrix that the form represents, "qk" or "ov".
        read_as: model type that was passed to `open_checkpoint`, or "" if the checkpoint is read as its own type.
        head_numbers: original numbers of the remaining heads if heads were pruned, otherwise ().
        distance: position of the key minus the position of the query, or None if the form contains no rotation.
        qk_norms: names of the tensors with the gains of the query and key norms if these gains are folded into the
            form.
        reweighted: whether coordinates were multiplied by unequal numbers, such as gains. The scores of random weights
            are then unknown.
    """

    part: Part
    layer: int
    form: BilinearForm
    causal: bool = False
    module: str = ""
    file: str = ""
    norm: str = ""
    matrix: Matrix = "qk"
    read_as: str = ""
    head_numbers: tuple[int, ...] = ()
    distance: int | None = None
    qk_norms: tuple[str, ...] = ()
    reweighted: bool = False


class Checkpoint:
    """The attention layers of one model, as an iterable of `AttentionLayer`.

    Layers are read one at a time, and the checkpoint can be iterated repeatedly. Use `open_checkpoint` or
    `attngeo.open_model` to create a checkpoint.

    Args:
        name: name of the model.
        revision: commit of the Hub repository, or "" for local files.
        config: content of config.json.
        files: files that contain the tensors.
        adapter: LoRA adapter that is merged into the queries and keys.
        architectures: descriptions of the attention layers, by model type.
        own_type: model type in config.json if ``config`` contains a different type, as which the checkpoint is read.
        fold_norm: multiply both factors of every form by the gains of the preceding layer normalisation. For the matrix
            "ov", only the value factor is multiplied.
        matrix: matrix whose forms are read, "qk" or "ov".
        plans: descriptions of the layers if they are known without a configuration.
        distance: read ``W_q R_m W_k^T`` at this distance m (see `open_checkpoint`).
        fold_qk_norm: multiply both factors by the gains of the query and key norms.

    Raises:
        ParameterError: the matrix is unknown, or a distance or the query and key norms were requested for a matrix
            other than "qk".
        CheckpointError: the architecture is unknown, the tensors do not match the configuration, there are no gains to
            fold, or the value and output weights cannot be identified.
    """

    def __init__(
        self,
        name: str,
        revision: str,
        config: Mapping,
        files: list[TensorFile],
        adapter: Adapter | None = None,
        architectures: Mapping[str, Entry] = ARCHITECTURES,
        fold_norm: bool = False,
        matrix: Matrix = "qk",
        own_type: str | None = None,
        plans: list[LayerPlan] | None = None,
        distance: int | None = None,
        fold_qk_norm: bool = False,
    ) -> None:
        if matrix not in get_args(Matrix):
            raise ParameterError(f"matrix is {matrix!r}, and those that can be read are 'qk' and 'ov'; name one.")
        self.name, self.revision = name if adapter is None else f"{name} + {adapter.name}", revision
        self._all_files = files
        self._read: list[int] = []  # bytes of each tensor
        stored, self._several = _by_name(files)
        self._files, self._made = by_plain_names(stored)
        self._refusal, self._config = refusal(config), config
        self.model_type = str(config.get("model_type") or "")
        try:
            rounded = quantised(config, self._files)
            self._files |= rounded
            shapes = {name: file.shapes[name] for name, file in self._files.items()}
            self.plans = locate(architectures, config, shapes) if plans is None else plans
            self._unfollowed = unfollowed(architectures, config) if plans is None else []
            for weight in dict.fromkeys(name for plan in self.plans for name in plan.names(matrix) if name):
                if weight in self._files:
                    require_readable(weight, self._files)
        except CheckpointError as error:
            why = self._refusal or f"{error}" if isinstance(error, Misfit) else f"{error}"
            if own_type and (isinstance(error, Misfit) or self.model_type not in architectures):
                why = _read_as(self.model_type, own_type, why, own_type in architectures)
            raise CheckpointError(f"{self.name}: {why}") from error
        is_unknown = any(isinstance(file, GgufFile) and not file.is_known for file in files)
        self.taken_for = self.plans[0].part if is_unknown else ""  # of an architecture that is not known
        if adapter is not None:
            adapter.fit(config, self.plans, shapes)
        self.adapter, self.fold_norm, self.matrix = adapter, fold_norm, matrix
        self.read_as = "" if own_type is None else self.model_type
        self.stated_heads: int | None = None  # by whom opens it, where no config tells it
        if matrix == "ov" and (why := _why_not_values(self.plans, self._files, rounded, adapter)):
            raise CheckpointError(f"{self.name}: values and outputs {why}; score W_qk, matrix 'qk'.")
        if fold_norm:
            _require_gains(self.name, self.plans)
        self.distance, self.fold_qk_norm = distance, fold_qk_norm
        self._without_rotation: dict[LayerPlan, NoRotation] = {}  # why layers are left out
        self._rotations: dict[LayerPlan, Rotation | None] = {}
        self._qk_norms: dict[LayerPlan, tuple[list[str], list[str]]] = {}
        if distance is not None or fold_qk_norm:
            self._prepare_queries_and_keys()

    def _prepare_queries_and_keys(self) -> None:
        """Find the rotation of each layer and its norms of queries and keys, as far as they are asked for."""
        if self.distance is not None and not isinstance(self.distance, int):
            raise ParameterError(f"distance is {self.distance!r}; it must be a whole number of tokens, or None.")
        if self.matrix != "qk":
            raise ParameterError("Distances and norms of queries and keys belong to W_qk; score the matrix 'qk'.")
        if any(isinstance(file, GgufFile) for file in self._all_files):
            raise CheckpointError(
                f"{self.name}: a GGUF file stores queries and keys in an order of its own, so neither rotations nor"
                f" norms of queries and keys can be followed; score the original weights."
            )
        what = f"at distance {self.distance}"
        try:
            if self.distance is not None:
                self._rotate(self.distance)
            what = "with the gains of norms of queries and keys"
            if self.fold_qk_norm:
                normed = [plan for plan in self.plans if "norms" in plan.beside]
                self._qk_norms = {plan: norms_of(plan, self._files) for plan in normed}
                if not normed:
                    raise CheckpointError("it has no such norms that are known")
        except CheckpointError as error:
            raise CheckpointError(f"{self.name} cannot be scored {what}: {f'{error}'.removesuffix('.')}.") from error

    def _rotate(self, m: int) -> None:
        """Find the rotation of every layer at the distance m, and leave out parts without rotary positions."""
        for plan in self.plans:
            try:
                self._rotations[plan] = rotation_of(plan, m)
            except NoRotation as error:
                self._without_rotation[plan] = error
        self.plans = list(self._rotations)
        if not self.plans:
            raise next(iter(self._without_rotation.values()))

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
        return f"<{type(self).__name__} {self.name!r}: {self.model_type}, {len(self)} layers>"

    def __iter__(self) -> Generator[AttentionLayer, None, None]:
        """Yield the layers one after the other.

        Over a network, the next layers (up to AHEAD bytes) are fetched in the meantime.
        """
        if not any(file.remote for file in self._all_files):
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

        They are found by the configuration and the names of the tensors.
        """
        if self.matrix != "qk":
            return []
        parts: dict[str, set[Part]] = {}  # that have something beside W_qk, by the words for it
        for plan in self.plans:
            for words in self._beside(plan):
                parts.setdefault(words, set()).add(plan.part)
        in_all = {plan.part for plan in self.plans}
        order = [*(f"positions encoded {how}" for how in WITHOUT_TABLE.values()), *BESIDE.values(), DIVISION]
        return [
            words if parts[words] == in_all else f"{words} ({_and(sorted(parts[words], key=PARTS.index))} layers)"
            for words in dict.fromkeys(order)
            if words in parts
        ]

    def _beside(self, plan: LayerPlan) -> Iterator[str]:
        """What a layer has beside ``W_qk``, in words."""
        if plan.positions and plan.positions.kind in WITHOUT_TABLE and self.distance is None:
            yield f"positions encoded {WITHOUT_TABLE[plan.positions.kind]}"
        normalised = {each.model_type for each in self.plans if each.norm or "gains" in each.beside}
        has_gains = plan.model_type in normalised if plan.part == "cross" else plan.norm or "gains" in plan.beside
        if has_gains and not (self.fold_norm and plan.norm):
            yield BESIDE["gains"]
        folded = plan in self._qk_norms
        yield from (BESIDE[word] for word in plan.beside if word != "gains" and not (folded and word == "norms"))
        if folded:
            yield DIVISION

    @property
    def unread(self) -> list[str]:
        """Tensors that have the name of a query weight but belong to no layer of this checkpoint.

        They may belong to a tower that the model type does not describe.
        """
        read = {plan.query for plan in (*self.plans, *self._without_rotation)}
        modules = {name: name.removesuffix(".weight").removesuffix(".linear") for name in self._files}
        return [n for n, module in modules.items() if n not in read and module.rpartition(".")[2] in QUERIES]

    @property
    def remarks(self) -> list[str]:
        """Sentences about how queries and keys were read wherever the files and the model leave a choice."""
        weights = dict.fromkeys(name for plan in self.plans for name in plan.names(self.matrix))
        lines: list[str] = []
        twice = [n for w in weights for _, n in self._files[w].sources(w) if n in self._several]
        if self.stated_heads:
            lines.append(
                f"The number of heads was given as {self.stated_heads} and was not compared with the files. The tensors"
                f" were read as those of {self.model_type}."
            )
        if twice:
            first, more = twice[0], f" and {len(twice) - 1} more tensors are" if len(twice) > 1 else " is"
            lines.append(
                f"{first}{more} in several files ({', '.join(self._several[first])}). The last file was read, as"
                " transformers does, whichever file the index of the checkpoint names."
            )
        if beside := [name for w in weights if not self.adapter for name in companions(w, self._files)]:
            more = f" and {len(beside) - 1} more" if len(beside) > 1 else ""
            lines.append(f"Beside the weights that were read, there are tensors of unknown use: {beside[0]}{more}.")
        if any(is_opened(plan.module) for plan in self.plans):
            lines.append(
                "The layers of this decoder are labelled as attending in both directions, because its tensors are in a"
                " denoise_model, as those of DiffuGPT and DiffuLLaMA, whose code opens the causal mask."
            )
        sharing = [plan for plan in self.plans if plan.keys_of is not None]
        for part, maker in dict.fromkeys((plan.part, plan.keys_of) for plan in sharing):
            layers = [f"{plan.layer}" for plan in sharing if (plan.part, plan.keys_of) == (part, maker)]
            who = f"layers {', '.join(layers)} attend" if len(layers) > 1 else f"layer {layers[0]} attends"
            whose = "their" if len(layers) > 1 else "its"
            lines.append(
                f"In the {part}, {who} to the keys of layer {maker}, so W_qk joins {whose} W_q and the W_k of layer"
                f" {maker}."
            )
        if (narrow := self._of_unstated_width()) is not None:
            lines.append(
                f"The heads of {narrow.part} layer {narrow.layer} have {narrow.d_head} coordinates, which is not the"
                " width of the model divided by the number of heads, and no configuration key says so. If heads were"
                " pruned, the scores of layers are right and the scores of single heads are wrong."
            )
        if pruned := [f"{plan.part} layer {plan.layer}" for plan in self.plans if plan.head_numbers]:
            more = f" and {len(pruned) - 5} more" if len(pruned) > 5 else ""
            lines.append(
                f"Heads were pruned ({', '.join(pruned[:5])}{more}). The remaining heads keep their original numbers."
            )
        lines += dict.fromkeys(remark for plan in self.plans for remark in plan.remarks)
        made = {self._made[weight]: weight for weight in reversed(weights) if weight in self._made}
        lines += [f"{weight} was computed from its stored parts by {words}." for words, weight in made.items()]
        if self._unfollowed and self.matrix == "qk":
            lines.append(
                f"attngeo does not follow these keys of the configuration: {', '.join(self._unfollowed)}. If one of"
                " them changes queries, keys or the mask, the scores do not show that change."
            )
        return lines

    @property
    def included(self) -> list[str]:
        """Sentences about the rotations and gains that were included in ``W_qk`` on request."""
        lines: list[str] = []
        if self.distance is not None:
            lines.append(
                f"The scores are those of W_q R_m W_k^T at the distance m = {self.distance}, which is the position of"
                f" the key minus the position of the query. R_m is the rotation that the configuration describes"
                f"{', in texts of up to ' + limit + ' tokens' if (limit := self._limit()) else ''}."
            )
            still = [plan for plan in self.plans if self._rotations[plan] is None]
            hidden = [plan for plan in self.plans if is_hidden(plan, self.distance)]
            if still:
                lines.append(
                    f"W_qk of {self.name} is the same at all distances in {_listed(still)}, where positions rotate"
                    f" nothing."
                )
            if hidden:
                lines.append(f"No query of {self.name} attends that far in {_listed(hidden)}, because of a window.")
            lines += dict.fromkeys(
                f"Some layers of {self.name} are left out: {why}." for why in self._without_rotation.values()
            )
        if self._qk_norms:
            lines.append("The gains of the norms of queries and keys are multiplied into W_q and W_k.")
        return lines

    def _limit(self) -> str:
        """The length of texts up to which the rotations are the ones read, "" where they do not depend on it."""
        limits = [limit for plan in self.plans if (limit := limit_of(plan, self.distance or 0))]
        return f"{min(limits):,}" if limits else ""

    def _of_unstated_width(self) -> LayerPlan | None:
        """The first layer whose heads are wider or narrower than d / H without a configuration key for their width."""
        configs = [self._config]
        for config in configs:  # and those within, to any depth
            configs += [value for value in config.values() if isinstance(value, Mapping)]
        if any(WIDTH_OF_A_HEAD.search(f"{key}") for config in configs for key in config):
            return None
        for plan in self.plans:
            stated = plan.layout.rows is not None or plan.part == "cross" or plan.head_numbers
            inputs = self._files[plan.query].shapes[plan.query][-1]
            if not stated and plan.heads * plan.d_head != inputs:
                return plan
        return None

    def _size(self, plan: LayerPlan) -> int:
        return sum(self._files[name].size(name, rows) for name, rows in self._spans(plan).items())

    def _spans(self, plan: LayerPlan) -> dict[str, tuple[int, int] | None]:
        gains = {name: None for name in (plan.norm, plan.key_norm) if name} if self.fold_norm and plan.norm else {}
        gains |= dict.fromkeys(name for names in self._qk_norms.get(plan, ()) for name in names)
        return plan.spans(self.matrix) | gains

    def read(self, plan: LayerPlan) -> AttentionLayer:
        """One layer, by its plan.

        Raises:
            CheckpointError: a file cannot be read, or a tensor holds NaN or infinite weights.
        """
        read = {name: self._weight(name, rows) for name, rows in self._spans(plan).items()}
        norm = plan.norm if plan.norm in read else ""
        form = plan.form(read, self.matrix)
        if norm:
            gain, of_keys = (
                read[name].to(torch.promote_types(form.wq.dtype, torch.float32))[:, None] + plan.norm_offset
                for name in (norm, plan.key_norm or norm)
            )
            form = BilinearForm(form.wq * (gain if self.matrix == "qk" else 1), form.wk * of_keys)
        qk_norms = self._qk_norms.get(plan, ([], []))
        if plan in self._qk_norms:
            form = with_gains(form, plan, [[read[name] for name in names] for names in qk_norms])
        rotation = self._rotations.get(plan)
        if rotation is not None and self.distance is not None:
            form = at_distance(form, self.distance, rotation)
        for name, factor in zip(plan.names(self.matrix), (form.wq, form.wk), strict=True):
            least, greatest = zip(*(torch.aminmax(head.mT) for head in factor), strict=True)  # NaN if any is
            if not torch.stack((*least, *greatest)).isfinite().all():
                raise CheckpointError(
                    f"{self.name}: {name} holds NaN or infinite weights, so training diverged or the file is damaged;"
                    f" open another checkpoint, or score single layers that are whole (attngeo score --layer N)."
                )
        file = self._files[plan.query].name
        return AttentionLayer(
            plan.part,
            plan.layer,
            form,
            plan.causal,
            plan.module,
            file,
            norm,
            self.matrix,
            self.read_as,
            plan.head_numbers,
            self.distance,
            tuple(name for names in qk_norms for name in names),
            reweighted=bool(norm or plan in self._qk_norms or (rotation and rotation.reweights(form.d_head))),
        )

    def position_rows(
        self, plan: LayerPlan, gain: Float[torch.Tensor, " width"] | float = 1.0
    ) -> Float[torch.Tensor, "positions d"]:
        """The position embeddings p_i of ``x_i = e(t_i) + p_i`` (Def. S1.1), in float64.

        Args:
            plan: the layer, in whose input coordinates the embeddings are given.
            gain: gains of a layer normalisation through which the embeddings pass. They multiply the coordinates.

        Raises:
            CheckpointError: the model does not add position embeddings, or the files do not contain them.
        """
        entry = plan.positions
        if plan.part == "cross":
            raise CheckpointError(f"{self.name}: cross-attention joins two sequences, each with positions of its own.")
        if entry is None or entry.kind not in ABSOLUTE:
            how = WITHOUT_TABLE.get(entry.kind, f"as {entry.kind}") if entry else "in a way that no entry tells"
            raise CheckpointError(
                f"{self.name}: its {plan.part} encodes positions {how}, and adds no table of them to the embedding that"
                f" a score could be split by."
            )
        if not entry.table and not entry.computed:
            raise CheckpointError(
                f"{self.name}: the files hold no table of the {entry.kind} positions of its {plan.part} under a name"
                f" that is known; fetch the whole checkpoint, or score it without splitting by positions."
            )
        d = self._files[plan.query].shapes[plan.query][0 if plan.layout.transposed else 1]
        if not entry.table:
            return sinusoids(entry.computed, d) * gain
        rows = self._weight(entry.table, None).double().flatten(0, -2)
        patches_alone = entry.first == 1 and math.isqrt(len(rows)) ** 2 == len(rows)  # no row of a class token
        rows = rows[0 if patches_alone else entry.first :] * gain
        if entry.map and rows.shape[1] != d:
            rows = rows @ self._weight(entry.map, None).double().T
        if rows.shape[1] != d:
            raise CheckpointError(
                f"{self.name}: {entry.table} has rows of width {rows.shape[1]} and the layers have {d}; the files are"
                f" those of different models."
            )
        return rows

    def _weight(self, name: str, rows: tuple[int, int] | None) -> torch.Tensor:
        """A weight, or its rows [start, stop)."""
        weight = self._files[name].read(name, rows)
        self._read.append(self._files[name].size(name, rows))
        if not weight.is_floating_point() or weight.dtype in FLOAT8:
            why = self._refusal or f"nothing beside it tells which numbers it stands for; {WAY_OUT}."
            raise CheckpointError(f"{self.name}: {name} is stored as {str(weight.dtype)[6:]}, and {why}")
        return weight if self.adapter is None else self.adapter.merged(name, weight, rows)


def open_checkpoint(
    path_or_id: str | PathLike,
    revision: str | None = None,
    adapter: str | PathLike | None = None,
    model_type: str | None = None,
    fold_norm: bool = False,
    subfolder: str = "",
    matrix: Matrix = "qk",
    heads: int | None = None,
    distance: int | None = None,
    fold_qk_norm: bool = False,
) -> Checkpoint:
    """``W_qk,h = W_q,h W_k,g(h)^T`` (Eqs. S19, S20) for every layer of a checkpoint.

    Args:
        path_or_id: a folder with config.json and weights (safetensors or ``.bin``, in one file or sharded), a weight
            file next to its config.json, a GGUF file, or a Hub id such as ``google-bert/bert-base-uncased``. A Hub id
            may also be written as ``ID@REVISION``, as ``hf://ID`` or as the address of the model page.
        revision: branch, tag or commit of the Hub repository.
        adapter: folder or Hub id of a peft LoRA adapter, which is merged into the queries and keys as they are read.
        model_type: the supported model type to read the checkpoint as, if its own type differs from it only in name.
        fold_norm: score ``diag(g) W_qk diag(g)``, where g are the gains of the layer normalisation that precedes
            attention.
        subfolder: subfolder of the folder or repository that contains config.json and the weights.
        matrix: "qk" for W_qk,h, or "ov" for ``W_o,h W_v,g(h)^T``. The rows of the second matrix are the coordinates to
            which a head writes, and its columns are the coordinates that the head reads.
        heads: number of heads of every attention layer, for checkpoints without a config.json of transformers. The
            tensors must be named as in nanoGPT, timm, open_clip, Megatron Core or the given ``model_type``. Leave this
            argument out if there is an open_clip_config.json, which contains the number of heads.
        distance: read ``W_q,h R_m W_k,g(h)^T`` of a model with rotary positions at the distance m, in tokens, which is
            the position of the key minus the position of the query. None reads ``W_qk,h``, which corresponds to
            distance 0.
        fold_qk_norm: multiply the factors by the gains of the query and key norms: ``W_q,h diag(g_q) diag(g_k)
            W_k,g(h)^T``. The norms also divide by a number that differs between tokens and heads, and this division is
            not included.

    Returns:
        An iterable of `AttentionLayer` that also has a length and the attributes ``name``, ``revision``,
        ``model_type``, ``bytes_read`` and ``bytes_in_all``. The forms never contain biases, and they contain rotary
        positions and the gains of query and key norms only on request. Weights keep the data type of the file.

    Raises:
        CheckpointError: the checkpoint does not exist, its architecture is unknown, its files are damaged or
            incomplete, the adapter is of an unsupported kind or belongs to another model, the Hub refuses access, or
            the requested distance or norms do not exist or are not supported.
        ParameterError: the matrix is unknown, a distance or the query and key norms were requested for a matrix other
            than "qk", or ``heads`` is invalid or already given by the configuration.
    """
    if heads is not None:
        checked(heads, Count, lambda why: ParameterError(f"heads is {heads!r}: {why}."))
        if distance is not None:
            raise ParameterError(
                "Without a config.json, nothing tells how positions rotate queries and keys; leave out the distance."
            )
    if not isinstance(path_or_id, str | PathLike):
        kind = type(path_or_id).__name__
        raise CheckpointError(f"open_checkpoint takes a path or a Hub id, not one of type {kind}; open_model a model.")
    path = local_path(path_or_id, CheckpointError)
    if not str(path_or_id).strip():  # an empty path is the current folder
        raise CheckpointError(f"there is no file or folder {str(path_or_id)!r}; check the path.")
    if subfolder and path.exists():
        if not (path / subfolder).exists():  # no folder here is looked for on the Hub
            raise CheckpointError(f"{path} has no folder {subfolder}; check its name.")
        path_or_id = path = path / subfolder
    model_type = model_type or None
    if (gguf := gguf_path(path, adapter, revision, model_type)) is not None:
        if heads is not None:
            raise ParameterError(f"{gguf.name} tells the number of heads; leave --heads out.")
        opened = GgufFile(gguf)
        entries = {opened.architecture: opened.entry}
        return Checkpoint(
            gguf.stem,
            "",
            opened.config,
            [opened],
            architectures=entries,
            fold_norm=fold_norm,
            matrix=matrix,
            distance=distance,
            fold_qk_norm=fold_qk_norm,
        )
    file = path if path.is_file() else None
    if file is not None and file.suffix not in SUFFIXES:
        raise no_tensors(file)
    repository = open_repository(file.parent if file else path_or_id, revision, subfolder=subfolder)
    stated, named = repository.json("config.json"), file.name if file else ""
    if heads is not None:
        has_clip_config = stated is None and repository.fetch(CLIP_CONFIG) is not None
        if has_clip_config or (stated or {}).get("model_type"):
            teller = CLIP_CONFIG if has_clip_config else "config.json"
            raise ParameterError(f"{teller} of {repository.name} tells the number of heads; leave --heads out.")
        files = weight_files(repository, named)
        shapes = {name: each.shapes[name] for name, each in by_plain_names(_by_name(files)[0])[0].items()}
        config = with_heads(shapes, heads, model_type)
    else:
        clip = repository.json(CLIP_CONFIG) if stated is None else None
        config = _config(repository) if clip is None else of_clip(clip)
        files = weight_files(repository, named)
    own_type = None if model_type in (None, config["model_type"]) else f"{config['model_type']}"
    is_guessed = stated is not None and heads is None and not (model_type or stated.get("model_type"))
    config["model_type"] = model_type or config["model_type"]
    if isinstance(repository, LocalFolder) and (apart := repository.open(TABLE_APART)) is not None:
        files.append(apart)
    merged = None if adapter is None else open_adapter(adapter)
    try:
        checkpoint = Checkpoint(
            repository.name,
            repository.revision,
            config,
            files,
            merged,
            ARCHITECTURES,
            fold_norm,
            matrix,
            own_type,
            distance=distance,
            fold_qk_norm=fold_qk_norm,
        )
    except CheckpointError as error:
        if is_guessed and isinstance(error.__cause__, Misfit):
            raise CheckpointError(
                f"{f'{error}'.removesuffix('.')}; the config names no model_type, and {config['model_type']!r} was"
                f" taken from the name {repository.name}: name another (--as)."
            ) from error
        raise
    checkpoint.stated_heads = heads
    if merged is not None:
        merged.require_use()
    return checkpoint


def _and(words: list[str]) -> str:
    """Words joined as in a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _read_as(model_type: str, own_type: str, why: str, is_known: bool) -> str:
    """Why a checkpoint of a type cannot be read as another, and the way out."""
    way = "Read it as that type" if is_known else "Name a known type like it, or register it"
    why = re.split("; |[.] ", why)[0].removesuffix(".")
    return f"it cannot be read as {model_type!r}, because {why}. Its config says {own_type!r}. {way}."


def _why_not_values(
    plans: list[LayerPlan],
    files: Mapping[str, TensorFile],
    rounded: Mapping[str, TensorFile],
    adapter: Adapter | None,
) -> str:
    """Why values and outputs cannot be read, "" where they can be; ``rounded`` are the quantised queries and keys."""
    unknown = next((plan for plan in plans if not plan.output), None)
    beside = {name for plan in plans for name in plan.names("ov")} - rounded.keys()
    if any(isinstance(file, Computed) for file in rounded.values()):
        return "are rounded while the model runs, as queries and keys are, and are not read so"
    if (rounded and unknown) or any(is_quantised(name, files) for name in beside):
        return "of quantised weights are not read"
    if unknown and any(isinstance(file, GgufFile) for file in files.values()):
        return "of a GGUF file are not read"
    if unknown:
        return f"of {unknown.part} layer {unknown.layer} are gated, not known, or not in these files"
    if adapter is not None:
        return "may be adapted, and adapters are merged into queries and keys alone"
    return ""


def _require_gains(name: str, plans: list[LayerPlan]) -> None:
    """Refuse to fold gains of a layer normalisation that are not there for every layer that should have one."""
    folded = {plan.part for plan in plans if plan.norm}  # parts whose gains are there
    for plan in plans:
        # a first layer may have none by its architecture, as ModernBERT's
        if not plan.norm and ((plan.layer and plan.part in folded) or not folded):
            raise CheckpointError(
                f"{name}: no gain of a layer normalisation right before queries and keys is known, or is in these"
                f" files, for {plan.part} layer {plan.layer}; score it without folding."
            )


def _listed(plans: list[LayerPlan]) -> str:
    """Layers by part and number, for people."""
    parts = dict.fromkeys(plan.part for plan in plans)
    numbers = {part: ", ".join(f"{plan.layer}" for plan in plans if plan.part == part) for part in parts}
    return " and ".join(f"{part} layer{'s' if ', ' in which else ''} {which}" for part, which in numbers.items())


def _by_name(files: list[TensorFile]) -> tuple[dict[str, TensorFile], dict[str, list[str]]]:
    """The file of each tensor, the last one that has it; and the names of all files of those that stand in several."""
    by_name: dict[str, list[TensorFile]] = {}
    for file in files:
        for name in file.shapes:
            by_name.setdefault(name, []).append(file)
    several = {name: [file.name for file in found] for name, found in by_name.items() if len(found) > 1}
    return {name: found[-1] for name, found in by_name.items()}, several


def _config(repository: Repository) -> dict[str, Any]:
    config = repository.json("config.json")
    if config is None:
        raise repository.absent("config.json")
    # configs of the first years name none; transformers then goes by the repository's name
    if config.get("model_type"):
        return dict(config)
    if "pretrained_cfg" in config or ("architecture" in config and "num_features" in config):
        raise CheckpointError(
            f"{repository.name} is a checkpoint of timm (architecture {config.get('architecture')!r:.80}), whose"
            f" config does not tell the number of heads; give it (--heads N)."
        )
    named = max((name for name in ARCHITECTURES if name in repository.name.lower()), key=len, default="")
    return {**config, "model_type": named}
