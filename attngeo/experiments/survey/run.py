"""A survey of many models: the choice of models, and a loop over them in this process or on workers."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from attngeo.checkpoints.architectures import ARCHITECTURES, BUILT_IN
from attngeo.checkpoints.architectures.entry import Entry
from attngeo.checkpoints.repositories import named_on_the_hub
from attngeo.errors import AttngeoError, CheckpointError, ParameterError
from attngeo.experiments.survey.models import group, local_weights, registry
from attngeo.experiments.survey.record import Model, OnLayer, record_folder, survey_model
from attngeo.experiments.workers import spread
from attngeo.inputs import local_path


def chosen_models(models: tuple[str, ...] = (), label: str = "") -> list[Model]:
    """The models asked for: names or Hub ids of the registry, paths, other Hub ids, or a group of the registry.

    Without either, these are all checkpoints in the folder ATTNGEO_WEIGHTS. Weights in this folder are preferred to
    those on the Hub.

    Raises:
        ParameterError: there is no such group, or the records of two models would be in the same folder.
        CheckpointError: no models are named, and ATTNGEO_WEIGHTS contains no checkpoints.
    """
    if label:
        models += tuple(group(label))
    return _each_once([_named(word) for word in models] or _all_in_the_folder_of_weights())


def _named(word: str) -> Model:
    """The model that a name, a path or a Hub id names."""
    if local_path(word).exists():
        return Model(word, word)
    if known := next((model for model in registry() if word in (model.name, model.hub_id)), None):
        source = local_weights().get(known.name, known.hub_id)
        return Model(known.name, source or known.weights_folder, known.revision, elsewhere=not source)
    named = named_on_the_hub(word)
    if named and not named.subfolder:  # open_checkpoint reads or refuses subfolders
        return Model(word, named.id, named.revision or "")
    return Model(word, word)


def _all_in_the_folder_of_weights() -> list[Model]:
    weights = os.environ.get("ATTNGEO_WEIGHTS")
    if not weights:
        raise CheckpointError(
            "no model is named, and ATTNGEO_WEIGHTS is not set; name models, or set ATTNGEO_WEIGHTS to a folder with"
            " models."
        )
    folders = sorted(path.parent for path in Path(weights).glob("*/config.json"))
    if not folders:
        raise CheckpointError(
            f"ATTNGEO_WEIGHTS is {weights}, but this folder contains no checkpoints (no */config.json); set it to"
            " another folder."
        )
    return [Model(folder.name, str(folder)) for folder in folders]


def require_registered(asked: list[Model], folder: Path) -> None:
    """Refuse to record models that are not in the registry in the ``folder`` of the checkout.

    Raises:
        ParameterError: one of the models is not in the registry.
    """
    known = {os.path.realpath(path) for path in local_weights().values()} | {model.hub_id for model in registry()}
    for model in asked:
        if not model.elsewhere and _place(replace(model, revision="")) not in known:
            raise ParameterError(
                f"{model.name} is not in the built-in list, and {folder} contains only records of models in this list;"
                " give a folder for its record with -o."
            )


def _each_once(models: list[Model]) -> list[Model]:
    """The models without repetitions, refused if two of them would share a record."""
    by_record: dict[Path, Model] = {}
    for model in models:
        target = record_folder(model.source, Path())
        first = by_record.setdefault(target, model)
        if _place(first) != _place(model):
            raise ParameterError(
                f"{first.source} and {model.source} would both be recorded under the name {target}; survey them one at"
                " a time, each with its own folder (-o)."
            )
    return list(by_record.values())


def _place(model: Model) -> str:
    """Where the weights of a model are: a path without links, or ID@REVISION on the Hub."""
    path = local_path(model.source)
    return os.path.realpath(path) if path.exists() else f"{model.source}@{model.revision}".removesuffix("@")


def survey(
    asked: list[Model],
    folder: Path,
    gamma: float,
    quantise: bool = False,
    on_layer: OnLayer = lambda checkpoint, done: None,
    workers: int = 0,
    scheduler: str = "",
) -> Iterator[tuple[Model, Path | AttngeoError]]:
    """Record the models, and yield each with the folder of its record, or with the error that prevented the record.

    They are scored one after the other, or on ``workers`` or the workers of a ``scheduler``
    (`attngeo.experiments.workers.spread`), on which ``on_layer`` is not called.
    """
    work: Callable[..., Path] = partial(_survey_one, on_layer)
    if workers or scheduler:
        folder = folder.resolve()  # a worker may run in another folder
        registered = {name: entry for name, entry in ARCHITECTURES.items() if name not in BUILT_IN}
        work = partial(_survey_in_worker, registered)
    by_key = {f"{record_folder(model.source, folder)} {gamma} {quantise}": model for model in asked}
    calls = {key: (model, folder, gamma, quantise) for key, model in by_key.items()}
    for key, outcome in spread(work, calls, workers, scheduler):
        yield by_key[key], outcome


def _survey_in_worker(registered: Mapping[str, Entry], *arguments) -> Path:
    """`_survey_one` in a worker, which must learn of the architectures that were registered in this process."""
    ARCHITECTURES.update(registered)
    return _survey_one(lambda checkpoint, done: None, *arguments)


def _survey_one(on_layer: OnLayer, model: Model, folder: Path, gamma: float, quantise: bool) -> Path:
    """`survey_model`, with every other exception as a CheckpointError, so that the other models are still surveyed."""
    try:
        return survey_model(model, folder, gamma, quantise, on_layer)
    except AttngeoError:
        raise
    except Exception as error:  # a reader or the network can raise anything
        raise CheckpointError(f"{model.name} failed with {type(error).__name__}: {error}") from error
