"""Opening a checkpoint from a path or an id, whichever library wrote it."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from attngeo.checkpoints.adapters import open_adapter
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Matrix
from attngeo.checkpoints.architectures.heads import MISMATCH
from attngeo.checkpoints.architectures.stacks import Count, Misfit
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.gguf_files import GgufFile, gguf_path
from attngeo.checkpoints.model_files import ModelFiles, Tensors
from attngeo.checkpoints.other_libraries import CLIP_CONFIG, number_of_heads, of_clip, with_heads
from attngeo.checkpoints.position_tables import TABLE_APART
from attngeo.checkpoints.reading import Reading
from attngeo.checkpoints.repositories import LocalFolder, open_repository, other_format, weight_files
from attngeo.checkpoints.repository_base import Repository
from attngeo.checkpoints.tensorfiles import SUFFIXES, no_tensors
from attngeo.errors import CheckpointError, ParameterError
from attngeo.inputs import checked, local_path


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
        model_type: supported model type, as which the checkpoint is read. Use this argument if the model type of the
            checkpoint differs from the supported type only in name.
        fold_norm: whether to score ``diag(g) W_qk diag(g)``, where g is the vector of gains of the layer normalisation
            that precedes attention.
        subfolder: name of the subfolder of the folder or repository in which config.json and the weights are.
        matrix: "qk" for W_qk,h, or "ov" for ``W_o,h W_v,g(h)^T``. The rows of the second matrix are the coordinates to
            which a head writes, and its columns are the coordinates that the head reads.
        heads: number of heads of every attention layer, for checkpoints without a config.json in the format of
            transformers. The tensors must be named as in nanoGPT, timm, open_clip, Megatron Core or the given
            ``model_type``. Leave this argument out if there is an open_clip_config.json or a ckpt.pt with nanoGPT's
            model_args, because these files contain the number of heads.
        distance: distance m at which ``W_q,h R_m W_k,g(h)^T`` of a model with rotary positions is read. It is the
            position of the key minus the position of the query, in tokens. If this argument is None, ``W_qk,h`` is
            read, which corresponds to distance 0.
        fold_qk_norm: whether to multiply the factors by the gains of the query and key norms: ``W_q,h diag(g_q)
            diag(g_k) W_k,g(h)^T``. These norms also divide each query and key by a number that varies from token to
            token and from head to head. The factors do not include this division.

    Returns:
        An iterable of `AttentionLayer` that also has a length and the attributes ``name``, ``revision``,
        ``model_type``, ``bytes_read`` and ``bytes_in_all``. The forms never contain biases, and they contain rotary
        positions and the gains of query and key norms only on request. Weights keep the data type in which the file
        stores them.

    Raises:
        CheckpointError: the checkpoint does not exist, its architecture is unknown, its files are damaged or
            incomplete, the adapter is of an unsupported kind or belongs to another model, the Hub refuses access, or
            the requested distance or norms do not exist or are not supported.
        ParameterError: ``matrix`` is neither "qk" nor "ov", a distance or the query and key norms were requested for a
            matrix other than "qk", or ``heads`` is invalid or already given by the configuration.
    """
    if heads is not None:
        checked(heads, Count, lambda why: ParameterError(f"heads is {heads!r}: {why}."))
        if distance is not None:
            raise ParameterError(
                "Without a config.json, attngeo does not know how positions rotate queries and keys; leave out the"
                " distance."
            )
    reading = Reading(matrix, fold_norm, distance, fold_qk_norm)
    place = _with_subfolder(path_or_id, subfolder)
    path = local_path(place, CheckpointError)
    if (gguf := gguf_path(path, adapter, revision, model_type or None)) is not None:
        return Checkpoint(_of_gguf(gguf, heads), reading)
    if path.is_file() and path.suffix not in SUFFIXES:
        raise no_tensors(path)
    is_file = path.is_file()
    repository = open_repository(path.parent if is_file else place, revision, subfolder=subfolder)
    model = _of_repository(repository, path.name if is_file else "", model_type or None, heads)
    merged = None if adapter is None else open_adapter(adapter)
    try:
        checkpoint = Checkpoint(model, reading, merged)
    except CheckpointError as error:
        why, mismatch, _ = f"{error}".partition(MISMATCH)
        if heads is not None and mismatch:
            raise CheckpointError(
                f"{why}The given number of heads, {heads}, does not fit these weights; give the number of heads with"
                " which the model was trained."
            ) from error
        if model.is_guessed and isinstance(error.__cause__, Misfit):
            raise CheckpointError(
                f"{f'{error}'.removesuffix('.')}; the config contains no model_type, so {model.model_type!r} was"
                f" inferred from the name {repository.name}; if this is wrong, give the model type with --as."
            ) from error
        raise
    if merged is not None:
        merged.require_use()
    return checkpoint


