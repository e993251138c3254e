"""The driver's files, for nodes that do not see its folders, and a way back for the logs of their trials."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.core.errors import TrialError
from orchestrator.core.placement import Attempt
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.trial.records import find_log
from orchestrator.train.process.temp_dirs import temporary_folder
from workloads.data.parcel import packed, unpacked
from workloads.data.prepared import is_readable
from workloads.data.sources import NO_FILE, default_cache
from workloads.origins import Origin

_SENDERS = 4  # nodes that are served at a time
_MARK = ".driver-"


class DriverFiles:
    """A handle that trials can be given. What it hands out is read on the driver's host.

    Args:
        folder: folder of the sweep. A marker file in it shows which nodes share it.
    """

    def __init__(self, folder: Path) -> None:
        self._mark = folder / f"{_MARK}{secrets.token_hex(8)}"
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        counter = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=1)(_DriverFilesActor)
        self._actor: Any = counter.options(max_concurrency=_SENDERS, scheduling_strategy=here).remote()

    def __enter__(self) -> "DriverFiles":
        for left in self._mark.parent.glob(f"{_MARK}*"):  # by a driver that was killed
            left.unlink()
        self._mark.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._mark.unlink(missing_ok=True)

    def is_seen(self) -> bool:
        """Return whether this host sees the sweep's folder, and therefore the folders of its workloads."""
        return self._mark.exists()

    def read_dataset(self, path: str) -> bytes:
        """A prepared data set of the driver's.

        Raises:
            TrialError: `environment`, when the driver's host does not give it.
        """
        try:
            parcel: bytes = ray.get(self._actor.read_dataset.remote(path))
        except ray.exceptions.RayError as error:
            cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
            message = f"the driver's host did not send {path} ({type(cause).__name__})"
            raise TrialError("environment", message) from error
        return parcel

    def store_logs(self, folder: Path, logs: Mapping[str, bytes]) -> None:
        """Write them to a folder of the driver's. A driver that is gone has no use for them."""
        with contextlib.suppress(ray.exceptions.RayError):
            ray.get(self._actor.store_logs.remote(folder, logs))


class _DriverFilesActor:
    """Ray actor on the driver's host that serves its files."""

    def read_dataset(self, path: str) -> bytes:
        """Return a data set, as `DriverFiles.read_dataset`."""
        return packed(Path(path))

    def store_logs(self, folder: Path, logs: Mapping[str, bytes]) -> None:
        """Store a trial's logs, as `DriverFiles.store_logs`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, log in logs.items():
            (folder / name).write_bytes(log)


_LOG_BYTES = 16 * 2**20
"""Bytes of the end of each rank's log that are copied to the driver."""


@contextmanager
def staged_inputs(
    attempt: Attempt, context: SweepContext, *, driver_files: DriverFiles | None
) -> Iterator[SweepContext]:
    """Yield the sweep context for this node. At the end, the logs are where the driver looks for them.

    Args:
        driver_files: None on the driver's own host.

    Raises:
        TrialError: `environment`, when the node cannot have the trial's data.
    """
    if driver_files is None:
        yield context
        return
    data_id = attempt.placement.trial.data
    context = replace(context, data_paths={data_id: _data_here(context.data_paths[data_id], driver_files)})
    if driver_files.is_seen():
        yield context
        return
    with temporary_folder("orchestrator-") as folder:
        try:
            yield replace(
                context,
                folder=folder,
                origins={name: _origin_here(origin) for name, origin in context.origins.items()},
            )
        finally:
            log = find_log(attempt)
            logs = {path.name: path.read_bytes()[-_LOG_BYTES:] for path in (folder / log).glob("*.log")}
            driver_files.store_logs(context.folder / log, logs)


def _data_here(path: str, driver_files: DriverFiles) -> str:
    """Return the data set's path: the driver's, or a copy in this node's cache that later trials reuse."""
    if path == NO_FILE:
        return path
    if Path(path).exists():
        return path
    cache = default_cache()
    copy = cache / Path(path).name
    if is_readable(copy):
        return str(copy)
    try:
        return str(unpacked(driver_files.read_dataset(path), cache=cache))
    except (OSError, ValueError) as error:
        raise TrialError("environment", f"{error}; a node must see the folder of data_folder=…") from error


def _origin_here(origin: Origin) -> Origin:
    """Return the place where Ray put a user's package on this node."""
    if origin.folder is None:
        return origin
    module_spec = find_spec(origin.top)
    places = list(module_spec.submodule_search_locations or ()) if module_spec else []
    return replace(origin, folder=places[0]) if places else origin
