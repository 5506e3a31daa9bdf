"""Work handed out to processes of this machine or of a cluster, and handed out again where one is killed."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeVar

from attngeo.errors import AttngeoError, needs

Done = TypeVar("Done")


class WorkersError(AttngeoError):
    """The processes that were to work cannot be had, or were killed again and again."""


def spread(
    work: Callable[..., Done], calls: Mapping[str, tuple], workers: int = 0, scheduler: str = ""
) -> Iterator[tuple[str, Done | AttngeoError]]:
    """Call ``work`` with each of the arguments on some worker; yield each as it ends, or the error that ended it.

    A call whose worker is killed is made again elsewhere, so ``work`` must pass over what it has recorded already.

    Args:
        work: a function of a module.
        calls: its arguments, by a key that names this piece of work anywhere.
        workers: processes on this machine, of one thread and one core each.
        scheduler: address of a dask scheduler, whose workers are used instead; they need this package and the folders.

    Raises:
        WorkersError: the scheduler cannot be reached.
        MissingExtra: dask.distributed is not installed.
    """
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
        futures = {
            client.submit(work, *arguments, key=key, priority=-place): key
            for place, (key, arguments) in enumerate(calls.items())
        }
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except AttngeoError as error:
                yield futures[future], error
            except KilledWorker as error:
                yield futures[future], WorkersError(f"its worker was killed several times ({error}).")