def _with_subfolder(path_or_id: str | PathLike, subfolder: str) -> str | PathLike:
    """The path or id as it is, or the subfolder if the path is a local folder."""
    if not isinstance(path_or_id, str | PathLike):
        kind = type(path_or_id).__name__
        raise CheckpointError(
            f"open_checkpoint accepts a path or a Hub id, not an object of type {kind}; for a model in memory, use"
            " open_model."
        )
    path = local_path(path_or_id, CheckpointError)
    if not str(path_or_id).strip():  # because an empty path would mean the current folder
        raise CheckpointError(f"there is no file or folder {str(path_or_id)!r}; check the path.")
    if not (subfolder and path.exists()):
        return path_or_id
    if not (path / subfolder).exists():  # otherwise the path would be looked for on the Hub
        raise CheckpointError(f"{path} has no folder {subfolder}; check its name.")
    return path / subfolder


def _of_gguf(path: Path, heads: int | None) -> ModelFiles:
    """The model in a GGUF file, whose metadata serve as its configuration."""
    if heads is not None:
        raise ParameterError(f"{path.name} contains the number of heads; leave --heads out.")
    file = GgufFile(path)
    return ModelFiles(path.stem, "", file.config, [file], architectures={file.architecture: file.entry})


def _of_repository(repository: Repository, weights: str, model_type: str | None, heads: int | None) -> ModelFiles:
    """The model in a repository, from the weight file of the given name or from files with the usual names."""
    stated = repository.json("config.json")
    files, about_heads = [], ""
    if heads is not None:
        _require_no_config(repository, stated)
    if heads is not None or _are_alone(repository, weights, stated):
        files = weight_files(repository, weights)
        heads, about_heads = number_of_heads(files, heads)
    config = _config(repository, stated) if heads is None else with_heads(Tensors(files).shapes, heads, model_type)
    files = files or weight_files(repository, weights)
    if isinstance(repository, LocalFolder) and (apart := repository.open(TABLE_APART)) is not None:
        files.append(apart)
    own_type = config["model_type"]
    return ModelFiles(
        repository.name,
        repository.revision,
        config | {"model_type": model_type or own_type},
        files,
        own_type=None if model_type in (None, own_type) else f"{own_type}",
        about_heads=about_heads,
        is_guessed=stated is not None and heads is None and not (model_type or stated.get("model_type")),
    )


def _are_alone(repository: Repository, weights: str, stated: Mapping | None) -> bool:
    """Whether there is no configuration, so that only the weights can contain the number of heads."""
    if stated is not None or repository.fetch(CLIP_CONFIG) is not None:
        return False
    is_of_another_tool = isinstance(repository, LocalFolder) and other_format(repository.path)
    return bool(weights or (not is_of_another_tool and repository.other_weights()))


def _require_no_config(repository: Repository, stated: Mapping | None) -> None:
    """Refuse a given number of heads if a configuration contains it."""
    has_clip_config = stated is None and repository.fetch(CLIP_CONFIG) is not None
    if has_clip_config or (stated or {}).get("model_type"):
        teller = CLIP_CONFIG if has_clip_config else "config.json"
        raise ParameterError(f"{teller} of {repository.name} contains the number of heads; leave --heads out.")


def _config(repository: Repository, stated: Mapping | None) -> dict[str, Any]:
    """The configuration of a model with its model_type; ``stated`` is the content of its config.json, if it has one."""
    if stated is None:
        clip = repository.json(CLIP_CONFIG)
        if clip is None:
            raise repository.absent("config.json")
        return of_clip(clip)
    if stated.get("model_type"):
        return dict(stated)
    if "pretrained_cfg" in stated or ("architecture" in stated and "num_features" in stated):
        raise CheckpointError(
            f"{repository.name} is a checkpoint of timm (architecture {stated.get('architecture')!r:.80}), whose"
            " config does not contain the number of heads; give this number with --heads N."
        )
    # the first configs contained no model_type; transformers then uses the name of the repository
    named = max((name for name in ARCHITECTURES if name in repository.name.lower()), key=len, default="")
    return {**stated, "model_type": named}
