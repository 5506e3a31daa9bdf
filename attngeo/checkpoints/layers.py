"""The query-key forms of a pretrained model's layers, reading nothing but the query and key tensors.

Tensors are found by their names, so no model code is run and no model is built.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated

import torch
from msgspec import Meta

from attngeo.bounds import checked, local_path
from attngeo.checkpoints.adapters import Adapter, open_adapter
from attngeo.checkpoints.architectures import ARCHITECTURES, Entry, LayerPlan, Misfit, Part, locate
from attngeo.checkpoints.architectures.locate import Name, value_of
from attngeo.checkpoints.dequantise import FLOAT8
from attngeo.checkpoints.gguf_files import GgufFile, gguf_path
from attngeo.checkpoints.misplaced import no_checkpoint, no_config, no_weights
from attngeo.checkpoints.quantised import WAY_OUT, quantised, refusal
from attngeo.checkpoints.repositories import LocalFolder, Repository
from attngeo.checkpoints.sources import open_repository
from attngeo.checkpoints.tensorfiles import SUFFIXES, TensorFile
from attngeo.errors import CheckpointError
from attngeo.forms.bilinear import BilinearForm

# first found, first taken; an index names the files of a sharded checkpoint
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
AHEAD = 64 * 2**20  # bytes of later layers fetched while one is worked on
# name of a shard: nothing outside the folder
File = Annotated[str, Meta(pattern=r"^(?![\\/])(?!(.*[\\/])?\.\.([\\/]|$))[^\x00-\x1f]+$", max_length=240)]
SHARDS_AT_ONCE = 8  # headers of a sharded checkpoint read at the same time


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """One layer's attention.

    Args:
        part: "encoder", "decoder" or "cross" (decoder to encoder).
        layer: its number within the part, from 0.
        form: ``W_qk`` of the layer by its factors.
        causal: whether a token sees only those before it.
        module: name of the attention module in the file.
        file: name of the file that holds its query weight.
    """

    part: Part
    layer: int
    form: BilinearForm
    causal: bool = False
    module: str = ""
    file: str = ""


class Checkpoint:
    """The attention layers of one model: an iterable of `AttentionLayer`, read one at a time, as often as wanted.

    Made by `open_checkpoint` and `attngeo.open_model`.

    Args:
        name: of the model.
        revision: commit of a Hub repository, "" for what is local.
        config: the content of its config.json.
        files: that hold its tensors.
        adapter: merged into its queries and keys.
        architectures: by model_type.

    Raises:
        CheckpointError: unknown architecture, or the tensors do not fit the config.
    """

    def __init__(
        self,
        name: str,
        revision: str,
        config: Mapping,
        files: list[TensorFile],
        adapter: Adapter | None = None,
        architectures: Mapping[str, Entry] = ARCHITECTURES,
    ) -> None:
        self.name, self.revision = name if adapter is None else f"{name} + {adapter.name}", revision
        self.model_type = value_of(config, "model_type", Name) or ""
        self._all_files = files
        self._files = {name: file for file in files for name in file.shapes}  # by tensor name
        self._refusal = refusal(config)
        try:
            self._files |= quantised(config, self._files)
            shapes = {name: file.shapes[name] for name, file in self._files.items()}
            self.plans: list[LayerPlan] = locate(architectures, config, shapes)
        except CheckpointError as error:
            why = self._refusal if isinstance(error, Misfit) else ""
            raise CheckpointError(f"{self.name}: {why or error}") from error
        if adapter is not None:
            adapter.fit(config, self.plans, shapes)
        self.adapter = adapter

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, number: int) -> AttentionLayer:
        """One layer by its place in the iteration, read now; negative numbers count from the end."""
        return self.read(self.plans[number])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.model_type}, {len(self)} layers>"

    def __iter__(self) -> Iterator[AttentionLayer]:
        """The layers in turn; over a network the next ones are fetched meanwhile, as far as AHEAD bytes go."""
        coming: deque[int] = deque()  # bytes of each layer from the current one on that is being fetched
        try:
            for number, plan in enumerate(self.plans):
                for later in self.plans[number + len(coming) :]:
                    if coming and sum(coming) >= AHEAD:
                        break
                    for name, rows in later.spans().items():
                        self._files[name].prefetch(name, rows)
                    coming.append(self._size(later))
                yield self.read(plan)
                coming.popleft()
        finally:
            for file in self._all_files:
                file.forget()

    @property
    def bytes_read(self) -> int:
        """Bytes of tensors read so far."""
        return sum(file.bytes_read for file in self._all_files)

    @property
    def bytes_in_all(self) -> int:
        """Bytes of queries and keys in all layers, as the headers tell."""
        return sum(self._size(plan) for plan in self.plans)

    def _size(self, plan: LayerPlan) -> int:
        return sum(self._files[name].size(name, rows) for name, rows in plan.spans().items())

    def read(self, plan: LayerPlan) -> AttentionLayer:
        """One layer, by its plan.

        Raises:
            CheckpointError: a file cannot be read, or a tensor holds NaN or infinite weights.
        """
        form = plan.form({name: self._weight(name, rows) for name, rows in plan.spans().items()})
        for name, factor in ((plan.query, form.wq), (plan.key, form.wk)):
            if not all(_is_finite(head) for head in factor):
                raise CheckpointError(
                    f"{self.name}: {name} holds NaN or infinite weights; training diverged or the file is damaged:"
                    f" fetch it again or open another checkpoint."
                )
        return AttentionLayer(plan.part, plan.layer, form, plan.causal, plan.module, self._files[plan.query].name)

    def _weight(self, name: str, rows: tuple[int, int] | None) -> torch.Tensor:
        """A weight, or its rows [start, stop)."""
        weight = self._files[name].read(name, rows)
        if not weight.is_floating_point() or weight.dtype in FLOAT8:
            why = self._refusal or f"nothing beside it tells which numbers it stands for; {WAY_OUT}."
            raise CheckpointError(f"{self.name}: {name} is stored as {str(weight.dtype)[6:]}, and {why}")
        return weight if self.adapter is None else self.adapter.merged(name, weight, rows)


def open_checkpoint(
    path_or_id: str | PathLike, revision: str | None = None, adapter: str | PathLike | None = None
) -> Checkpoint:
    """The layers' ``W_qk,h = W_q,h W_k,g(h)^T`` (Eqs. S19, S20) of a local folder, a weight file, or a Hub repository.

    Args:
        path_or_id: a folder with config.json and weights (safetensors or ``.bin``, single or sharded), one weight
            file with config.json beside it, a GGUF file, or a Hub id such as ``google-bert/bert-base-uncased``.
        revision: branch, tag or commit of a Hub repository.
        adapter: folder or Hub id of a LoRA adapter of peft, merged into the queries and keys as they are read.

    Returns:
        An iterable of `AttentionLayer`, with ``len``, ``name``, ``revision``, ``model_type``, ``bytes_read``,
        ``bytes_in_all``. Biases, rotary positions and normalisations of q and k are no part of the forms. Weights keep
        the type of the file.

    Raises:
        CheckpointError: nothing there, unknown architecture, damaged or incomplete files, an adapter of another kind or
            for another model, or the Hub refuses.
    """
    if not isinstance(path_or_id, str | PathLike):
        raise CheckpointError(
            f"open_checkpoint needs a path or a Hub id, not a {type(path_or_id).__name__}; open_model takes models."
        )
    path = local_path(path_or_id, CheckpointError)
    if (gguf := gguf_path(path, adapter)) is not None:
        opened = GgufFile(gguf)
        return Checkpoint(gguf.stem, "", opened.config, [opened], architectures={opened.architecture: opened.entry})
    file = path if path.is_file() else None
    if file is not None and file.suffix not in SUFFIXES:
        raise no_weights(file)
    repository = open_repository(file.parent if file else path_or_id, revision)
    config = _config(repository, file)
    files = _weight_files(repository, file.name if file else "")
    if adapter is None:
        return Checkpoint(repository.name, repository.revision, config, files)
    merged = open_adapter(adapter)
    checkpoint = Checkpoint(repository.name, repository.revision, config, files, merged)
    merged.require_use()
    return checkpoint


def _config(repository: Repository, file: Path | None) -> Mapping:
    config = repository.json("config.json")
    if config is None:
        raise _nothing(repository, "config.json") if file is None else no_config(file)
    if config.get("model_type"):
        return config
    # configs of the first years name none; transformers then goes by the repository's name
    return {**config, "model_type": _named(repository.name)}


def _named(repository: str) -> str:
    """The longest model_type that a repository's name contains."""
    return max((name for name in ARCHITECTURES if name in repository.lower()), key=len, default="")


