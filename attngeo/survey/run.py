"""A survey of many models: which, by which process, several at once, each ending in a record or in a reason."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock

from attngeo.checkpoints.architectures import ARCHITECTURES, BUILT_IN
from attngeo.checkpoints.architectures.entry import Entry
from attngeo.checkpoints.layers import Checkpoint
from attngeo.checkpoints.repositories import named_on_the_hub
from attngeo.errors import AttngeoError, CheckpointError, ParameterError
from attngeo.files.workers import spread
from attngeo.inputs import local_path
from attngeo.survey.models import group, local_weights, registry
from attngeo.survey.record import Model, OnLayer, is_recorded, record_folder, survey_model


def chosen_models(models: tuple[str, ...] = (), label: str = "") -> list[Model]:
    """The models asked for: names or Hub ids of the registry, paths, other Hub ids, or a group of the registry.

    Without either, every checkpoint in the folder that ATTNGEO_WEIGHTS names. Weights that lie there are preferred to
    the Hub's.

    Raises:
        ParameterError: no such group, or the records of two models would lie in one folder.
        CheckpointError: nothing is named, and ATTNGEO_WEIGHTS names no checkpoints.
    """
    if not models and not label:
        if not (weights := os.environ.get("ATTNGEO_WEIGHTS")):
            raise CheckpointError("no model is named and ATTNGEO_WEIGHTS is not set; name models or that folder.")
        if not (folders := sorted(path.parent for path in Path(weights).glob("*/config.json"))):
            raise CheckpointError(f"ATTNGEO_WEIGHTS names {weights}, which holds no checkpoint (no */config.json).")
        return _each_once([Model(folder.name, str(folder)) for folder in folders])
    known = {m.name: m for m in registry()} | {m.hub_id: m for m in registry() if m.hub_id}
    local = local_weights()
    asked = []
    for word in (*models, *(group(label) if label else ())):
        if local_path(word).exists():
            asked.append(Model(word, word))
        elif row := known.get(word):
            source = local.get(row.name, row.hub_id)
            asked.append(Model(row.name, source or row.weights_folder, row.revision, elsewhere=not source))
        elif (named := named_on_the_hub(word)) and not named.subfolder:  # of a subfolder opening it tells
            asked.append(Model(word, named.id, named.revision or ""))
        else:
            asked.append(Model(word, word))
    return _each_once(asked)


def require_registered(asked: list[Model], folder: Path) -> None:
    """Refuse to record anything but models of the register in the checkout's ``folder``.

    Raises:
        ParameterError: one of them is another model.
    """
    known = {os.path.realpath(path) for path in local_weights().values()} | {model.hub_id for model in registry()}
    for model in asked:
        if not model.elsewhere and _place(replace(model, revision="")) not in known:
            raise ParameterError(
                f"{model.name} is no model of the register, and {folder} holds the records of those alone; name a"
                " folder for its record with -o."
            )


def _each_once(models: list[Model]) -> list[Model]:
    """The models without repetitions, each with a record of its own."""
    by_record: dict[Path, Model] = {}
    for model in models:
        target = record_folder(model.source, Path())
        first = by_record.setdefault(target, model)
        if _place(first) != _place(model):
            raise ParameterError(
                f"{first.source} and {model.source} would both be recorded under the name {target}; survey them one at"
                f" a time, each with a folder of its own behind -o."
            )
    return list(by_record.values())


def _place(model: Model) -> str:
    """Where its weights are, by whatever links it is reached; the id of a model on the Hub."""
    path = local_path(model.source)
    return os.path.realpath(path) if path.exists() else f"{model.source}@{model.revision}".removesuffix("@")


def survey(
    asked: list[Model], folder: Path, gamma: float, jobs: int, on_layer: OnLayer, quantise: bool = False
) -> Iterator[tuple[Model, Path | str]]:
    """Survey the models, ``jobs`` at a time; yield each as it ends, with its record's folder or why there is none.

    When the caller stops, models under way end after the layer at hand, without a record.
    """
    stop = threading.Event()

    def watch(model: Model, checkpoint: Checkpoint, done: int) -> None:
        if stop.is_set():
            raise CancelledError
        on_layer(model, checkpoint, done)

    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_record, model, folder, gamma, quantise, watch): model for model in asked}
        try:
            for ended in as_completed(running):
                yield running[ended], ended.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def survey_on_workers(
    asked: list[Model], folder: Path, gamma: float, quantise: bool, workers: int, scheduler: str
) -> Iterator[tuple[Model, Path | str]]:
    """`survey` by processes here or on a cluster (`attngeo.files.workers.spread`), each at one model at a time."""
    folder = folder.resolve()
    calls = {f"{record_folder(m.source, folder)} {gamma} {quantise}": (m, folder, gamma, quantise) for m in asked}
    registered = {name: entry for name, entry in ARCHITECTURES.items() if name not in BUILT_IN}
    for key, outcome in spread(partial(_knowing, registered, record_once), calls, workers, scheduler):
        yield calls[key][0], str(outcome) if isinstance(outcome, AttngeoError) else outcome


def _knowing(registered: Mapping[str, Entry], work: Callable[..., Path | str], *arguments: Any) -> Path | str:
    """What ``work`` gives in a process in which these are registered."""
    ARCHITECTURES.update(registered)
    return work(*arguments)


def record_once(
    model: Model, folder: Path, gamma: float, quantise: bool, on_layer: OnLayer = lambda model, checkpoint, done: None
) -> Path | str:
    """Record a model, unless it is recorded or, as soon as another process at it has ended, was recorded by that."""
    folder.mkdir(parents=True, exist_ok=True)
    target = record_folder(model.source, folder)
    with FileLock(folder / f".{target.name}.lock"):
        if is_recorded(model, folder, gamma, quantise):
            return target
        return _record(model, folder, gamma, quantise, on_layer)


def _record(model: Model, folder: Path, gamma: float, quantise: bool, on_layer: OnLayer) -> Path | str:
    """The folder of a model's new record, or why there is none."""
    if model.elsewhere:
        return f"{model.name} is on no Hub; name the folder that holds {model.source} in ATTNGEO_WEIGHTS."
    try:
        return survey_model(model, folder, gamma, quantise, on_layer)
    except AttngeoError as error:
        return " ".join(f"{error}".split())
    except Exception as error:  # whatever a reader or the network throws must not end the other models
        return " ".join(f"{model.name} failed with {type(error).__name__}: {error}".split())
