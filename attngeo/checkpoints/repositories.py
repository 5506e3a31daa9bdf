"""Finding what a path or an id means: a local folder, or a repository on the Hub (`hub`)."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta

from attngeo.checkpoints.repository_base import Repository
from attngeo.checkpoints.tensorfiles import SUFFIXES, TensorFile
from attngeo.errors import CheckpointError
from attngeo.inputs import checked, local_path

# the first of these files that exists is read; an index lists the files of a sharded checkpoint
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
ANY = "weights of a usual name"  # how messages name them if none of them exists
# name of a shard, which must not lead out of the folder
File = Annotated[str, Meta(pattern=r"^(?![\\/])(?!(.*[\\/])?\.\.([\\/]|$))[^\x00-\x1f]+$", max_length=240)]
SHARDS_AT_ONCE = 8  # number of headers of a sharded checkpoint that are read at the same time
# files of trainers that are not weights
OF_TRAINER = ("optimizer", "scheduler", "training_args", "rng_state", "random_states", "scaler")
# an id, ID@REVISION, hf://ID, or the address of a page of the Hub
ADDRESS = re.compile(
    r"""(?:
        (?: (?:https?://)? (?:www\.)? (?:huggingface\.co|hf\.co)/ | hf:// )
        (?P<page> [^@/?#]+ (?:/[^@/?#]+)? )
        (?: / (?:
            tree/ (?P<tree> [^/?#]+ ) (?:/ (?P<folder> [^?#]+? ) )?
            | (?:blob|resolve)/ (?P<blob> [^/?#]+ ) (?:/ (?P<file> [^?#]* ) )?
        ) )?
        /? (?: [?#].* )?
        | (?P<id> (?![./~\\]) [^@/:]+ (?:/[^@/]+)? )
    )
    (?:@ (?P<revision> .+ ) )?""",
    re.VERBOSE,
)


class LocalFolder(Repository):
    """A folder like a Hub repository. A snapshot in the cache of the Hub has the name of its repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.revision = os.fsencode(path.resolve().name).decode(errors="replace"), ""
        if run := _run_around(path.resolve()):
            self.name = run
        repository = path.resolve().parent.parent.name
        if path.resolve().parent.name == "snapshots" and repository.startswith("models--"):
            self.name, self.revision = repository.removeprefix("models--").replace("--", "/"), path.resolve().name

    def fetch(self, file: str) -> Path | None:
        """The path of the file, or None if it does not exist."""
        return self.path / file if (self.path / file).is_file() else None

    def other_weights(self) -> list[str]:
        """The weight file of the folder, if there is exactly one of its kind."""
        names = weight_names(self.path)
        return names if len(names) == 1 else []

    def absent(self, files: str) -> CheckpointError:
        """The error for missing files, with a solution that depends on the other files in the folder."""
        configured, names = (self.path / "config.json").is_file(), set(re.split(r"[ ,()]+", files))
        shard = configured and not files.startswith(ANY)  # the missing file is named in an index or by the user
        if broken := [path.name for path in self.path.glob("*") if path.name in names and not path.is_file()]:
            why = f"has a {broken[0]} that is not a file, or that is a broken link; fetch the checkpoint again"
        elif not configured and (self.path / "adapter_config.json").is_file():
            why = (
                f"is an adapter and not a model; score its base model with it: attngeo score BASE --adapter {self.path}"
            )
        elif inside := [path for path in saved_steps(self.path) if path != self.path]:
            why = (
                f"is not a checkpoint, but contains {len(inside)} of them; score one of these, for example: attngeo"
                f" score {inside[-1]}"
            )
        elif not shard and (other := other_format(self.path)):
            why = other
        elif not any(self.path.iterdir()):
            why = "is an empty folder. Give a folder with config.json and weights, a weight file, or an id of the Hub"
        elif files.startswith(ANY) and (parts := _parts_of_one_model(self.path)):
            why = f"has {parts} of one model, but {WEIGHTS[1]} is missing; fetch the checkpoint again with this file"
        elif files.startswith(ANY) and len(found := weight_names(self.path)) > 1:
            why = f"has {len(found)} weight files of unusual names ({', '.join(found[:5])}). They may be different"
            why += f" models, so name one of them, such as {self.path / found[0]}"
        elif not configured:
            why = (
                "has no config.json, the file that contains the model type and the number of heads. In transformers,"
                " model.config.save_pretrained writes this file. Checkpoints of nanoGPT, timm and Megatron Core can"
                " be read if you give the number of heads (--heads N). If another library made the checkpoint,"
                " convert it, or load it with that library and pass the model and a config to attngeo.open_model"
            )
        else:
            why = f"has no {files}; fetch the checkpoint again, or save it with save_pretrained"
        return CheckpointError(f"{self.path} {why}.")


def _run_around(folder: Path) -> str:
    """The run whose model is in a folder, as RUN or RUN/checkpoint-N, or "" if it is not the model of a run."""
    for above, place in ((folder.parent, "model"), (folder.parent.parent, "checkpoints")):
        inside = folder.relative_to(above).parts
        if inside[:1] == (place,) and (above / "run.json").is_file():
            return "/".join((above.name, *inside[1:]))
    return ""


def other_format(folder: Path) -> str:
    """A description of a checkpoint in the format of another tool, and how to convert it; "" if there is none."""
    if steps := sorted(path.name for path in folder.glob("global_step*") if path.is_dir()):
        return (
            f"contains the parts of a DeepSpeed checkpoint ({steps[-1]}) instead of whole weights; create whole"
            " weights with zero_to_fp32.py, which DeepSpeed puts into that folder"
        )
    if part := next(iter(sorted((*folder.glob("*.distcp"), *folder.glob("*/*.distcp")))), None):
        return (
            f"contains the parts of a distributed checkpoint ({part.parent.name}/{part.name}) instead of whole"
            " weights; create whole weights with dcp_to_torch_save of torch.distributed.checkpoint.format_utils, and"
            " save them next to config.json"
        )
    if (folder / "params.json").is_file() and list(folder.glob("consolidated*")):
        return "is a checkpoint in Meta's format; convert it with convert_llama_weights_to_hf.py of transformers"
    if any(folder.glob("mp_rank_*")) or (folder / "model_optim_rng.pt").is_file():
        return (
            "is a checkpoint of Megatron-LM; merge the slices of all devices into one file of tensors and give the"
            " number of heads (--heads N), or convert it to transformers' format"
        )
    return ""


def weight_names(folder: Path) -> list[str]:
    """The names of the weight files in a folder, of the first suffix for which there are any."""
    for suffix in SUFFIXES:
        if names := sorted(path.name for path in folder.glob(f"*{suffix}") if not path.name.startswith(OF_TRAINER)):
            return names
    return []


def _parts_of_one_model(folder: Path) -> str:
    """A description of the parts 1 to N of one model in a folder, or "" if some of them are missing."""
    names = weight_names(folder)
    parts = [re.fullmatch(r"model-(\d+)-of-(\d+)\.safetensors", name) for name in names]
    counts = {int(part[2]) for part in parts if part}
    if len(names) < 2 or not all(parts) or counts != {len(names)}:
        return ""
    return f"the parts 1 to {len(names)}"


def saved_steps(folder: Path) -> list[Path]:
    """The checkpoints that a run saved in a folder or in its ``checkpoints/``, ordered by step, and its final model.

    The final model is in ``model/`` or in the folder itself. The list is empty if there are no checkpoints.
    """
    folders = (*folder.glob("checkpoint-*"), *folder.glob("checkpoints/checkpoint-*"))
    steps = [path for path in folders if _is_saved(path) and path.name.rpartition("-")[2].isdecimal()]
    last = [path for path in (folder / "model", folder) if _is_saved(path)]
    return sorted(steps, key=lambda path: int(path.name.rpartition("-")[2])) + last[:1]


def _is_saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))


class Named(NamedTuple):
    """The repository on the Hub to which an id or an address refers."""

    id: str
    revision: str | None
    subfolder: str


def named_on_the_hub(text: str) -> Named | None:
    """The repository to which an id, ID@REVISION or an address refers, or None if the text is none of them."""
    match = ADDRESS.fullmatch(text.strip())
    if match is None or (match["id"] and Path(text).suffix in SUFFIXES):
        return None
    revision = match["revision"] or match["tree"] or match["blob"]
    folder = match["folder"] or (match["file"] or "").rpartition("/")[0]
    return Named(match["page"] or match["id"], revision, folder)


def open_repository(
    path_or_id: str | PathLike, revision: str | None = None, first: str = "config.json", subfolder: str = ""
) -> Repository:
    """The folder with this name, or otherwise the Hub repository with this id, which must contain ``first``."""
    text = str(path_or_id).strip()
    path = local_path(path_or_id, CheckpointError)
    path = path if path.exists() else local_path(text, CheckpointError)  # it may have been pasted with a space
    here, asked = path, revision
    for before, _, after in (text.rpartition("@"), text.partition("@")):
        if before and not here.exists():
            here, asked = local_path(before, CheckpointError), after
    if here.exists() and asked is not None:
        what = "folder" if here.is_dir() else "file"
        raise CheckpointError(f"{here} is a local {what}, which has no revision {asked!r}; leave the revision out.")
    if text and path.is_dir():
        return LocalFolder(path)
    named = named_on_the_hub(text)
    if named is None:
        address = "://" in text
        what = (
            "not the address of a model on the Hub" if address else "neither a file or folder here nor an id on the Hub"
        )
        raise CheckpointError(f"{text!r} is {what}; check it, or give an id OWNER/NAME.")
    if None not in (revision, named.revision) and revision != named.revision:
        raise CheckpointError(
            f"{text} already contains the revision {named.revision!r}, but the revision {revision!r} was given, too;"
            " give only one of them."
        )
    from attngeo.checkpoints.hub import HubRepository

    return HubRepository(named.id, revision or named.revision, first, subfolder or named.subfolder)


def weight_files(repository: Repository, weights: str = "") -> list[TensorFile]:
    """The files with tensors: the requested file, or those of the first entry of WEIGHTS that exists."""
    for name in (weights,) if weights else (*WEIGHTS, *repository.other_weights()):
        if not name.endswith(".index.json"):
            if (file := repository.open(name)) is not None:
                return [file]
        elif repository.fetch(name) is not None:
            shards = _shards(repository, name)
            with ThreadPoolExecutor(SHARDS_AT_ONCE) as pool:
                files = dict(zip(shards, pool.map(repository.open, shards), strict=True))
            if missing := [shard for shard, file in files.items() if file is None]:
                raise repository.absent(f"{missing[0]}, which {name} names")
            return [file for file in files.values() if file is not None]
    raise repository.absent(weights or f"{ANY} ({', '.join(WEIGHTS)})")


def _shards(repository: Repository, index: str) -> list[str]:
    weight_map = checked(
        (repository.json(index) or {}).get("weight_map"),
        Annotated[dict[str, File], Meta(min_length=1)],
        lambda _: CheckpointError(
            f"{index} of {repository.name} has no valid weight_map, which would list the weight files next to it;"
            " fetch it again."
        ),
    )
    return sorted(set(weight_map.values()))