def _is_finite(head: torch.Tensor) -> bool:
    """Whether no weight is NaN or infinite, without a copy of the weights."""
    least, greatest = torch.aminmax(head.mT)  # NaN if any is
    return bool(torch.isfinite(least) and torch.isfinite(greatest))


def _weight_files(repository: Repository, weights: str) -> list[TensorFile]:
    """The files of tensors: the one asked for, or those of the first of WEIGHTS that is there."""
    for name in (weights,) if weights else (*WEIGHTS, *repository.other_weights()):
        if name.endswith(".index.json"):
            if repository.fetch(name) is not None:
                with ThreadPoolExecutor(SHARDS_AT_ONCE) as pool:
                    return list(pool.map(partial(_shard, repository, name), _shards(repository, name)))
        elif (file := repository.open(name)) is not None:
            return [file]
    raise _nothing(repository, weights or ", ".join(WEIGHTS))


def _nothing(repository: Repository, files: str) -> CheckpointError:
    return no_checkpoint(repository.path) if isinstance(repository, LocalFolder) else repository.absent(files)


def _shards(repository: Repository, index: str) -> list[str]:
    weight_map = checked(
        (repository.json(index) or {}).get("weight_map"),
        Annotated[dict[str, File], Meta(min_length=1)],
        lambda why: CheckpointError(
            f"{index} of {repository.name} has no weight_map to files beside it ({why}); fetch it again."
        ),
    )
    return sorted(set(weight_map.values()))


def _shard(repository: Repository, index: str, shard: str) -> TensorFile:
    file = repository.open(shard)
    if file is None:
        raise repository.absent(f"{shard}, which {index} names")
    return file
