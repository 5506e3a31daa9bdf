"""Call a function many times: here, in several processes of this machine, or on the workers of a cluster."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeVar

from attngeo.errors import AttngeoError, needs

Done = TypeVar("Done")


class WorkersError(AttngeoError):
    """The workers cannot be reached, or a call killed every worker that tried it."""


def spread(
    work: Callable[..., Done], calls: Mapping[str, tuple], workers: int = 0, scheduler: str = ""
) -> Iterator[tuple[str, Done | AttngeoError]]:
    """Call ``work`` with each of the arguments, and yield each result, or the `AttngeoError` that the call raised.

    Without ``workers`` and ``scheduler`` the calls are made in this process, one after the other. On workers they are
    made at the same time and yielded as they end. If a worker is killed, another worker repeats its call.

    Args:
        work: a function of a module.
        calls: the arguments of each call, by a key that no other call on the same scheduler has.
        workers: the number of processes to start on this machine, each with one thread.
        scheduler: address of a dask scheduler whose workers are used instead. They need this package and must see the
            same folders.

    Raises:
        WorkersError: the scheduler cannot be reached.
        MissingExtra: dask.distributed is not installed.
    """
    if not workers and not scheduler:
        outcome: Done | AttngeoError
        for key, arguments in calls.items():
            try:
                outcome = work(*arguments)
            except AttngeoError as error:
                outcome = error
            yield key, outcome
        return
    with needs("cluster", "work on several processes"):
        from distributed import Client, KilledWorker, LocalCluster, as_completed
    with ExitStack() as stack:
        if not scheduler:
            env = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, env=env, dashboard_address=":0", silence_logs=logging.ERROR
            )
            scheduler = stack.enter_context(cluster).scheduler_address
        try:
            client = stack.enter_context(Client(scheduler, timeout=30))
        except (OSError, ValueError) as error:
            raise WorkersError(f"the scheduler {scheduler} cannot be reached ({error}); check its address.") from error
        keys = {}
        for place, (key, arguments) in enumerate(calls.items()):
            keys[client.submit(work, *arguments, key=key, priority=-place)] = key  # calls start in their order
        for future in as_completed(keys):
            try:
                yield keys[future], future.result()
            except AttngeoError as error:
                yield keys[future], error
            except KilledWorker as error:
                yield keys[future], WorkersError(f"its worker was killed several times ({error}).")
